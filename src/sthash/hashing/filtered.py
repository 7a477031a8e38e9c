"""Eigenvectors of large graphs, by Chebyshev-filtered subspace iteration in single precision.

A block of vectors is filtered by a polynomial of the graph that is large on the wanted end of the spectrum and small on
the rest (Zhou, Saad, Tiago and Chelikowsky 2006); then the best eigenpairs within its span are taken (Rayleigh and
Ritz). Time is proportional to the number of edges. Memory holds two blocks of vectors, whatever the degree. A block
finds a repeated eigenvalue as often as it is there, up to its own width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash import _core
from sthash.checks import resolve_threads
from sthash.hashing.row_blocks import Tall, each_block, gram, over_blocks, turn
from sthash.vectors.rows import Rows

Array = npt.NDArray[np.float64]
Report = Callable[[int, int], None]

# From this number of nodes on, graphs are solved here; smaller ones as exactly as double precision allows.
LARGE = 30_000
# Vectors of the block beyond the wanted ones: the last ones of a block converge slowly.
GUARDS = 16
# Upper bound of the unwanted end of the spectrum, before anything is known about it.
FIRST_CUT = 0.3
# Directions of a block that are shorter than this share of the longest, after its columns were scaled, are rounding.
LEAST_SPREAD = 1e-6


def degrees_of(W: sp.csr_array) -> Array:
    """Return the sums of the rows, added up in double precision."""
    degrees = np.zeros(W.shape[0])
    filled = np.diff(W.indptr) > 0
    if filled.any():
        degrees[filled] = np.add.reduceat(W.data, W.indptr[:-1][filled], dtype=np.float64)
    return degrees


class NormalizedGraph:
    """A = D^-½ W D^-½ in single precision, D being the degrees; the columns of W are shared, not copied.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, no negative entries.
    parts : array of int of shape (n,), optional
        The connected component of each node. The constant vector of each component is then no solution; without this
        argument, the constant vector of the whole graph is none.
    threads : int or None, default=None
    """

    def __init__(self, W: sp.csr_array, parts: npt.NDArray[Any] | None = None, threads: int | None = None) -> None:
        self.n = W.shape[0]
        self.threads = resolve_threads(threads)
        degrees = degrees_of(W)
        self.joined = degrees > 0
        self.root = np.sqrt(degrees)
        self.inverse = np.zeros(self.n, dtype=np.float32)
        np.divide(1, self.root, out=self.inverse, where=self.joined, casting="same_kind")
        values = W.data.astype(np.float32)
        values *= np.repeat(self.inverse, np.diff(W.indptr))
        values *= self.inverse[W.indices]
        columns = W.indices.astype(np.int32, copy=False)
        self._matrix = Rows.sparse(W.indptr.astype(np.int64, copy=False), columns, values, self.n).view()
        self._set_constants(np.zeros(self.n, dtype=np.int32) if parts is None else parts)

    def _set_constants(self, parts: npt.NDArray[Any]) -> None:
        volumes = np.bincount(parts, weights=np.square(self.root))
        lengths = np.sqrt(np.where(volumes > 0, volumes, 1))
        self._parts = parts
        self._constant = (self.root / lengths[parts]).astype(np.float32)
        self._sums = sp.csr_array(
            (self._constant, (parts, np.arange(self.n, dtype=np.int32))), shape=(len(volumes), self.n)
        )

    def step(self, now: Tall, following: Tall, scale: float, shift: float = 0, past: float = 0) -> None:
        """Set following = scale · A now + shift · now + past · following."""
        _core.filter_step(self._matrix, now, following, scale=scale, shift=shift, past=past, threads=self.threads)

    def remove_constants(self, block: Tall) -> None:
        """Make the columns orthogonal to the trivial solutions, in place."""
        if self._sums.shape[0] == 1:
            shares = gram(self._constant[:, None], block, self.threads).astype(np.float32)
        else:
            shares = self._sums @ block

        def work(rows: slice) -> None:
            block[rows] -= self._constant[rows, None] * shares[self._parts[rows]]

        each_block(self.n, work, self.threads)

    def first_block(self, width: int, start: npt.NDArray[Any] | None) -> Tall:
        """Return random vectors; as many as there are columns of ``start`` are those instead."""
        block = np.random.default_rng(0).standard_normal((self.n, width), dtype=np.float32)
        if start is not None:
            given = min(start.shape[1], width)
            # Noise keeps columns independent that the start has twice.
            block[:, :given] *= np.float32(0.1) * np.abs(start[:, :given]).mean(axis=0, dtype=np.float32)
            block[:, :given] += start[:, :given]
            block *= self.root.astype(np.float32)[:, None]
        block[~self.joined] = 0
        return block


def filtered_pairs(
    A: NormalizedGraph,
    n_wanted: int,
    degrees: tuple[int, ...],
    *,
    tol: float = 0.0,
    start: npt.NDArray[Any] | None = None,
    report: Report | None = None,
) -> tuple[Array, Tall]:
    """Approximate the largest eigenpairs of A without the trivial ones, values descending, vectors in columns.

    Parameters
    ----------
    A : NormalizedGraph
    n_wanted : int
    degrees : tuple of int
        The degree of each filter.
    tol : float, default=0
        Ends before the last filter if no wanted pair has a residual ‖A u − θ u‖ above this.
    start : array of shape (n, any), optional
        Vectors to start from, as functions on the nodes; the others are random.
    report : callable, optional
        Called with the number of products that are done, and of how many.
    """
    width = -(-(n_wanted + GUARDS) // _core.lanes_in_group) * _core.lanes_in_group
    now = A.first_block(width, start)
    other = np.empty_like(now)
    cut, done, total = FIRST_CUT, 0, sum(degrees) + 1
    values = np.zeros(width)
    for turn_number, degree in enumerate(degrees):
        center, half = (cut - 1) / 2, (cut + 1) / 2
        if turn_number == 0:
            A.remove_constants(now)
            A.step(now, other, 1 / half, -center / half)
        else:  # the product is known from the last Rayleigh–Ritz step
            _combine(other, now, 1 / half, -center / half, A.threads)
        for _ in range(degree - 1):
            now, other = other, now
            A.step(now, other, 2 / half, -2 * center / half, -1)
            done += 1
            if report is not None:
                report(done, total)
        now, other = other, now
        A.remove_constants(now)
        A.step(now, other, 1)
        done += 1
        values, rotation = _ritz(now, other, A.threads)
        turn(now, rotation, A.threads)
        last = turn_number == len(degrees) - 1
        if not last:
            turn(other, rotation, A.threads)
            cut = float(values[-1])
            if tol and _residuals(now, other, values, A.threads)[:n_wanted].max() <= tol:
                break
    if report is not None:
        report(total, total)
    return values[:n_wanted], now[:, :n_wanted]


def _combine(block: Tall, other: Tall, scale: float, shift: float, threads: int) -> None:
    def work(rows: slice) -> None:
        block[rows] *= np.float32(scale)
        block[rows] += np.float32(shift) * other[rows]

    each_block(len(block), work, threads)


def _ritz(block: Tall, image: Tall, threads: int) -> tuple[Array, Array]:
    """Return the eigenvalues of A in the span of a block, given A times the block, and the matrix that turns it."""
    G, H = gram(block, block, threads), gram(block, image, threads)
    scale = 1 / np.sqrt(np.maximum(np.diag(G), np.finfo(np.float64).tiny))
    G *= scale[:, None] * scale
    H = (H + H.T) / 2 * (scale[:, None] * scale)
    spread, axes = np.linalg.eigh(G)
    basis = axes / np.sqrt(np.maximum(spread, LEAST_SPREAD * spread[-1]))
    values, rotation = np.linalg.eigh(basis.T @ H @ basis)
    return values[::-1], (scale[:, None] * (basis @ rotation))[:, ::-1]


def _residuals(block: Tall, image: Tall, values: Array, threads: int) -> Array:
    squares = np.zeros(len(values))
    small = values.astype(np.float32)

    def work(rows: slice) -> Array:
        return np.asarray(np.square(image[rows] - block[rows] * small).sum(axis=0, dtype=np.float64))

    for part in over_blocks(len(block), work, threads):
        squares += part
    return np.sqrt(squares)
