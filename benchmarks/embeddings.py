"""Embeddings: recall per byte, what each ingredient brings, and recall against queries per second.

``recall``: the share of the true top 10 among the first 10, 30 and 100, all bytes stored per vector counted. All
methods learn from the same 20,000 vectors. ``hamming``: plain Hamming codes of the recipe ``embeddings`` against
PCA-ITQ. ``ablation``: codes of the quantizer with one ingredient left out. ``speed``: queries per second and processor,
one by one and in a batch, against hnswlib, FAISS and usearch.

MiniLM embeddings come from ``STHASH_DATA``. ``--vectors FILE.npy`` adds a set of your own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import faiss
import hnswlib
import numpy as np
import numpy.typing as npt

from embedding_peers import found_by_hamming, nearest, peers, rank
from harness import OURS, RESULTS, Run, figure, installed, main
from sthash import EmbeddingQuantizer, SelfTaughtHashing, VectorIndex
from sthash.baselines import IterativeQuantization
from sthash.hashing import codebooks, contrast, embedding_quantizer
from sthash.reproduction import datasets

K = 10
FIRST = (10, 30, 100)
BUDGETS, QUICK_BUDGETS = (8, 16, 32, 48, 64), (16,)
LEARNING = 20_000
LENGTHS = (64, 128, 256, 384, 512)
Vectors = npt.NDArray[np.float32]
Search = Callable[[Vectors], Any]
Points = dict[str, list[tuple[int, float]]]


def recall(run: Run) -> None:
    """Compare codes of the same size."""
    points: dict[str, Points] = {}
    for name, corpus, queries in sets(run):
        truth = nearest(corpus, queries, K)
        sample = corpus[:LEARNING]
        for budget in run.choose(BUDGETS, QUICK_BUDGETS):
            start = time.process_time()
            quantizer = EmbeddingQuantizer(budget, threads=1).fit(sample)
            learned = time.process_time()
            codes = quantizer.transform(corpus)
            rate = len(corpus) / max(time.process_time() - learned, 1e-9)
            mine = shares(first_by_scores(quantizer, codes, queries), truth)
            details = {"learning, CPU seconds": learned - start, "vectors encoded per CPU second": rate}
            points.setdefault(name, {}).setdefault(OURS, []).append((budget, mine[0]))
            for peer, found in peers(budget, sample, corpus, queries):
                theirs = shares(found, truth)
                points[name].setdefault(peer, []).append((budget, theirs[0]))
                for first, ours, other in zip(FIRST, mine, theirs, strict=True):
                    run.add(
                        figure(
                            f"{name}-{budget}-{peer}-{first}",
                            f"{name}, {budget} bytes, top {K} among {first}",
                            ours,
                            "share",
                            peer=peer,
                            theirs=other,
                            least_ratio=1.0,
                            setting={"set": name, "bytes": budget, "first": first, "vectors": len(corpus)},
                            details=details,
                        )
                    )
    if not run.quick:
        draw(points, RESULTS.parent.parent / "docs" / "images" / "embeddings-recall.svg")


def draw(points: dict[str, Points], path: Path) -> None:
    """Draw recall against bytes per vector."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "sthash", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    chart, axes = plt.subplots(1, len(points), figsize=(3.6 * len(points), 3.4), sharey=True, squeeze=False)
    for panel, (name, lines) in zip(axes[0], points.items(), strict=True):
        for peer, places in lines.items():
            style = {"linewidth": 2.2, "color": "black"} if peer == OURS else {"linewidth": 1.0}
            panel.plot(*zip(*places, strict=True), marker="o", markersize=3, label=peer, **style)
        panel.set(title=name, xlabel="bytes per vector")
    axes[0][0].set_ylabel("share of the true top 10 among the first 10")
    handles, labels = axes[0][-1].get_legend_handles_labels()
    chart.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=4, frameon=False)
    chart.savefig(path, bbox_inches="tight", metadata={"Date": None})


def hamming(run: Run) -> None:
    """Compare plain Hamming codes of the recipe for embeddings with PCA-ITQ, and with one ingredient left out."""
    without: dict[str, Any] = {
        "moving the directions": mock.patch.multiple(contrast, STEPS=0),
        "neighbors in a batch": mock.patch.multiple(
            contrast, ANCHORS=contrast.ANCHORS * contrast.NEIGHBORS, NEIGHBORS=0
        ),
        "a low temperature": mock.patch.multiple(contrast, TEMPERATURE=0.2),
        "a steep tangent": mock.patch.multiple(contrast, STEEPNESS=0.5),
    }
    if run.quick:
        contrast.STEPS = 30
    for name, corpus, queries in sets(run):
        truth, sample = nearest(corpus, queries, K), corpus[:LEARNING]

        def found_by(
            hasher: Any, corpus: Vectors = corpus, queries: Vectors = queries, truth: Any = truth
        ) -> list[float]:
            found = found_by_hamming(hasher.transform(corpus), hasher.decision_function(queries))
            return shares(found, truth)

        for n_bits in run.choose(LENGTHS, (16,)):
            start = time.process_time()
            hasher = SelfTaughtHashing(n_bits, recipe="embeddings", threads=1).fit(sample)
            details = {"learning, CPU seconds": time.process_time() - start}
            mine = found_by(hasher)
            theirs = found_by(IterativeQuantization(min(n_bits, rank(sample))).fit(sample))
            for first, ours, other in zip(FIRST, mine, theirs, strict=True):
                run.add(
                    figure(
                        f"{name}-{n_bits}-{first}",
                        f"{name}, {n_bits} bits, plain Hamming distance, top {K} among {first}",
                        ours,
                        "share",
                        peer="PCA-ITQ",
                        theirs=other,
                        least_ratio=1.0,
                        setting={"set": name, "bits": n_bits, "first": first, "vectors": len(corpus)},
                        details=details,
                    )
                )
            for left_out, patch in without.items() if n_bits in (16, 64) else ():
                with patch:
                    found = found_by(SelfTaughtHashing(n_bits, recipe="embeddings", threads=1).fit(sample))
                run.add(
                    figure(
                        f"{name}-{n_bits}-without-{left_out}",
                        f"{name}, {n_bits} bits, plain Hamming distance, without {left_out}",
                        found[0],
                        "share",
                        setting={"set": name, "bits": n_bits},
                        details={f"among {first}": value for first, value in zip(FIRST, found, strict=True)},
                    )
                )


def ablation(run: Run) -> None:
    """Leave out one ingredient at a time."""
    without: dict[str, Any] = {
        "all": mock.patch.object(embedding_quantizer, "BEAM", embedding_quantizer.BEAM),
        "books of 256": mock.patch.object(embedding_quantizer, "_number_of_books", return_value=0),
        "beam": mock.patch.object(embedding_quantizer, "BEAM", 1),
        "books solved for together": mock.patch.object(codebooks, "BOOK_TURNS", 0),
        "turns between signs and vectors": mock.patch.object(codebooks, "SIGN_TURNS", 0),
        "second rotation": mock.patch.object(codebooks, "ROTATION_SHARE", 1.0),
        "correction": mock.patch.object(embedding_quantizer, "SUM_WEIGHT", embedding_quantizer.SUM_WEIGHT),
        "correction for the sum of errors": mock.patch.object(embedding_quantizer, "SUM_WEIGHT", 0.0),
    }
    for name, corpus, queries in sets(run):
        truth = nearest(corpus, queries, K)
        for budget in run.choose((8, 16, 48), (8,)):
            for left_out, patch in without.items():
                with patch:
                    quantizer = EmbeddingQuantizer(budget, threads=1).fit(corpus[:LEARNING])
                    codes = quantizer.transform(corpus)
                if left_out == "correction":
                    quantizer.corrections_ = np.tile(np.float32([1, 0]), (256, 1))
                found = shares(first_by_scores(quantizer, codes, queries), truth)
                run.add(
                    figure(
                        f"{name}-{budget}-{left_out}",
                        f"{name}, {budget} bytes, {'all' if left_out == 'all' else 'without ' + left_out}",
                        found[0],
                        "share",
                        setting={"set": name, "bytes": budget},
                        details={f"among {first}": value for first, value in zip(FIRST, found, strict=True)},
                    )
                )


def speed(run: Run) -> None:
    """Compare indexes: recall against queries per processor second."""
    for name, corpus, queries in sets(run):
        truth = nearest(corpus, queries, K)
        points = list(points_of_ours(corpus))
        points += list(points_of_peers(corpus))
        for index, setting, built, extra_bytes, search in points:
            found, batch, single = timed(search, queries)
            run.add(
                figure(
                    f"{name}-{index}-{setting}",
                    f"{name}, {index}, {setting}",
                    shares(found, truth)[0],
                    "recall",
                    setting={"set": name, "index": index, "at": setting, "vectors": len(corpus)},
                    details={
                        "batch, queries/s": batch,
                        "one by one, queries/s": single,
                        "build, CPU seconds": built,
                        "bytes per vector": extra_bytes,
                    },
                )
            )


def points_of_ours(corpus: Vectors) -> Iterator[tuple[str, str, float, float, Search]]:
    """Yield our index at several settings."""
    start = time.process_time()
    index = VectorIndex.build(corpus, threads=1)
    built = time.process_time() - start
    for probes in (8, 16, 32, 64, 128):
        yield (
            OURS,
            f"probes {probes}",
            built,
            index.nbytes / len(corpus),
            lambda queries, probes=probes: index.search(queries, K, probes=probes, threads=1)[0],  # type: ignore[misc]
        )


def points_of_peers(corpus: Vectors) -> Iterator[tuple[str, str, float, float, Search]]:
    """Yield hnswlib, FAISS and usearch at several settings. Bytes are those of the graph, without the vectors."""
    faiss.omp_set_num_threads(1)
    links = 4.0 * (2 * 16 + 1) + 8
    start = time.process_time()
    graph = hnswlib.Index("ip", corpus.shape[1])
    graph.init_index(len(corpus), M=16, ef_construction=200)
    graph.set_num_threads(1)
    graph.add_items(corpus)
    built = time.process_time() - start

    def by_hnswlib(queries: Vectors, ef: int) -> Any:
        graph.set_ef(ef)
        return graph.knn_query(queries, K)[0]

    for ef in (20, 40, 80, 160):
        yield "hnswlib", f"ef {ef}", built, links, lambda queries, ef=ef: by_hnswlib(queries, ef)  # type: ignore[misc]
    start = time.process_time()
    theirs = faiss.index_factory(corpus.shape[1], "HNSW16,Flat", faiss.METRIC_INNER_PRODUCT)
    theirs.hnsw.efConstruction = 200
    theirs.add(corpus)
    built = time.process_time() - start

    def by_faiss(queries: Vectors, ef: int) -> Any:
        theirs.hnsw.efSearch = ef
        return theirs.search(queries, K)[1]

    for ef in (20, 40, 80, 160):
        yield "FAISS HNSW", f"ef {ef}", built, links, lambda queries, ef=ef: by_faiss(queries, ef)  # type: ignore[misc]
    if installed("usearch"):
        from usearch.index import Index

        start = time.process_time()
        other = Index(ndim=corpus.shape[1], metric="ip", connectivity=16, expansion_add=200)
        other.add(np.arange(len(corpus)), corpus, threads=1)
        built = time.process_time() - start

        def by_usearch(queries: Vectors, ef: int) -> Any:
            other.expansion_search = ef
            return np.atleast_2d(other.search(queries, K, threads=1).keys)

        for ef in (20, 80, 160):
            yield "usearch", f"ef {ef}", built, links, lambda queries, ef=ef: by_usearch(queries, ef)  # type: ignore[misc]


def timed(search: Search, queries: Vectors) -> tuple[Any, float, float]:
    """Return what was found, and the queries per processor second in a batch and one by one."""
    search(queries[:1])
    start = time.process_time()
    found = search(queries)
    middle = time.process_time()
    some = queries[:300]
    for place in range(len(some)):
        search(some[place : place + 1])
    end = time.process_time()
    return found, len(queries) / max(middle - start, 1e-9), len(some) / max(end - middle, 1e-9)


# Data


def sets(run: Run) -> Iterator[tuple[str, Vectors, Vectors]]:
    """Yield the name, the corpus and the queries of each set, unit rows."""
    if run.quick:
        loaded = {"made-up": made_up(1300, 32)}
    else:
        folder = datasets.data_dir()
        loaded = {name: np.load(folder / f"minilm_{name}.npz")["vectors"] for name in ("20news", "debian")}
        for path in run.arguments.vectors:
            loaded[path.stem] = np.load(path)
    for name, rows in loaded.items():
        vectors = rows.astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
        order = np.random.default_rng(0).permutation(len(vectors))
        asked = run.choose(1000, 50)
        yield name, np.ascontiguousarray(vectors[order[asked:]]), np.ascontiguousarray(vectors[order[:asked]])


def made_up(n: int, d: int) -> Vectors:
    """Vectors around centers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, d))[rng.integers(0, 30, n)] + 0.5 * rng.normal(size=(n, d))
    return rows.astype(np.float32)


def first_by_scores(quantizer: EmbeddingQuantizer, codes: Any, queries: Vectors) -> Any:
    """Find the 100 largest scores of each query, from decoded vectors, as `search` does."""
    n_books = len(quantizer.books_)
    words = embedding_quantizer.Codewords(quantizer.books_, quantizer.axes_.T[:, :0], 1)
    sums = codebooks.decode(codes[:, :n_books], words) @ quantizer.axes_.T if n_books else 0
    sums = sums + codebooks.signs_of(codes[:, n_books:-1]) @ quantizer.signs_.T
    factors, shifts = quantizer.corrections_[codes[:, -1]].T
    return nearest(sums * factors[:, None], queries - quantizer.mean_, FIRST[-1], shifts)


def shares(found: Any, truth: Any) -> list[float]:
    """Share of the true neighbors among the first 10, 30 and 100."""
    return [
        float(np.mean([np.isin(true, some[:first]).mean() for some, true in zip(found, truth, strict=True)]))
        for first in FIRST
    ]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--vectors", type=Path, action="append", default=[], help="one more set, a .npy file")


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        {"recall": recall, "hamming": hamming, "ablation": ablation, "speed": speed},
        peers=["faiss-cpu", "hnswlib", "usearch"],
        options=options,
    )
