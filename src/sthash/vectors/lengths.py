"""Sums, norms and unit length of rows, in matrices of SciPy or in arrays.

Nothing here imports SciPy before a function needs it, because a search does not.

Sums and norms are in double precision. There are two ways to unit length, which differ in the last bit, and codes
depend on it: `unit_rows` divides by the norm in double precision; `scaled_rows` with `unit_factors` multiplies by its
reciprocal in single precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors

# Smallest factor, and the reciprocal of the largest one, that single precision holds without loss.
LEAST_FACTOR = 2.0**-126
# How far the squared length of a row may be from 1 that counts as of unit length.
UNIT_ROUNDING = 1e-5
ROWS_TOGETHER = 8192


def is_sparse(X: Vectors) -> bool:
    """Tell whether X is a CSR matrix, without SciPy."""
    return hasattr(X, "indptr")


def row_sums(indptr: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the sum of the values of each sparse row.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.vectors.lengths import row_sums
    >>> row_sums(np.array([0, 2, 2, 3]), np.array([1.0, 2.0, 4.0]))
    array([3., 0., 4.])
    """
    if len(indptr) == 2 and indptr[1] > indptr[0] == 0:  # a single query should not wait for what many rows need
        return np.add.reduceat(values[: indptr[1]], indptr[:1])
    values = values[: indptr[-1]]
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
    >>> from sthash.vectors.lengths import squared_norms
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
    >>> from sthash.vectors.lengths import unit_rows
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    if is_sparse(X):
        return _with_data(X, unit_values(X.indptr, X.data))
    # Not `squared_norms`: its sums are in another order.
    norms = _nonzero_norms(np.square(X, dtype=np.float64).sum(axis=1, keepdims=True))
    return (X / norms).astype(X.dtype, copy=False)


def rows_of_unit_length(X: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return dense rows of unit length: the array itself if they have it already, else `unit_rows`.

    Some rows at a time are looked at, because the array may be a large one in a file.
    """
    for first in range(0, len(X), ROWS_TOGETHER):
        squares = squared_norms(X[first : first + ROWS_TOGETHER])
        if float(np.abs(squares - 1).max(initial=0)) > UNIT_ROUNDING:
            return np.ascontiguousarray(unit_rows(X), dtype=np.float32)
    return X


def unit_values(indptr: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values of sparse rows, each row divided by its norm."""
    norms = _nonzero_norms(row_sums(indptr, np.square(values, dtype=np.float64)))
    return (values / np.repeat(norms, np.diff(indptr))).astype(values.dtype, copy=False)


def completed_rows(X: npt.NDArray[np.float32], length: float) -> npt.NDArray[np.float32]:
    """Give dense rows one more column, which brings shorter ones to a length, and divide each by its norm.

    The cosines of unit rows that have 0 in that column with these rows order them as inner products do, as long as no
    row is longer than the length (Bachrach et al., RecSys 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.vectors.lengths import completed_rows
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
