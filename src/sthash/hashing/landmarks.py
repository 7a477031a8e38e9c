"""Eigenvectors of a wide neighbor graph, approximated with a few landmarks.

A graph that joins each document to hundreds of others has millions of edges. A sample of the documents, the landmarks,
can represent all: each document is joined to its nearest landmarks, and two landmarks are close if they share
documents. The eigenvectors of the graph of landmarks extend to the documents as averages (the anchor graphs of Liu,
Wang, Kumar and Chang, ICML 2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash import _core
from sthash.checks import resolve_threads
from sthash.hashing.embedding import laplacian_eigenpairs
from sthash.hashing.linear_hash import project
from sthash.hashing.signs import settled, settled_values
from sthash.vectors.lengths import unit_rows

Array = npt.NDArray[np.float64]

LANDMARKS = 1000
# Landmarks that a document is joined to: this share of them, but not fewer than the second number.
NEAREST_SHARE, LEAST_NEAREST = 0.02, 10
SCALING_POWER = 0.5
# Fewer places make no useful graph.
LEAST_PLACED = 3
# Number of cosines in memory at once.
BLOCK_ENTRIES = 1 << 23
# Smallest distance: closer documents count as being in one place.
SAME_PLACE = 1e-5
# Smallest weight of an edge, however long it is.
LEAST_WEIGHT = 1e-9


def landmark_rows(
    places: npt.NDArray[Any], n_components: int, rng: np.random.Generator, threads: int | None = None
) -> Array:
    """Embed the rows of ``places`` by the graph of their nearest landmarks.

    The weight of an edge is exp(−d / √(s s')), where d is one minus the cosine of its ends, and s and s' are the
    distances of the ends from the median one of their own nearest landmarks. So the scale of distances adapts to dense
    and sparse regions. Eigenvectors are scaled by (1 − λ)^½ before they are averaged.

    Parameters
    ----------
    places : array of shape (n, d)
    n_components : int
        Fewer are returned if there are not enough landmarks.
    rng : numpy Generator
        Draws the landmarks.
    threads : int or None, default=None
        None takes one per available core. The result does not depend on it.

    Returns
    -------
    array of shape (n, at most n_components)
        Rows of unit length. Zero rows of ``places`` give zero rows; all rows are zero if fewer than three are not.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.landmarks import landmark_rows
    >>> rng = np.random.default_rng(0)
    >>> landmark_rows(rng.normal(size=(300, 8)), 5, rng).shape
    (300, 5)
    """
    if np.count_nonzero(places.any(axis=1)) < LEAST_PLACED:
        return np.zeros((len(places), 1))
    Z, values, vectors = landmark_pairs(places, n_components, rng, threads)
    rows: Array = unit_rows(Z @ (vectors * np.maximum(1 - values, 0) ** SCALING_POWER))
    return rows


def landmark_pairs(
    places: npt.NDArray[Any], n_components: int, rng: np.random.Generator, threads: int | None
) -> tuple[sp.csr_array, Array, Array]:
    """Return the shares of the landmarks in each row, and the eigenvalues and eigenvectors of their graph."""
    Z = landmark_shares(places, rng, threads)
    joined = int((Z.sum(axis=0) > 0).sum())
    values, vectors = laplacian_eigenpairs(sp.csr_array(Z.T @ Z), min(n_components, joined - 2), precise=True)
    return Z, settled_values(values), settled(vectors)


def landmark_shares(places: npt.NDArray[Any], rng: np.random.Generator, threads: int | None) -> sp.csr_array:
    """Join each row to its nearest landmarks except itself; weights sum to one per row, shape (n, landmarks)."""
    unit = unit_rows(places).astype(np.float32)
    somewhere = np.flatnonzero(unit.any(axis=1))
    landmarks = np.sort(rng.permutation(somewhere)[:LANDMARKS])
    k = min(max(LEAST_NEAREST, round(NEAREST_SHARE * len(landmarks))), len(landmarks) - 1)
    nearest = np.empty((len(unit), k), dtype=np.int32)
    distances = np.empty((len(unit), k))
    for block, cosines in _cosine_blocks(unit, landmarks, threads):
        nearest[block], largest = _core.largest_in_rows(cosines, k=k, threads=resolve_threads(threads))
        distances[block] = 1 - largest.astype(np.float64)
    scale = np.sqrt(np.maximum(distances[:, (k - 1) // 2], SAME_PLACE))
    exponents = -distances / (scale[:, None] * scale[landmarks][nearest])
    weights = np.maximum(np.exp(exponents - exponents.max(axis=1, keepdims=True)), LEAST_WEIGHT)
    weights *= (unit.any(axis=1) / weights.sum(axis=1))[:, None]
    shape = (len(unit), len(landmarks))
    Z = sp.csr_array((weights.ravel(), nearest.ravel(), np.arange(len(unit) + 1) * k), shape=shape)
    Z.eliminate_zeros()
    return Z


def _cosine_blocks(
    unit: npt.NDArray[np.float32], landmarks: npt.NDArray[np.int64], threads: int | None
) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """Yield slices of the rows with their cosines to the landmarks; −∞ for the cosine of a landmark to itself."""
    step = max(1, BLOCK_ENTRIES // len(landmarks))
    turned = np.ascontiguousarray(unit[landmarks].T)
    for first in range(0, len(unit), step):
        block = slice(first, min(first + step, len(unit)))
        cosines = project(unit[block], turned, threads)
        own = np.flatnonzero((landmarks >= block.start) & (landmarks < block.stop))
        cosines[landmarks[own] - first, own] = -np.inf
        yield block, cosines
