"""What the learning stages take: rows of float32, sparse (CSR) or dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Vectors: TypeAlias = Any  # csr_array | csr_matrix | ndarray; SciPy has no common type for them


@dataclass(frozen=True)
class Rows:
    """The parts of a matrix as the C++ kernels read it.

    The rows of a dense matrix share one list of column numbers.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    dense: bool


def check_vectors(X: Vectors) -> Vectors:
    """Return X as C-ordered float32, CSR with sorted columns if sparse; refuse NaN, infinity and odd shapes."""
    from sklearn.utils import check_array

    X = check_array(X, accept_sparse="csr", dtype=np.float32, order="C", input_name="X")
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def as_rows(X: Vectors) -> Rows:
    """Take a checked matrix apart for the kernels."""
    if sp.issparse(X):
        return Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data, dense=False)
    n, m = X.shape
    return Rows(np.arange(n + 1, dtype=np.int64) * m, np.arange(m, dtype=np.int32), X.reshape(-1), dense=True)


def squared_norms(X: Vectors) -> npt.NDArray[np.float64]:
    """Squared Euclidean length of each row, in double precision."""
    if sp.issparse(X):
        squares = sp.csr_array((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape).sum(axis=1)
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return np.asarray(squares, dtype=np.float64).ravel()


def scaled_rows(X: Vectors, scale: npt.NDArray[np.float64]) -> Vectors:
    """Multiply each row by its factor; the columns of a sparse matrix are shared, not copied."""
    factors = scale.astype(np.float32)
    if sp.issparse(X):
        return sp.csr_array((X.data * np.repeat(factors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
    return np.ascontiguousarray(X * factors[:, None])


def unit_rows(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Scale the rows of a dense array to unit length; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


def check_width(X: Vectors, n_features: int) -> None:
    """Refuse rows of another width than the model has learnt from."""
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but this model learnt from {n_features}; "
            "make the rows with the same vectorizer or encoder as those it was fitted on."
        )
