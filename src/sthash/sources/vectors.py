"""Vectors that documents bring with them: from any array, list or tensor to one checked row of float32 per document.

They are in a field of each record, in a ``.npy`` file beside the records (row i belongs to record i), or in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sthash.vectors.checks import check_rows
from sthash.vectors.conversion import as_numpy
from sthash.vectors.metric import Metric

FILE_ENDING = ".npy"
Row: TypeAlias = npt.NDArray[np.float32]


def is_vector_file(vectors: Any) -> bool:
    """Tell whether vectors are given by the name of a file: a path object, or a str that ends with ``.npy``."""
    return isinstance(vectors, os.PathLike) or (isinstance(vectors, str) and vectors.lower().endswith(FILE_ENDING))


class VectorCheck:
    """Refuses vectors that cannot be compared; all must have the width of the first, or the one that is given.

    Parameters
    ----------
    width : int, optional
    metric : {"cosine", "ip"} or None
        What they are compared by, if that is known. A vector of zeros has inner products, but no cosines.

    Examples
    --------
    >>> from sthash.sources.vectors import VectorCheck
    >>> check = VectorCheck()
    >>> check([3.0, 4.0], "vector 0")
    array([3., 4.], dtype=float32)
    >>> check([1.0], "vector 1")
    Traceback (most recent call last):
        ...
    ValueError: vector 1 must have 2 values, got 1. Make all vectors with the same model.
    """

    def __init__(self, width: int | None = None, metric: Metric | None = "cosine") -> None:
        self.width = width
        self._metric = metric

    def __call__(self, value: Any, what: str) -> Row:
        """Return a vector as float32; ``what`` names it in error messages."""
        try:
            rows = check_rows(value, self._metric, width=self.width, what=what)
        except TypeError as error:  # what is wrong is the document, not the call
            raise ValueError(str(error)) from error
        if len(rows) != 1:
            raise ValueError(
                f"{what} must be one row of numbers, got {len(rows)} rows. Give every document one vector."
            )
        self.width = rows.shape[1]
        row: Row = rows[0]
        return row


def open_vectors(vectors: Any) -> Iterable[Any]:
    """Return vectors in memory, or in a ``.npy`` file, as something to iterate over; a file is mapped, not read.

    Parameters
    ----------
    vectors : path, array, tensor, or iterable of vectors
    """
    if is_vector_file(vectors):
        return _mapped(Path(vectors))
    if isinstance(vectors, str | bytes):
        raise TypeError(f"vectors={vectors!r} is the name of a field, but there are no documents. Pass them too.")
    if hasattr(vectors, "shape") and len(vectors.shape) != 2:
        raise ValueError(f"vectors have the shape {tuple(vectors.shape)}. Pass one row per document.")
    found: Iterable[Any] = as_numpy(vectors)
    return found


def _mapped(path: Path) -> npt.NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a NumPy array ({error}). Write it with numpy.save.") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise ValueError(f"{path} holds several arrays. Write one array to a .npy file, with numpy.save.")
    if array.dtype.kind == "V":  # what numpy.save makes of bfloat16
        raise ValueError(
            f"{path} has a type that NumPy does not know when it reads a file, such as bfloat16. "
            "Write the numbers as float16 or float32."
        )
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{path} has the shape {array.shape} and the type {array.dtype}. Write numbers, one row per document."
        )
    return array


class VectorFile:
    """The rows of a ``.npy`` file, one for each record of the sources, good or bad.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._rows: Any = _mapped(Path(path))
        self._next = 0

    def take(self) -> Any:
        """Return the row of the next record; None if there is none."""
        number, self._next = self._next, self._next + 1
        return self._rows[number] if number < len(self._rows) else None

    def finish(self) -> None:
        """Refuse another number of records than of rows."""
        if self._next != len(self._rows):
            raise unequal(self._next, len(self._rows), str(self._path))


def unequal(documents: int, vectors: int, name: str = "") -> ValueError:
    """Return the error for a number of vectors that is not that of the documents."""
    return ValueError(
        f"documents and vectors are not equally many: {documents:,} documents, {vectors:,} vectors"
        f"{f' in {name}' if name else ''}. Pass one vector per document."
    )
