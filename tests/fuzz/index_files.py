"""Files of codes with right checksums, whose header, codes and ids were changed."""

from __future__ import annotations

import itertools
import shutil
import struct
from pathlib import Path
from random import Random

import numpy as np

from fuzz import mutations
from sthash import HammingIndex

GOLDEN = Path(__file__).parents[1] / "index" / "golden"
HEADER = 4096
FIELDS = "<8sIIQqqQQQ"
DOCUMENTED = (ValueError, KeyError)
_MASK = 2**64 - 1
_PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def prepare(folder: Path) -> None:
    """Save indexes of several code lengths, with ids of their own and without."""
    rng = np.random.default_rng(0)
    for n_bits in (1, 20, 64, 70):
        codes = rng.integers(0, 256, (50, (n_bits + 7) // 8), dtype=np.uint8)
        if n_bits % 8:
            codes[:, -1] &= (1 << n_bits % 8) - 1
        for ids in (None, np.sort(rng.permutation(999)[:50])):
            index = HammingIndex(n_bits)
            index.add(codes, ids)
            index.save(folder / f"{n_bits}-{'plain' if ids is None else 'own'}.index")
    HammingIndex(9).save(folder / "empty.index")
    for golden in GOLDEN.glob("codes*.index"):
        shutil.copy(golden, folder)


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Change an index file, open it in both ways, and use it."""
    path = scratch / "x.index"
    path.write_bytes(forged(random, random.choice(mutations.seeds(folder)).read_bytes()))
    outcome = "refused"
    for mmap in (False, True):
        try:
            index = HammingIndex.open(path, mmap=mmap, strategy=random.choice(("auto", "scan", "tables")))
            use(random, index)
            index.save(scratch / "again.index")
            outcome = "used"
        except DOCUMENTED:
            continue
    return outcome


def forged(random: Random, content: bytes) -> bytes:
    """Change fields, codes or ids, and mostly give them right checksums."""
    if random.random() < 0.1:
        return mutations.content(random, content)
    fields = list(struct.unpack_from(FIELDS, content))
    body = bytearray(content[HEADER:])
    for _ in range(random.choice((1, 1, 2, 3))):
        if random.random() < 0.6:
            place = random.randrange(1, 7)
            changed = mutations.number(random, fields[place])
            limit = 32 if place < 3 else 64
            fields[place] = changed % 2**limit if place in (1, 2, 3, 6) else changed
        else:
            body = bytearray(mutations.content(random, bytes(body)))
    n_bits, count = fields[2], fields[3]
    if random.random() < 0.7:  # make the length fit, so that what comes after it is reached
        size = min(count, 5000) * ((n_bits + 63) // 64) * 8
        body = (body + bytes(100_000))[: min(size + (min(count, 5000) * 8 if fields[6] else 0), 1 << 20)]
    codes_size = min(count * ((n_bits + 63) // 64) * 8, len(body))
    fields[7], fields[8] = checksum(bytes(body[:codes_size])), checksum(bytes(body[codes_size:]))
    block = bytearray(content[:HEADER].ljust(HEADER, b"\0"))
    struct.pack_into(FIELDS, block, 0, *fields)
    struct.pack_into("<Q", block, HEADER - 8, checksum(bytes(block[: HEADER - 8])))
    return bytes(block) + bytes(body)


def use(random: Random, index: HammingIndex) -> None:
    """Search, join and change."""
    codes = np.zeros((2, (index.n_bits + 7) // 8), dtype=np.uint8)
    index.search(codes, random.choice((1, 7, 5000)), threads=random.choice((1, 2)))
    index.search(codes, 2, weights=np.ones((2, index.n_bits), dtype=np.float32))
    index.search(codes, 2, allowed=[0, 5, 2**62])
    index.radius_search(codes, random.choice((0, 3, index.n_bits)))
    index.count(codes, 2)
    for _ in itertools.islice(index.pairs(1), 3):
        pass
    held = index.ids
    index.codes(held[:3])
    assert index.stats.size == len(index)
    index.build_tables(threads=1)
    if len(held):
        index.remove(held[:1])
        index.update(codes[:1], held[-1:])
    index.add(codes)


def checksum(data: bytes) -> int:
    """XXH64, as `src/core/hamming/checksum.cpp` has it."""
    one, two, three, four, five = _PRIMES
    lanes = [(one + two) & _MASK, two, 0, -one & _MASK]
    whole = len(data) // 32 * 32
    for values in struct.iter_unpack("<4Q", data[:whole]):
        lanes = [_round(lane, value) for lane, value in zip(lanes, values, strict=True)]
    total = five
    if len(data) >= 32:
        total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * one + four) & _MASK
    total = (total + len(data)) & _MASK
    rest = data[whole:]
    while len(rest) >= 8:
        total = (_rotated(total ^ _round(0, int.from_bytes(rest[:8], "little")), 27) * one + four) & _MASK
        rest = rest[8:]
    if len(rest) >= 4:
        total = (_rotated(total ^ int.from_bytes(rest[:4], "little") * one & _MASK, 23) * two + three) & _MASK
        rest = rest[4:]
    for byte in rest:
        total = _rotated(total ^ byte * five & _MASK, 11) * one & _MASK
    total = (total ^ total >> 33) * two & _MASK
    total = (total ^ total >> 29) * three & _MASK
    return total ^ total >> 32


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _round(lane: int, value: int) -> int:
    return _rotated((lane + value * _PRIMES[1]) & _MASK, 31) * _PRIMES[0] & _MASK
