"""Small operations on matrices, sparse or dense, that several baselines share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.vectors.lengths import is_sparse

Array = npt.NDArray[np.float64]


def dense(rows: Vectors) -> npt.NDArray[Any]:
    """Return rows as a dense array."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)


def entries(X: Vectors) -> npt.NDArray[Any]:
    """Return the stored entries of a sparse matrix, or all entries of a dense one."""
    return np.asarray(X.data if is_sparse(X) else X)


def sums(X: Vectors, axis: int) -> Array:
    """Return the sums along an axis in double precision; SciPy keeps them in the precision of the matrix."""
    return np.asarray(X.astype(np.float64).sum(axis=axis)).ravel()


def document_frequency(X: Vectors) -> npt.NDArray[np.int64]:
    """Return the number of rows in which each column is not zero."""
    return np.asarray((X != 0).sum(axis=0), dtype=np.int64).ravel()


def restricted(X: Vectors, kept: npt.NDArray[np.bool_]) -> Vectors:
    """Return rows of the same width whose other columns are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines.matrices import restricted
    >>> restricted(np.array([[1.0, 2.0]], dtype=np.float32), np.array([False, True]))
    array([[0., 2.]], dtype=float32)
    """
    if not is_sparse(X):
        return np.where(kept, X, np.zeros(1, X.dtype))
    rows = sp.csr_array(X, copy=True)
    rows.data[~kept[rows.indices]] = 0
    rows.eliminate_zeros()
    return rows


def inverses(values: Array) -> Array:
    """Return 1 / value, and 0 where the value is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines.matrices import inverses
    >>> inverses(np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)
