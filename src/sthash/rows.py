"""Rows of vectors, sparse (CSR) or dense: checks, norms, unit length, and the parts that the C++ kernels read.

Nothing here imports SciPy or scikit-learn before a function needs it, because a search needs neither.

Sums and norms are in double precision. There are two ways to unit length, which differ in the last bit, and codes
depend on it: `unit_rows` divides by the norm in double precision; `scaled_rows` with `unit_factors` multiplies by its
reciprocal in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = Any  # csr_array | csr_matrix | ndarray; SciPy has no common type for them

# Lengths of rows whose squares, and sums of them, single precision can hold.
SHORTEST, LONGEST = 1e-18, 1e18
# Smallest factor, and the reciprocal of the largest one, that single precision holds without loss.
LEAST_FACTOR = 2.0**-126


@dataclass(frozen=True)
class RowParts:
    """The parts of a matrix as the C++ kernels read it.

    The rows of a dense matrix share one list of column numbers.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    dense: bool


def row_parts(X: Vectors) -> RowParts:
    """Return the parts of a checked matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.rows import row_parts
    >>> parts = row_parts(np.ones((2, 3), dtype=np.float32))
    >>> parts.indptr, parts.indices, parts.dense
    (array([0, 3, 6]), array([0, 1, 2], dtype=int32), True)
    """
    if is_sparse(X):
        return RowParts(X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data, dense=False)
    n, m = X.shape
    return RowParts(np.arange(n + 1, dtype=np.int64) * m, np.arange(m, dtype=np.int32), X.reshape(-1), dense=True)


def is_sparse(X: Vectors) -> bool:
    """Whether X is a CSR matrix, told without SciPy."""
    return hasattr(X, "indptr")


def check_vectors(X: Vectors) -> Vectors:
    """Return X as C-ordered float32, CSR with sorted columns if sparse; refuse NaN, infinity and odd shapes.

    A sparse matrix whose arrays do not fit together is refused before anything follows its pointers.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from sthash.rows import check_vectors
    >>> X = sp.csr_array(np.eye(2))
    >>> X.indices[0] = 7
    >>> check_vectors(X)
    Traceback (most recent call last):
        ...
    ValueError: X is no valid csr matrix: it has a column 7, but only 2 columns. Make it again from its entries.
    """
    from sklearn.utils import check_array

    check_structure(X)
    X = check_array(X, accept_sparse="csr", dtype=np.float32, order="C", input_name="X")
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_structure(X: Vectors, name: str = "X") -> None:
    """Refuse a sparse matrix whose arrays would lead out of bounds; SciPy and the kernels follow them unchecked.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from sthash.rows import check_structure
    >>> X = sp.csr_array(np.eye(2))
    >>> X.indptr[1] = 9
    >>> check_structure(X)
    Traceback (most recent call last):
    ValueError: X is no valid csr matrix: its row bounds do not ascend from 0 to at most 2. Make it again from its ...
    """
    layout = getattr(X, "format", None)
    if layout in ("csr", "csc", "bsr"):
        rows, columns = X.shape
        if layout == "bsr":
            rows, columns = rows // X.blocksize[0], columns // X.blocksize[1]
        if layout == "csc":
            rows, columns = columns, rows
        bounds, entries = X.indptr, min(len(X.indices), len(X.data))
        ascends = len(bounds) == rows + 1 and bounds[0] == 0 and bool((bounds[1:] >= bounds[:-1]).all())
        if not ascends or bounds[-1] > entries:
            raise ValueError(
                f"{name} is no valid {layout} matrix: its row bounds do not ascend from 0 to at most {entries}. "
                "Make it again from its entries."
            )
        _check_columns(name, layout, X.indices[: bounds[-1]], columns)
    elif layout == "coo":
        for indices, size in zip(X.coords, X.shape, strict=True):
            _check_columns(name, layout, indices, size)


def _check_columns(name: str, layout: str, indices: npt.NDArray[Any], columns: int) -> None:
    if columns > np.iinfo(np.int32).max:
        raise ValueError(f"{name} has {columns} columns, but at most 2147483647 can be used. Leave some out.")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise ValueError(
            f"{name} is no valid {layout} matrix: it has a column {wrong}, but only {columns} columns. "
            "Make it again from its entries."
        )


def as_array(value: Any) -> npt.NDArray[Any]:
    """Return numbers as an array, whatever holds them: NumPy, lists, PyTorch, or anything that speaks DLPack.

    Examples
    --------
    >>> from sthash.rows import as_array
    >>> as_array([1, 2])
    array([1., 2.], dtype=float32)
    """
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # PyTorch: also with gradients, on a GPU, or as bfloat16
        value = value.detach().cpu().float()
    elif not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    elif isinstance(value, list | tuple) and value and hasattr(value[0], "detach"):
        value = [as_array(each) for each in value]
    if isinstance(value, str | bytes | dict) or value is None:
        raise TypeError(f"a {type(value).__name__} is no vector")
    with np.errstate(over="ignore"):  # what single precision cannot hold becomes infinite, and is refused as such
        return np.asarray(value, dtype=np.float32)


def check_dense(vectors: npt.ArrayLike, width: int | None = None) -> npt.NDArray[np.float32]:
    """Return dense vectors as float32, one per row; refuse NaN, infinity and another width than the one given.

    Examples
    --------
    >>> from sthash.rows import check_dense
    >>> check_dense([3, 4], width=2)
    array([[3., 4.]], dtype=float32)
    """
    rows = np.atleast_2d(np.ascontiguousarray(vectors, dtype=np.float32))
    if rows.ndim != 2 or (width is not None and rows.shape[1] != width):
        raise ValueError(f"vectors must have {width or 'equally many'} values each, got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("vectors must be finite, got NaN or infinity. Check how they were made.")
    return rows


def check_width(X: Vectors, n_features: int) -> None:
    """Refuse rows of another width than the model has learned from."""
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but this model learned from {n_features}. "
            "Make the rows with the same vectorizer or encoder as those it was fitted on."
        )


def row_sums(indptr: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the sum of the values of each sparse row.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.rows import row_sums
    >>> row_sums(np.array([0, 2, 2, 3]), np.array([1.0, 2.0, 4.0]))
    array([3., 0., 4.])
    """
    if len(indptr) == 2 and indptr[1] > indptr[0] == 0:  # a single query should not wait for what many rows need
        return np.add.reduceat(values[: indptr[1]], indptr[:1])
    sums = np.zeros(len(indptr) - 1, dtype=values.dtype)
    filled = np.diff(indptr) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(values, indptr[:-1][filled])
    return sums


def squared_norms(X: Vectors) -> npt.NDArray[np.float64]:
    """Return the squared Euclidean length of each row, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.rows import squared_norms
    >>> squared_norms(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([25.,  0.])
    """
    if is_sparse(X):
        return row_sums(X.indptr, np.square(X.data, dtype=np.float64))
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def unit_factors(squares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the factors that bring rows of these squared norms to unit length; 1 for a zero row."""
    factors: npt.NDArray[np.float64] = 1 / np.sqrt(np.where(squares > 0, squares, 1))
    return factors


def check_lengths(squares: npt.NDArray[np.float64], shortest: float = SHORTEST, longest: float = LONGEST) -> None:
    """Refuse rows, given by their squared norms, whose squares leave the range of single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.rows import check_lengths
    >>> check_lengths(np.array([1e60]))
    Traceback (most recent call last):
    ValueError: the longest row has length 1e+30, beyond what single precision can learn from (1e-18 to 1e+18). ...
    """
    length = float(np.sqrt(squares.max(initial=0.0)))
    if length and not shortest <= length <= longest:
        raise ValueError(
            f"the longest row has length {length:.3g}, beyond what single precision can learn from ({shortest:g} to "
            f"{longest:g}). Scale the rows, for example to unit length with sklearn.preprocessing.normalize."
        )


def check_product_lengths(squares: npt.NDArray[np.float64]) -> None:
    """Refuse rows, given by their squared norms, whose inner products leave the range of single precision."""
    longest = float(squares.max(initial=0.0)) ** 0.5
    if longest > LONGEST:
        raise ValueError(f"a vector has the length {longest:.3g}, too much for inner products. Scale all vectors.")


def scaled_rows(X: Vectors, factors: npt.NDArray[np.float64]) -> Vectors:
    """Multiply each row by its factor, in single precision; the columns of a sparse matrix are shared, not copied.

    Factors that single precision cannot hold are multiplied in double precision.
    """
    if len(factors) and not LEAST_FACTOR <= factors.min() <= factors.max() <= 1 / LEAST_FACTOR:
        if is_sparse(X):
            return _with_data(X, (X.data * np.repeat(factors, np.diff(X.indptr))).astype(np.float32))
        return np.ascontiguousarray(X * factors[:, None], dtype=np.float32)
    factors32 = factors.astype(np.float32)
    if is_sparse(X):
        return _with_data(X, X.data * np.repeat(factors32, np.diff(X.indptr)))
    return np.ascontiguousarray(X * factors32[:, None])


def unit_rows(X: Vectors) -> Vectors:
    """Divide each row by its norm; a zero row stays zero. The result has the type of X.

    The columns of a sparse matrix are shared, not copied.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.rows import unit_rows
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    if is_sparse(X):
        norms = _nonzero_norms(squared_norms(X))
        return _with_data(X, (X.data / np.repeat(norms, np.diff(X.indptr))).astype(X.dtype, copy=False))
    # Not `squared_norms`: its sums are in another order.
    norms = _nonzero_norms(np.square(X, dtype=np.float64).sum(axis=1, keepdims=True))
    return (X / norms).astype(X.dtype, copy=False)


def completed_rows(X: npt.NDArray[np.float32], length: float) -> npt.NDArray[np.float32]:
    """Give dense rows one more column, which brings shorter ones to a length, and divide each by its norm.

    The cosines of unit rows that have 0 in that column with these rows order them as inner products do, as long as no
    row is longer than the length (Bachrach et al., RecSys 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.rows import completed_rows
    >>> completed_rows(np.array([[3, 0], [0, 0], [6, 8]], dtype=np.float32), 5)
    array([[0.6, 0. , 0.8],
           [0. , 0. , 1. ],
           [0.6, 0.8, 0. ]], dtype=float32)
    """
    squares = squared_norms(X)
    norms = _nonzero_norms(np.maximum(squares, length * length))
    rows = np.empty((len(X), X.shape[1] + 1), dtype=np.float32)
    np.divide(X, norms[:, None], out=rows[:, :-1], casting="same_kind")  # in double precision, without a copy in it
    rows[:, -1] = np.sqrt(np.maximum(length * length - squares, 0)) / norms
    return rows


def _nonzero_norms(squares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    norms = np.sqrt(squares)
    return np.where(norms > 0, norms, 1)


def _with_data(X: Vectors, data: npt.NDArray[Any]) -> Vectors:
    import scipy.sparse as sp

    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
