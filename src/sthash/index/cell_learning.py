"""Learning the cells of an index of embeddings, and encoding vectors within them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats
from sthash.blas import one_blas_thread
from sthash.hashing.codebooks import LEAST_LENGTH, Codewords, k_means, learn_signs, nearest, no_books, signs_of

Bytes = npt.NDArray[np.uint8]
Cells = npt.NDArray[np.int32]
Arrays = dict[str, npt.NDArray[Any]]

BATCH = 8192
LEARNING_ROWS = 20_000
ROWS_PER_CENTER = 40
CENTER_TURNS = 6
RATED_ROWS = 1000
LEAST_FACTOR = 0.7  # of the least one: what centers leave of vectors gets shorter as cells split
ROUNDING = 1e-4  # more than float32 loses in a product of vectors
REACH = 3.0  # longest residual that is coded without being shortened, relative to the average one


def learn_cells(
    rows: Floats,
    n_bytes: int,
    n_cells: int,
    random_state: int,
    threads: int,
    *,
    by_angle: bool,
    held_out: npt.NDArray[np.int64] | None = None,
) -> Arrays:
    """Return the arrays of a coder.

    ``by_angle`` ignores the lengths of vectors; ``held_out`` are rows to learn nothing of.
    """
    rng = np.random.default_rng(random_state)
    with one_blas_thread():
        some = _sample(rows, ROWS_PER_CENTER * n_cells, rng, held_out)
        bytes_, units = rounded_centers(k_means(np.asarray(some), rng, n_cells, CENTER_TURNS))
        centers = bytes_ * units[:, None]
        sample = np.asarray(_sample(rows, LEARNING_ROWS, rng, held_out))
        left = sample - centers[_nearest(sample, centers)]
        longest = REACH * math.sqrt(float(np.einsum("ij,ij->i", left, left).mean(dtype=np.float64)))
        signs = learn_signs(left, 8 * n_bytes, rng, longest, threads)
        lengths = center_lengths(bytes_, units, by_angle=by_angle)
        margins = np.empty(0, dtype=np.float32)
        if by_angle:  # products with centers of different lengths tell too little about distances
            margins = margins_of(ratings(_sample(rows, RATED_ROWS, rng), bytes_, lengths))
    _, _, factors, shifts = CellEncoder(bytes_, lengths, signs).parts_of(sample, threads)
    return {
        "centers": bytes_,
        "lengths": lengths,
        "signs": signs,
        "scales": np.concatenate([_scale(factors, LEAST_FACTOR), _scale(shifts)]),
        "margins": margins,
    }


class CellEncoder:
    """Encodes vectors: chooses their cells, and within a cell the signs of sign vectors."""

    def __init__(self, centers: npt.NDArray[np.int8], lengths: Floats, signs: Floats) -> None:
        self._centers = centers * lengths[:, :1]
        self._of_centers = self._centers @ signs
        # The sums are about as long as what they stand for.
        self._length = float(np.linalg.norm(signs))
        self._codewords = Codewords(no_books(len(signs)), signs, REACH * self._length)
        self._n_bytes = signs.shape[1] // 8

    def encode(self, rows: Floats, scales: Floats, threads: int, cells: Cells | None = None) -> tuple[Cells, Bytes]:
        """Return the cell of each row, and its bytes: the code, and the steps of factor and shift.

        ``cells`` may say in which cells the rows are.
        """
        cells, codes, factors, shifts = self.parts_of(rows, threads, cells)
        steps = [
            np.rint(np.clip((values - low) / step, 0, 255)).astype(np.uint8)
            for values, (low, step) in ((factors, scales[:2]), (shifts, scales[2:]))
        ]
        return cells, np.column_stack([codes, *steps])

    def parts_of(self, rows: Floats, threads: int, given: Cells | None = None) -> tuple[Cells, Bytes, Floats, Floats]:
        """Return cells and codes, and the factor and shift with which q · x = q · center + factor · (q · h) + shift.

        The shift is what the code misses in the direction of the center. A query takes it in proportion to its own
        share of this direction.
        """
        cells = np.empty(len(rows), dtype=np.int32) if given is None else given
        codes = np.empty((len(rows), self._n_bytes), dtype=np.uint8)
        factors, shifts = np.empty(len(rows), dtype=np.float32), np.empty(len(rows), dtype=np.float32)
        with one_blas_thread():
            for first in range(0, len(rows), BATCH):
                part = slice(first, first + BATCH)
                some = np.asarray(rows[part])
                if given is None:
                    cells[part] = nearest(some, self._centers)
                centers = self._centers[cells[part]]
                left = some - centers
                codes[part], squares = self._codewords.choose(left, threads)
                lengths = np.sqrt(np.einsum("ij,ij->i", left, left))
                factors[part] = lengths / np.sqrt(np.maximum(squares, (1e-6 * self._length + LEAST_LENGTH) ** 2))
                in_common = np.einsum("ij,ij->i", signs_of(codes[part]), self._of_centers[cells[part]])
                shifts[part] = np.einsum("ij,ij->i", centers, left) - factors[part] * in_common
        factors = np.where(np.isfinite(factors), np.minimum(factors, 1e3), 1).astype(np.float32)
        return cells, codes, factors, shifts

    def agrees(self, rows: Floats, scales: Floats, cells: Cells, packed: Bytes, threads: int) -> bool:
        """Whether rows are in their nearest cells, with their bytes, but for what rounding decides.

        BLAS rounds differently on other processors, and in batches of other sizes.
        """
        if len(cells) and not 0 <= cells.min() <= cells.max() < len(self._centers):
            return False
        lengths = np.linalg.norm(self._centers, axis=1)
        halves = lengths**2 / 2
        with one_blas_thread():
            for first in range(0, len(rows), BATCH):
                some, own = rows[first : first + BATCH], cells[first : first + BATCH]
                scores = some @ self._centers.T - halves
                slack = ROUNDING * (np.linalg.norm(some, axis=1) + lengths.max()) * lengths.max()
                if (scores[np.arange(len(some)), own] < scores.max(axis=1) - slack).any():
                    return False
        _, codes, factors, shifts = self.parts_of(rows, threads, cells)
        if not np.array_equal(codes, packed[:, : self._n_bytes]):
            return False
        both = np.linalg.norm(rows, axis=1) + lengths[cells]
        left = np.linalg.norm(rows - self._centers[cells], axis=1)
        for values, size, (low, step), held in (
            (factors, factors * both / np.maximum(left, LEAST_LENGTH), scales[:2], packed[:, -2]),
            (shifts, lengths[cells] * both, scales[2:], packed[:, -1]),
        ):
            steps = np.clip((values - low) / step, 0, 255)
            if (np.abs(steps - held) > 1 + ROUNDING * size / step).any():
                return False
        return True


def rounded_centers(centers: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Round centers to bytes; return these, and what 1 stands for in each."""
    units = np.maximum(np.abs(centers).max(axis=1), 1e-20).astype(np.float32) / np.float32(127)
    return np.rint(centers / units[:, None]).astype(np.int8), units


def center_lengths(bytes_: npt.NDArray[np.int8], units: Floats, *, by_angle: bool) -> Floats:
    """Return per center what 1 stands for, 1 / its squared length, and the weight of its cell."""
    centers = bytes_ * units[:, None]
    squares = np.einsum("ij,ij->i", centers, centers)
    inverse = np.where(squares > 0, 1 / np.maximum(squares, 1e-30), 0)
    # Between the angle and the product, in which the longest centers would always come first.
    weights = inverse ** (0.5 if by_angle else 0.25)
    return np.column_stack([units, inverse, weights]).astype(np.float32)


def ratings(rows: Floats, centers: npt.NDArray[np.int8], lengths: Floats) -> Floats:
    """Return by how much each row, as a query, prefers each cell."""
    return np.asarray(rows @ (centers * (lengths[:, :1] * lengths[:, 2:])).T, dtype=np.float32)


def margins_of(rated: Floats) -> Floats:
    """Return, for 1, 2, ... cells, the margin within which that many are on average, by ratings of queries."""
    gaps = np.sort(rated.max(axis=1, keepdims=True) - rated, axis=None)
    return gaps[len(rated) - 1 :: len(rated)].astype(np.float32)


def _sample(
    rows: npt.NDArray[Any],
    size: int,
    rng: np.random.Generator,
    held_out: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[Any]:
    if held_out is None or not len(held_out):
        return rows if len(rows) <= size else rows[np.sort(rng.choice(len(rows), size, replace=False))]
    others = np.delete(np.arange(len(rows)), held_out)
    return rows[others if len(others) <= size else np.sort(rng.choice(others, size, replace=False))]


def _nearest(rows: Floats, centers: Floats) -> npt.NDArray[np.int64]:
    return np.concatenate([nearest(rows[first : first + BATCH], centers) for first in range(0, len(rows), BATCH)])


def _scale(values: Floats, least: float = 1.0) -> Floats:
    """Return where 256 steps between the extremes of values start, and how long one is; outliers are left out."""
    low, high = (float(value) for value in np.quantile(values, [0.0005, 0.9995]))
    low *= least
    return np.array([low, max(high - low, 1e-12) / 255], dtype=np.float32)
