"""The coder of an index of embeddings: what was learned, and how vectors become rows of the index.

Vectors are grouped into cells around centers. Within its cell a vector has a code: the signs with which sign vectors
are added up to what the center leaves of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.index.stored_vectors import (
    PRECISIONS,
    Precision,
    checked_rows,
    rounded,
    steps_of,
)
from sthash.vectors.metric import METRICS, Metric

if TYPE_CHECKING:
    from sthash.index.cell_learning import CellEncoder

Arrays = dict[str, npt.NDArray[Any]]

CELLS_PER_ROOT = 1.3
MOST_VALUES, MOST_CELLS, MOST_BYTES = 1 << 15, 1 << 22, 128
LARGEST = 1e18  # number in the arrays of a coder


def wanted_cells(n_rows: int, per_root: float) -> int:
    """Return how many cells an index of so many rows has."""
    return max(1, min(round(per_root * math.sqrt(n_rows)), n_rows, MOST_CELLS))


def new_cells(n_rows: int) -> int:
    """Return how many cells are learned for so many rows."""
    return max(1, round(CELLS_PER_ROOT * math.sqrt(n_rows) / 16)) * 16


@dataclass(frozen=True, eq=False)
class EncodedVectors:
    """Vectors as an index holds them.

    Attributes
    ----------
    cells : array of int32, shape (n,)
        The cell of each vector.
    packed : array of uint8, shape (n, n_bytes + 2)
        Its code, and two numbers that correct estimates from it.
    vectors : array of float32, float16 or int8, shape (n, d)
        The vector itself, in the precision of the coder.
    grouping : int
        That of the coder.
    """

    cells: npt.NDArray[np.int32]
    packed: npt.NDArray[np.uint8]
    vectors: npt.NDArray[Any]
    grouping: int = 0

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True, eq=False)
class CellCoder:
    """What an index of embeddings has learned: cells, and the sign vectors of the codes.

    Attributes
    ----------
    centers : array of int8, shape (n_cells, d)
    lengths : array of float32, shape (n_cells, 3)
        Per cell, what 1 stands for in its center, 1 / |center|², and the weight by which the cell is rated.
    signs : array of float32, shape (d, 8 n_bytes)
        The sign vectors.
    scales : array of float32, shape (4,)
        Start and step of the two numbers behind each code.
    margins : array of float32, shape (n_cells,) or (0,)
        Per number of cells, the margin within which that many are on average; empty for inner products.
    steps : array of float32, shape (d,) or (0,)
        What 1 stands for in each dimension of vectors of int8; empty for other precisions.
    metric : {"cosine", "ip"}
    precision : {"float32", "float16", "int8"}
    grouping : int
        How many times an index has grouped its cells anew. Codes of another grouping say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.index.cells import CellCoder
    >>> vectors = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    >>> coder = CellCoder.learn(vectors, n_bytes=4)
    >>> encoded = coder.encode(vectors[:3])
    >>> encoded.cells.shape, encoded.packed.shape, encoded.vectors.shape
    ((3,), (3, 6), (3, 16))
    """

    centers: npt.NDArray[np.int8]
    lengths: Floats
    signs: Floats
    scales: Floats
    margins: Floats
    steps: Floats
    metric: Metric = "cosine"
    precision: Precision = "float32"
    grouping: int = 0

    @classmethod
    def learn(
        cls,
        vectors: Any,
        *,
        metric: Metric = "cosine",
        precision: Precision = "float32",
        n_bytes: int = 24,
        n_cells: int | None = None,
        random_state: int = 0,
        threads: int | None = None,
        held_out: npt.NDArray[np.int64] | None = None,
    ) -> Self:
        """Learn from vectors, at least one; the parameters are those of `VectorIndex.build`.

        ``held_out`` are positions of vectors to learn nothing of, so that they can serve as queries.
        """
        check_choice("metric", metric, METRICS)
        check_choice("precision", precision, PRECISIONS)
        if check_whole("n_bytes", n_bytes, 2) % 2 or n_bytes > MOST_BYTES:
            raise ValueError(f"n_bytes={n_bytes} must be an even number from 2 to {MOST_BYTES}. Use another length.")
        rows = checked_rows(vectors, metric)
        if not len(rows):
            raise ValueError("there are no vectors. Give at least one.")
        if rows.shape[1] > MOST_VALUES:
            raise ValueError(f"vectors have {rows.shape[1]:,} values, more than {MOST_VALUES:,}. Use fewer dimensions.")
        if n_cells is None:
            n_cells = new_cells(len(rows))
        n_learned = len(rows) - (0 if held_out is None else len(held_out))
        n_cells = min(check_whole("n_cells", n_cells, 1), n_learned, MOST_CELLS)
        from sthash.index.cell_learning import learn_cells  # which needs SciPy, unlike a search

        by_angle = metric == "cosine"
        arrays: dict[str, Any] = learn_cells(
            rows, n_bytes, n_cells, random_state, resolve_threads(threads), by_angle=by_angle, held_out=held_out
        )
        arrays["steps"] = steps_of([rows], precision)
        return cls(metric=metric, precision=precision, **arrays)

    @classmethod
    def restored(cls, arrays: Arrays, metric: Metric, precision: Precision) -> Self:
        """Make a coder of what `arrays` returned. The arrays may be untrusted.

        Raises
        ------
        ValueError
            If they are not the arrays of a coder.
        """
        check_choice("metric", metric, METRICS)
        check_choice("precision", precision, PRECISIONS)
        for name in _NAMES:
            if name not in arrays:
                raise ValueError(f"there is no array {name}")
        n_cells, width = _shape(arrays, "centers", 2)
        n_bits = _shape(arrays, "signs", 2)[1]
        n_margins = _shape(arrays, "margins", 1)[0]
        if not (1 <= n_cells <= MOST_CELLS and 1 <= width <= MOST_VALUES):
            raise ValueError(f"centers have the shape {(n_cells, width)}")
        if n_bits % 16 or not 16 <= n_bits <= 8 * MOST_BYTES:
            raise ValueError(f"there are {n_bits} sign vectors")
        if n_margins not in (0, n_cells):
            raise ValueError(f"there are {n_margins} margins for {n_cells} cells")
        kept: dict[str, Any] = {
            "centers": _checked(arrays, "centers", np.int8, (n_cells, width)),
            "lengths": _checked(arrays, "lengths", np.float32, (n_cells, 3)),
            "signs": _checked(arrays, "signs", np.float32, (width, n_bits)),
            "scales": _checked(arrays, "scales", np.float32, (4,)),
            "margins": _checked(arrays, "margins", np.float32, (n_margins,)),
            "steps": _checked(arrays, "steps", np.float32, (width if precision == "int8" else 0,)),
        }
        for name in ("lengths", "margins", "steps"):
            if (kept[name] < 0).any():
                raise ValueError(f"{name} is negative")
        if (kept["scales"][1::2] <= 0).any():
            raise ValueError("scales have no step")
        return cls(metric=metric, precision=precision, **kept)

    def arrays(self) -> Arrays:
        """Return the learned arrays by their names, to be stored."""
        return {name: getattr(self, name) for name in _NAMES}

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.centers.shape[0])

    @property
    def n_features(self) -> int:
        """Number of values per vector."""
        return int(self.centers.shape[1])

    @property
    def n_bytes(self) -> int:
        """Bytes per code."""
        return int(self.signs.shape[1]) // 8

    @cached_property
    def _encoder(self) -> CellEncoder:
        from sthash.index.cell_learning import CellEncoder  # which needs SciPy, unlike a search

        return CellEncoder(self.centers, self.lengths, self.signs)

    def encode(self, vectors: Any, threads: int | None = None) -> EncodedVectors:
        """Encode vectors. Rows of float32 that need no change are referred to, not copied."""
        rows = checked_rows(vectors, self.metric, self.n_features)
        cells, packed = self._encoder.encode(rows, self.scales, resolve_threads(threads))
        return EncodedVectors(cells, packed, rounded(rows, self.precision, self.steps), self.grouping)

    def encode_in(self, rows: Floats, cells: npt.NDArray[np.int32], threads: int) -> npt.NDArray[np.uint8]:
        """Return the codes of vectors within given cells, with the two numbers behind each."""
        return self._encoder.encode(rows, self.scales, threads, cells)[1]

    def agrees(self, vectors: Any, encoded: EncodedVectors, threads: int | None = None) -> bool:
        """Whether vectors have the cells and bytes of ``encoded``, but for what processors round differently."""
        rows = checked_rows(vectors, self.metric, self.n_features)
        return self._encoder.agrees(rows, self.scales, encoded.cells, encoded.packed, resolve_threads(threads))

    def check_encoded(self, encoded: EncodedVectors) -> EncodedVectors:
        """Return encoded vectors as the kernel reads them; refuse those of another coder."""
        n = len(encoded.cells)
        if encoded.grouping != self.grouping:
            raise ValueError(
                "the cells were grouped anew since the vectors were encoded. Encode them with the coder of the index."
            )
        shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
            "cells": (np.int32, (n,)),
            "packed": (np.uint8, (n, self.n_bytes + 2)),
            "vectors": (self.precision, (n, self.n_features)),
        }
        checked = {}
        for name, (dtype, shape) in shapes.items():
            array = getattr(encoded, name)
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(
                    f"{name} must be {np.dtype(dtype)} of shape {shape}, got {array.dtype} of shape {array.shape}. "
                    "Encode the vectors with the coder of the index."
                )
            checked[name] = np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
        if n and not 0 <= checked["cells"].min() <= checked["cells"].max() < self.n_cells:
            raise ValueError(f"cells must be from 0 to {self.n_cells - 1}. Encode the vectors with the coder.")
        return EncodedVectors(**checked, grouping=encoded.grouping)


_NAMES = tuple(field.name for field in fields(CellCoder) if field.name not in ("metric", "precision", "grouping"))


def _shape(arrays: Arrays, name: str, axes: int) -> tuple[int, ...]:
    shape = np.shape(arrays[name])
    if len(shape) != axes:
        raise ValueError(f"{name} has the shape {shape}")
    return shape


def _checked(arrays: Arrays, name: str, dtype: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}, not {np.dtype(dtype)} and {shape}")
    if dtype is np.float32 and not (np.abs(array) <= LARGEST).all():
        raise ValueError(f"{name} is not finite")
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
