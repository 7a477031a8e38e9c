"""Hash functions by linear support vector machines: stage 2, one machine per bit, all learned in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sthash import _core
from sthash.arrays import Vectors
from sthash.checks import check_choice, check_positive, check_whole, resolve_threads
from sthash.codes import Bits
from sthash.hashing.linear_hash import LinearHash
from sthash.vectors.checks import check_lengths, check_sample_weight, check_vectors
from sthash.vectors.lengths import squared_norms
from sthash.vectors.rows import Rows

Loss = Literal["squared_hinge", "hinge"]
# Rows of smaller penalties than its reciprocal count for nothing; single precision holds it.
LARGEST = 1e30


class LinearSVMBank(LinearHash):
    """One linear support vector machine per bit, by dual coordinate descent over all bits at once.

    Each machine minimizes ½ wᵀw + C Σ s_i loss(y_i wᵀx_i), where s_i is the weight of row i, as LIBLINEAR does, and
    converges to LIBLINEAR's solution. A bit depends neither on the other bits nor on the number of threads.

    Parameters
    ----------
    C : float, default=1.0
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    fit_intercept : bool, default=False
        True adds a constant feature of value 1, whose weight is regularized like the others.
    tol : float, default=0.1
        A bit is finished when its projected gradients span at most this; 0.1 is also the default of LIBLINEAR. Weights
        are in single precision and do not improve below about 1e-4.
    max_iter : int, default=1000
        Largest number of rounds over the documents.
    random_state : int, RandomState or None, default=0
        Seed of the order in which documents are visited.
    threads : int or None, default=None
        None takes one per available core.

    Attributes
    ----------
    weights_ : array of float32, shape (m, n_bits)
    intercept_ : array of float32, shape (n_bits,)
    n_iter_ : array of int32, shape (n_bits,)
        Rounds that each bit took.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import LinearSVMBank
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> bits = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    >>> (LinearSVMBank().fit(X, bits).decision_function(X) > 0).tolist()
    [[True, False], [True, False], [False, True], [False, True]]
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Loss = "squared_hinge",
        fit_intercept: bool = False,
        tol: float = 0.1,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        super().__init__(threads=threads)
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self,
        X: Vectors,
        bits: Bits,
        *,
        sample_weight: npt.ArrayLike | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Learn to predict each column of ``bits`` from the rows of X.

        A fit that fails leaves the machines as they were. The errors of a row have the penalty C times its
        ``sample_weight``, by default 1, so a row of weight 2 counts as two rows. ``report`` is called several times
        per second with how many bits are done, and of how many.
        """
        self._validate()
        X = check_vectors(X)
        bits = np.asarray(bits, dtype=bool)
        if bits.ndim != 2 or bits.shape[0] != X.shape[0] or bits.shape[1] == 0:
            raise ValueError(
                f"bits must have one row per row of X, {X.shape[0]}, and a column, got shape {bits.shape}."
            )
        weights = check_sample_weight(sample_weight, X.shape[0])
        if weights is not None and (weights == 0).any():
            X, bits, weights = X[weights > 0], bits[weights > 0], weights[weights > 0]
        squared = self.loss == "squared_hinge"
        penalties = np.full(X.shape[0], self.C) if weights is None else self.C * weights
        diagonal = np.minimum(1 / (2 * penalties), LARGEST) if squared else np.zeros(X.shape[0])
        upper = np.full(X.shape[0], np.inf) if squared else penalties
        bias = 1.0 if self.fit_intercept else 0.0
        squares = squared_norms(X)
        check_lengths(squares)
        curvature = squares + bias**2 + diagonal
        # A zero row moves no weight; with the plain hinge its dual goes to the bound at the first step.
        inverse = (1 / np.maximum(curvature, np.finfo(np.float32).tiny)).astype(np.float32)
        learned, intercept, n_iter = _core.fit_svm_bank(
            Rows.of(X).view(),
            np.ascontiguousarray(bits).view(np.uint8),
            inverse_curvature=inverse,
            diagonal=diagonal.astype(np.float32),
            upper=upper.astype(np.float32),
            bias=bias,
            tolerance=self.tol,
            max_rounds=self.max_iter,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            threads=resolve_threads(self.threads),
            report=report,
        )
        stuck = int((n_iter > self.max_iter).sum())
        if stuck:
            warnings.warn(
                f"{stuck} of {bits.shape[1]} bits did not reach tol={self.tol} in max_iter={self.max_iter} rounds. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.weights_, self.intercept_, self.n_iter_ = learned, intercept, n_iter
        return self

    def _validate(self) -> None:
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        check_choice("loss", self.loss, get_args(Loss))
        check_whole("max_iter", self.max_iter)
