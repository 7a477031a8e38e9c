"""Linear maps by ridge regression, all outputs at once, and what they predict for a document left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.checks import check_positive
from sthash.hashing.linear_hash import project
from sthash.rows import Vectors, check_vectors, squared_norms

Array = npt.NDArray[np.float32]

# Random targets by which `left_out_predictions` measures how much of its own target a document gets back.
PROBES = 4


class LeftOut(NamedTuple):
    """A linear map, and about what it would predict for each document had that one been left out of the regression."""

    weights: Array
    predictions: npt.NDArray[np.float64]


def ridge_map(
    X: Vectors,
    targets: npt.NDArray[Any],
    alpha: float = 1.0,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    threads: int | None = None,
) -> Array:
    """Find the weights B that minimise |X B − targets|² + alpha |B|².

    Conjugate gradients on the smaller of the two normal equations: (X Xᵀ + alpha) A = targets with B = Xᵀ A where
    there are fewer documents than features, else (Xᵀ X + alpha) B = Xᵀ targets. Neither matrix is ever formed; beside
    X and its transpose, memory holds a few arrays of the size of the weights. An output does not depend on the
    others, nor on the number of threads.

    Parameters
    ----------
    X : sparse or dense matrix of shape (n, m)
    targets : array of shape (n, d)
    alpha : float, default=1.0
    tol : float, default=1e-3
        An output is done when its residual is at most this share of its first one.
    max_iter : int, default=500
    threads : int or None, default=None
        None takes one a core.

    Returns
    -------
    weights : array of float32, shape (m, d)

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import ridge_map
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> print(ridge_map(X, X @ np.array([[2.0], [3.0]]), alpha=1e-6).round(2))
    [[2.]
     [3.]]
    """
    alpha = check_positive("alpha", alpha)
    X = check_vectors(X)
    Y = np.ascontiguousarray(targets, dtype=np.float32)
    if Y.ndim != 2 or len(Y) != X.shape[0]:
        raise ValueError(f"targets must have a row for each of the {X.shape[0]} rows of X, got shape {Y.shape}.")
    turned = sp.csr_array(X.T) if sp.issparse(X) else np.ascontiguousarray(X.T)

    def times(values: Array) -> Array:
        return project(X, values, threads)

    def turned_times(values: Array) -> Array:
        return project(turned, values, threads)

    if X.shape[0] <= X.shape[1]:
        return turned_times(_solve(lambda A: times(turned_times(A)), Y, alpha, tol, max_iter))
    return _solve(lambda B: turned_times(times(B)), turned_times(Y), alpha, tol, max_iter)


def left_out_predictions(
    X: Vectors,
    targets: npt.NDArray[Any],
    alpha: float,
    rng: np.random.Generator,
    *,
    tol: float = 1e-3,
    threads: int | None = None,
) -> LeftOut:
    """Find the weights of `ridge_map`, and predict each document about as if the others alone had been learnt from.

    A map predicts the documents it was learnt from better than unseen ones, by a share h of each one's own target y:
    without it the prediction ŷ would be (ŷ − h y) / (1 − h). The mean of h is measured by how much of random signs
    the same map would give back; a document's own h is taken in proportion to its squared length, and to be at most
    |x|² / (|x|² + alpha), which is what it would be if no other document were like it.

    Parameters
    ----------
    X : sparse or dense matrix of shape (n, m)
    targets : array of shape (n, d)
    alpha : float
    rng : numpy Generator
        Of the random signs.
    tol, threads
        As in `ridge_map`.

    Returns
    -------
    LeftOut
        ``weights`` of shape (m, d) and ``predictions`` of shape (n, d).

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.ridge import left_out_predictions
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(1000, 200)), rng.normal(size=(1000, 1))
    >>> learnt = left_out_predictions(X, noise, 1.0, rng)
    >>> print((X @ learnt.weights * noise).mean() > 0.1, (learnt.predictions * noise).mean() > 0.1)
    True False
    """
    X = check_vectors(X)
    n, d = targets.shape
    signs = rng.choice(np.array([-1.0, 1.0]), size=(n, PROBES))
    weights = ridge_map(X, np.hstack([targets, signs]), alpha, tol=tol, threads=threads)
    predicted = project(X, weights, threads).astype(np.float64)
    squares = squared_norms(X)[:, None]
    mean_share = max(float((predicted[:, d:] * signs).mean()), 0.0)
    share = np.minimum(mean_share * squares / (squares.mean() or 1), squares / (squares + alpha))
    return LeftOut(np.ascontiguousarray(weights[:, :d]), (predicted[:, :d] - share * targets) / (1 - share))


def _solve(apply: Callable[[Array], Array], target: Array, alpha: float, tol: float, max_iter: int) -> Array:
    """Conjugate gradients for (K + alpha) A = target, column by column, all columns in step."""
    solution = np.zeros_like(target)
    residual = target.copy()
    direction = target.copy()
    square = _squares(residual)
    enough = tol**2 * square
    for _ in range(max_iter):
        busy = square > enough
        if not busy.any():
            break
        image = apply(direction) + np.float32(alpha) * direction
        curvature = np.einsum("ij,ij->j", direction, image, dtype=np.float64)
        step = np.where(busy, square / np.where(curvature > 0, curvature, 1), 0).astype(np.float32)
        solution += step * direction
        residual -= step * image
        new_square = np.where(busy, _squares(residual), square)
        direction *= np.where(busy, new_square / np.where(square > 0, square, 1), 0).astype(np.float32)
        direction += residual
        square = new_square
    return solution


def _squares(values: Array) -> npt.NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->j", values, values, dtype=np.float64))
