"""Between Arrow columns, as Spark hands them over, and the arrays that sthash works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sthash.arrays import Vectors
from sthash.vectors.checks import check_finite, check_rows
from sthash.vectors.lengths import unit_rows

if TYPE_CHECKING:
    from sthash.codes import Codes

# How pyspark.ml.linalg marks a dense vector in its struct (type, size, indices, values).
DENSE = 1


def binary_column(codes: Codes) -> pa.Array:
    """Return packed codes as a column of bytes."""
    n, width = codes.shape
    offsets = np.arange(n + 1, dtype=np.int32) * np.int32(width)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.Array.from_buffers(pa.binary(), n, buffers)


def spread_over(values: pa.Array, column: pa.Array) -> pa.Array:
    """Return as many values as a column has; where it has a null, they have one, too."""
    known = np.asarray(column.is_valid())
    places = pa.array(np.cumsum(known) - 1, mask=~known)
    return values.take(places)


def packed_codes(column: pa.Array, width: int | None, name: str) -> Codes:
    """Return a column of bytes as packed codes of ``width`` bytes, or of as many as the first one has."""
    refuse_nulls(column, name)
    column = column.cast(pa.binary())
    _, offset_buffer, data = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    if width is None:
        width = int(lengths[0]) if len(lengths) else 0
    if (lengths != width).any():
        odd = int(lengths[lengths != width][0])
        raise ValueError(
            f"column {name!r} has a code of {odd} bytes where {width} are expected. "
            "Join and compare only codes that one model has made."
        )
    content = b"" if data is None or len(column) == 0 else data
    start, end = (int(offsets[0]), int(offsets[-1])) if len(column) else (0, 0)
    return np.frombuffer(content, np.uint8)[start:end].reshape(len(column), width)


def texts(column: pa.Array, name: str) -> list[str]:
    """Return a column of strings as a list."""
    refuse_nulls(column, name)
    values: list[str] = column.to_pylist()
    return values


def column_rows(column: pa.Array, width: int | None, name: str) -> Vectors:
    """Return a column of vectors as rows of unit length: dense, unless one of them is sparse.

    Takes the vectors of ``pyspark.ml.linalg`` and arrays of numbers; ``width`` is how long they must be.
    """
    refuse_nulls(column, name)
    if not pa.types.is_struct(column.type):
        return unit_rows(check_rows(_dense(column, width, name), what=f"column {name!r}"))
    kinds, sizes, indices, values = column.flatten()
    if (kinds.to_numpy(zero_copy_only=False) == DENSE).all():
        return unit_rows(check_rows(_dense(values, width, name), what=f"column {name!r}"))
    return _sparse(kinds.to_numpy(zero_copy_only=False) == DENSE, sizes, indices, values, width, name)


def refuse_nulls(column: pa.Array, name: str) -> None:
    """Raise if the column has nulls."""
    if column.null_count:
        raise ValueError(null_message(column.null_count, name))


def null_message(count: int, name: str) -> str:
    """Say that there are nulls, and what to do."""
    return (
        f"column {name!r} has {count} null value{'s' if count > 1 else ''}. "
        f"Leave such rows out, dropna(subset=[{name!r}]), or fill them, fillna."
    )


def _dense(lists: pa.Array, width: int | None, name: str) -> npt.NDArray[np.float32]:
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    width = _check_width(lengths, width, name)
    values = lists.flatten()
    if values.null_count:
        raise ValueError(f"column {name!r} has a vector with a null in it. Every value must be a number.")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float32).reshape(-1, width)


def _sparse(
    dense: npt.NDArray[np.bool_], sizes: pa.Array, indices: pa.Array, values: pa.Array, width: int | None, name: str
) -> Vectors:
    import scipy.sparse as sp

    lengths = values.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    widths = np.where(dense, lengths, sizes.fill_null(0).to_numpy(zero_copy_only=False))
    width = _check_width(widths, width, name)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    columns = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)  # right for the dense rows
    columns[np.repeat(~dense, lengths)] = indices.flatten().to_numpy(zero_copy_only=False)
    data = np.asarray(values.flatten().to_numpy(zero_copy_only=False), dtype=np.float32)
    check_finite(data, f"column {name!r}")
    return unit_rows(sp.csr_array((data, columns.astype(np.int32), indptr), shape=(len(lengths), width)))


def _check_width(widths: npt.NDArray[Any], width: int | None, name: str) -> int:
    if width is None:
        width = int(widths[0]) if len(widths) else 0
    if (widths != width).any():
        odd = int(widths[widths != width][0])
        raise ValueError(
            f"column {name!r} has a vector of {odd} values where {width} are expected. "
            "All vectors must be as long as those the model has learned from."
        )
    return width
