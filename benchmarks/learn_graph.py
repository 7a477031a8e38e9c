"""The approximate graph of the 25 nearest neighbors, against pynndescent, hnswlib and the exact graph.

sparse    100,000 and all 244,163 descriptions of vulnerabilities and Debian packages, TF-IDF
dense     static embeddings of as many of them, 256 dimensions; ``--embeddings FILE.npy`` has others instead
growth    passages of these texts, from 60,000 to 1,000,000, each in a process of its own: seconds, recall and memory

Recall is that of `graph_recall`, for all contestants. Each peer has the cheapest of its settings that reaches our
recall; if none does, the one with the best recall. Their times have no compilation, and no conversion of their result.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import data
from harness import OURS, Run, compare, figure, main
from library import symmetric_graph
from static_embeddings import description_vectors
from sthash import TextVectorizer
from sthash.hashing import graph_recall, knn_graph
from timing import Timing, in_own_process, time_in_turns, timed

K, THREADS, LEAST_RECALL = 25, 2, 0.95
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\n+")
ROWS = 244_163  # of static embeddings: as many as there are texts without the queries
SIZES = (60_000, 125_000, 250_000, 500_000, 1_000_000)
# Neighbors, trees and iterations of pynndescent; M and ef_construction of hnswlib: the cheapest first.
DESCENTS: Sequence[dict[str, Any]] = ({"n_neighbors": 25}, {"n_neighbors": 40}, {"n_neighbors": 60})
HNSW = ((12, 80), (16, 120), (16, 200), (24, 300))

Vectors = Any
Lists = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


def graph_of(lists: Lists) -> sp.csr_array:
    """Make the graph of a peer's lists of neighbors and cosines, in which each row may be its own neighbor too."""
    rows, cosines = lists
    own = rows == np.arange(len(rows))[:, None]
    # The own row moves to the end.
    order = np.argsort(own, axis=1, kind="stable")[:, :K]
    rows, cosines, own = (np.take_along_axis(one, order, axis=1) for one in (rows, cosines, own))
    weights = np.where(own, 0, cosines).clip(0, 1).astype(np.float32)
    return symmetric_graph(np.ascontiguousarray(rows, dtype=np.int32), weights)


def descent(X: Vectors, n_neighbors: int) -> Lists:
    """Let pynndescent search."""
    from pynndescent import NNDescent

    index = NNDescent(X, metric="cosine", n_neighbors=n_neighbors, random_state=0, n_jobs=THREADS, compressed=False)
    rows, distances = index.neighbor_graph
    return rows.astype(np.int32), (1 - distances).astype(np.float32)


def hnsw(X: Vectors, m: int, ef: int) -> tuple[Any, Vectors]:
    """Let hnswlib build its index."""
    import hnswlib

    index = hnswlib.Index(space="cosine", dim=X.shape[1])
    index.init_index(max_elements=X.shape[0], ef_construction=ef, M=m, random_seed=0)
    index.set_num_threads(THREADS)
    index.add_items(X)
    return index, X


def hnsw_graph(found: tuple[Any, Vectors]) -> sp.csr_array:
    """Ask hnswlib's index for the neighbors of all rows, which takes longer again and is not timed."""
    index, X = found
    index.set_ef(2 * K)
    rows, distances = index.knn_query(X, k=K + 1, num_threads=THREADS)
    return graph_of((rows.astype(np.int32), (1 - distances).astype(np.float32)))


def cheapest(
    settings: Sequence[Any],
    build: Callable[[Any], Any],
    graph: Callable[[Any], sp.csr_array],
    X: Vectors,
    wanted: float,
) -> tuple[Any, Timing, float]:
    """Try the settings in turn until one reaches the wanted recall; else give the best one."""
    best: tuple[Any, Timing, float] = (None, Timing([math.inf], [math.inf]), -1.0)
    for setting in settings:
        timing = timed(lambda setting=setting: build(setting))  # type: ignore[misc]
        recall = graph_recall(graph(timing.result), X, K)
        if recall > best[2]:
            best = setting, Timing(timing.wall, timing.cpu), recall
        if recall >= wanted:
            break
    return best


def against_exact(run: Run, name: str, X: Vectors, least_ratio: float) -> float:
    """Time the approximate graph against the exact one; give its recall."""
    timings = time_in_turns(
        {
            OURS: lambda: knn_graph(X, K, exact=False, threads=THREADS),
            "exact": lambda: knn_graph(X, K, exact=True, threads=THREADS),
        },
        repetitions=3,
        budget=60,
        at_least=1,
    )
    recall = graph_recall(timings[OURS].result, X, K)
    setting = {"rows": X.shape[0], "neighbors": K, "threads": THREADS}
    details = {"recall": recall}
    what = f"{name}: approximate graph"
    run.add(compare(f"{name}-exact", what, timings, setting=setting, details=details, least_ratio=least_ratio))
    run.add(figure(f"{name}-recall", f"{name}: recall", recall, "recall", setting=setting))
    return recall


def against_peer(
    run: Run,
    name: str,
    peer: str,
    X: Vectors,
    settings: Sequence[Any],
    build: Callable[[Any], Any],
    graph: Callable[[Any], sp.csr_array],
    least_ratio: float,
) -> None:
    """Time the approximate graph against a peer at the same recall."""
    mine = time_in_turns({OURS: lambda: knn_graph(X, K, exact=False, threads=THREADS)}, repetitions=3)[OURS]
    recall = graph_recall(mine.result, X, K)
    chosen, theirs, their_recall = cheapest(settings, build, graph, X, min(recall, LEAST_RECALL))
    run.add(
        compare(
            f"{name}-{peer}",
            f"{name}: approximate graph",
            {OURS: mine, peer: theirs},
            setting={"rows": X.shape[0], "neighbors": K, "threads": THREADS, f"{peer} with": str(chosen)},
            details={"recall": recall, "their recall": their_recall},
            least_ratio=least_ratio,
        )
    )


def sparse(run: Run) -> None:
    """Measure TF-IDF rows."""
    texts = data.descriptions(run.quick).texts
    part = TextVectorizer().fit_transform(texts[:100_000])
    against_exact(run, "sparse-100k", part, 3)
    matrix = sp.csr_matrix(part)
    descent(matrix[:2000], K)  # compiles
    against_peer(
        run, "sparse-100k", "pynndescent", part, DESCENTS, lambda how: descent(matrix, **how), graph_of, least_ratio=10
    )
    if not run.quick:
        against_exact(run, "sparse-244k", TextVectorizer().fit_transform(texts), 8)


def dense(run: Run) -> None:
    """Measure embeddings."""
    if run.quick:
        rng = np.random.default_rng(0)
        X = (rng.normal(size=(20, 32))[rng.integers(0, 20, 700)] + rng.normal(size=(700, 32))).astype(np.float32)
    elif run.arguments.embeddings:
        X = np.load(run.arguments.embeddings)
    else:
        X = description_vectors()[:ROWS].copy()
    descent(X[:2000].copy(), K)  # compiles
    against_peer(run, "dense", "pynndescent", X, DESCENTS, lambda how: descent(X, **how), graph_of, least_ratio=3)
    against_peer(run, "dense", "hnswlib", X, HNSW, lambda how: hnsw(X, *how), hnsw_graph, least_ratio=3)


def passages(quick: bool, count: int) -> list[str]:
    """Cut the texts at the ends of their sentences; sentences that are left over are cut in halves."""
    texts = data.descriptions(quick).texts
    found = [part for text in texts for part in SENTENCE_END.split(text) if part.strip()]
    for part in list(found):
        if len(found) >= count:
            break
        words = part.split()
        if len(words) >= 16:
            found += [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]
    order = np.random.default_rng(0).permutation(len(found))[:count]
    return [found[place] for place in order]


def grown(count: int, quick: bool) -> tuple[float, float, float, int]:
    """Build the graph of so many passages; give seconds, recall, MiB of the rows, and the number of rows."""
    X = TextVectorizer().fit_transform(passages(quick, count))
    timing = timed(lambda: knn_graph(X, K, exact=False, threads=THREADS))
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    return timing.best, graph_recall(timing.result, X, K, sample_size=200), size, X.shape[0]


def growth(run: Run) -> None:
    """Measure how time and memory grow with the number of passages."""
    seconds: dict[int, float] = {}
    for size in run.choose(SIZES, (200, 600)):
        isolated = in_own_process(grown, size, run.quick)
        taken, recall, mib, rows = isolated.timing.result
        seconds[rows] = taken
        details = {"recall": recall, "peak MiB": isolated.peak, "MiB of the rows": mib}
        run.add(figure(f"passages-{size}", f"{rows:,} passages", taken, "s", details=details))
    few, many = min(seconds), max(seconds)
    exponent = math.log(seconds[many] / seconds[few]) / math.log(many / few)
    run.add(figure("exponent", f"exponent of time, {few:,} to {many:,}", exponent, ""))


def options(parser: argparse.ArgumentParser) -> None:
    """Add the file of embeddings."""
    parser.add_argument("--embeddings", type=Path, metavar="FILE", help="other embeddings, .npy")


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        {"sparse": sparse, "dense": dense, "growth": growth},
        peers=["pynndescent", "hnswlib"],
        options=options,
    )
