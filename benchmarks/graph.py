"""The exact graph of the 25 nearest neighbors on 20Newsgroups, against sparse_dot_topn."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sparse_dot_topn import sp_matmul_topn

import data
from harness import OURS, Run, compare, figure, main
from library import symmetric_graph
from sthash import TextVectorizer
from sthash.hashing import knn_graph
from timing import time_in_turns

K, PEER = 25, "sparse_dot_topn"


def peer_graph(top: Any) -> sp.csr_array:
    """Make the same graph from sparse_dot_topn's lists, in which each row is its own neighbor too."""
    n = top.shape[0]
    rows, weights = np.full((n, K), -1, dtype=np.int32), np.zeros((n, K), dtype=np.float32)
    for i in range(n):
        part = slice(top.indptr[i], top.indptr[i + 1])
        other = top.indices[part] != i
        found = top.indices[part][other][:K]
        rows[i, : len(found)], weights[i, : len(found)] = found, top.data[part][other][:K]
    return symmetric_graph(rows, weights)


def measure(run: Run) -> None:
    """Measure one thread and two."""
    X = TextVectorizer().fit_transform(data.news(run.quick).train)
    matrix = sp.csr_matrix(X)
    transposed = matrix.T.tocsr()
    for threads in (1, 2):

        def ours(threads: int = threads) -> Any:
            return knn_graph(X, K, threads=threads)

        def theirs(threads: int = threads) -> Any:
            return sp_matmul_topn(matrix, transposed, top_n=K + 1, n_threads=threads, sort=True)

        timings = time_in_turns({OURS: ours, PEER: theirs})
        setting = {"documents": X.shape[0], "neighbors": K, "threads": threads}
        run.add(compare(f"threads-{threads}", "graph of nearest neighbors", timings, setting=setting))
    difference = abs(timings[OURS].result - peer_graph(timings[PEER].result)).max()
    run.add(figure("difference", "largest difference of weights", float(difference), "", peer=PEER))


if __name__ == "__main__":
    main(__file__, __doc__, measure, peers=["sparse_dot_topn"])
