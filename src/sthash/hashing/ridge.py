"""Linear maps by ridge regression, all outputs at once, and their predictions for documents that are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.checks import check_positive
from sthash.hashing.linear_hash import project
from sthash.vectors.checks import check_vectors
from sthash.vectors.lengths import squared_norms

Array = npt.NDArray[np.float32]

# Number of random targets with which `left_out_predictions` measures the share of its own target in a prediction.
PROBES = 4


class LeftOut(NamedTuple):
    """A linear map, and its approximate prediction for each document as if the regression had left it out."""

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
    """Find the weights B that minimize ``|X B − targets|² + alpha |B|²``.

    Conjugate gradients solve the smaller of the two normal equations: (X Xᵀ + alpha) A = targets with B = Xᵀ A if
    there are fewer documents than features, otherwise (Xᵀ X + alpha) B = Xᵀ targets. Neither matrix is ever formed;
    memory holds X, its transpose, and a few arrays of the size of the weights. An output depends neither on the other
    outputs nor on the number of threads.

    Parameters
    ----------
    X : sparse or dense matrix of shape (n, m)
    targets : array of shape (n, d)
    alpha : float, default=1.0
    tol : float, default=1e-3
        An output is finished when its residual is at most this share of its first one.
    max_iter : int, default=500
    threads : int or None, default=None
        None takes one per available core.

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
        raise ValueError(f"targets must have one row per row of X, {X.shape[0]}, got shape {Y.shape}.")
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
    """Find the weights of `ridge_map`, and predict each document approximately as if it had been left out.

    A map predicts the documents that it was learned from better than unseen documents. The prediction ŷ contains a
    share h of the document's own target y; without the document it would be (ŷ − h y) / (1 − h). The mean of h is
    measured with random signs as targets: how much of them does the same map return? The h of one document is taken
    in proportion to its squared length, and at most ``|x|² / (|x|² + alpha)``, its value if no document is similar.

    Parameters
    ----------
    X : sparse or dense matrix of shape (n, m)
    targets : array of shape (n, d)
    alpha : float
    rng : numpy Generator
        Draws the random signs.
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
    >>> learned = left_out_predictions(X, noise, 1.0, rng)
    >>> print((X @ learned.weights * noise).mean() > 0.1, (learned.predictions * noise).mean() > 0.1)
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
