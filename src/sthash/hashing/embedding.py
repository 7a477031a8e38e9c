"""The Laplacian eigenmap of a graph: stage 1, second step.

It minimizes Σ W_ij |y_i − y_j|² over real-valued codes. The minima are the solutions of L v = λ D v with the smallest
λ, where D holds the degrees and L = D − W. With v = D^-½ u they are the eigenvectors u of A = D^-½ W D^-½ with the
largest 1 − λ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from sthash.blas import one_blas_thread
from sthash.checks import check_whole
from sthash.hashing.filtered import LARGE, NormalizedGraph, Report, degrees_of, filtered_pairs
from sthash.hashing.signs import column_signs
from sthash.vectors.checks import check_structure

Array = npt.NDArray[np.float64]

# Up to this size a component is solved as a dense matrix, which is exact and fast.
DENSE_SIZE = 600
TOLERANCE = 1e-6
PRECISE_TOLERANCE = 1e-11
# Eigenvalues closer than this count as equal in the search for missed copies.
MISSED_GAP = 1e-4
BLOCK_DEPTH, BLOCK_ROUNDS = 4, 100
# Degrees of the filters for large graphs, and the residual at which they end early. The median cut of an eigenvector
# does not need more.
LARGE_DEGREES, LARGE_TOLERANCE = (8, 12, 12, 12, 12), 3e-3


class TooFewDocumentsError(ValueError):
    """There are too few documents, or too few with neighbors, to learn this many bits."""


class Eigenpairs(NamedTuple):
    """Solutions of L v = λ D v: ``values`` ascending, ``vectors`` in columns with vᵀ D v = 1.

    Vectors of large graphs are in single precision.
    """

    values: Array
    vectors: npt.NDArray[Any]


def laplacian_eigenmap(W: Any, n_components: int) -> npt.NDArray[Any]:
    """Embed the nodes of a graph: the smallest non-trivial solutions of L v = λ D v.

    The constant vector (λ = 0) is left out. A graph of c components has c − 1 further solutions with λ = 0, which
    distinguish the components; they come first, the largest components first. A node without edges is not part of
    the problem; its row is zero. Signs are such that the first of the largest entries of a vector is positive.
    The result is the same in every run and for any number of threads; on another kind of processor it
    may differ by rounding.

    From 30,000 nodes with edges on, vectors are approximate: they have small residuals, and those that belong to
    eigenvalues close to each other may be mixed (see `sthash.hashing.filtered`).

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Symmetric, no negative entries.
    n_components : int
        At most the number of nodes with edges, minus two.

    Returns
    -------
    embedding : array of shape (n, n_components)
        In double precision; in single precision if the graph is large.

    Examples
    --------
    Two triangles are joined by a weak edge. The sign of the first vector separates them:

    >>> import numpy as np
    >>> from sthash.hashing import laplacian_eigenmap
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> W = np.kron(np.eye(2), triangle)
    >>> W[2, 3] = W[3, 2] = 0.1
    >>> (laplacian_eigenmap(W, 1) > 0).ravel().tolist()
    [True, True, True, False, False, False]
    """
    return laplacian_eigenpairs(W, n_components).vectors


def laplacian_eigenpairs(W: Any, n_components: int, *, precise: bool = False) -> Eigenpairs:
    """Return the solutions as `laplacian_eigenmap` does, with their eigenvalues.

    With ``precise`` the whole iteration runs in double precision, at twice the cost. What follows from the vectors then
    does not depend on how a processor rounds.
    """
    return eigenpairs_of_checked(check_graph(W), n_components, precise=precise)


def eigenpairs_of_checked(
    W: sp.csr_array,
    n_components: int,
    *,
    start: npt.NDArray[Any] | None = None,
    threads: int | None = None,
    report: Report | None = None,
    precise: bool = False,
) -> Eigenpairs:
    """Do what `laplacian_eigenpairs` does, for a graph that is known to be valid.

    ``start``, ``threads`` and ``report`` concern large graphs only; see `filtered_pairs`.
    """
    n = W.shape[0]
    degrees = degrees_of(W)
    joined = np.flatnonzero(degrees > 0)
    n_components = check_whole("n_components", n_components)
    if n_components > len(joined) - 2:
        raise TooFewDocumentsError(
            f"n_components={n_components} needs at least {n_components + 2} documents with neighbors, "
            f"got {len(joined)} of {n}. Ask for fewer bits, bring more documents, or raise n_neighbors."
        )
    with one_blas_thread():
        if len(joined) >= LARGE and n_components <= len(joined) // 4:
            return _solve_large(W, degrees, n_components, start, threads, report)
        W = W.astype(np.float64, copy=False)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        pairs = _solve(W[joined][:, joined] if len(joined) < n else W, degrees[joined], n_components, precise)
    vectors = np.zeros((n, n_components))
    vectors[joined] = pairs.vectors
    return Eigenpairs(pairs.values, vectors * column_signs(vectors))


def check_graph(W: Any) -> sp.csr_array:
    """Return W in CSR; refuse what is not square, symmetric, finite and without negative weights."""
    check_structure(W, "W")  # SciPy itself would read out of bounds
    W = sp.csr_array(W, dtype=np.float64)
    W.check_format()
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be square, got shape {W.shape}.")
    if not np.isfinite(W.data).all():
        raise ValueError("W holds NaN or infinity. Check the vectors it was built from.")
    if (W.data < 0).any():
        raise ValueError(
            f"W holds negative weights (smallest {W.data.min():.3g}), for which the eigenmap is not defined. "
            "Set them to zero, or use a similarity that is never negative."
        )
    difference = abs(W - W.T)
    if difference.nnz and difference.max() > 1e-6 * W.data.max():
        raise ValueError("W is not symmetric. Use W.maximum(W.T).")
    return W


def _solve(W: sp.csr_array, degrees: Array, n_components: int, precise: bool) -> Eigenpairs:
    """Solve each component on its own, so that equal components cannot hide each other's eigenvalues."""
    n = W.shape[0]
    part_of, volumes, parts = _components(W, degrees)
    indicators = _component_vectors(part_of, volumes, parts[: n_components + 1])
    wanted = n_components - indicators.shape[1]
    if wanted == 0:
        return Eigenpairs(np.zeros(n_components), indicators)
    values, vectors = [], []
    for part in parts:
        nodes = np.flatnonzero(part_of == part)
        if len(nodes) == 1:
            continue
        found = _solve_connected(W[nodes][:, nodes], degrees[nodes], min(wanted, len(nodes) - 1), precise)
        values.append(found.values)
        vectors.append((nodes, found.vectors))
    owner = np.repeat(np.arange(len(values)), [len(v) for v in values])
    column = np.concatenate([np.arange(len(v)) for v in values])
    merged = np.concatenate(values)
    chosen = np.argsort(merged, kind="stable")[:wanted]
    spread = np.zeros((n, wanted))
    for place, at in enumerate(chosen):
        nodes, own = vectors[owner[at]]
        spread[nodes, place] = own[:, column[at]]
    return Eigenpairs(np.concatenate([np.zeros(indicators.shape[1]), merged[chosen]]), np.hstack([indicators, spread]))


def _solve_large(
    W: sp.csr_array,
    degrees: Array,
    n_components: int,
    start: npt.NDArray[Any] | None,
    threads: int | None,
    report: Report | None,
) -> Eigenpairs:
    """Solve all components at once, each without its constant vector; nodes without edges have zero rows."""
    part_of, volumes, parts = _components(W, degrees)
    parts = parts[volumes[parts] > 0][: n_components + 1]
    first = len(parts) - 1
    vectors = np.zeros((W.shape[0], n_components), dtype=np.float32)
    vectors[:, :first] = _component_vectors(part_of, volumes, parts)
    values = np.zeros(n_components)
    if first < n_components:
        A = NormalizedGraph(W, part_of, threads)
        found, block = filtered_pairs(
            A, n_components - first, LARGE_DEGREES, tol=LARGE_TOLERANCE, start=start, report=report
        )
        values[first:] = np.maximum(1 - found, 0)
        np.multiply(block, A.inverse[:, None], out=vectors[:, first:])
    for column in vectors.T:
        column *= column_signs(column[:, None])
    return Eigenpairs(values, vectors)


def _components(W: sp.csr_array, degrees: Array) -> tuple[npt.NDArray[Any], Array, npt.NDArray[Any]]:
    """Return the component of each node, the volumes of the components, and the components, largest first."""
    n = W.shape[0]
    n_parts, part_of = connected_components(W, directed=False)
    volumes: Array = np.bincount(part_of, weights=degrees, minlength=n_parts).astype(np.float64)
    first_node = np.full(n_parts, n)
    np.minimum.at(first_node, part_of, np.arange(n))
    return part_of, volumes, np.lexsort((first_node, -volumes))


def _component_vectors(part_of: npt.NDArray[Any], volumes: Array, parts: npt.NDArray[Any]) -> Array:
    """Return D-orthonormal vectors, constant on components, orthogonal to the constant: part j against parts 0 … j − 1.

    Only the given parts are distinguished. The vectors are orthogonal to the constant vector of the whole graph,
    because each of them sums to zero over the volumes.
    """
    vectors = np.zeros((len(part_of), len(parts) - 1))
    places = np.full(len(volumes), len(parts))
    places[parts] = np.arange(len(parts))
    place_of = places[part_of]
    for j in range(1, len(parts)):
        before, own = volumes[parts[:j]].sum(), volumes[parts[j]]
        scale = np.sqrt(before * own * (before + own))
        vectors[place_of < j, j - 1] = own / scale
        vectors[place_of == j, j - 1] = -before / scale
    return vectors


def _solve_connected(W: sp.csr_array, degrees: Array, n_wanted: int, precise: bool) -> Eigenpairs:
    """Return the smallest non-trivial solutions for a connected graph."""
    n = W.shape[0]
    root = np.sqrt(degrees)
    A = sp.csr_array(W * (1 / root)[:, None] * (1 / root)[None, :])
    trivial = root / np.linalg.norm(root)
    if n <= DENSE_SIZE or n_wanted > n // 4:
        # The shift moves the eigenvalue of the trivial solution from 1 to −2, below all others.
        values, vectors = np.linalg.eigh(A.toarray() - 3 * np.outer(trivial, trivial))
        values, vectors = values[::-1][:n_wanted], vectors[:, ::-1][:, :n_wanted]
    else:
        values, vectors = _largest(A, trivial, n_wanted, precise)
    return Eigenpairs(np.maximum(1 - values, 0), vectors / root[:, None])


def _largest(A: sp.csr_array, trivial: Array, k: int, precise: bool) -> tuple[Array, Array]:
    """Return the k largest eigenpairs of A, descending, without the known trivial one.

    A Lanczos iteration sees one vector per eigenspace and finds the others only through rounding, so it may return a
    repeated eigenvalue too few times. Therefore the pairs that were found are removed, and the rest is searched again.
    If an eigenvalue appears that is larger than the smallest one found, a block iteration completes the work.

    Unless it must be ``precise``, Lanczos runs in single precision, at half the cost; the pairs are then made exact
    within the span found.
    """
    n = A.shape[0]
    rng = np.random.default_rng(0)
    tol, dtype = (PRECISE_TOLERANCE, np.float64) if precise else (1e-5, np.float32)
    vectors = _lanczos(A, trivial[:, None], k, tol, rng, dtype)
    values, vectors = _rayleigh_ritz(A, vectors - np.outer(trivial, trivial @ vectors))
    for _ in range(20):
        extra = _lanczos(A, np.column_stack([trivial, vectors]), 1, 1e-2, rng, np.float32)
        missed = (extra * (A @ extra)).sum(axis=0)
        if len(values) == k and (missed <= values[-1] + MISSED_GAP).all():
            break
        guards = rng.standard_normal((n, max(k // 4, k - len(values), 16)))
        values, vectors = _block_iteration(A, trivial, np.column_stack([vectors, extra, guards]), k)
    return values, vectors


def _lanczos(A: sp.csr_array, known: Array, k: int, tol: float, rng: np.random.Generator, dtype: Any) -> Array:
    """Return up to k eigenvectors of A with the largest eigenvalues, without the ``known`` ones."""
    matrix, known = A.astype(dtype), known.astype(dtype)

    def apply(x: npt.NDArray[Any]) -> Any:
        # Known vectors move to the lower end of the spectrum, which lies between −1 and 1.
        x = x.ravel()
        return matrix @ x - 3 * (known @ (known.T @ x))

    operator = LinearOperator(A.shape, matvec=apply, dtype=dtype)
    start = rng.standard_normal(A.shape[0]).astype(dtype)
    try:
        vectors = eigsh(operator, k=k, which="LA", tol=tol, v0=start)[1]
    except ArpackNoConvergence as failure:
        vectors = failure.eigenvectors
    return np.asarray(vectors, dtype=np.float64)


def _block_iteration(A: sp.csr_array, trivial: Array, start: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenpairs of A without the trivial one, by a restarted block Krylov iteration.

    It is slower than Lanczos, but a block of vectors finds as many copies of an eigenvalue as it has vectors.
    """
    block = np.linalg.qr(start - np.outer(trivial, trivial @ start))[0]
    for _ in range(BLOCK_ROUNDS):
        basis = newest = block
        for _ in range(BLOCK_DEPTH):
            newest = A @ newest
            known = np.column_stack([trivial, basis])
            for _ in range(2):  # once leaves rounding errors that grow
                newest = np.linalg.qr(newest - known @ (known.T @ newest))[0]
            basis = np.column_stack([basis, newest])
            if basis.shape[1] + newest.shape[1] >= A.shape[0]:
                break
        values, vectors = _rayleigh_ritz(A, basis)
        block = vectors[:, : block.shape[1]]
        residuals = np.linalg.norm(A @ block[:, :k] - block[:, :k] * values[:k], axis=0)
        if residuals.max() <= TOLERANCE:
            break
    return values[:k], block[:, :k]


def _rayleigh_ritz(A: sp.csr_array, vectors: Array) -> tuple[Array, Array]:
    """Return the best eigenpairs of A within the span of some vectors, largest first."""
    basis = np.linalg.qr(vectors)[0]
    values, rotation = np.linalg.eigh(basis.T @ (A @ basis))
    return values[::-1], np.ascontiguousarray((basis @ rotation)[:, ::-1])
