"""What the plan in docs/scaling.md rests on: bytes of indexes and files, how alike real codes are, speed of a task.

tools/scaling_plan.py has these figures as `Measured`: put them there when they change, and run it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import data
from harness import OURS, Run, figure, main
from sthash import Collection, HammingIndex
from sthash.codes import prefix
from stored import model_bytes, stored
from timing import time_in_turns

BITS, RADIUS = 64, 3
ALL_BITS, RADII = (64, 128, 256), (1, 3, 5)
BUCKETS, CODES_IN_BUCKET = 16, 15_259  # some of the buckets of a billion random codes: 10**9 / 2**16 codes each


def sharing(codes: data.Codes, radius: int) -> float:
    """Give the share of the pairs of codes that agree in a band, added up over the radius + 1 bands."""
    bits = np.unpackbits(codes, axis=1, bitorder="little")
    total = 0.0
    for band in np.array_split(np.arange(bits.shape[1]), radius + 1):
        counts = np.unique(np.packbits(bits[:, band], axis=1), axis=0, return_counts=True)[1]
        total += float((counts * (counts - 1.0)).sum())
    return total / (len(codes) * (len(codes) - 1.0))


def pair_share(codes: data.Codes, radius: int) -> float:
    """Give the share of the pairs of codes that are within a radius."""
    index = HammingIndex(8 * codes.shape[1])
    index.add(codes)
    return sum(len(block.left) for block in index.pairs(radius)) / (len(codes) * (len(codes) - 1) / 2)


def index_bytes(codes: data.Codes, ids: np.ndarray) -> tuple[float, float]:
    """Give the bytes per code of an index that scans, and of one with tables."""
    index = HammingIndex(BITS)
    index.add(codes, ids)
    index.build_tables()
    stats = index.stats()
    plain = stats.code_bytes + stats.id_bytes
    return plain / len(codes), (plain + stats.table_bytes) / len(codes)


def task_speed(rng: np.random.Generator, size: int) -> float:
    """Give the comparisons per second, on one thread, of a task of the join: whole buckets of one band."""
    codes = rng.integers(0, 256, (BUCKETS * size, BITS // 8), dtype=np.uint8)
    codes[:, :2] = np.repeat(rng.integers(0, 256, (BUCKETS, 2), dtype=np.uint8), size, axis=0)

    def join() -> None:
        index = HammingIndex(BITS)
        index.add(codes)
        for _ in index.pairs(RADIUS, threads=1):
            pass

    # On one thread, processor time leaves out whatever else the machine does.
    return BUCKETS * size**2 / 2 / time_in_turns({OURS: join}, repetitions=3)[OURS].best_cpu


def measure(run: Run) -> None:
    """Measure the index, a task, a file, and the codes in it."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (run.choose(4_000_000, 10_000), BITS // 8), dtype=np.uint8)
    plain, tables = index_bytes(codes, rng.permutation(2 * len(codes))[: len(codes)])
    run.add(figure("index_bytes", "index that scans", plain, "bytes per code"))
    run.add(figure("index_bytes_with_tables", "index with tables", tables, "bytes per code"))
    speed = task_speed(rng, run.choose(CODES_IN_BUCKET, 500))
    run.add(figure("comparisons_per_core_second", "comparisons of a join, one thread", speed, "comparisons/s"))
    documents = data.descriptions(run.quick).documents
    with (
        tempfile.TemporaryDirectory() as name,
        Collection.create(Path(name, "some.sth"), documents, n_bits=max(ALL_BITS)) as collection,
    ):
        measure_file(run, collection)
        measure_codes(run, stored(collection).codes)


def measure_file(run: Run, collection: Collection) -> None:
    """Measure the bytes per document in a file."""
    count, vectors = len(collection), stored(collection).vectors
    unit, setting = "bytes per document", {"documents": count, "bits": collection.n_bits}
    held = (collection.path.stat().st_size - model_bytes(collection)) / count
    run.add(figure("file_bytes", "file without the model", held, unit, setting=setting))
    words = float((vectors.ends - vectors.starts).mean())
    run.add(figure("vector_bytes", "of these the vector", 4 * words, unit, setting=setting))
    texts = float(np.mean([len(document.text.encode()) for document in collection]))
    run.add(figure("text_bytes", "of these the text", texts, unit, setting=setting))


def measure_codes(run: Run, codes: data.Codes) -> None:
    """Measure how many codes are distinct, and which share of their pairs is close."""
    for bits in ALL_BITS:
        distinct = np.unique(prefix(codes, bits), axis=0)  # a shorter code is a prefix of a longer one
        setting = {"bits": bits}
        run.add(figure(f"distinct-{bits}", "distinct codes", len(distinct) / len(codes), "share", setting=setting))
        for radius in RADII:
            at, setting = f"{bits}-{radius}", {"bits": bits, "radius": radius}
            shared, close = sharing(distinct, radius), pair_share(distinct, radius)
            run.add(figure(f"sharing-{at}", "pairs that agree in a band, per pair", shared, "share", setting=setting))
            run.add(figure(f"close-{at}", "pairs within the radius", close, "share", setting=setting))


if __name__ == "__main__":
    main(__file__, __doc__, measure)
