"""Hash functions over the kernel values of a vector with a few anchors: codes from curved boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sthash.arrays import Floats, Vectors
from sthash.hashing.linear_hash import project
from sthash.model_file import check_array
from sthash.vectors.checks import check_vectors, check_width
from sthash.vectors.lengths import unit_rows

# Number of kernel values in memory at once.
BLOCK_ENTRIES = 1 << 23


class KernelHash(BaseEstimator):  # type: ignore[misc]
    """A hash function whose margins are K W + b, where K holds Gaussian kernel values of rows with anchors.

    Rows are scaled to unit length first, so a kernel value depends on a cosine alone. The margins of a blank row are
    zero: its bits are all off.

    Parameters
    ----------
    threads : int or None, default=None
        None takes one per available core. The margins do not depend on it.

    Attributes
    ----------
    anchors_ : array of float32, shape (n_anchors, m)
        Rows of unit length.
    width_ : array of float64, shape (1,)
        Squared distance at which the kernel has fallen to 1 / e.
    weights_ : array of float32, shape (n_anchors, n_bits)
    intercept_ : array of float32, shape (n_bits,)

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.kernel_hash import KernelHash
    >>> function = KernelHash()
    >>> function.anchors_, function.width_ = np.eye(2, dtype=np.float32), np.array([1.0])
    >>> function.weights_ = np.array([[1.0], [-1.0]], dtype=np.float32)
    >>> function.intercept_ = np.zeros(1, dtype=np.float32)
    >>> print(function.decision_function(np.array([[2.0, 0.0], [0.0, 3.0]])).round(2).ravel())
    [ 0.86 -0.86]
    """

    anchors_: Floats
    width_: npt.NDArray[np.float64]
    weights_: Floats
    intercept_: Floats

    def __init__(self, *, threads: int | None = None) -> None:
        self.threads = threads

    def decision_function(self, X: Vectors) -> Floats:
        """Return the margins of rows, shape (n, n_bits); a bit is on where its margin is positive."""
        if not hasattr(self, "weights_"):
            raise NotFittedError("this KernelHash is not fitted yet. Fit the hasher that holds it.")
        X = check_vectors(X)
        check_width(X, self.anchors_.shape[1])
        rows: Floats = np.asarray(X.toarray() if hasattr(X, "indptr") else X, dtype=np.float32)
        margins: Floats = np.zeros((len(rows), self.weights_.shape[1]), dtype=np.float32)
        step = max(1, BLOCK_ENTRIES // len(self.anchors_))
        for first in range(0, len(rows), step):
            block = rows[first : first + step]
            kernel = kernel_values(block, self.anchors_, float(self.width_[0]), self.threads)
            found = project(kernel, self.weights_, self.threads) + self.intercept_
            margins[first : first + step] = np.where(block.any(axis=1, keepdims=True), found, 0)
        return margins

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        names = ("anchors", "width", "weights", "intercept")
        return {name: getattr(self, f"{name}_") for name in names}

    def _set_arrays(self, arrays: dict[str, npt.NDArray[Any]], n_features: int, n_bits: int) -> None:
        check_array(arrays, "anchors", np.float32, (None, n_features))
        n_anchors = len(arrays["anchors"])
        if n_anchors == 0:
            raise ValueError("anchors is empty")
        check_array(arrays, "width", np.float64, (1,))
        if not arrays["width"][0] > 0:
            raise ValueError("width must be positive")
        check_array(arrays, "weights", np.float32, (n_anchors, n_bits))
        check_array(arrays, "intercept", np.float32, (n_bits,))
        for name in ("anchors", "width", "weights", "intercept"):
            setattr(self, f"{name}_", arrays[name])


def kernel_values(rows: Floats, anchors: Floats, width: float, threads: int | None = None) -> Floats:
    """Return exp(−d² / width) of unit rows and anchors, d their distance. Sums are in the order of the columns."""
    cosines = project(unit_rows(rows), np.ascontiguousarray(anchors.T), threads).astype(np.float64)
    return np.exp(np.minimum(2 * cosines - 2, 0) / width).astype(np.float32)
