"""The vectors of an index of embeddings: checked, of unit length where lengths do not matter, and rounded.

They are float32, float16, or bytes. With bytes, each dimension has a step, which 1 stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats
from sthash.checks import check_choice
from sthash.vectors.checks import check_rows
from sthash.vectors.lengths import rows_of_unit_length
from sthash.vectors.metric import Metric

Precision = Literal["float32", "float16", "int8"]
PRECISIONS = ("float32", "float16", "int8")
# What a collection keeps: the vectors, or only codes of them.
Kept = Literal["float32", "float16", "int8", "codes"]
KEPT = (*PRECISIONS, "codes")

BATCH = 8192


def dense_rows(vectors: Any, width: int | None = None) -> Floats:
    """Return vectors as rows of float32 that a kernel can read; the array itself, if it needs no change."""
    rows = check_rows(vectors, width=width)
    return rows if rows.flags.aligned else rows.copy()


# Largest share of a vector's length that may be clipped when it is kept as bytes.
CLIPPED = 0.2


def checked_rows(vectors: Any, metric: Metric, width: int | None = None, what: str = "vectors") -> Floats:
    """Return vectors as float32, of unit length for cosines; the array itself, if it needs no change."""
    rows = check_rows(vectors, metric, width=width, what=what)
    return rows if metric == "ip" else rows_of_unit_length(rows)


def steps_of(parts: Iterable[Floats], precision: Precision) -> Floats:
    """Return what 1 stands for in each dimension, if vectors are to be bytes; they come in parts."""
    check_choice("precision", precision, PRECISIONS)
    if precision != "int8":
        return np.zeros(0, dtype=np.float32)
    largest = np.zeros(1, dtype=np.float32)
    for rows in parts:
        for first in range(0, len(rows), BATCH):
            largest = np.maximum(largest, np.abs(rows[first : first + BATCH]).max(axis=0))
    return np.asarray(np.where(largest > 0, largest, 1) / np.float32(127), dtype=np.float32)


def are_clipped(rows: Floats, steps: Floats) -> bool:
    """Whether a row loses too much as bytes, because it is not like those that the steps were learned from."""
    lost = np.linalg.norm(np.maximum(np.abs(rows) - 127 * steps, 0), axis=1)
    return bool((lost > CLIPPED * np.linalg.norm(rows, axis=1)).any())


def unrounded(rows: npt.NDArray[Any], steps: Floats) -> Floats:
    """Return vectors, as they are kept, as float32; those that are float32 are not copied."""
    return rows * steps if rows.dtype == np.int8 else rows.astype(np.float32, copy=False)


def rounded(rows: Floats, precision: Precision, steps: Floats) -> npt.NDArray[Any]:
    """Return rows in the type that they are kept in; float32 is not copied."""
    if precision == "float32":
        return rows
    kept = np.empty(rows.shape, dtype=precision)
    for first in range(0, len(rows), BATCH):
        part = rows[first : first + BATCH]
        if precision == "float16":
            with np.errstate(over="ignore"):
                kept[first : first + BATCH] = part
            if not np.isfinite(kept[first : first + BATCH]).all():
                raise ValueError("vectors are too long for float16. Scale them, or use precision='float32'.")
        else:
            if are_clipped(part, steps):
                raise ValueError(
                    "a vector has values far beyond those that the range of int8 was learned from. Build the index "
                    "again with vectors like it, or use precision='float16'."
                )
            kept[first : first + BATCH] = np.clip(np.rint(part / steps), -127, 127)
    return kept
