"""A scikit-learn classifier that votes in the Hamming ball."""

from __future__ import annotations

from typing import Any, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sthash.arrays import Vectors
from sthash.checks import check_choice, check_whole
from sthash.collection import Voting, vote_weights
from sthash.hashing import SelfTaughtHashing
from sthash.hashing.hasher import learner_of
from sthash.index import HammingIndex
from sthash.vectors.checks import check_input


class KNNHashClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by the labels of the documents in the Hamming ball around a query's code.

    Parameters
    ----------
    hasher : hasher or None, default=None
        It learns the codes; None takes `SelfTaughtHashing` with 24 bits.
    k : int, default=25
        Number of voters if the radius is None or the ball is empty.
    radius : int or None, default=3
        Radius of the ball. If the ball is empty, the documents with the ``k`` nearest codes vote instead. None always
        takes the ``k`` nearest codes, whatever their distance.
    voting : {"majority", "distance"}, default="majority"
        ``distance`` gives a document at d bits the weight 1 / (1 + d).
    threads : int or None, default=None
        Threads of the search and of the default hasher; None takes one per available core.

    Attributes
    ----------
    classes_ : array
    hasher_ : hasher
        The fitted one.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.applications import KNNHashClassifier
    >>> from sthash import SelfTaughtHashing
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(40, 8)) + 3, rng.normal(size=(40, 8)) - 3])
    >>> y = np.repeat(["high", "low"], 40)
    >>> classifier = KNNHashClassifier(SelfTaughtHashing(8, n_neighbors=10)).fit(X, y)
    >>> classifier.predict([[3.0] * 8, [-3.0] * 8]).tolist()
    ['high', 'low']
    """

    def __init__(
        self,
        hasher: Any = None,
        *,
        k: int = 25,
        radius: int | None = 3,
        voting: Voting = "majority",
        threads: int | None = None,
    ) -> None:
        self.hasher = hasher
        self.k = k
        self.radius = radius
        self.voting = voting
        self.threads = threads

    def fit(self, X: Vectors, y: npt.ArrayLike) -> Self:
        """Learn codes for the documents, and remember their labels.

        A fit that fails or is interrupted leaves the classifier as it was.
        """
        with learner_of(self) as learner:
            learner._fit(X, y)
        return self

    def _fit(self, X: Vectors, y: npt.ArrayLike) -> None:
        check_whole("k", self.k)
        check_choice("voting", self.voting, get_args(Voting))
        if self.radius is not None:
            check_whole("radius", self.radius, least=0)
        X, y = validate_data(self, check_input(X), y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        self.classes_, self._labels = np.unique(np.asarray(y), return_inverse=True)
        self.hasher_ = SelfTaughtHashing(24, threads=self.threads) if self.hasher is None else clone(self.hasher)
        self.hasher_.fit(X)
        self._index = _index_of(self.hasher_)

    def predict_proba(self, X: Vectors) -> npt.NDArray[np.float64]:
        """Return the share of the votes for each class."""
        check_is_fitted(self)
        X = validate_data(self, check_input(X), accept_sparse="csr", dtype=np.float32, reset=False)
        codes = self.hasher_.transform(X)
        votes = np.zeros((len(codes), len(self.classes_)))
        if self.radius is not None:
            lims, ids, distances = self._index.radius_search(codes, self.radius, threads=self.threads)
            voters = np.repeat(np.arange(len(codes)), np.diff(lims))
            np.add.at(votes, (voters, self._labels[ids]), vote_weights(distances, self.voting))
        alone = np.flatnonzero(votes.sum(axis=1) == 0)
        if len(alone):
            ids, distances = self._index.search(codes[alone], self.k, threads=self.threads)
            voters = np.repeat(alone, ids.shape[1])[ids.ravel() >= 0]
            held = ids >= 0
            np.add.at(votes, (voters, self._labels[ids[held]]), vote_weights(distances[held], self.voting))
        shares: npt.NDArray[np.float64] = votes / votes.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: Vectors) -> npt.NDArray[Any]:
        """Return the class with the most votes; of equals, the first."""
        check_is_fitted(self)
        winners: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return winners

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_index"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "hasher_"):
            self._index = _index_of(self.hasher_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _index_of(hasher: Any) -> HammingIndex:
    return HammingIndex.build(hasher.codes_, n_bits=hasher.n_bits)
