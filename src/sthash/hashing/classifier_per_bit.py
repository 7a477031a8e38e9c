"""Hash functions by any scikit-learn classifier: stage 2, one copy of it per bit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sthash.arrays import Vectors
from sthash.codes import Bits


class ClassifierPerBit(BaseEstimator):  # type: ignore[misc]
    """Fit one copy of a binary classifier per bit.

    A bit that is the same for all documents needs no classifier; that value is predicted.

    Parameters
    ----------
    classifier : scikit-learn classifier
        It may be a pipeline that ends in a classifier, for instance ``make_pipeline(Nystroem(), LinearSVC())``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from sthash.hashing import ClassifierPerBit
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> bits = np.array([[0, 0], [1, 0], [1, 0], [0, 0]], dtype=bool)
    >>> (ClassifierPerBit(SVC(C=100)).fit(X, bits).decision_function(X) > 0).astype(int).tolist()
    [[0, 0], [1, 0], [1, 0], [0, 0]]
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Vectors, bits: Bits, *, sample_weight: npt.NDArray[Any] | None = None) -> Self:
        """Fit one copy of the classifier to each column of ``bits``."""
        if sample_weight is not None and not has_fit_parameter(self.classifier, "sample_weight"):
            raise ValueError(
                f"{type(self.classifier).__name__} takes no sample_weight. Leave it out, or use another classifier."
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        constants = np.where(bits.all(axis=0), 1.0, np.where(bits.any(axis=0), np.nan, -1.0))
        self.classifiers_ = [
            clone(self.classifier).fit(X, bit, **weights) if np.isnan(constant) else None
            for bit, constant in zip(bits.T, constants, strict=True)
        ]
        self.constants_ = constants
        return self

    def decision_function(self, X: Vectors) -> npt.NDArray[np.float64]:
        """Return one column of margins per bit; ±1 if the classifier only predicts."""
        check_is_fitted(self)
        margins = np.tile(self.constants_, (X.shape[0], 1))
        for p, classifier in enumerate(self.classifiers_):
            if classifier is not None:
                margins[:, p] = _margin(classifier, X)
        return margins


def _margin(classifier: Any, X: Vectors) -> npt.NDArray[Any]:
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X)).ravel()
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(X)[:, 1] - 0.5)
    return np.where(classifier.predict(X), 1.0, -1.0)
