"""Learning the cells of an index of embeddings, and the codes of the vectors within them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.blas import one_blas_thread
from sthash.hashing.codebooks import LEAST_LENGTH, Codewords, k_means, learn_signs, nearest, no_books, signs_of

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Cells = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]

BLOCK = 32
BATCH = 8192
LEARNING_ROWS = 20_000
ROWS_PER_CENTER = 40
CENTER_TURNS = 6
RATED_ROWS = 1000
REACH = 3.0  # what centers leave may be so many times as long as it is on average


def learn_cells(
    rows: Floats, n_bytes: int, n_cells: int, random_state: int, threads: int, *, by_angle: bool = True
) -> Arrays:
    """Return the arrays of an index, as the kernel takes them; ``by_angle`` says whether lengths do not matter."""
    rng = np.random.default_rng(random_state)
    with one_blas_thread():
        some = _sample(rows, ROWS_PER_CENTER * n_cells, rng)
        bytes_, units = _rounded(k_means(np.asarray(some), rng, n_cells, CENTER_TURNS))
        centers = bytes_ * units[:, None]
        cells = _nearest(rows, centers)
        chosen = _sample(np.arange(len(rows)), LEARNING_ROWS, rng)
        left = rows[chosen] - centers[cells[chosen]]
        longest = REACH * math.sqrt(float(np.einsum("ij,ij->i", left, left).mean(dtype=np.float64)))
        signs = learn_signs(left, 8 * n_bytes, rng, longest, threads)
        codes, factors, shifts = _encode(rows, centers, cells, signs, threads)
        squares = np.einsum("ij,ij->i", centers, centers)
        inverse = np.where(squares > 0, 1 / np.maximum(squares, 1e-30), 0)
        # Between the angle and the product, in which the longest centers would always come first.
        weights = inverse ** (0.5 if by_angle else 0.25)
        margins = np.empty(0, dtype=np.float32)
        if by_angle:  # products with centers of different lengths say too little of how far cells are
            margins = _margins(_sample(rows, RATED_ROWS, rng), (centers * weights[:, None]).astype(np.float32))
    scales = np.concatenate([_scale(factors), _scale(shifts)])
    return {
        "centers": bytes_,
        "lengths": np.column_stack([units, inverse, weights]).astype(np.float32),
        "signs": signs,
        "scales": scales,
        "margins": margins,
        **_lay_out(cells, _packed(codes, factors, shifts, scales), np.arange(len(rows), dtype=np.int32), n_cells),
    }


def with_rows(arrays: Arrays, rows: Floats, first: int, threads: int) -> Arrays:
    """Return the arrays of an index with more rows, whose ids start at ``first``."""
    centers = arrays["centers"] * arrays["lengths"][:, :1]
    with one_blas_thread():
        cells = _nearest(rows, centers)
        parts = _encode(rows, centers, cells, arrays["signs"], threads)
    old_cells, old, old_ids = _taken_apart(arrays)
    ids = np.concatenate([old_ids, np.arange(first, first + len(rows), dtype=np.int32)])
    packed = np.concatenate([old, _packed(*parts, arrays["scales"])])
    return arrays | _lay_out(np.concatenate([old_cells, cells]), packed, ids, len(centers))


def without_ids(arrays: Arrays, ids: npt.NDArray[np.int64]) -> Arrays:
    """Return the arrays of an index without some ids."""
    cells, packed, old = _taken_apart(arrays)
    kept = ~np.isin(old, ids)
    return arrays | _lay_out(cells[kept], packed[kept], old[kept], len(arrays["sizes"]))


def _rounded(centers: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Round centers to bytes; return these, and what 1 stands for in each."""
    units = np.maximum(np.abs(centers).max(axis=1), 1e-20).astype(np.float32) / np.float32(127)
    return np.rint(centers / units[:, None]).astype(np.int8), units


def _sample(rows: npt.NDArray[Any], size: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    return rows if len(rows) <= size else rows[np.sort(rng.choice(len(rows), size, replace=False))]


def _nearest(rows: Floats, centers: Floats) -> Cells:
    """Return the nearest center of each row, also of rows that are in a file."""
    parts = [nearest(np.asarray(rows[first : first + BATCH]), centers) for first in range(0, len(rows), BATCH)]
    return np.concatenate(parts)


def _margins(rows: Floats, centers: Floats) -> Floats:
    """Return for 1, 2, ... cells the margin within which so many are on average, if rows are the queries."""
    rated = rows @ centers.T
    gaps = np.sort(rated.max(axis=1, keepdims=True) - rated, axis=None)
    return gaps[len(rows) - 1 :: len(rows)].astype(np.float32)


def _encode(rows: Floats, centers: Floats, cells: Cells, signs: Floats, threads: int) -> tuple[Bytes, Floats, Floats]:
    """Return the codes, and the factor and shift with which q · x = q · center + factor · (q · h) + shift, about.

    The shift is what the code misses in the direction of the center; a query that has more or less of this direction
    than the center itself takes more or less of it.
    """
    # The sums have about the lengths of what they stand for.
    length = float(np.linalg.norm(signs))
    codewords, of_centers = Codewords(no_books(rows.shape[1]), signs, REACH * length), centers @ signs
    codes = np.empty((len(rows), signs.shape[1] // 8), dtype=np.uint8)
    factors, shifts = np.empty(len(rows), dtype=np.float32), np.empty(len(rows), dtype=np.float32)
    for first in range(0, len(rows), BATCH):
        part = slice(first, first + BATCH)
        centers_here = centers[cells[part]]
        left = rows[part] - centers_here
        codes[part], squares = codewords.choose(left, threads)
        lengths = np.sqrt(np.einsum("ij,ij->i", left, left))
        factors[part] = lengths / np.sqrt(np.maximum(squares, (1e-6 * length + LEAST_LENGTH) ** 2))
        in_common = np.einsum("ij,ij->i", signs_of(codes[part]), of_centers[cells[part]])
        shifts[part] = np.einsum("ij,ij->i", centers_here, left) - factors[part] * in_common
    return codes, np.where(np.isfinite(factors), np.minimum(factors, 1e3), 1).astype(np.float32), shifts


def _scale(values: Floats) -> Floats:
    """Return where 256 steps between the extremes of values start, and how long one is; a few far ones are left out."""
    low, high = (float(value) for value in np.quantile(values, [0.0005, 0.9995]))
    return np.array([low, max(high - low, 1e-12) / 255], dtype=np.float32)


def _packed(codes: Bytes, factors: Floats, shifts: Floats, scales: Floats) -> Bytes:
    """Return the bytes of rows: the code, and the steps of factor and shift."""
    steps = [
        np.rint(np.clip((values - low) / step, 0, 255)).astype(np.uint8)
        for values, (low, step) in ((factors, scales[:2]), (shifts, scales[2:]))
    ]
    return np.column_stack([codes, *steps])


def _lay_out(cells: Cells, packed: Bytes, ids: npt.NDArray[np.int32], n_cells: int) -> Arrays:
    """Order rows by cell, each cell from a new block on."""
    sizes = np.bincount(cells, minlength=n_cells)
    starts = np.concatenate([[0], np.cumsum(-(-sizes // BLOCK))]).astype(np.int64)
    order = np.argsort(cells, kind="stable")
    before = np.cumsum(sizes) - sizes
    places = np.arange(len(cells)) - np.repeat(before - starts[:-1] * BLOCK, sizes)
    held = np.full(starts[-1] * BLOCK, -1, dtype=np.int32)
    held[places] = ids[order]
    blocks = np.zeros((len(held), packed.shape[1]), dtype=np.uint8)
    blocks[places] = packed[order]
    blocks = np.ascontiguousarray(blocks.reshape(-1, BLOCK, packed.shape[1]).transpose(0, 2, 1))
    return {"starts": starts, "sizes": sizes.astype(np.int32), "blocks": blocks.ravel(), "ids": held}


def _taken_apart(arrays: Arrays) -> tuple[Cells, Bytes, npt.NDArray[np.int32]]:
    """Return the cell, the bytes and the id of each row."""
    width = arrays["signs"].shape[1] // 8 + 2
    packed = arrays["blocks"].reshape(-1, width, BLOCK).transpose(0, 2, 1).reshape(-1, width)
    held = arrays["ids"] >= 0
    cells = np.repeat(np.arange(len(arrays["sizes"])), np.diff(arrays["starts"]) * BLOCK)
    return cells[held], packed[held], arrays["ids"][held]
