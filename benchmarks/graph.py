"""The exact 25-nearest-neighbour graph of 20Newsgroups train: sthash against sparse_dot_topn, in one run."""

import time

import numpy as np
import scipy.sparse as sp
from sparse_dot_topn import sp_matmul_topn

from sthash import TextVectorizer, knn_graph
from sthash.hashing.graph import symmetric_graph
from sthash.reproduction.datasets import load_20newsgroups

K = 25


def peer_graph(X, threads):
    """Build the same graph from sparse_dot_topn's lists, which count a row as its own neighbour."""
    n = X.shape[0]
    top = sp_matmul_topn(X, X.T.tocsr(), top_n=K + 1, n_threads=threads, sort=True)
    rows, weights = np.full((n, K), -1, dtype=np.int32), np.zeros((n, K), dtype=np.float32)
    for i in range(n):
        part = slice(top.indptr[i], top.indptr[i + 1])
        other = top.indices[part] != i
        found = top.indices[part][other][:K]
        rows[i, : len(found)], weights[i, : len(found)] = found, top.data[part][other][:K]
    return symmetric_graph(rows, weights)


def best(function, *arguments, runs=3, **options):
    """Least time of a few runs, and the result."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        result = function(*arguments, **options)
        times.append(time.perf_counter() - start)
    return min(times), result


def main():
    """Print seconds and ratios."""
    X = TextVectorizer().fit_transform(load_20newsgroups().train_texts)
    matrix = sp.csr_matrix(X)
    transposed = matrix.T.tocsr()
    print(f"{X.shape[0]} documents, {X.nnz / X.shape[0]:.0f} terms each (best of 3 runs)\n")
    print(f"{'threads':<10}{'sparse_dot_topn s':>18}{'sthash s':>10}{'ratio':>8}")
    for threads in (1, 2):
        theirs, _ = best(sp_matmul_topn, matrix, transposed, top_n=K + 1, n_threads=threads, sort=True)
        ours, W = best(knn_graph, X, K, threads=threads)
        print(f"{threads:<10}{theirs:>18.3f}{ours:>10.3f}{theirs / ours:>8.1f}")
    difference = abs(W - peer_graph(matrix, 2))
    print(f"\nLargest difference between the two graphs' weights: {difference.max():.1e}")


if __name__ == "__main__":
    main()
