"""Indexes of embeddings against each other: recall against queries per second, build time, memory; and one million.

Not a script: embeddings.py runs it. Times are processor seconds of one thread (graphs are built by two, whose seconds
are added up), except those of one million, which are by the clock on two threads. Indexes take turns, and the best of
several rounds counts. Between two measured points, queries per second at a given recall are interpolated, their
logarithm linearly.
"""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import hnswlib
import numpy as np
import numpy.typing as npt

from data import shares
from harness import OURS, Run, figure, installed
from sthash import VectorIndex

K = 10
ROUNDS = 2
SINGLES = 300
WANTED = 0.95  # recall at which indexes are compared, and for which there are goals
ALL_WANTED = (0.9, WANTED, 0.99)
LEAST_FOR_SCANN = 10_000  # vectors
LARGE = 200_000  # vectors from which on the goals hold
LINKS, CONSTRUCTION = 16, 200  # of graphs
BUILDERS = 2  # threads that build a graph: their processor seconds are added up
NOISE = 0.3  # length of what is added to unit vectors to make a million of them
Vectors = npt.NDArray[np.float32]
Search = Callable[[Vectors], Any]


@dataclass
class Point:
    """An index at one setting, and what was measured."""

    index: str
    setting: str
    build_seconds: float
    bytes_per_vector: float
    search: Search
    recall: float = 0.0
    batch: float = 0.0
    single: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


def compare_speed(run: Run, name: str, corpus: Vectors, queries: Vectors, truth: Any) -> None:
    """Measure all indexes on a set, and compare ours with each peer at equal recall."""
    points = [*ours(corpus), *peers(corpus)]
    for _ in range(ROUNDS):
        for point in points:
            measure(point, corpus, queries, truth)
    for point in points:
        run.add(
            figure(
                f"{name}-{point.index}-{point.setting}",
                f"{name}, {point.index}, {point.setting}",
                point.recall,
                "recall",
                setting={"set": name, "index": point.index, "at": point.setting, "vectors": len(corpus)},
                details={
                    "batch, queries/s": point.batch,
                    "one by one, queries/s": point.single,
                    "build, CPU seconds": point.build_seconds,
                    "bytes per vector": point.bytes_per_vector,
                },
            )
        )
    for mine in (OURS, f"{OURS} float16"):
        for peer in dict.fromkeys(point.index for point in points if not point.index.startswith(OURS)):
            compare_at(run, name, len(corpus), [one for one in points if one.index in (mine, peer)], mine, peer)
    if picture := run.picture(f"embedding-speed-{name}.svg"):
        draw(points, picture)


def compare_at(run: Run, name: str, size: int, points: list[Point], mine: str, peer: str) -> None:
    """Add the rows of ours against a peer, at the recall that is wanted."""
    own, other = ([one for one in points if one.index == index] for index in (mine, peer))
    if not own or not other:
        return
    large, strict = size >= LARGE, size >= LARGE and peer == "hnswlib"
    common: dict[str, Any] = {"peer": peer, "setting": {"set": name, "vectors": size, "recall": WANTED, "index": mine}}
    for (kind, least), wanted in itertools.product((("batch", 2.0), ("single", 1.0)), ALL_WANTED):
        rates = [rate_at(some, kind, wanted) for some in (own, other)]
        if None not in rates:
            what = f"{name}, {'in a batch' if kind == 'batch' else 'one by one'}, recall {wanted}"
            goal = (least if strict and wanted == WANTED else 1.0) if large else None
            common["setting"] = {"set": name, "vectors": size, "recall": wanted, "index": mine}
            run.add(
                figure(
                    f"{name}-{kind}-{mine}-{peer}" + ("" if wanted == WANTED else f"-{wanted}"),
                    what,
                    rates[0],
                    "queries/s",
                    theirs=rates[1],
                    least_ratio=goal,
                    **common,
                )  # type: ignore[arg-type]
            )
    seconds, sizes = (
        [getattr(some[0], what) for some in (own, other)] for what in ("build_seconds", "bytes_per_vector")
    )
    goal = 5.0 if strict else None
    run.add(
        figure(
            f"{name}-build-{mine}-{peer}",
            f"{name}, build",
            seconds[0],
            "s",
            theirs=seconds[1],
            least_ratio=goal,
            **common,
        )
    )
    goal = 4.0 if strict else None
    what = f"{name}, memory without vectors"
    run.add(
        figure(
            f"{name}-memory-{mine}-{peer}", what, sizes[0], "bytes/vector", theirs=sizes[1], least_ratio=goal, **common
        )
    )


def rate_at(points: list[Point], kind: str, wanted: float) -> float | None:
    """Return the queries per second at the recall that is wanted; None if it was not reached, or only exceeded."""
    ordered = sorted(points, key=lambda point: point.recall)
    for low, high in itertools.pairwise(ordered):
        if low.recall <= wanted <= high.recall:
            share = (wanted - low.recall) / max(high.recall - low.recall, 1e-9)
            ends = [math.log(max(getattr(point, kind), 1e-9)) for point in (low, high)]
            return math.exp(ends[0] + share * (ends[1] - ends[0]))
    return None


def measure(point: Point, corpus: Vectors, queries: Vectors, truth: Any) -> None:
    """Search in a batch and one by one; the best round counts."""
    point.search(queries[:1])
    start = time.process_time()
    found = point.search(queries)
    middle = time.process_time()
    some = queries[:SINGLES]
    for place in range(len(some)):
        point.search(some[place : place + 1])
    end = time.process_time()
    (point.recall,) = shares(found, truth, corpus, queries, (K,))
    point.batch = max(point.batch, len(queries) / max(middle - start, 1e-9))
    point.single = max(point.single, len(some) / max(end - middle, 1e-9))


def share(found: Any, truth: Any) -> float:
    """Share of the true neighbors that were found."""
    return float(np.mean([np.isin(true, some).mean() for some, true in zip(found, truth, strict=True)]))


def ours(corpus: Vectors) -> Iterator[Point]:
    """Yield our index at several settings, with vectors of two precisions."""
    for precision in ("float32", "float16"):
        start = time.process_time()
        index = VectorIndex.build(corpus, precision=precision, threads=1)
        built = time.process_time() - start
        for probes, candidates in ((10, 60), (20, 80), (32, 80), (40, 90), (48, 100), (64, 200), (96, 300), (160, 500)):

            def search(queries: Vectors, probes: int = probes, candidates: int = candidates, index: Any = index) -> Any:
                return index.search(queries, K, probes=probes, candidates=candidates, threads=1)[0]

            name = OURS if precision == "float32" else f"{OURS} {precision}"
            yield Point(
                name, f"probes {probes}, candidates {candidates}", built, index.stats.code_bytes / len(corpus), search
            )


def peers(corpus: Vectors) -> Iterator[Point]:
    """Yield graphs and inverted files at several settings. Bytes are those of the graph, without the vectors."""
    faiss.omp_set_num_threads(1)
    width = corpus.shape[1]
    start = time.process_time()
    graph = hnswlib.Index("ip", width)
    graph.init_index(len(corpus), M=LINKS, ef_construction=CONSTRUCTION)
    graph.add_items(corpus, num_threads=BUILDERS)
    graph.set_num_threads(1)
    built = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        graph.save_index(f"{folder}/graph")
        links = Path(folder, "graph").stat().st_size / len(corpus) - 4 * width

    def by_hnswlib(queries: Vectors, ef: int) -> Any:
        graph.set_ef(ef)
        return graph.knn_query(queries, K)[0]

    for ef in (20, 40, 60, 80, 160, 320):
        yield Point("hnswlib", f"ef {ef}", built, links, lambda queries, ef=ef: by_hnswlib(queries, ef))  # type: ignore[misc]
    if installed("usearch"):
        from usearch.index import Index

        start = time.process_time()
        other = Index(ndim=width, metric="ip", connectivity=LINKS, expansion_add=CONSTRUCTION)
        other.add(np.arange(len(corpus)), corpus, threads=BUILDERS)
        built = time.process_time() - start

        def by_usearch(queries: Vectors, ef: int) -> Any:
            other.expansion_search = ef
            return np.atleast_2d(other.search(queries, K, threads=1).keys)

        for ef in (20, 40, 80, 160, 320):
            yield Point("usearch", f"ef {ef}", built, links, lambda queries, ef=ef: by_usearch(queries, ef))  # type: ignore[misc]
    yield from inverted_files(corpus)
    if installed("scann") and len(corpus) >= LEAST_FOR_SCANN:
        yield from scann_points(corpus)


def inverted_files(corpus: Vectors) -> Iterator[Point]:
    """Yield FAISS's inverted files with short codes, whose candidates are compared by their vectors."""
    n, width = corpus.shape
    lists = max(1, round(math.sqrt(n)))
    for name, description, code_bytes in (
        ("FAISS IVF-PQ fast scan", f"IVF{lists},PQ{width // 4}x4fs,RFlat", width // 8),
        ("FAISS IVF-RaBitQ fast scan", f"IVF{lists},RaBitQfs,RFlat", width // 8 + 8),
    ):
        start = time.process_time()
        index = faiss.index_factory(width, description, faiss.METRIC_INNER_PRODUCT)
        index.train(corpus[: 60 * lists])
        index.add(corpus)
        built = time.process_time() - start

        def search(queries: Vectors, probes: int, factor: int, index: Any = index) -> Any:
            chosen = faiss.SearchParametersIVF(nprobe=probes)
            return index.search(
                queries, K, params=faiss.IndexRefineSearchParameters(k_factor=factor, base_index_params=chosen)
            )[1]

        for probes, factor in ((4, 4), (8, 8), (16, 8), (32, 10), (64, 20), (128, 40), (256, 60)):
            at = f"probes {probes}, candidates {K * factor}"
            yield Point(name, at, built, code_bytes + 8, partial(search, probes=min(probes, lists), factor=factor))


def scann_points(corpus: Vectors) -> Iterator[Point]:
    """Yield ScaNN: a tree, anisotropic hashing, and vectors for the candidates."""
    import scann

    leaves = round(math.sqrt(len(corpus)))
    start = time.process_time()
    builder = scann.scann_ops_pybind.builder(corpus, K, "dot_product")
    builder = builder.tree(leaves, leaves // 10, training_sample_size=min(len(corpus), 250_000))
    index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(100).build()
    built = time.process_time() - start

    def search(queries: Vectors, probes: int, candidates: int) -> Any:
        options = {"leaves_to_search": probes, "pre_reorder_num_neighbors": candidates, "final_num_neighbors": K}
        if len(queries) == 1:
            return index.search(queries[0], **options)[0][None]
        return index.search_batched(queries, **options)[0]

    for probes, candidates in ((5, 50), (10, 80), (20, 100), (40, 120), (60, 200), (100, 300), (200, 500)):
        at = f"leaves {probes}, candidates {candidates}"
        size = corpus.shape[1] / 4 + 8
        yield Point("ScaNN", at, built, size, partial(search, probes=probes, candidates=candidates))


def draw(points: list[Point], picture: Path) -> None:
    """Draw recall against queries per second, in a batch and one by one."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "sthash", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    drawn, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for panel, kind, title in zip(panels, ("batch", "single"), ("in a batch", "one by one"), strict=True):
        for index in dict.fromkeys(point.index for point in points):
            own = sorted((point for point in points if point.index == index), key=lambda point: point.recall)
            panel.plot([one.recall for one in own], [getattr(one, kind) for one in own], marker="o", label=index)
        panel.set(title=title, xlabel=f"share of the true top {K}", yscale="log")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("queries per CPU second")
    panels[0].legend(loc="lower left", frameon=False)
    drawn.savefig(picture, metadata={"Date": None})


def million(run: Run, real: Vectors, size: int) -> None:
    """Build an index of many vectors, real ones plus small noise, and search it one by one, all on two threads."""
    rng = np.random.default_rng(0)
    corpus = np.empty((size, real.shape[1]), dtype=np.float32)
    for first in range(0, size, 8192):
        corpus[first : first + 8192] = noisy(real[np.arange(first, min(first + 8192, size)) % len(real)], rng)
    queries = noisy(real[rng.choice(len(real), run.choose(300, 20), replace=False)], rng)
    best: Any = np.full((len(queries), 0), 0)
    scores: Any = np.zeros((len(queries), 0), dtype=np.float32)
    for first in range(0, size, 50_000):
        both = np.hstack([scores, queries @ corpus[first : first + 50_000].T])
        ids = np.hstack([best, np.tile(np.arange(first, min(first + 50_000, size)), (len(queries), 1))])
        chosen = np.argpartition(-both, K - 1, axis=1)[:, :K]
        scores, best = np.take_along_axis(both, chosen, 1), np.take_along_axis(ids, chosen, 1)
    start, cpu = time.perf_counter(), time.process_time()
    index = VectorIndex.build(corpus, precision="float16", threads=2)
    built, used = time.perf_counter() - start, time.process_time() - cpu
    del corpus
    index.search(queries, K, threads=2)
    start, cpu = time.perf_counter(), time.process_time()
    found = [index.search(query, K, threads=2)[0][0] for query in queries]
    single, single_cpu = (
        (now - then) / len(queries) for now, then in ((time.perf_counter(), start), (time.process_time(), cpu))
    )
    start = time.perf_counter()
    index.search(queries, K, threads=2)
    batch = len(queries) / (time.perf_counter() - start)
    setting = {"vectors": size, "dimensions": real.shape[1], "threads": 2, "noise": NOISE, "precision": "float16"}
    details = {"build, CPU seconds": used, "bytes per vector": index.stats.code_bytes / size, "batch, queries/s": batch}
    run.add(figure("build", "build", built, "s", setting=setting, details=details))
    run.add(figure("recall", f"share of the true top {K}", share(found, best), "recall", setting=setting))
    details = {"CPU ms": 1e3 * single_cpu}
    run.add(figure("single", "one query, one by one", 1e3 * single, "ms", setting=setting, details=details))


def from_disk(run: Run, real: Vectors, size: int) -> None:
    """Build an index of vectors that come in batches, within a limit of memory, and search it one by one."""
    asked = run.choose(100, 20)
    queries = noisy(real[np.random.default_rng(9).choice(len(real), asked, replace=False)], np.random.default_rng(1))

    def batches() -> Iterator[Vectors]:
        rng = np.random.default_rng(0)
        for first in range(0, size, 8192):
            yield noisy(real[np.arange(first, min(first + 8192, size)) % len(real)], rng)

    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), time.process_time()
        path = Path(folder, "index")
        index = VectorIndex.build(batches(), precision="float16", path=path, memory=run.choose("4GiB", "1GiB"))
        built, used = time.perf_counter() - start, time.process_time() - cpu
        peak = peak_memory()
        del index
        code = (
            "import sys, sthash; index = sthash.VectorIndex.open(sys.argv[1]); "
            "print(open('/proc/self/statm').read().split()[1])"
        )
        pages = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True).stdout
        index = VectorIndex.open(path)
        truth = index.search(queries, K, exact=True)[0]
        index.search(queries[:5], K, recall=0.9)
        start, cpu = time.perf_counter(), time.process_time()
        found = [index.search(query, K, recall=0.9, threads=1)[0][0] for query in queries]
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        bytes_ = path.stat().st_size
    setting = {"vectors": size, "dimensions": real.shape[1], "noise": NOISE, "precision": "float16", "memory": "4GiB"}
    details = {"build, CPU seconds": used, "bytes per vector, in the file": bytes_ / size}
    run.add(figure("build", "build on disk", built, "s", setting=setting, details=details))
    details = {"resident after opening, with Python": int(pages) * 4096 / 2**20, "vectors": bytes_ / 2**20}
    run.add(figure("memory", "peak memory of the build", peak / 2**20, "MiB", setting=setting, details=details))
    run.add(figure("recall", f"share of the true top {K}", share(found, truth), "recall", setting=setting))
    details = {"CPU ms": 1e3 * cpu_seconds / asked}
    run.add(figure("single", "one query, one by one", 1e3 * seconds / asked, "ms", setting=setting, details=details))


def peak_memory() -> int:
    """Return the most memory that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def noisy(rows: Vectors, rng: np.random.Generator) -> Vectors:
    """Add noise to unit vectors, and scale them to unit length."""
    added = rows + np.float32(NOISE / math.sqrt(rows.shape[1])) * rng.standard_normal(rows.shape, dtype=np.float32)
    return np.asarray(added / np.linalg.norm(added, axis=1, keepdims=True), dtype=np.float32)
