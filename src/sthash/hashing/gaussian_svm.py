"""Hash functions by support vector machines with a Gaussian kernel: stage 2 with nonlinear decision boundaries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sthash.arrays import Vectors
from sthash.blas import one_blas_thread
from sthash.checks import check_positive, check_whole
from sthash.codes import Bits
from sthash.hashing.corpus_products import corpus_arrays, corpus_from, product_blocks
from sthash.model_file import check_array
from sthash.vectors.checks import check_sample_weight, check_vectors, check_width
from sthash.vectors.lengths import squared_norms

Array = npt.NDArray[np.float32]


class GaussianSVM(BaseEstimator):  # type: ignore[misc]
    """One support vector machine per bit with the kernel ``exp(−γ |x − y|²)``; all bits share one kernel matrix.

    Each machine minimizes ``½ |w|² + C Σ max(0, 1 − y_i w·φ(x_i))²`` by dual coordinate descent, as `LinearSVMBank`
    does for linear machines. There is no intercept, because a Gaussian kernel does not need one. The machines keep the
    corpus. Learning takes 4 n² bytes; predicting one document costs one comparison per document of the corpus.

    Parameters
    ----------
    C : float, default=1.0
    gamma : float or None, default=None
        None takes 1 / (features × variance of the entries), as ``SVC(gamma="scale")`` does.
    tol : float, default=0.1
        Learning ends after a round over the documents in which the projected gradients span at most this.
    max_iter : int, default=200
        Largest number of rounds.
    random_state : int, RandomState or None, default=0
        Seed of the order in which documents are visited.

    Attributes
    ----------
    corpus_ : the training rows
    duals_ : array of float32, shape (n, n_bits)
        α_i y_i of each machine.
    gamma_ : float
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import GaussianSVM
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> bits = np.array([[0], [1], [1], [0]], dtype=bool)
    >>> (GaussianSVM(C=10).fit(X, bits).decision_function(X) > 0).ravel().astype(int).tolist()
    [0, 1, 1, 0]
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        gamma: float | None = None,
        tol: float = 0.1,
        max_iter: int = 200,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Vectors, bits: Bits, *, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn to predict each column of ``bits`` from the rows of X; a row of weight 2 counts as two rows."""
        self._validate()
        X = check_vectors(X)
        bits = np.asarray(bits, dtype=bool)
        if bits.ndim != 2 or bits.shape[0] != X.shape[0] or bits.shape[1] == 0:
            raise ValueError(
                f"bits must have one row per row of X, {X.shape[0]}, and a column, got shape {bits.shape}."
            )
        weights = check_sample_weight(sample_weight, X.shape[0])
        if weights is None:
            weights = np.ones(X.shape[0])
        X, bits, weights = X[weights > 0], bits[weights > 0], weights[weights > 0]
        gamma = float(self.gamma) if self.gamma is not None else 1 / (_total_variance(X) or 1.0)
        order = np.random.default_rng(int(check_random_state(self.random_state).randint(2**31)))
        with one_blas_thread():
            K = np.empty((X.shape[0], X.shape[0]), dtype=np.float32)
            for rows, kernel in _kernel_blocks(X, X, gamma):
                K[rows] = kernel
            duals, n_iter, converged = _descend(K, bits, 1 / (2 * self.C * weights), self.tol, self.max_iter, order)
        if not converged:
            warnings.warn(
                f"the machines did not reach tol={self.tol} in max_iter={self.max_iter} rounds. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.corpus_, self.gamma_ = X, gamma
        self.duals_, self.n_iter_ = duals, n_iter
        return self

    def decision_function(self, X: Vectors) -> npt.NDArray[np.float64]:
        """Return the margins of rows, shape (n, n_bits); a bit is on where its margin is positive."""
        check_is_fitted(self)
        X = check_vectors(X)
        check_width(X, self.corpus_.shape[1])
        margins = np.empty((X.shape[0], self.duals_.shape[1]))
        with one_blas_thread():
            for rows, kernel in _kernel_blocks(X, self.corpus_, self.gamma_):
                margins[rows] = kernel @ self.duals_
        return margins

    def _validate(self) -> None:
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        check_whole("max_iter", self.max_iter)
        if self.gamma is not None:
            check_positive("gamma", self.gamma)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**corpus_arrays(self.corpus_), "duals": self.duals_, "gamma": np.array([self.gamma_])}

    def _set_arrays(self, arrays: dict[str, npt.NDArray[Any]], n_features: int, n_bits: int) -> None:
        self.corpus_ = corpus_from(arrays, n_features)
        check_array(arrays, "duals", np.float32, (self.corpus_.shape[0], n_bits))
        check_array(arrays, "gamma", np.float64, (1,))
        self.duals_, self.gamma_ = arrays["duals"], float(arrays["gamma"][0])


def _kernel_blocks(X: Vectors, corpus: Vectors, gamma: float) -> Iterator[tuple[slice, npt.NDArray[np.float64]]]:
    """Yield slices of the rows of X with their kernel values with the rows of the corpus."""
    own, others = squared_norms(X), squared_norms(corpus)
    for rows, products in product_blocks(X, corpus):
        distances = np.maximum(own[rows, None] + others - 2 * products, 0)
        yield rows, np.exp(-gamma * distances)


def _descend(
    K: Array, bits: Bits, diagonal: npt.NDArray[np.float64], tol: float, max_iter: int, order: np.random.Generator
) -> tuple[Array, int, bool]:
    """Minimize ½ αᵀ(Q + diag(d))α − 1ᵀα over α ≥ 0, Q_ij = y_i y_j K_ij: one document at a time, for all bits."""
    diagonal = diagonal.astype(np.float32)
    signs = np.where(bits, np.float32(1), np.float32(-1))
    alphas, duals = np.zeros_like(signs), np.zeros_like(signs)
    step = 1 / (K.diagonal() + diagonal)
    for n_iter in range(1, max_iter + 1):
        lowest, highest = np.inf, -np.inf
        for i in order.permutation(len(K)):
            gradient = signs[i] * (K[i] @ duals) - 1 + diagonal[i] * alphas[i]
            projected = np.where(alphas[i] > 0, gradient, np.minimum(gradient, 0))
            lowest, highest = min(lowest, projected.min()), max(highest, projected.max())
            alphas[i] = np.maximum(alphas[i] - step[i] * gradient, 0)
            duals[i] = alphas[i] * signs[i]
        if highest - lowest <= tol:
            return duals, n_iter, True
    return duals, max_iter, False


def _total_variance(X: Vectors) -> float:
    """Variance of all entries around their common mean, times the number of features."""
    mean = float(X.astype(np.float64).mean())
    return float(max(squared_norms(X).mean() - X.shape[1] * mean**2, 0.0))
