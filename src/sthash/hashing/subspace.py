"""Many eigenvectors of a graph at once, to the accuracy that codes need.

Lanczos finds eigenvectors one after the other, and its time grows with the square of their number. If bits come from
mixtures of hundreds of eigenvectors, their common span is enough: a block of random vectors is filtered by a polynomial
of the graph that is large on the wanted end of the spectrum and small on the rest (Chebyshev-filtered subspace
iteration; Zhou, Saad, Tiago and Chelikowsky 2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.blas import one_blas_thread
from sthash.hashing.embedding import Eigenpairs, laplacian_eigenpairs
from sthash.hashing.filtered import LARGE, LEAST_SPREAD, NormalizedGraph, filtered_pairs
from sthash.hashing.linear_hash import project
from sthash.hashing.signs import column_signs, settled, settled_values

Block = npt.NDArray[np.float32]

# Up to this number of nodes, or from a quarter of the nodes in vectors, the exact solution costs no more.
EXACT_SIZE = 2000
GUARDS = 16
# Degrees of the first and the second filter. Weak filters leave the later vectors mixed; strong ones hardly do.
WEAK, STRONG = (2, 4), (4, 8)
# Upper bound of the unwanted end of the spectrum, before anything is known about it.
FIRST_CUT = 0.3


def spectral_subspace(
    W: Any, n_components: int, *, degrees: tuple[int, int] = STRONG, threads: int | None = None
) -> Eigenpairs:
    """Approximate `laplacian_eigenpairs`; the last vectors are mixed with their successors.

    Vectors of a large graph are in single precision.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Symmetric, no negative entries.
    n_components : int
        At most the number of nodes with edges, minus two.
    degrees : two integers, default=STRONG
        Degrees of the two polynomials.
    threads : int or None, default=None
        None takes one per available core. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import knn_graph
    >>> from sthash.hashing.subspace import spectral_subspace
    >>> W = knn_graph(np.random.default_rng(0).normal(size=(2500, 8)), 10)
    >>> spectral_subspace(W, 20).vectors.shape
    (2500, 20)
    """
    W = sp.csr_array(W)
    n = W.shape[0]
    volumes = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    joined = np.flatnonzero(volumes > 0)
    if len(joined) <= EXACT_SIZE or n_components > len(joined) // 4:
        values, vectors = laplacian_eigenpairs(W, n_components, precise=True)
        return Eigenpairs(settled_values(values), settled(vectors))
    if len(joined) >= LARGE:
        with one_blas_thread():
            G = NormalizedGraph(W, threads=threads)
            values, block = filtered_pairs(G, n_components, degrees)
        return Eigenpairs(np.maximum(1 - values, 0), block * G.inverse[:, None])
    root = np.sqrt(volumes[joined])
    A = sp.csr_array(W[joined][:, joined] * (1 / root)[:, None] * (1 / root)[None, :], dtype=np.float32)
    with one_blas_thread():
        trivial = (root / np.linalg.norm(root)).astype(np.float32)
        values, basis = _filtered(A, trivial, n_components, degrees, threads)
    vectors = np.zeros((n, n_components))
    vectors[joined] = basis / root[:, None]
    return Eigenpairs(np.maximum(1 - values, 0), vectors)


def _filtered(
    A: sp.csr_array, trivial: Block, k: int, degrees: tuple[int, int], threads: int | None
) -> tuple[npt.NDArray[Any], Block]:
    """Filter and orthonormalize twice; the second filter knows where the unwanted end begins."""
    block = np.random.default_rng(0).standard_normal((A.shape[0], k + GUARDS)).astype(np.float32)
    cut = FIRST_CUT
    for degree in degrees:
        block = _chebyshev(A, _without(trivial, block), degree, cut, threads)
        values, block = _ritz(A, _without(trivial, block), threads)
        cut = float(values[-1])
    return values[:k], block[:, :k]


def _without(trivial: Block, block: Block) -> Block:
    shares = trivial.astype(np.float64) @ block.astype(np.float64)
    return np.asarray(block - np.outer(trivial, shares.astype(np.float32)))


def _chebyshev(A: sp.csr_array, block: Block, degree: int, cut: float, threads: int | None) -> Block:
    """Apply T_degree of A, shifted so that [−1, cut] maps to [−1, 1], where the polynomial stays within ±1."""
    center, half = np.float32((cut - 1) / 2), np.float32((cut + 1) / 2)
    before: npt.NDArray[Any] = block
    now: npt.NDArray[Any] = (project(A, block, threads) - center * block) / half
    for _ in range(degree - 1):
        before, now = now, 2 / half * (project(A, now, threads) - center * now) - before
    return np.asarray(now)


def _ritz(A: sp.csr_array, block: Block, threads: int | None) -> tuple[npt.NDArray[Any], Block]:
    """Return the best eigenpairs of A within the span of the block, largest first.

    All products with the block are added up in double precision and the pairs are `settled`, so that they are the same
    on processors that round differently.
    """
    wide = block.astype(np.float64)
    image = project(A, block, threads).astype(np.float64)
    scale = 1 / np.sqrt((wide * wide).sum(axis=0))
    spread, axes = np.linalg.eigh(scale[:, None] * (wide.T @ wide) * scale)
    basis = scale[:, None] * (axes / np.sqrt(np.maximum(spread, LEAST_SPREAD * spread[-1])))
    values, rotation = np.linalg.eigh(basis.T @ _symmetric(wide.T @ image) @ basis)
    turned = wide @ (basis @ rotation[:, ::-1])
    turned = settled(turned * column_signs(turned))
    return settled_values(values[::-1]), np.ascontiguousarray(turned, dtype=np.float32)


def _symmetric(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return (matrix + matrix.T) / 2
