"""The recipe ``neighbors``: codes that keep the original nearest neighbors close.

It is the paper's framework with another way from the graph to the bits:

1. Take three times as many eigenvectors as bits, from `spectral_subspace`. It mixes the later ones with their
   successors, which preserves more neighborhoods than the same number of exact eigenvectors does.
2. Replace the values of each eigenvector by normal scores of their ranks. Most eigenvectors have large values for a few
   documents only. What distinguishes the others is the order of their small values; the paper's median cut keeps it,
   and a rotation of the plain values would lose it.
3. Scale each column by a power of 1 − λ, and each row to unit length. Short codes prefer the smooth eigenvectors; long
   codes use them nearly equally.
4. If vectors are short, as embeddings are, add the vectors themselves as further columns, centered and with the larger
   weight, because a few hundred numbers then hold most of what determines the cosines.
5. Take as many principal axes as bits (twice as many for short vectors), and rotate them by iterative quantization. Cut
   at zero, or as near to zero as leaves each bit on for 42 to 58 % of the corpus.

Hash functions are those of the paper: one linear support vector machine per bit. All settings were chosen on held-out
training documents of the paper's three corpora (docs/better-codes.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.hashing.filtered import NormalizedGraph, Report, degrees_of, filtered_pairs
from sthash.hashing.normal_scores import normal_scores, score_columns
from sthash.hashing.rotation import principal_axes, quantizing_frames, rotation_rows
from sthash.hashing.row_blocks import Tall, each_block, over_blocks
from sthash.hashing.subspace import WEAK, spectral_subspace
from sthash.hashing.topics import balanced_thresholds
from sthash.vectors.lengths import unit_rows

Array = npt.NDArray[np.float64]
RowSource = Callable[[slice], Tall]

COMPONENTS_PER_BIT = 3
MOST_COMPONENTS = 512
# The power of 1 − λ is one up to this code length; for longer codes it decreases in proportion.
SMOOTH_BITS = 32
# The largest number of dimensions of a short vector, and the share of such vectors in the squared length of a row.
SHORT, VECTOR_SHARE = 1024, 0.8
# With short vectors the bits choose their directions among more principal axes than there are bits.
SHORT_AXES_PER_BIT = 2
# From this number of documents on, filters are weaker than `WEAK`, and the steps are taken in place.
LARGE = 15_000
# Degrees of its filters, by the number of documents per vector of the block.
LARGE_DEGREES: dict[float, tuple[int, int]] = {1000: (1, 2), 3000: (2, 2), np.inf: (2, 3)}


def neighbor_places(
    W: Any,
    n_bits: int,
    rng: np.random.Generator,
    X: Vectors | None = None,
    threads: int | None = None,
    *,
    report: Report | None = None,
) -> npt.NDArray[Any]:
    """Place the nodes of a graph such that the signs of ``n_bits`` coordinates keep neighbors together.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Symmetric, no negative entries.
    n_bits : int
        At most the number of nodes with edges, minus two.
    rng : numpy Generator
        Gives the start of the rotation.
    X : sparse or dense matrix of shape (n, m), optional
        The vectors that the graph was built from; used if they are short.
    threads : int or None, default=None
        None takes one per available core. The result does not depend on it.
    report : callable, optional
        Called with the number of products with a large graph that are done, and of how many.

    Returns
    -------
    places : array of shape (n, n_bits)
        Zero for nodes without edges. In single precision if the graph is large.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import knn_graph
    >>> from sthash.hashing.neighbors import neighbor_places
    >>> rng = np.random.default_rng(0)
    >>> neighbor_places(knn_graph(rng.normal(size=(100, 8)), 10), 16, rng).shape
    (100, 16)
    """
    W = sp.csr_array(W)
    joined = degrees_of(W) > 0
    wanted = min(COMPONENTS_PER_BIT * n_bits, max(MOST_COMPONENTS, n_bits))
    n_joined = int(joined.sum())
    wanted = max(n_bits, min(wanted, n_joined - 2))
    if n_joined >= LARGE and wanted <= n_joined // 4:
        with one_blas_thread():
            return _large_places(W, wanted, n_bits, rng, X, threads, report)
    values, vectors = spectral_subspace(W, wanted, degrees=WEAK, threads=threads)
    scores = normal_scores(vectors[joined]) * np.maximum(1 - values, 0) ** min(1.0, SMOOTH_BITS / n_bits)
    rows, n_axes = unit_rows(scores), n_bits
    if X is not None and X.shape[1] <= SHORT:
        own = unit_rows((X.toarray() if sp.issparse(X) else X)[joined].astype(np.float64))
        own = unit_rows(own - own.mean(axis=0))
        rows = np.hstack([np.sqrt(1 - VECTOR_SHARE) * rows, np.sqrt(VECTOR_SHARE) * own])
        n_axes = SHORT_AXES_PER_BIT * n_bits
    places = np.zeros((len(joined), n_bits))
    with one_blas_thread():
        rows = rows @ principal_axes(rows)[:, :n_axes]
        places[joined] = rows @ quantizing_frames(rows, n_bits, rng)
    return places


def filter_degrees(n: int, n_components: int) -> tuple[int, int]:
    """Return the degrees of the filters for a large graph.

    A filter of a few steps averages random values over a neighborhood of a few steps. With more steps the vectors come
    closer to eigenvectors, and neighborhoods grow until they hold far more documents than the nearest: on 244,163
    texts, twelve steps find .57 of the true top 10, six .69, four .72 and three .74 (128 bits). Too few steps leave
    noise that no hash function can predict, the more so the more documents each vector must tell apart.
    """
    return next(degrees for most, degrees in LARGE_DEGREES.items() if n <= most * n_components)


def _large_places(
    W: sp.csr_array,
    n_components: int,
    n_bits: int,
    rng: np.random.Generator,
    X: Vectors | None,
    threads: int | None,
    report: Report | None,
) -> Tall:
    """Take the same steps in single precision, in place, block by block."""
    A = NormalizedGraph(W, threads=threads)
    values, scores = filtered_pairs(A, n_components, filter_degrees(len(A.joined), n_components), report=report)
    scores *= A.inverse[:, None]
    if not A.joined.all():
        scores = scores[A.joined]
    score_columns(scores, np.maximum(values, 0) ** min(1.0, SMOOTH_BITS / n_bits), threads)
    rows_of, n_axes = _scaled_rows(scores), n_bits
    if X is not None and X.shape[1] <= SHORT:
        rows_of, n_axes = _beside(rows_of, X if A.joined.all() else X[A.joined], threads), SHORT_AXES_PER_BIT * n_bits
    reduced = _on_principal_axes(rows_of, len(scores), n_axes, threads)
    n = len(reduced)
    directions = quantizing_frames(reduced[rotation_rows(n)], n_bits, rng).astype(np.float32)
    places = np.zeros((len(A.joined), n_bits), dtype=np.float32)
    at = np.flatnonzero(A.joined)

    def place(rows: slice) -> None:
        places[at[rows]] = reduced[rows] @ directions

    each_block(n, place, threads)
    return places


def _on_principal_axes(rows_of: RowSource, n: int, n_axes: int, threads: int | None) -> Tall:
    """Return the coordinates of rows on the axes of the largest second moments."""

    def moments_of(rows: slice) -> Tall:
        own = rows_of(rows)
        return np.asarray(own.T @ own)

    moments = sum(over_blocks(n, moments_of, threads), np.zeros(1))
    axes = np.linalg.eigh(moments)[1][:, ::-1][:, :n_axes].astype(np.float32)
    reduced = np.empty((n, axes.shape[1]), dtype=np.float32)

    def reduce(rows: slice) -> None:
        np.matmul(rows_of(rows), axes, out=reduced[rows])

    each_block(n, reduce, threads)
    return reduced


def _scaled_rows(scores: Tall) -> RowSource:
    return lambda rows: np.asarray(unit_rows(scores[rows]))


def _beside(rows_of: RowSource, X: Vectors, threads: int | None) -> RowSource:
    """Put the vectors themselves, centered, beside the rows."""

    def unit(rows: slice) -> Tall:
        block = X[rows]
        return np.asarray(unit_rows((block.toarray() if sp.issparse(block) else block).astype(np.float32)))

    parts = over_blocks(X.shape[0], lambda rows: unit(rows).sum(axis=0, dtype=np.float64), threads)
    mean = (sum(parts, np.zeros(X.shape[1])) / X.shape[0]).astype(np.float32)

    def both(rows: slice) -> Tall:
        own = unit_rows(unit(rows) - mean)
        shares = np.sqrt(np.array([1 - VECTOR_SHARE, VECTOR_SHARE], dtype=np.float32))
        return np.hstack([shares[0] * rows_of(rows), shares[1] * own])

    return both


def balanced_bits(places: npt.NDArray[Any]) -> Bits:
    """Return bits that are on above zero, or above the value nearest to zero that leaves the column balanced."""
    bits: Bits = places > balanced_thresholds(places)
    return bits
