"""Linear hash functions: codes from dot products."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sthash import _core
from sthash.arrays import Vectors
from sthash.checks import resolve_threads
from sthash.model_file import check_array
from sthash.vectors.checks import check_vectors, check_width
from sthash.vectors.rows import Rows


class LinearHash(BaseEstimator):  # type: ignore[misc]
    """A hash function whose margins are X W + b, however W and b were learned.

    Parameters
    ----------
    threads : int or None, default=None
        None takes one per available core. The margins do not depend on it.

    Attributes
    ----------
    weights_ : array of float32, shape (m, n_bits)
    intercept_ : array of float32, shape (n_bits,)

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.linear_hash import LinearHash
    >>> function = LinearHash()
    >>> function.weights_ = np.array([[1.0], [-1.0]], dtype=np.float32)
    >>> function.intercept_ = np.array([0.5], dtype=np.float32)
    >>> function.decision_function(np.array([[1.0, 0.0], [0.0, 1.0]])).ravel().tolist()
    [1.5, -0.5]
    """

    weights_: npt.NDArray[np.float32]
    intercept_: npt.NDArray[np.float32]

    def __init__(self, *, threads: int | None = None) -> None:
        self.threads = threads

    def decision_function(self, X: Vectors) -> npt.NDArray[np.float32]:
        """Return the margins of rows, shape (n, n_bits); a bit is on where its margin is positive."""
        if not hasattr(self, "weights_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet. Fit it, or the hasher that holds it.")
        X = check_vectors(X)
        check_width(X, self.weights_.shape[0])
        return project(X, self.weights_, self.threads) + self.intercept_

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"weights": self.weights_, "intercept": self.intercept_}

    def _set_arrays(self, arrays: dict[str, npt.NDArray[Any]], n_features: int, n_bits: int) -> None:
        check_array(arrays, "weights", np.float32, (n_features, n_bits))
        check_array(arrays, "intercept", np.float32, (n_bits,))
        self.weights_, self.intercept_ = arrays["weights"], arrays["intercept"]


def project(X: Vectors, weights: npt.NDArray[np.float32], threads: int | None) -> npt.NDArray[np.float32]:
    """Multiply rows by weights. Each sum is taken in the order of the row, whatever the threads or the SIMD path."""
    n_outputs = weights.shape[1]
    missing = -n_outputs % _core.lanes_in_group
    padded = np.pad(weights, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(weights)
    margins = _core.project(Rows.of(X).view(), padded, threads=resolve_threads(threads))
    return margins[:, :n_outputs]
