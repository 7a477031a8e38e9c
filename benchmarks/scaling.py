"""What docs/scaling.md rests on.

Part ``million``: a collection of a million sentences, learned from samples of several sizes and from all. Time per
stage, memory, what the codes find, and how fast it answers. Part ``changes``: the first search after a change, against
the one before it, at two sizes. Parts ``texts-2m`` to ``texts-20m``: 2 to 20 million short texts, the first beside
tantivy; ``texts-5m-all`` learns from as many as time and memory allow. Part ``codes-100m``: an index of a
hundred million codes. Part ``plan``: bytes of indexes and files, how alike real
codes are, speed of a task.

tools/scaling_plan.py reads the results of ``million``. It has those of ``plan`` as `Measured`: put them there when they
change. Then run it.
"""

from __future__ import annotations

import re
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

import data
import many_codes
import short_texts
from harness import OURS, Row, Run, compare, figure, main
from library import nearest_neighbors
from sthash import Collection, HammingIndex, Learning
from sthash.codes import prefix
from stored import model_bytes, query_rows, stored
from timing import Isolated, in_own_process, peak_memory, time_in_turns, timed

BITS, RADIUS = 64, 3
ALL_BITS, RADII = (64, 128, 256), (1, 3, 5)
BUCKETS, CODES_IN_BUCKET = 16, 15_259  # some of the buckets of a billion random codes: 10**9 / 2**16 codes each


SAMPLES = (20_000, 80_000, 250_000, None)
TOP, NEAREST = 10, 100
WORDS = 4  # of a typed query
CHANGED_SIZES = (30_000, 120_000)


def built(path: Path, quick: bool, sample_size: int | None) -> dict[str, float]:
    """Build a collection of the sentences; give the seconds of each stage."""
    seconds: dict[str, float] = {}
    stage, start = "", time.perf_counter()

    def report(name: str, _done: int, _total: int | None) -> None:
        nonlocal stage, start
        now = time.perf_counter()
        if stage:
            seconds[stage] = seconds.get(stage, 0.0) + now - start
        stage, start = name, now

    documents = data.sentences(quick).documents
    report("reading", 0, None)
    settings = {"n_bits": 16, "n_neighbors": 10} if quick else {"n_bits": BITS}
    learning = Learning(sample_size=sample_size, **settings)
    Collection.create(path, documents, progress=report, learning=learning).close()
    report("", 0, None)
    return seconds


def million(run: Run) -> None:
    """Measure a collection of a million sentences against the number of documents that it was learned from."""
    queries = data.sentences(run.quick).queries
    truth: npt.NDArray[np.int64] | None = None
    with tempfile.TemporaryDirectory() as name:
        for size in run.choose(SAMPLES, (200, None)):
            path = Path(name, f"{size}.sth")
            work = partial(built, path, run.quick, size)
            isolated = (
                Isolated(timed(work), peak_memory(), peak_memory())
                if run.quick
                else in_own_process(built, path, run.quick, size)
            )
            with Collection.open(path) as collection:
                if truth is None:
                    truth = nearest_neighbors(stored(collection).matrix(), query_rows(collection, queries), TOP)
                learned = "all" if size is None else str(size)
                run.add(build_row(learned, isolated, collection))
                measure_answers(run, learned, collection, queries, truth)
            path.unlink()


def build_row(learned: str, isolated: Isolated, collection: Collection) -> Row:
    """Describe a build."""
    facts, stages = collection.info(), isolated.timing.result
    learning = sum(stages.get(stage, 0.0) for stage in ("graph", "embedding", "bits", "hash functions"))
    setting = {"documents": facts["documents"], "learned on": facts["learned_on"], "bits": facts["n_bits"]}
    details = {
        "GiB peak": isolated.peak / 1024,
        "learning s": learning,
        "stages": {stage: round(seconds, 1) for stage, seconds in stages.items()},
        "file bytes": facts["bytes"],
    }
    what = f"build, learned from {facts['learned_on']:,}"
    return compare(f"build-{learned}", what, {OURS: isolated.timing}, setting=setting, details=details)


def measure_answers(
    run: Run, learned: str, collection: Collection, queries: list[str], truth: npt.NDArray[np.int64]
) -> None:
    """Measure what the codes find, and how long typed queries and whole sentences take."""
    setting = {"documents": len(collection), "learned on": collection.info()["learned_on"]}
    index = HammingIndex.build(stored(collection).codes, n_bits=collection.n_bits)
    # Sentences may hold quotation marks that are not closed, which the syntax of queries refuses.
    plain = [query.replace('"', " ") for query in queries]
    found, _ = index.search(collection.encode(queries), NEAREST)
    share = float(np.mean([len(np.intersect1d(*pair)) for pair in zip(truth, found, strict=True)])) / TOP
    what = f"share of the true top {TOP} in the {NEAREST} nearest codes"
    run.add(figure(f"share-{learned}", what, share, "share", setting=setting))
    typed = [" ".join(query.split()[:WORDS]) for query in plain]
    works = {
        "typed": lambda: [collection.search(query, TOP) for query in typed[:200]],
        "passages": lambda: collection.search_many(plain, TOP, ranking="cosine"),
    }
    for kind, timing in time_in_turns(works, repetitions=run.choose(3, 1), at_least=1).items():
        per = timing.per(len(timing.result))
        run.add(compare(f"{kind}-{learned}", f"queries: {kind}", {OURS: per}, "ms per query", setting=setting))


def changes(run: Run) -> None:
    """Measure the first search after a change, by the collection that made it and by another one that is open."""
    documents = data.sentences(run.quick).documents
    for size in run.choose(CHANGED_SIZES, (100, 200)):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, "some.sth")
            some = Learning(n_bits=16, n_neighbors=10) if run.quick else Learning(n_bits=BITS, sample_size=20_000)
            with (
                Collection.create(path, documents[:size], learning=some) as collection,
                Collection.open(path) as other,
            ):
                measure_changes(run, size, collection, other)


def measure_changes(run: Run, size: int, collection: Collection, other: Collection) -> None:
    """Change documents one at a time, and search for words of others."""
    texts = [document.document.text for document in collection.page(limit=run.choose(200, 20))]
    queries = [" ".join(re.findall(r"\w+", text)[:WORDS]) for text in texts]
    keys = [str(document.document.key) for document in collection.page(size // 2, run.choose(50, 5))]

    def search(place: int, searched: Collection) -> float:
        start = time.perf_counter()
        searched.search(queries[place], TOP, correct=False)
        return time.perf_counter() - start

    for reader in (collection, other):
        for place in range(len(queries)):
            search(place, reader)
    for kind in ("add", "delete"):
        seconds: dict[str, list[float]] = {"changing": [], "the same": [], "another": [], "warm": []}
        for place, key in enumerate(keys):
            start = time.perf_counter()
            if kind == "add":
                collection.add([texts[-1 - place]])
            else:
                collection.delete(key)
            seconds["changing"].append(time.perf_counter() - start)
            seconds["the same"].append(search(place, collection))
            seconds["another"].append(search(place, other))
            seconds["warm"].append(search(place, other))
        for what, times in seconds.items():
            named = what if what in ("changing", "warm") else f"first search of {what} collection"
            figured = figure(
                f"{kind}-{size}-{what.split()[-1]}",
                f"{kind} of one document: {named}, median",
                1000 * float(np.median(times)),
                "ms",
                setting={"documents": size},
            )
            run.add(figured)


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
    index = HammingIndex.build(codes)
    return sum(len(block.left) for block in index.pairs(radius)) / (len(codes) * (len(codes) - 1) / 2)


def index_bytes(codes: data.Codes, ids: np.ndarray) -> tuple[float, float]:
    """Give the bytes per code of an index that scans, and of one with tables."""
    index = HammingIndex.build(codes, ids, n_bits=BITS)
    index.build_tables()
    stats = index.stats
    plain = stats.code_bytes + stats.id_bytes
    return plain / len(codes), (plain + stats.table_bytes) / len(codes)


def task_speed(rng: np.random.Generator, size: int) -> float:
    """Give the comparisons per second, on one thread, of a task of the join: whole buckets of one band."""
    codes = rng.integers(0, 256, (BUCKETS * size, BITS // 8), dtype=np.uint8)
    codes[:, :2] = np.repeat(rng.integers(0, 256, (BUCKETS, 2), dtype=np.uint8), size, axis=0)

    def join() -> None:
        index = HammingIndex.build(codes, n_bits=BITS)
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
        Collection.create(Path(name, "some.sth"), documents, learning=Learning(n_bits=max(ALL_BITS))) as collection,
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


PARTS = {
    "million": million,
    "changes": changes,
    "texts-2m": partial(short_texts.measure, count=2_000_000),
    "texts-5m": partial(short_texts.measure, count=5_000_000, with_peer=False),
    "texts-5m-all": partial(short_texts.measure, count=5_000_000, sample_size=None, with_peer=False),
    "texts-10m": partial(short_texts.measure, count=10_000_000, with_peer=False),
    "texts-20m": partial(short_texts.measure, count=20_000_000, with_peer=False),
    "codes-100m": many_codes.measure,
    "plan": measure,
}

if __name__ == "__main__":
    main(__file__, __doc__, PARTS, peers=["tantivy"])
