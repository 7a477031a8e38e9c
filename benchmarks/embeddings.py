"""Embeddings: recall per byte, what each ingredient brings, and recall against queries per second.

``recall``: the share of the true top 10 among the first 10, 30 and 100, all bytes stored per vector counted. All
methods learn from the same 20,000 vectors. ``ablation``: the same with one ingredient left out. ``speed``: queries per
second and processor, one by one and in a batch, against hnswlib, FAISS and usearch. ``million``: one million vectors.

MiniLM embeddings come from ``STHASH_DATA``. ``--vectors FILE.npy`` adds a set of your own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import faiss
import numpy as np
import numpy.typing as npt

import vector_speed
from harness import Run, figure, main
from sthash import EmbeddingQuantizer, HammingIndex
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
    """Compare indexes: recall against queries per processor second. With sets of your own, only on these."""
    for name, corpus, queries in sets(run, own_only=True):
        vector_speed.compare_speed(run, name, corpus, queries, nearest(corpus, queries), run.arguments.picture)


def million(run: Run) -> None:
    """Build and search one million vectors: real ones plus small noise."""
    real = np.vstack([np.vstack([corpus, queries]) for _, corpus, queries in sets(run, given=False)])
    vector_speed.million(run, real, run.choose(1_000_000, 3000))


# Data


def sets(run: Run, *, given: bool = True, own_only: bool = False) -> Iterator[tuple[str, Vectors, Vectors]]:
    """Yield the name, the corpus and the queries of each set, unit rows.

    ``given`` says whether those of the user are among them, ``own_only`` whether these are then the only ones.
    """
    paths = run.arguments.vectors if given else []
    if run.quick:
        loaded = {"made-up": made_up(1300, 32)}
    else:
        folder, names = datasets.data_dir(), () if own_only and paths else ("20news", "debian")
        loaded = {name: np.load(folder / f"minilm_{name}.npz")["vectors"] for name in names}
        for path in paths:
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
    parser.add_argument("--picture", type=Path, help="draw speed to FILE.svg, the name of the set added")


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        {"recall": recall, "ablation": ablation, "speed": speed, "million": million},
        peers=["faiss-cpu", "hnswlib", "usearch"],
        options=options,
    )
