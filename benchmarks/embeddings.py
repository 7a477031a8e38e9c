"""Embeddings: recall per byte, what each ingredient brings, and recall against queries per second.

``recall``: the share of the true top 10 among the first 10, 30 and 100, all bytes stored per vector counted. All
methods learn from the same 20,000 vectors. ``ablation``: the same with one ingredient left out. ``speed``: queries per
second and processor, one by one and in a batch, against hnswlib, FAISS and usearch.

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

from harness import OURS, Run, figure, installed, main
from sthash import EmbeddingQuantizer, HammingIndex, VectorIndex
from sthash.baselines import IterativeQuantization
from sthash.blas import one_blas_thread
from sthash.hashing import codebooks, embedding_quantizer
from sthash.reproduction import datasets

K = 10
FIRST = (10, 30, 100)
BUDGETS, QUICK_BUDGETS = (8, 16, 32, 48, 64), (16,)
LEARNING = 20_000
FACTORS_OF_RABITQ = 8  # bytes per vector that it stores besides the bits
Vectors = npt.NDArray[np.float32]
Search = Callable[[Vectors], Any]


def recall(run: Run) -> None:
    """Compare codes of the same size."""
    for name, corpus, queries in sets(run):
        truth = nearest(corpus, queries)
        sample = corpus[:LEARNING]
        for budget in run.choose(BUDGETS, QUICK_BUDGETS):
            start = time.process_time()
            quantizer = EmbeddingQuantizer(budget, threads=1).fit(sample)
            learned = time.process_time()
            codes = quantizer.transform(corpus)
            rate = len(corpus) / max(time.process_time() - learned, 1e-9)
            mine = shares(first_by_scores(quantizer, codes, queries), truth)
            details = {"learning, CPU seconds": learned - start, "vectors encoded per CPU second": rate}
            for peer, found in peers(budget, sample, corpus, queries):
                theirs = shares(found, truth)
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


def peers(budget: int, sample: Vectors, corpus: Vectors, queries: Vectors) -> Iterator[tuple[str, Any]]:
    """Yield the peers that fit into the budget, and their 100 nearest vectors per query."""
    width = corpus.shape[1]
    whole = budget * (width // budget)
    bits = min(8 * budget, width)
    # Learning a rotation takes a minute, too long for a trial.
    # "np": no order of the centroids for Hamming distances, which takes long to learn and is not used here.
    described = {"FAISS OPQ": f"OPQ{budget}_{whole},PQ{budget}x8np"} if whole and len(corpus) > LEARNING // 2 else {}
    if width % budget == 0:
        described["FAISS PQ"] = f"PQ{budget}x8np"
    if budget > FACTORS_OF_RABITQ:
        kept = min(8 * (budget - FACTORS_OF_RABITQ), width)
        described["FAISS RaBitQ after PCA"] = f"PCA{kept},RaBitQ"
        described["FAISS IVF-RaBitQ FastScan after PCA"] = f"PCA{kept},IVF{max(1, len(corpus) // 1000)},RaBitQfs"
    for peer, description in described.items():
        yield peer, found_by_faiss(description, sample, corpus, queries)
    hasher = IterativeQuantization(min(bits, rank(sample))).fit(sample)
    yield "PCA-ITQ, margins", found_by_margins(hasher.transform(corpus), hasher.decision_function(queries))
    if 8 * budget >= width:
        yield "sign quantization", found_by_margins(np.packbits(corpus > 0, axis=1, bitorder="little"), queries)


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
        truth = nearest(corpus, queries)
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
        truth = nearest(corpus, queries)
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


def nearest(corpus: Vectors, queries: Vectors) -> Any:
    """Find the true neighbors."""
    return np.vstack([best(part @ corpus.T, K) for part in np.array_split(queries, max(1, len(queries) // 100))])


def best(scores: Any, k: int) -> Any:
    """Return the places of the k largest scores of each row, best first, the first one among equals."""
    scores = scores - 1e-11 * np.arange(scores.shape[1])
    k = min(k, scores.shape[1])
    places = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def first_by_scores(quantizer: EmbeddingQuantizer, codes: Any, queries: Vectors) -> Any:
    """Find the 100 largest scores of each query, from decoded vectors, which is the same and quicker in NumPy."""
    n_books = len(quantizer.books_)
    words = embedding_quantizer.Codewords(quantizer.books_, quantizer.axes_.T[:, :0], 1)
    sums = codebooks.decode(codes[:, :n_books], words) @ quantizer.axes_.T if n_books else 0
    sums = sums + codebooks.signs_of(codes[:, n_books:-1]) @ quantizer.signs_.T
    factors, shifts = quantizer.corrections_[codes[:, -1]].T
    vectors = (sums * factors[:, None]).T
    parts = np.array_split(queries - quantizer.mean_, max(1, len(queries) // 100))
    return np.vstack([best(part @ vectors + shifts, FIRST[-1]) for part in parts])


def found_by_faiss(description: str, sample: Vectors, corpus: Vectors, queries: Vectors) -> Any:
    """Find the 100 nearest codes of a FAISS index."""
    faiss.omp_set_num_threads(1)
    metric = faiss.METRIC_L2 if "RaBitQ" in description else faiss.METRIC_INNER_PRODUCT
    index = faiss.index_factory(corpus.shape[1], description, metric)
    with one_blas_thread():  # several wait for each other on a busy machine
        index.train(sample)
        index.add(corpus)
    if "IVF" in description:
        faiss.ParameterSpace().set_index_parameter(index, "nprobe", 1 << 30 if len(corpus) > 1 << 30 else 1024)
    return index.search(queries, FIRST[-1])[1]


def found_by_margins(codes: Any, margins: Any) -> Any:
    """Find the 100 nearest codes by the margins of the queries."""
    n_bits = margins.shape[1]
    index = HammingIndex(n_bits)
    index.add(codes)
    asked = np.packbits(margins > 0, axis=1, bitorder="little")
    return index.search(asked, FIRST[-1], weights=np.abs(margins), threads=1)[0]


def rank(rows: Vectors) -> int:
    """Return the number of independent directions of centered rows."""
    centered = rows - rows.mean(axis=0)
    return int(np.linalg.matrix_rank(centered.T @ centered, hermitian=True))


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
        {"recall": recall, "ablation": ablation, "speed": speed},
        peers=["faiss-cpu", "hnswlib", "usearch"],
        options=options,
    )
