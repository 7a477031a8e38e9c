"""Truncated singular value decompositions of corpora, sparse or dense, the same on every run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from sthash.arrays import Vectors
from sthash.baselines.matrices import Array, dense, sums
from sthash.hashing.signs import column_signs
from sthash.vectors.lengths import is_sparse, squared_norms

# A matrix with at most this many entries is decomposed as a whole, which is exact and fast.
DENSE_ENTRIES = 1 << 20


class Factors(NamedTuple):
    """Leading singular triplets, largest first: ``left`` (n, k), ``values`` (k,), ``right`` (m, k)."""

    left: Array
    values: Array
    right: Array


def leading_svd(X: Vectors, k: int, minus: tuple[Array, Array] | None = None) -> Factors:
    """Return the k largest singular triplets of X − a bᵀ, where ``minus`` is (a, b).

    Triplets that vanish within the precision of the float32 input are left out, so fewer than k may come back. The
    right vectors decide the signs (`column_signs`).
    """
    n, m = X.shape
    k = min(k, n, m)
    scale = float(np.sqrt(squared_norms(X).sum()))
    if n * m <= DENSE_ENTRIES or k > min(n, m) // 4:
        whole = dense(X).astype(np.float64)
        if minus is not None:
            whole = whole - np.outer(*minus)
        left, values, right_rows = np.linalg.svd(whole, full_matrices=False)
        left, values, right = left[:, :k], values[:k], right_rows[:k].T
    else:
        start = np.random.default_rng(0).standard_normal(min(n, m))
        left, values, right_rows = svds(_operator(X, minus), k=k, v0=start, solver="arpack")
        order = np.argsort(-values, kind="stable")
        left, values, right = left[:, order], values[order], right_rows[order].T
    kept = values > np.finfo(np.float32).eps * scale
    left, values, right = left[:, kept], values[kept], right[:, kept]
    signs = column_signs(right)
    return Factors(left * signs, values, right * signs)


def principal_components(X: Vectors, k: int) -> tuple[Array, Array]:
    """Return the mean of the rows, and the up to k directions (m, k) in which they vary most."""
    mean = sums(X, axis=0) / X.shape[0]
    return mean, leading_svd(X, k, minus=(np.ones(X.shape[0]), mean)).right


def _operator(X: Vectors, minus: tuple[Array, Array] | None) -> Any:
    double = X.astype(np.float64)
    if minus is None:
        return double
    a, b = minus
    turned = double.T.tocsr() if is_sparse(double) else double.T
    return LinearOperator(
        X.shape,
        matvec=lambda v: double @ v.ravel() - a * (b @ v.ravel()),
        rmatvec=lambda u: turned @ u.ravel() - b * (a @ u.ravel()),
        dtype=np.float64,
    )
