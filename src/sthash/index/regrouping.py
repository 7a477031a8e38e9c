"""Cells follow the vectors: the largest ones split as an index grows, and the smallest are dissolved as it shrinks.

An index has as many cells as one that is built from the same vectors. A cell splits around two centers of its own; then
the vectors of this cell, and of those around it, go to the nearest center. A dissolved cell keeps its number, which the
next split takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Floats, Ids
from sthash.blas import one_blas_thread
from sthash.hashing.codebooks import nearest
from sthash.index.cell_learning import center_lengths, rounded_centers
from sthash.index.cells import CellCoder, wanted_cells
from sthash.index.stored_vectors import unrounded

FEW_ROWS = 256  # fewer are compared one by one, however they are grouped
SPARE_CELLS = 1.5  # cells relative to those that are needed, from which on some are dissolved
NEIGHBORS = 8  # cells around one that splits
SPLITTING_ROWS, SPLITTING_TURNS = 4096, 5
ROWS_AT_ONCE = 8192


def regroup(core: _core.CellIndex, coder: CellCoder, per_root: float, threads: int) -> CellCoder | None:
    """Split or dissolve cells, so that there are as many as a new index has; return the new coder, or None.

    The caller keeps other writers out.
    """
    sizes = core.cell_sizes()
    n_rows, used = int(sizes.sum()), np.flatnonzero(sizes)
    wanted = wanted_cells(n_rows, per_root)
    if n_rows < FEW_ROWS or wanted <= len(used) <= SPARE_CELLS * wanted + NEIGHBORS:
        return None
    with one_blas_thread():
        if wanted > len(used):
            largest = used[np.argsort(-sizes[used], kind="stable")][: wanted - len(used)]
            return _split(core, coder, largest, np.flatnonzero(sizes == 0), threads)
        smallest = used[np.argsort(sizes[used], kind="stable")][: len(used) - wanted]
        return _moved(core, coder, coder, smallest, np.setdiff1d(used, smallest), threads)


def _split(
    core: _core.CellIndex, coder: CellCoder, cells: npt.NDArray[Any], free: npt.NDArray[Any], threads: int
) -> CellCoder | None:
    """Split some cells; the second halves take numbers that are free, then new ones."""
    centers, split = _centers(coder), list[int]()
    halves = list[Floats]()
    for cell in cells.tolist():
        pair = _two_centers(_rows(core, coder, core.ids_in(np.array([cell], dtype=np.int32))[:SPLITTING_ROWS]))
        if pair is not None:
            split.append(cell)
            halves.append(pair)
    if not split:
        return None
    numbers = [*free.tolist(), *range(coder.n_cells, coder.n_cells + len(split))][: len(split)]
    n_cells = max(coder.n_cells, max(numbers) + 1)
    near = centers[split]
    centers = np.vstack([centers, np.zeros((n_cells - coder.n_cells, centers.shape[1]), dtype=np.float32)])
    centers[split], centers[numbers] = (np.stack([pair[side] for pair in halves]) for side in (0, 1))
    bytes_, units = rounded_centers(centers)
    kept = np.setdiff1d(np.arange(coder.n_cells), [*split, *numbers])
    lengths = center_lengths(bytes_, units, by_angle=coder.metric == "cosine")
    bytes_[kept], lengths[kept] = coder.centers[kept], coder.lengths[kept]
    margins = coder.margins
    if len(margins):
        margins = np.concatenate([margins, np.full(n_cells - coder.n_cells, margins[-1], dtype=np.float32)])
    changed = replace(coder, centers=bytes_, lengths=lengths, margins=margins, grouping=coder.grouping + 1)
    used = np.setdiff1d(np.arange(n_cells), np.setdiff1d(free, numbers))
    others = np.setdiff1d(used, [*split, *numbers])
    around = others[_nearest_of(_centers(coder)[others], near)] if len(others) else others
    return _moved(core, coder, changed, np.array(split), used, threads, around)


def _nearest_of(centers: Floats, near: Floats) -> npt.NDArray[np.int64]:
    """Return the places of the centers around any of some others."""
    products = near @ centers.T - 0.5 * np.einsum("ij,ij->i", centers, centers)
    count = min(NEIGHBORS, len(centers))
    return np.unique(np.argpartition(-products, count - 1, axis=1)[:, :count])


def _moved(
    core: _core.CellIndex,
    coder: CellCoder,
    changed: CellCoder,
    left: npt.NDArray[Any],
    used: npt.NDArray[Any],
    threads: int,
    around: npt.NDArray[Any] | None = None,
) -> CellCoder:
    """Move all rows of the cells ``left``, and those of cells ``around`` that are nearer to another one."""
    centers, leaves = _centers(changed), np.zeros(changed.n_cells, dtype=bool)
    leaves[left] = True
    cells = left if around is None else np.concatenate([left, around])
    ids = np.sort(core.ids_in(cells.astype(np.int32)))
    moved: list[tuple[Ids, npt.NDArray[np.int32], npt.NDArray[np.uint8]]] = []
    for first in range(0, len(ids), ROWS_AT_ONCE):
        some = ids[first : first + ROWS_AT_ONCE]
        rows, before = _rows(core, coder, some), core.cells_of(some)
        now = used[nearest(rows, centers[used])].astype(np.int32)
        moves = leaves[before] | (now != before)
        packed = changed.encode_in(rows[moves], now[moves], threads)
        moved.append((some[moves], now[moves], packed))
    parts = [np.concatenate(column) for column in zip(*moved, strict=True)] if moved else None
    core.regroup(
        centers=changed.centers,
        lengths=changed.lengths,
        ids=np.empty(0, np.int64) if parts is None else parts[0],
        cells=np.empty(0, np.int32) if parts is None else parts[1],
        packed=np.empty((0, changed.n_bytes + 2), np.uint8) if parts is None else parts[2],
    )
    return changed if changed is not coder else replace(coder, grouping=coder.grouping + 1)


def _centers(coder: CellCoder) -> Floats:
    return coder.centers * coder.lengths[:, :1]


def _rows(core: _core.CellIndex, coder: CellCoder, ids: Ids) -> Floats:
    return unrounded(core.vectors(ids).view(coder.precision), coder.steps)


def _two_centers(rows: Floats) -> Floats | None:
    """Return the means of two groups of rows, or None if the rows are all alike."""
    mean = rows.mean(axis=0)
    left = rows - mean
    lengths = np.einsum("ij,ij->i", left, left)
    if not lengths.any():
        return None
    direction = left[np.argmax(lengths)]
    for _ in range(SPLITTING_TURNS):
        direction = (left @ direction) @ left
        direction /= max(float(np.linalg.norm(direction)), 1e-30)
    right = left @ direction > 0
    pair = np.empty((2, rows.shape[1]), dtype=np.float32)
    for _ in range(SPLITTING_TURNS):
        if right.all() or not right.any():
            return None
        pair[0], pair[1] = rows[~right].mean(axis=0), rows[right].mean(axis=0)
        products = rows @ pair.T - 0.5 * np.einsum("ij,ij->i", pair, pair)
        right = products[:, 1] > products[:, 0]
    return pair
