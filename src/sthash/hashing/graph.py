"""The k-nearest-neighbor graph of a corpus: stage 1, first step.

W is symmetric and non-negative: ``W[i, j] > 0`` where j is among the k nearest neighbors of i or i among those of j.
A large corpus gets an approximate graph, which lacks a few percent of these edges: the exact one takes quadratic time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state

from sthash import _core
from sthash.arrays import Vectors
from sthash.checks import check_choice, check_positive, check_whole, resolve_threads
from sthash.hashing.embedding import TooFewDocumentsError
from sthash.vectors.checks import check_structure, check_vectors
from sthash.vectors.lengths import scaled_rows, squared_norms, unit_factors
from sthash.vectors.rows import Rows

Metric = Literal["cosine", "euclidean"]

# A term in more than this share of the documents is at first only bounded, not added up. On 20Newsgroups the time is
# constant between 0.1 and 0.2 and rises steeply below.
COMMON_SHARE = 0.2
PRODUCTS_BYTES = 1 << 27
# Below this largest value, or above its reciprocal, rows are scaled before they are squared in single precision.
LEAST_VALUE = 2.0**-30
# From this number of rows on the approximate search is the faster one.
APPROXIMATE_ROWS = 30_000
# Wider rows are searched as sparse ones: their sums of products would leave 32 bits.
MOST_DENSE_COLUMNS = 32_768
# Cosines that differ by less are equal where recall is counted.
ROUNDING = 1e-6
# Smallest bandwidth after scaling: it must not vanish.
LEAST_SPREAD = 1e-300


def knn_graph(
    X: Vectors,
    n_neighbors: int = 25,
    *,
    metric: Metric = "cosine",
    bandwidth: float | None = None,
    exact: bool | None = None,
    random_state: int | np.random.RandomState | None = 0,
    threads: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> sp.csr_array:
    """Build the symmetric k-nearest-neighbor graph of the rows of X.

    Of equally near rows, those with smaller numbers come first. A row is never its own neighbor. W = max(W, Wᵀ), so a
    row has at least as many edges as it has neighbors.

    The exact search takes quadratic time. The approximate one takes nearly linear time, and finds nearly all neighbors;
    `graph_recall` measures how many. The weights of the edges that it finds are exact.

    Parameters
    ----------
    X : sparse or dense matrix of shape (n, m)
    n_neighbors : int, default=25
    metric : {"cosine", "euclidean"}, default="cosine"
        With ``cosine`` the weight of an edge is the cosine of its rows; rows at an angle of 90 degrees or more are not
        joined, and a zero row has no edges. With ``euclidean`` the weight of an edge of length d is
        exp(−d² / bandwidth).
    bandwidth : float or None, default=None
        Bandwidth of the heat kernel; None takes the mean squared distance over all pairs of neighbors.
    exact : bool or None, default=None
        None searches exactly up to 30,000 rows, and wherever the metric is ``euclidean``.
    random_state : int, RandomState or None, default=0
        Seed of the approximate search. The exact one needs none.
    threads : int or None, default=None
        None takes one per available core. The result does not depend on it.
    report : callable, optional
        Called several times per second with how much of the approximate search is done, and of how much.

    Returns
    -------
    W : csr_array of float32, shape (n, n)

    See Also
    --------
    graph_recall : how many of the true edges a graph has.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import knn_graph
    >>> W = knn_graph(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), n_neighbors=1)
    >>> print(W.toarray())
    [[0.  0.8 0. ]
     [0.8 0.  0.6]
     [0.  0.6 0. ]]
    """
    X = check_vectors(X)
    n = X.shape[0]
    n_neighbors = check_whole("n_neighbors", n_neighbors)
    if n_neighbors >= n:
        raise TooFewDocumentsError(
            f"n_neighbors={n_neighbors} must be less than the number of documents, {n}. "
            "Lower n_neighbors or bring more documents."
        )
    check_choice("metric", metric, get_args(Metric))
    if bandwidth is not None:
        bandwidth = check_positive("bandwidth", bandwidth)
    if exact is None:
        exact = n < APPROXIMATE_ROWS or metric != "cosine"
    if not exact and metric != "cosine":
        raise ValueError(
            f"The approximate search needs the metric 'cosine', got {metric!r}. Pass exact=True, or scale the rows to "
            "unit length: cosines then rank them as Euclidean distances do."
        )
    scale = 1.0
    if metric == "euclidean":
        X, scale = _in_range(X)
    squares = squared_norms(X)
    if metric == "cosine":
        unit = scaled_rows(X, unit_factors(squares))
        rows, cosines = (
            nearest_rows(unit, np.zeros(n), n_neighbors, threads)
            if exact
            else _nearly_nearest_rows(unit, n_neighbors, random_state, threads, report)
        )
        weights = np.clip(cosines, 0, 1)
    else:
        rows, scores = nearest_rows(X, squares / 2, n_neighbors, threads)
        # |x - y|² = |x|² - 2 (xᵀy - |y|² / 2)
        distances = np.maximum(squares[:, None] - 2 * scores.astype(np.float64), 0)
        spread = float(distances.mean()) if bandwidth is None else max(bandwidth * scale**2, LEAST_SPREAD)
        # The smallest float keeps an edge between rows so far apart that the kernel vanishes.
        weights = np.maximum(np.exp(-distances / (spread or 1)), np.finfo(np.float32).tiny).astype(np.float32)
    return symmetric_graph(rows, weights)


def _in_range(X: Vectors) -> tuple[Vectors, float]:
    """Scale X by a power of two if the squares of its values leave single precision; also return that power."""
    values = X.data if sp.issparse(X) else X
    largest = float(np.abs(values).max(initial=0))
    if largest == 0 or LEAST_VALUE <= largest <= 1 / LEAST_VALUE:
        return X, 1.0
    scale = 2.0 ** -np.frexp(largest)[1]
    return scaled_rows(X, np.full(X.shape[0], scale)), scale


def nearest_rows(
    X: Vectors, penalty: npt.NDArray[np.float64], k: int, threads: int | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return, for each row x of X, the k other rows y with the largest ``xᵀy − penalty[y]``, and those scores."""
    workers = resolve_threads(threads)
    penalty32 = penalty.astype(np.float32)
    if sp.issparse(X):
        return _core.sparse_neighbors(
            Rows.of(X).view(),
            penalty=penalty32,
            k=k,
            common_share=COMMON_SHARE,
            threads=workers,
        )
    n = X.shape[0]
    norms = np.sqrt(squared_norms(X)).astype(np.float32)
    block = max(1, min(n, PRODUCTS_BYTES // (4 * n)))
    found = [
        _core.dense_neighbors(
            X,
            X[first : first + block] @ X.T,
            first=first,
            penalty=penalty32,
            norms=norms,
            largest_norm=float(norms.max()),
            k=k,
            threads=workers,
        )
        for first in range(0, n, block)
    ]
    return np.concatenate([rows for rows, _ in found]), np.concatenate([scores for _, scores in found])


def _nearly_nearest_rows(
    X: Vectors,
    k: int,
    random_state: int | np.random.RandomState | None,
    threads: int | None,
    report: Callable[[int, int], None] | None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return, for each unit row of X, nearly the k other rows with the largest cosines, and these cosines."""
    if not sp.issparse(X) and X.shape[1] > MOST_DENSE_COLUMNS:
        X = sp.csr_array(X)
    return _core.approximate_neighbors(
        Rows.of(X).view(),
        k=k,
        seed=int(check_random_state(random_state).randint(2**31)),
        threads=resolve_threads(threads),
        report=report,
    )


def graph_recall(
    W: sp.csr_array,
    X: Vectors,
    n_neighbors: int = 25,
    *,
    sample_size: int = 1000,
    random_state: int | np.random.RandomState | None = 0,
    threads: int | None = None,
) -> float:
    """Measure which share of the true nearest neighbors a graph by cosine has, on a sample of its rows.

    A true neighbor is one of the ``n_neighbors`` rows with the largest positive cosines. Where a row has other
    neighbors with the same cosine as a true one, they count as well.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        The graph, as returned by `knn_graph`.
    X : sparse or dense matrix of shape (n, m)
        The rows that it was built from.
    n_neighbors : int, default=25
        The number of neighbors that it was built with.
    sample_size : int, default=1000
        Number of rows in the sample; all rows if there are fewer.
    random_state : int, RandomState or None, default=0
        Seed of the sample.
    threads : int or None, default=None
        None takes one per available core.

    Returns
    -------
    recall : float
        From 0 to 1; 1 if no row of the sample has any neighbor.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import graph_recall, knn_graph
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> graph_recall(knn_graph(X, 10), X, 10)
    1.0
    """
    X = check_vectors(X)
    W = _checked_square(W, X.shape[0])
    n_neighbors = check_whole("n_neighbors", n_neighbors, most=X.shape[0] - 1)
    sample_size = min(check_whole("sample_size", sample_size), X.shape[0])
    chosen = np.sort(check_random_state(random_state).permutation(X.shape[0])[:sample_size])
    unit = scaled_rows(X, unit_factors(squared_norms(X)))
    block = max(1, PRODUCTS_BYTES // (16 * X.shape[0]))
    found = true = 0
    for rows in np.split(chosen, range(block, sample_size, block)):
        products = unit[rows] @ unit.T
        cosines = np.ascontiguousarray(products.toarray() if sp.issparse(products) else products, dtype=np.float32)
        cosines[np.arange(len(rows)), rows] = 0
        _, largest = _core.largest_in_rows(cosines, k=n_neighbors, threads=resolve_threads(threads))
        for row, own, best in zip(rows, cosines, largest, strict=True):
            wanted = int((best > 0).sum())
            if wanted:
                edges = own[W.indices[W.indptr[row] : W.indptr[row + 1]]]
                found += min(wanted, int((edges >= best[wanted - 1] - ROUNDING).sum()))
                true += wanted
    return found / true if true else 1.0


def _checked_square(W: sp.csr_array, n: int) -> sp.csr_array:
    check_structure(W, "W")
    if not sp.issparse(W) or W.shape != (n, n):
        raise ValueError(f"W must be a sparse matrix of shape {(n, n)}, one row per row of X. Pass the graph of X.")
    return sp.csr_array(W)


def symmetric_graph(rows: npt.NDArray[np.int32], weights: npt.NDArray[np.float32]) -> sp.csr_array:
    """Turn lists of neighbors and weights into W = max(W, Wᵀ), without edges of weight zero."""
    n = len(rows)
    edge = (rows >= 0) & (weights > 0)
    indptr = np.concatenate([[0], np.cumsum(edge.sum(axis=1))])
    directed = sp.csr_array((weights[edge], rows[edge], indptr), shape=(n, n))
    W = sp.csr_array(directed.maximum(directed.T))
    W.sort_indices()
    return W
