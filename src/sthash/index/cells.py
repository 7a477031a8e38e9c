"""Learning the cells of an index of embeddings, and the codes of the vectors within them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.blas import one_blas_thread
from sthash.hashing.codebooks import Codewords, k_means, learn_signs, nearest, signs_of

Floats = npt.NDArray[np.float32]
Arrays = dict[str, npt.NDArray[Any]]

BLOCK = 32
BATCH = 8192
LEARNING_ROWS = 20_000
ROWS_PER_CENTER = 40
CENTER_TURNS = 6


def learn_cells(rows: Floats, n_bytes: int, n_cells: int, random_state: int, threads: int) -> Arrays:
    """Return the arrays of an index, as the kernel takes them."""
    with one_blas_thread():
        return _learn(rows, n_bytes, n_cells, random_state, threads)


def _learn(rows: Floats, n_bytes: int, n_cells: int, random_state: int, threads: int) -> Arrays:
    rng = np.random.default_rng(random_state)
    some = _sample(rows, ROWS_PER_CENTER * n_cells, rng)
    centers, bytes_, units = _rounded(k_means(some, rng, n_cells, CENTER_TURNS))
    cells = nearest(rows, centers)
    some = _sample(np.arange(len(rows)), LEARNING_ROWS, rng)
    signs = learn_signs(rows[some] - centers[cells[some]], 8 * n_bytes, rng, threads)
    codes, factors, shifts = _encode(rows, centers, cells, signs, threads)
    factor_scale, factor_bytes = _to_bytes(factors)
    shift_scale, shift_bytes = _to_bytes(shifts)
    squares = np.einsum("ij,ij->i", centers, centers)
    inverse = np.where(squares > 0, 1 / np.maximum(squares, 1e-12), 0)
    starts, ids = _blocks(cells, n_cells)
    laid_out = np.column_stack([codes, factor_bytes, shift_bytes])[np.maximum(ids, 0)]
    return {
        "centers": bytes_,
        "signs": signs,
        "starts": starts,
        "sizes": np.bincount(cells, minlength=n_cells).astype(np.int32),
        "lengths": np.column_stack([units, inverse, np.sqrt(inverse)]).astype(np.float32),
        "blocks": np.ascontiguousarray(laid_out.reshape(-1, BLOCK, n_bytes + 2).transpose(0, 2, 1)).ravel(),
        "scales": np.array([*factor_scale, *shift_scale], dtype=np.float32),
        "ids": ids,
    }


def _rounded(centers: Floats) -> tuple[Floats, npt.NDArray[np.int8], Floats]:
    """Round centers to bytes; return them as they are now, the bytes, and what 1 stands for in each."""
    units = np.maximum(np.abs(centers).max(axis=1), 1e-20).astype(np.float32) / np.float32(127)
    bytes_ = np.rint(centers / units[:, None]).astype(np.int8)
    return bytes_ * units[:, None], bytes_, units


def _sample(rows: npt.NDArray[Any], size: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    return rows if len(rows) <= size else rows[np.sort(rng.choice(len(rows), size, replace=False))]


def _encode(
    rows: Floats, centers: Floats, cells: npt.NDArray[np.int64], signs: Floats, threads: int
) -> tuple[npt.NDArray[np.uint8], Floats, Floats]:
    """Return the codes, and the factor and shift with which q · x = q · center + factor · (q · h) + shift, about."""
    no_books = np.zeros((0, 256, rows.shape[1]), dtype=np.float32)
    grams = Codewords(no_books, signs, 1).grams()
    of_centers = centers @ signs
    codes = np.empty((len(rows), signs.shape[1] // 8), dtype=np.uint8)
    factors, shifts = np.empty(len(rows), dtype=np.float32), np.empty(len(rows), dtype=np.float32)
    for first in range(0, len(rows), BATCH):
        part = slice(first, first + BATCH)
        centers_here = centers[cells[part]]
        left = rows[part] - centers_here
        nothing = np.zeros((len(left), 0), dtype=np.float32)
        products = _core.multiply(left, signs, threads=threads)
        codes[part], _, squares = _core.encode_additive(nothing, products, **grams, beam=1, threads=threads)
        lengths = np.sqrt(np.einsum("ij,ij->i", left, left))
        factors[part] = lengths / np.sqrt(np.maximum(squares, 1e-12))
        in_common = np.einsum("ij,ij->i", signs_of(codes[part]), of_centers[cells[part]])
        shifts[part] = np.einsum("ij,ij->i", centers_here, left) - factors[part] * in_common
    return codes, np.where(np.isfinite(factors), np.minimum(factors, 1e3), 1).astype(np.float32), shifts


def _to_bytes(values: Floats) -> tuple[tuple[float, float], npt.NDArray[np.uint8]]:
    """Round values to 256 steps between their extremes, a few far ones left out; return first value, step, steps."""
    low, high = (float(value) for value in np.quantile(values, [0.0005, 0.9995]))
    step = max(high - low, 1e-12) / 255
    return (low, step), np.rint((np.clip(values, low, high) - low) / step).astype(np.uint8)


def _blocks(cells: npt.NDArray[np.int64], n_cells: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Order rows by cell, each cell from a new block on: first block of each cell, and the row at each place or −1."""
    sizes = np.bincount(cells, minlength=n_cells)
    starts = np.concatenate([[0], np.cumsum(-(-sizes // BLOCK))]).astype(np.int64)
    ids = np.full(starts[-1] * BLOCK, -1, dtype=np.int32)
    order = np.argsort(cells, kind="stable")
    before = np.cumsum(sizes) - sizes
    ids[np.arange(len(cells)) - np.repeat(before - starts[:-1] * BLOCK, sizes)] = order
    return starts, ids
