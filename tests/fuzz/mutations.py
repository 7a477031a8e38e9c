"""Changes of single values: numbers at the edges of their types, bytes, JSON, arrays."""

from __future__ import annotations

import json
import struct
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

EDGES = (0, 1, -1, 2, 7, 255, 256, 1023, 1024, 1025, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62)
EDGES_64 = (*EDGES, 2**63 - 1, -(2**63))
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e300, float("inf"), float("nan")),
    *("", "x", "\ud800", "../../x", [], {}, [[]], [None], {"": None}, ["a", "a"], [0] * 100, "9" * 5000),
)


@cache
def seeds(folder: Path) -> list[Path]:
    """The files that a target has prepared, in order. They stay as they are, so they are listed once."""
    return sorted(folder.iterdir())


def number(random: Random, value: int) -> int:
    """Change a whole number that SQLite or a header can hold."""
    how = random.randrange(4)
    if how == 0:
        return random.choice(EDGES_64)
    if how == 1:
        return _wrapped(value + random.choice((-1, 1)))
    if how == 2:
        return _wrapped(value ^ (1 << random.randrange(63)))
    return _wrapped(value * random.choice((2, 3, -1, 1000)))


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def content(random: Random, value: bytes) -> bytes:
    """Change bytes: a few of them, their number, or one of the numbers that they hold."""
    how = random.randrange(8)
    if how == 0:
        return b""
    if how == 1:
        return value[: random.randrange(len(value) + 1)]
    if how == 2:
        return value + random.randbytes(random.choice((1, 3, 4, 8, 1024)))
    if how == 3:
        return random.randbytes(random.choice((1, 8, len(value), 2 * len(value))))
    changed = bytearray(value)
    if how == 4 or len(value) < 8:
        for _ in range(random.choice((1, 1, 2, 8))):
            if changed:
                changed[random.randrange(len(changed))] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
        return bytes(changed)
    code, size = random.choice((("<i", 4), ("<q", 8), ("<f", 4), ("<d", 8)))
    place = random.randrange(len(value) // size) * size
    if code in ("<f", "<d"):
        struct.pack_into(code, changed, place, random.choice((0.0, -1.0, float("nan"), float("inf"), 3e38, 1e-45)))
    else:
        limit = 1 << (8 * size - 1)
        (before,) = struct.unpack_from(code, changed, place)
        struct.pack_into(code, changed, place, (number(random, before) + limit) % (2 * limit) - limit)
    if how == 5:  # two parts change places
        middle = len(changed) // 2
        changed = changed[middle:] + changed[:middle]
    return bytes(changed)


def json_value(random: Random, value: Any) -> Any:
    """Change one place of a JSON value: a leaf, a key, the length of a list."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(sorted(value))
        changed = dict(value)
        if random.random() < 0.15:
            del changed[name]
        else:
            changed[name] = json_value(random, value[name])
        return changed
    if isinstance(value, list) and value and random.random() < 0.8:
        place = random.randrange(len(value))
        how = random.randrange(3)
        if how == 0:
            return value[:place]
        if how == 1:
            return [*value, *value]
        return [*value[:place], json_value(random, value[place]), *value[place + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and random.random() < 0.6:
        return number(random, value)
    return random.choice(ODD_VALUES)


def json_bytes(random: Random, value: bytes) -> bytes:
    """Change JSON in bytes, mostly such that it stays JSON."""
    if random.random() < 0.1:
        return random.choice((b"", b"{", b"[" * 100_000, b"null", b"\xff", b"1e999", content(random, value)))
    try:
        return json.dumps(json_value(random, json.loads(value))).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return content(random, value)


def array(random: Random, value: np.ndarray) -> np.ndarray:
    """Change an array: an entry, its length, its shape, its type."""
    how = random.randrange(7)
    if how == 0:
        return np.ascontiguousarray(value[: random.randrange(len(value) + 1)]) if value.ndim else value
    if how == 1:
        return np.ascontiguousarray(value.reshape(-1))
    if how == 2 and value.dtype != object:
        return value.astype(random.choice((np.float32, np.float64, np.int64, np.uint8, np.int32, np.bool_)))
    if how == 3 and value.ndim:
        return np.concatenate([value, value])
    changed = np.array(value)
    if changed.size == 0:
        return changed
    flat = changed.reshape(-1)
    for _ in range(random.choice((1, 1, 3, changed.size))):
        place = random.randrange(flat.size)
        if flat.dtype.kind == "f":
            flat[place] = random.choice((0.0, -1.0, np.nan, np.inf, -np.inf, 3e38, 1e-45))
        elif flat.dtype.kind in "iu":
            info = np.iinfo(flat.dtype)
            flat[place] = min(max(random.choice((*EDGES_64, int(flat[place]) + 1)), info.min), info.max)
        else:
            flat[place] = not flat[place]
    return changed
