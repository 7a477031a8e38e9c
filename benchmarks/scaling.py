"""What the plan in docs/scaling.md rests on: bytes of indexes and files, how alike real codes are, speed of a task.

Put the figures into `Measured` of tools/scaling_plan.py and run that.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from collection import documents
from sthash import Collection, HammingIndex
from sthash.codes import prefix

BITS, RADIUS = 64, 3
ALL_BITS, RADII = (64, 128, 256), (1, 3, 5)
BUCKETS, CODES_IN_BUCKET = 16, 15_259  # some of the buckets of a billion random codes: 10**9 / 2**16 codes each


def sharing(codes, radius):
    """Share of the pairs of codes that agree in a band, added up over the radius + 1 bands."""
    bits = np.unpackbits(codes, axis=1, bitorder="little")
    total = 0.0
    for band in np.array_split(np.arange(bits.shape[1]), radius + 1):
        counts = np.unique(np.packbits(bits[:, band], axis=1), axis=0, return_counts=True)[1]
        total += float((counts * (counts - 1.0)).sum())
    return total / (len(codes) * (len(codes) - 1.0))


def pair_share(codes, radius):
    """Share of the pairs of codes that are within a radius."""
    index = HammingIndex(8 * codes.shape[1])
    index.add(codes)
    return sum(len(block.left) for block in index.pairs(radius)) / (len(codes) * (len(codes) - 1) / 2)


def index_bytes(codes, ids):
    """Bytes a code of an index that scans, and of one with tables."""
    index = HammingIndex(BITS)
    index.add(codes, ids)
    index.build_tables()
    stats = index.stats()
    plain = stats.code_bytes + stats.id_bytes
    return plain / len(codes), (plain + stats.table_bytes) / len(codes)


def task_speed(rng):
    """Comparisons a second, one thread, of a task of the join: whole buckets of one band."""
    codes = rng.integers(0, 256, (BUCKETS * CODES_IN_BUCKET, BITS // 8), dtype=np.uint8)
    codes[:, :2] = np.repeat(rng.integers(0, 256, (BUCKETS, 2), dtype=np.uint8), CODES_IN_BUCKET, axis=0)
    best = np.inf
    for _ in range(3):
        start = time.process_time()  # one thread: whatever else the machine does is left out
        index = HammingIndex(BITS)
        index.add(codes)
        for _ in index.pairs(RADIUS, threads=1):
            pass
        best = min(best, time.process_time() - start)
    return BUCKETS * CODES_IN_BUCKET**2 / 2 / best


def main():
    """Measure."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (4_000_000, BITS // 8), dtype=np.uint8)
    plain, tables = index_bytes(codes, rng.permutation(1 << 23)[: len(codes)])
    print(f"index_bytes = {plain:.1f}, with tables {tables:.1f}")
    print(f"comparisons_a_core_second = {task_speed(rng):.2e}", flush=True)
    with (
        tempfile.TemporaryDirectory() as name,
        Collection.create(Path(name, "some.sth"), documents(), n_bits=max(ALL_BITS)) as collection,
    ):
        with collection._view.reading():
            shelf = collection._view.shelf()
            vectors = collection._view.vectors(shelf.ids)
            (weights,) = collection._store.connection.execute("SELECT sum(length(weights)) FROM terms").fetchone()
        print(
            f"file_bytes = {(collection.path.stat().st_size - weights) / len(collection):.0f} without the model, ",
            end="",
        )
        print(f"of {len(collection):,} documents")
        print(f"vector_bytes = {4 * float((vectors.ends - vectors.starts).mean()):.0f}")
        print(f"text_bytes = {np.mean([len(document.text.encode()) for document in collection]):.0f}")
        for bits in ALL_BITS:
            distinct = np.unique(prefix(shelf.codes, bits), axis=0)  # a shorter code is a prefix of a longer one
            print(f"{bits} bits: distinct {len(distinct) / len(collection):.3f}", flush=True)
            for radius in RADII:
                shares = sharing(distinct, radius), pair_share(distinct, radius)
                print(f"  radius {radius}: sharing {shares[0]:.2g}, pairs {shares[1]:.2g}", flush=True)


if __name__ == "__main__":
    main()
