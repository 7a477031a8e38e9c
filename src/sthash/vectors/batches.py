"""Vectors from files, tables and iterables, a batch at a time: more than memory holds.

Nothing is mapped: a file that gets shorter while it is read is an error, not the end of the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from sthash.extras import install_command
from sthash.files import release
from sthash.tables import is_table
from sthash.vectors.conversion import as_array, as_numpy

FILE_ENDINGS = (".npy", ".parquet")


def is_source(vectors: Any) -> bool:
    """Tell whether vectors come from a file, a table or an iterable, and not as one array or list."""
    if _is_path(vectors) or _speaks_arrow(vectors) or is_table(vectors):
        return True
    if isinstance(vectors, list | tuple):
        return _holds_batches(vectors)
    arrays = ("shape", "__array__", "__dlpack__", "tocsr")
    return hasattr(vectors, "__iter__") and not (
        isinstance(vectors, bytes | dict) or any(hasattr(vectors, name) for name in arrays)
    )


def joined(parts: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
    """Return batches as one array; refuse those of different widths."""
    widths = sorted({part.shape[1] for part in parts if len(part)})
    if len(widths) > 1:
        raise ValueError(f"batches have vectors of {widths[0]} to {widths[-1]} values. Make all with the same model.")
    return np.concatenate(parts) if parts else np.empty((0, 1), dtype=np.float32)


def vector_batches(source: Any, size: int, column: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield vectors in batches of at most ``size``, each with what it is called in the message of an error.

    Parameters
    ----------
    source : path, array, tensor, table, or iterable of them
        A ``.npy`` or ``.parquet`` file, an array of shape (n, d), a table or record batches of Arrow, a data frame of
        pandas or polars, or an iterable whose items are any of these.
    size : int
    column : str, optional
        Which column of a table or a Parquet file holds the vectors. Default: the only one that holds lists.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.vectors.batches import vector_batches
    >>> [(name, part.shape) for name, part in vector_batches(np.ones((5, 2)), 3)]
    [('vectors 0 to 2', (3, 2)), ('vectors 3 to 4', (2, 2))]
    """
    first = 0
    for name, part in _parts(source, size, column):
        of = f" of {name}" if name else ""
        for start in range(0, len(part), size):
            some = part[start : start + size]
            yield f"vectors {first:,} to {first + len(some) - 1:,}{of}", some
            release(part)
            first += len(some)


def _parts(source: Any, size: int, column: str | None) -> Iterator[tuple[str, Any]]:
    if _is_path(source):
        path = Path(source)
        ending = path.suffix.lower()
        if ending not in FILE_ENDINGS:
            raise ValueError(f"{path} is no file of vectors that can be read. Write it as .npy or .parquet.")
        for part in _npy_parts(path, size) if ending == ".npy" else _parquet_parts(path, size, column):
            yield str(path), part
    elif isinstance(source, bytes | dict) or source is None:
        raise TypeError(f"vectors must be arrays or files of them, got a {type(source).__name__}. Pass an array.")
    elif _speaks_arrow(source):
        for batch in _arrow_batches(source):
            for start in range(0, batch.num_rows, size):
                yield "", _lists_of(batch.slice(start, size), column, "the table")
    elif is_table(source):  # pandas, polars
        rows = source[_chosen(column, _columns_of_lists(source), "the table")]
        for start in range(0, len(rows), size):
            yield "", np.array([np.asarray(row) for row in rows[start : start + size]])
    elif hasattr(source, "shape") or isinstance(source, list | tuple):
        found = as_numpy(source)
        if isinstance(found, list | tuple) and _holds_batches(found):
            for each in found:
                yield from _parts(each, size, column)
        else:
            whole = isinstance(found, np.ndarray) and found.ndim == 2  # which may be mapped
            if whole or not isinstance(found, list | tuple) or len(found):
                yield "", found if whole else np.atleast_2d(as_array(found))
    elif hasattr(source, "__iter__"):
        for each in source:
            yield from _parts(each, size, column)
    else:
        raise TypeError(
            f"vectors must be an array, a file, a table or an iterable of batches, got a {type(source).__name__}."
        )


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _holds_batches(items: Any) -> bool:
    """Tell whether a list holds files or batches of vectors, and not vectors or numbers."""
    if not len(items):
        return False
    first = items[0]
    return _is_path(first) or _speaks_arrow(first) or len(getattr(first, "shape", ())) == 2


def _npy_parts(path: Path, size: int) -> Iterator[npt.NDArray[Any]]:
    with path.open("rb") as file:
        before = _state(file)
        shape, dtype = _npy_header(file, path)
        row_bytes = shape[1] * dtype.itemsize
        for first in range(0, shape[0], size):
            wanted = min(size, shape[0] - first) * row_bytes
            content = file.read(wanted)
            if _state(file) != before:
                raise ValueError(f"{path} was changed while it was read. Try again when it is complete.")
            if len(content) < wanted:
                whole = first + len(content) // row_bytes
                raise ValueError(f"{path} ends before row {whole:,} of {shape[0]:,}. Write it again.")
            yield np.frombuffer(content, dtype).reshape(-1, shape[1])


def _npy_header(file: IO[bytes], path: Path) -> tuple[tuple[int, int], np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(file)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as a NumPy array ({error}). Write it with numpy.save.") from error
    if len(shape) != 2 or dtype.kind not in "fiu" or not shape[1]:
        raise ValueError(f"{path} has the shape {shape} and the type {dtype}. Write numbers, one row per vector.")
    if by_columns and shape[0] > 1:
        raise ValueError(f"{path} is in Fortran order. Write numpy.ascontiguousarray of it, row after row.")
    return (shape[0], shape[1]), dtype


def _state(file: IO[bytes]) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def _parquet_parts(path: Path, size: int, column: str | None) -> Iterator[npt.NDArray[Any]]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(f"{path}: Parquet needs pyarrow. Install it: {install_command('parquet')}.") from error
    with path.open("rb") as stream:
        before = _state(stream)
        try:
            # A row group may be larger than memory: its pages are read as they are needed.
            with ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False) as file:
                lists = [field.name for field in file.schema_arrow if _holds_lists(field.type)]
                chosen = _chosen(column, lists, str(path))
                for batch in file.iter_batches(size, columns=[chosen]):
                    if _state(stream) != before:
                        raise ValueError(f"{path} was changed while it was read. Try again when it is complete.")
                    yield _lists_of(batch, chosen, str(path))
        except (pyarrow.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the system's own error, not that of the reader
            raise ValueError(f"{path} cannot be read as Parquet ({error}). Check the file.") from error


def _speaks_arrow(source: Any) -> bool:
    return hasattr(source, "__arrow_c_array__") or (
        hasattr(source, "__arrow_c_stream__") and not hasattr(source, "iloc") and hasattr(source, "schema")
    )


def _arrow_batches(source: Any) -> Iterator[Any]:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"a {type(source).__name__} needs pyarrow. Install it: {install_command('parquet')}."
        ) from error
    if hasattr(source, "__arrow_c_array__"):
        yield pyarrow.record_batch(source)
    else:
        yield from pyarrow.RecordBatchReader.from_stream(source)


def _columns_of_lists(frame: Any) -> list[str]:
    return [str(name) for name in frame.columns if len(frame) and np.ndim(frame[name][:1].to_numpy()[0]) == 1]


def _holds_lists(type_: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_))


def _chosen(column: str | None, lists: list[str], where: str) -> str:
    if column is None and len(lists) == 1:
        return lists[0]
    if column not in lists:
        listed = ", ".join(map(repr, lists)) or "none"
        what = f"{where} has no column {column!r} that holds" if column else f"name the column of {where} that holds"
        raise ValueError(f"{what} vectors. Set column to one of those that hold lists: {listed}.")
    return str(column)


def _lists_of(batch: Any, column: str | None, where: str) -> npt.NDArray[Any]:
    """Return the lists of an Arrow column as the rows of an array."""
    from pyarrow import compute

    lists = [field.name for field in batch.schema if _holds_lists(field.type)]
    values = batch.column(_chosen(column, lists, where))
    if values.null_count:
        raise ValueError(f"{where} has rows without a vector. Leave them out.")
    if not len(values):
        return np.empty((0, 1), dtype=np.float32)
    widths = compute.min_max(compute.list_value_length(values)).as_py()
    if widths["min"] != widths["max"] or not widths["min"]:
        raise ValueError(
            f"{where} has vectors of {widths['min']} to {widths['max']} values. Make all vectors with the same model."
        )
    numbers = values.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(numbers).reshape(-1, widths["min"])
