"""The vectors that an index of embeddings refers to: checked, of unit length where lengths do not matter, and rounded.

They are float32, float16, or bytes. Of bytes, each dimension has a step, which 1 stands for.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice
from sthash.rows import as_array, check_dense, check_product_lengths, squared_norms, unit_rows

Floats = npt.NDArray[np.float32]
Metric = Literal["cosine", "ip"]
Precision = Literal["float32", "float16", "int8"]
METRICS = ("cosine", "ip")
PRECISIONS = ("float32", "float16", "int8")

BATCH = 8192
SAMPLE = 1000


def checked_rows(vectors: Any, metric: Metric, width: int | None = None) -> Floats:
    """Return vectors as float32, of unit length for cosines; the array itself, if nothing has to be changed."""
    rows = check_dense(as_array(vectors), width)
    if rows.shape[1] == 0:
        raise ValueError("vectors have no values. Give each at least one.")
    if metric == "cosine":
        return _unit(rows)
    for first in range(0, len(rows), BATCH):
        check_product_lengths(squared_norms(rows[first : first + BATCH]))
    return rows


def _unit(rows: Floats) -> Floats:
    unit = True
    for first in range(0, len(rows), BATCH):
        part = rows[first : first + BATCH]
        squares = np.einsum("ij,ij->i", part, part, dtype=np.float64)
        if not squares.all():
            raise ValueError(
                f"vector {first + int(np.argmin(squares))} is zero, which is similar to nothing. "
                "Leave it out, or use metric='ip'."
            )
        unit = unit and float(np.abs(squares - 1).max(initial=0)) <= 1e-5
    return rows if unit else np.ascontiguousarray(unit_rows(rows), dtype=np.float32)


def steps_of(rows: Floats, precision: Precision) -> Floats:
    """Return what 1 stands for in each dimension, if vectors are to be bytes."""
    check_choice("precision", precision, PRECISIONS)
    if precision != "int8":
        return np.zeros(0, dtype=np.float32)
    largest = np.zeros(rows.shape[1], dtype=np.float32)
    for first in range(0, len(rows), BATCH):
        largest = np.maximum(largest, np.abs(rows[first : first + BATCH]).max(axis=0))
    return np.asarray(np.where(largest > 0, largest, 1) / np.float32(127), dtype=np.float32)


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
            kept[first : first + BATCH] = np.clip(np.rint(part / steps), -127, 127)
    return kept


def same_kind(vectors: npt.NDArray[Any], metric: Metric) -> bool:
    """Tell whether vectors, of the type that they are kept in, can be referred to as they are.

    Of vectors in a file only some are looked at, because reading all would take the time that mapping saves.
    """
    if vectors.ndim != 2 or not vectors.flags.c_contiguous:
        return False
    if metric == "ip" or vectors.dtype != np.float32:
        return True
    some = np.asarray(vectors[:: max(1, len(vectors) // SAMPLE)])
    return bool((np.abs(np.einsum("ij,ij->i", some, some) - 1) <= 1e-5).all())
