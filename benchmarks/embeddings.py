"""Embeddings: recall per byte, what each ingredient brings, and recall against queries per second.

``recall``: the share of the true top 10 among the first 10, 30 and 100, all bytes stored per vector counted. All
methods learn from the same 20,000 vectors. ``long``: the same at 96, 192 and 384 bytes. ``hamming``: plain Hamming
codes of the recipe ``embeddings`` against PCA-ITQ. ``ablation``: codes of the quantizer with one ingredient left out.
``speed``: queries per second and processor, one by one and in a batch, against hnswlib, FAISS, ScaNN and usearch.
``million``: one million vectors. ``disk``: five million, built on disk. ``filters``: searches among all vectors, a
tenth, and fewer, against hnswlib, FAISS and Chroma. ``growth``: an index that grows to ten times its size by single
vectors, against a new one. ``collection``: collections of 243,000 and 39,000 embeddings with their texts against Chroma
and LanceDB, and against hnswlib, which has no texts.

MiniLM embeddings come from ``STHASH_DATA``. ``static244k`` are static embeddings of all descriptions of vulnerabilities
and Debian packages, made here: 244,163, and 1,000 as queries. ``--vectors FILE.npy`` adds a set of your own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

import vector_filters
import vector_speed
import vector_stores
from data import descriptions, shares
from embedding_peers import found_by_hamming, nearest, peers, rank
from harness import OURS, Run, figure, main
from static_embeddings import Encoder, description_vectors
from sthash import EmbeddingQuantizer, SelfTaughtHashing
from sthash.baselines import IterativeQuantization
from sthash.hashing import codebooks, contrast, embedding_quantizer
from sthash.reproduction import datasets
from sthash.vectors.lengths import unit_rows

MINILM, STATIC = ("20news", "debian"), "static244k"
K = 10
FIRST = (10, 30, 100)
BUDGETS, QUICK_BUDGETS = (8, 16, 32, 48, 64), (16,)
LONG_BUDGETS, QUICK_LONG_BUDGETS = (96, 192, 384), (33,)
LEARNING = 20_000
ASKED_STORES = 350  # queries that stores of documents are asked
LENGTHS = (64, 128, 256, 384, 512)
# The standard deviation of closeness among MiniLM's vectors of 20Newsgroups.
SPREAD_OF_MINILM = 0.061
Vectors = npt.NDArray[np.float32]
Points = dict[str, list[tuple[int, float]]]


def recall(run: Run) -> None:
    """Compare codes of the same size."""
    points = compare_codes(run, (*MINILM, STATIC), run.choose(BUDGETS, QUICK_BUDGETS))
    if picture := run.picture("embeddings-recall.svg"):
        draw(points, picture)


def long(run: Run) -> None:
    """Compare codes of 2 to 8 bits per dimension, and those that are not learned. Sets of your own come alone."""
    compare_codes(run, () if run.arguments.vectors else MINILM, run.choose(LONG_BUDGETS, QUICK_LONG_BUDGETS))


def compare_codes(run: Run, names: Sequence[str], budgets: Sequence[int]) -> dict[str, Points]:
    """Add the rows of codes of some sizes."""
    points: dict[str, Points] = {}
    for name, corpus, queries in sets(run, names):
        truth = nearest(corpus, queries, K)
        sample = corpus[:LEARNING]
        for budget in budgets:
            start = time.process_time()
            quantizer = EmbeddingQuantizer(budget, threads=1).fit(sample)
            learned = time.process_time()
            codes = quantizer.transform(corpus)
            rate = len(corpus) / max(time.process_time() - learned, 1e-9)
            mine = shares(first_by_scores(quantizer, codes, queries), truth, corpus, queries, FIRST)
            details = {"learning, CPU seconds": learned - start, "vectors encoded per CPU second": rate}
            if budget in (*LONG_BUDGETS, *QUICK_LONG_BUDGETS):
                any_vectors = EmbeddingQuantizer(budget, learned=False, threads=1).fit(sample)
                found = first_by_scores(any_vectors, any_vectors.transform(corpus), queries)
                names_ = [f"not learned, among {first}" for first in FIRST]
                details |= dict(zip(names_, shares(found, truth, corpus, queries, FIRST), strict=True))
            points.setdefault(name, {}).setdefault(OURS, []).append((budget, mine[0]))
            for peer, found in peers(budget, sample, corpus, queries):
                theirs = shares(found, truth, corpus, queries, FIRST)
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
    return points


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
    if run.quick:
        contrast.STEPS = 30
    without: dict[str, Any] = {
        "moving the directions": mock.patch.multiple(contrast, STEPS=0),
        "neighbors in a batch": mock.patch.multiple(
            contrast, ANCHORS=contrast.ANCHORS * contrast.NEIGHBORS, NEIGHBORS=0
        ),
        "a rotated start": mock.patch.object(contrast, "quantizing_frames", random_directions),
        "half of the steps": mock.patch.multiple(contrast, STEPS=contrast.STEPS // 2),
        "angles": mock.patch.object(contrast, "closeness", cosines),
        "a low temperature": mock.patch.multiple(contrast, TEMPERATURE=2.0),
        "a temperature that follows the spread": mock.patch.object(contrast, "spread", return_value=SPREAD_OF_MINILM),
        "a steep tangent": mock.patch.multiple(contrast, STEEPNESS=0.5),
    }
    for name, corpus, queries, lengths in with_narrow_cosines(run):
        truth, sample = nearest(corpus, queries, K), corpus[:LEARNING]

        def found_by(
            hasher: Any, corpus: Vectors = corpus, queries: Vectors = queries, truth: Any = truth
        ) -> list[float]:
            found = found_by_hamming(hasher.transform(corpus), hasher.decision_function(queries))
            return shares(found, truth, corpus, queries, FIRST)

        for n_bits in lengths:
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


def with_narrow_cosines(run: Run) -> Iterator[tuple[str, Vectors, Vectors, tuple[int, ...]]]:
    """Yield each set with its lengths of codes, then the first one with a common part added to all vectors.

    The cosines then lie close together, as those of some models do.
    """
    first = None
    for name, corpus, queries in sets(run, (*MINILM, STATIC)):
        first = first or (name, corpus, queries)
        yield name, corpus, queries, run.choose(LENGTHS, (16,))
    if first is not None:
        common = np.random.default_rng(5).standard_normal(first[1].shape[1]).astype(np.float32)
        common *= 2 / np.linalg.norm(common)
        yield f"{first[0]}, narrow", unit_rows(first[1] + common), unit_rows(first[2] + common), (run.choose(64, 16),)


def random_directions(rows: Vectors, n_bits: int, rng: np.random.Generator) -> Any:
    """Stand in for the rotated principal axes."""
    return rng.standard_normal((rows.shape[1], n_bits))


def cosines(rows: Vectors) -> Vectors:
    """Stand in for angles."""
    units = unit_rows(rows)
    return np.asarray(units @ units.T)


def ablation(run: Run) -> None:
    """Leave out one ingredient at a time."""
    without: dict[str, Any] = {
        "all": nullcontext(),
        "books of 256": mock.patch.object(embedding_quantizer, "_number_of_books", return_value=0),
        "beam": mock.patch.object(codebooks, "BEAM_WORK", 1),
        "axes that grow": mock.patch.object(codebooks, "AXIS_STEPS", 1),
        "books solved for together": mock.patch.multiple(codebooks, BOOK_TURNS=0, LAST_TURNS=0),
        "turns between signs and vectors": mock.patch.object(codebooks, "SIGN_TURNS", 0),
        "second rotation": mock.patch.object(codebooks, "ROTATION_SHARE", 1.0),
        "correction": nullcontext(),
        "correction for the sum of errors": mock.patch.object(embedding_quantizer, "SUM_WEIGHT", 0.0),
    }
    for name, corpus, queries in sets(run, MINILM):
        truth = nearest(corpus, queries, K)
        for budget in run.choose((8, 16, 48), (8,)):
            for left_out, patch in without.items():
                with patch:
                    quantizer = EmbeddingQuantizer(budget, threads=1).fit(corpus[:LEARNING])
                    codes = quantizer.transform(corpus)
                if left_out == "correction":
                    quantizer.corrections_ = np.tile(np.float32([1, 0]), (256, 1))
                found = shares(first_by_scores(quantizer, codes, queries), truth, corpus, queries, FIRST)
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
    for name, corpus, queries in sets(run, () if run.arguments.vectors else (STATIC,)):
        vector_speed.compare_speed(run, name, corpus, queries, nearest(corpus, queries, K))


def million(run: Run) -> None:
    """Build and search one million vectors: real ones plus small noise."""
    real = np.vstack([np.vstack([corpus, queries]) for _, corpus, queries in sets(run, MINILM, given=False)])
    vector_speed.million(run, real, run.choose(1_000_000, 3000))


def disk(run: Run) -> None:
    """Build an index of five million vectors, real ones plus small noise, from a generator of batches within 4 GiB."""
    real = np.vstack([np.vstack([corpus, queries]) for _, corpus, queries in sets(run, MINILM, given=False)])
    vector_speed.from_disk(run, real, run.choose(5_000_000, 20_000))


def filters(run: Run) -> None:
    """Compare searches among some of the vectors. With sets of your own, only on these."""
    for name, corpus, queries in sets(run, () if run.arguments.vectors else (STATIC,)):
        vector_filters.compare_filters(run, name, corpus, queries)


def growth(run: Run) -> None:
    """Compare an index that grew with a new one. With sets of your own, only on these."""
    for name, corpus, queries in sets(run, () if run.arguments.vectors else (STATIC,)):
        vector_filters.compare_growth(run, name, corpus, queries, nearest(corpus, queries, K))


def collection(run: Run) -> None:
    """Compare collections of embeddings, documents included, with local vector stores."""
    asked, wanted = run.choose(ASKED_STORES, 80), run.choose(243_000, 1200)
    texts = descriptions(run.quick).texts[: wanted + asked]
    rows = Encoder().encode(texts)
    kept = np.flatnonzero(rows.any(axis=1))
    rows, texts = np.ascontiguousarray(rows[kept]), [texts[place] for place in kept.tolist()]
    corpus, queries = rows[asked:], rows[:asked]
    truth = nearest(corpus, queries, K)
    vector_stores.compare_stores(run, "static embeddings", corpus, texts[asked:], queries, truth)
    if not run.quick:
        ((_, corpus, queries),) = sets(run, ("debian",), given=False)
        texts = [f"text {number}" for number in range(len(corpus))]
        queries = queries[:ASKED_STORES]
        vector_stores.compare_stores(run, "MiniLM embeddings", corpus, texts, queries, nearest(corpus, queries, K))


# Data


def sets(run: Run, names: Sequence[str], *, given: bool = True) -> Iterator[tuple[str, Vectors, Vectors]]:
    """Yield the name, the corpus and the queries of each set, unit rows.

    ``given`` says whether those of the user come after them. In a quick run one made-up set stands for all.
    """
    load: dict[str, Callable[[], Any]] = {name: partial(stored, name) for name in names}
    for path in run.arguments.vectors if given else ():
        load[path.stem] = partial(np.load, path)
    for name, rows_of in ({"made-up": partial(made_up, 1300, 32)} if run.quick else load).items():
        vectors = rows_of().astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
        order = np.random.default_rng(0).permutation(len(vectors))
        asked = run.choose(1000, 50)
        yield name, np.ascontiguousarray(vectors[order[asked:]]), np.ascontiguousarray(vectors[order[:asked]])


def stored(name: str) -> Any:
    """Return the rows of one of our own sets."""
    return description_vectors() if name == STATIC else np.load(datasets.data_dir() / f"minilm_{name}.npz")["vectors"]


def made_up(n: int, d: int) -> Vectors:
    """Vectors around centers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, d))[rng.integers(0, 30, n)] + 0.5 * rng.normal(size=(n, d))
    return rows.astype(np.float32)


def first_by_scores(quantizer: EmbeddingQuantizer, codes: Any, queries: Vectors) -> Any:
    """Find the 100 largest scores of each query."""
    return quantizer.search(queries, codes, FIRST[-1])[0]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--vectors", type=Path, action="append", default=[], help="one more set, a .npy file")


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        {
            "recall": recall,
            "long": long,
            "hamming": hamming,
            "ablation": ablation,
            "speed": speed,
            "million": million,
            "disk": disk,
            "filters": filters,
            "growth": growth,
            "collection": collection,
        },
        peers=["faiss-cpu", "hnswlib", "usearch", "scann", "chromadb", "lancedb"],
        options=options,
    )
