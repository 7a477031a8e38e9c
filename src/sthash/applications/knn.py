"""A scikit-learn classifier: codes propose neighbors, and their cosines decide."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sthash import _core
from sthash.arrays import Positions, Vectors
from sthash.checks import resolve_threads
from sthash.codes import as_words
from sthash.collection import (
    MOST,
    NEIGHBORS,
    SAMPLE,
    VOTERS,
    Neighborhoods,
    Vote,
    Voting,
    Weighing,
    choose,
    label_shares,
    spread_evenly,
    vote_weights,
)
from sthash.hashing import SelfTaughtHashing
from sthash.hashing.hasher import learner_of
from sthash.index import HammingIndex
from sthash.vectors.checks import check_input
from sthash.vectors.rows import Rows

# Codes that are looked at per voter, and at least: the cosines decide among them.
FACTOR = 10
LEAST_CANDIDATES = 2000
# Queries whose neighborhoods are in memory together.
TOGETHER = 128


class KNNHashClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by the votes of the nearest documents: codes propose them, and their cosines decide.

    By default the documents with the nearest codes are ranked by their cosines, and the nearest of these vote.
    A neighbor counts the more, the more it is like the query, and the less, the more other neighbors are like itself.
    How much exactly, and how many neighbors vote, is chosen by leave-one-out: up to 200 of the training documents
    are classified by the others. `docs/labels.md` has the figures.

    Parameters
    ----------
    hasher : hasher or None, default=None
        It learns the codes; None takes `SelfTaughtHashing` with 24 bits.
    k : int or None, default=None
        Number of voters. None chooses it; for plain votes it is 25. At most 400 are weighed.
    radius : int or None, default=None
        All documents whose codes are within this many bits vote, whatever their cosines. If there are none, the
        documents with the ``k`` nearest codes vote instead.
    voting : {"auto", "majority", "distance"}, default="auto"
        ``auto`` weighs the votes, as described above. ``majority`` gives each document one vote, and ``distance`` the
        weight 1 / (1 + d), where d is one minus the cosine, or the distance of the codes in bits.
    codes : bool, default=False
        The documents with the ``k`` nearest codes vote, whatever their cosines. ``auto`` is then ``majority``.
    threads : int or None, default=None
        Threads of the search and of the default hasher; None takes one per available core.

    Attributes
    ----------
    classes_ : array
    hasher_ : hasher
        The fitted one.
    weighing_ : Weighing or None
        What leave-one-out has chosen: ``k``, ``power``, ``ridge`` and ``slope``; None for plain votes.

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
        k: int | None = None,
        radius: int | None = None,
        voting: Voting = "auto",
        codes: bool = False,
        threads: int | None = None,
    ) -> None:
        self.hasher = hasher
        self.k = k
        self.radius = radius
        self.voting = voting
        self.codes = codes
        self.threads = threads

    def fit(self, X: Vectors, y: npt.ArrayLike) -> Self:
        """Learn codes for the documents, and remember their labels.

        A fit that fails or is interrupted leaves the classifier as it was.
        """
        with learner_of(self) as learner:
            learner._fit(X, y)
        return self

    def _fit(self, X: Vectors, y: npt.ArrayLike) -> None:
        vote = Vote(self.k, self.radius, self.voting, self.codes)
        X, y = validate_data(self, check_input(X), y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        self.classes_, self._labels = np.unique(np.asarray(y), return_inverse=True)
        self.hasher_ = SelfTaughtHashing(24, threads=self.threads) if self.hasher is None else clone(self.hasher)
        self.hasher_.fit(X)
        self._index = _index_of(self.hasher_)
        self._by_codes = vote.by_codes
        self._rows = Rows.empty(X.shape[1]) if vote.by_codes else Rows.of(X).unit()
        self.weighing_ = self._chosen(X) if self.voting == "auto" and not vote.by_codes else None

    def _chosen(self, X: Any) -> Weighing:
        """Choose the weights by which training documents are classified right by the others."""
        k = None if self.k is None else min(self.k, MOST)
        sample = np.sort(spread_evenly(len(self._labels))[:SAMPLE])
        near = self._near(X[sample], k or NEIGHBORS[-1], sample)
        truth = _first_places(near.labels, self._labels[sample])
        return choose(self._neighborhoods(near), truth, k, self.threads)

    def predict_proba(self, X: Vectors) -> npt.NDArray[np.float64]:
        """Return the share of each class: calibrated for weighed votes, of the votes for plain ones."""
        check_is_fitted(self)
        X = validate_data(self, check_input(X), accept_sparse="csr", dtype=np.float32, reset=False)
        if self._by_codes:
            return self._shares_by_codes(X)
        shares = np.zeros((X.shape[0], len(self.classes_)))
        for start in range(0, X.shape[0], TOGETHER):
            part = shares[start : start + TOGETHER]
            near = self._near(X[start : start + TOGETHER], self.weighing_.k if self.weighing_ else self.k or VOTERS)
            held = near.labels >= 0
            voters = np.nonzero(held)[0]
            if self.weighing_ is None:
                np.add.at(part, (voters, near.labels[held]), vote_weights(1 - near.cosines[held], self.voting))
                part /= part.sum(axis=1, keepdims=True)
                continue
            own = self._neighborhoods(near)
            found = label_shares(own, self.weighing_, self.threads)
            part[voters, near.labels[held]] = found[voters, own.slots[held]]
        return shares

    def _shares_by_codes(self, X: Any) -> npt.NDArray[np.float64]:
        codes = self.hasher_.transform(X)
        votes = np.zeros((len(codes), len(self.classes_)))
        if self.radius is not None:
            lims, ids, distances = self._index.radius_search(codes, self.radius, threads=self.threads)
            voters = np.repeat(np.arange(len(codes)), np.diff(lims))
            np.add.at(votes, (voters, self._labels[ids]), vote_weights(distances, self.voting))
        alone = np.flatnonzero(votes.sum(axis=1) == 0)
        if len(alone):
            ids, distances = self._index.search(codes[alone], self.k or VOTERS, threads=self.threads)
            voters = np.repeat(alone, ids.shape[1])[ids.ravel() >= 0]
            held = ids >= 0
            np.add.at(votes, (voters, self._labels[ids[held]]), vote_weights(distances[held], self.voting))
        shares: npt.NDArray[np.float64] = votes / votes.sum(axis=1, keepdims=True)
        return shares

    def _near(self, X: Any, k: int, without: Positions | None = None) -> _Near:
        """Return the documents of the largest cosines among those with the nearest codes; not the row's own."""
        rows, k = Rows.of(X).unit(), min(k, len(self._labels))
        found = _core.search_balls(
            as_words(self.hasher_.codes_),
            self._rows.view(),
            as_words(self.hasher_.transform(X)),
            rows.view(),
            margins=None,
            k=k + (without is not None),
            radius=None,
            wanted=max(FACTOR * k, LEAST_CANDIDATES),
            threads=resolve_threads(self.threads),
        )
        places, cosines = found[0], found[1].astype(np.float64)
        if without is not None:
            last = np.argsort(places == without[:, np.newaxis], axis=1, kind="stable")[:, :k]
            places, cosines = np.take_along_axis(places, last, axis=1), np.take_along_axis(cosines, last, axis=1)
            places[places == without[:, np.newaxis]] = -1
        return _Near(places, np.where(places < 0, -1, self._labels[places]), cosines)

    def _neighborhoods(self, near: _Near) -> Neighborhoods:
        products = _core.products_among(self._rows.view(), near.places, threads=resolve_threads(self.threads))
        first = [_slots(labels) for labels in near.labels.tolist()]
        return Neighborhoods(np.array(first, dtype=np.int64).reshape(near.labels.shape), near.cosines, products)

    def predict(self, X: Vectors) -> npt.NDArray[Any]:
        """Return the class with the most votes; of equals, the first."""
        check_is_fitted(self)
        winners: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return winners

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_rows" in state:
            state["_rows"] = self._rows.part(0, len(self._rows))  # without the kernels' view
        return {name: value for name, value in state.items() if name != "_index"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "hasher_"):
            self._index = _index_of(self.hasher_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Near(NamedTuple):
    """The neighbors of some rows, nearest first: their places, labels and cosines. A place of -1 ends a row."""

    places: Positions
    labels: Positions
    cosines: npt.NDArray[np.float64]


def _slots(labels: list[int]) -> list[int]:
    """Number labels in the order in which they come; -1 stays."""
    numbers = {-1: -1}
    return [numbers.setdefault(label, len(numbers) - 1) for label in labels]


def _first_places(labels: Positions, wanted: Positions) -> Positions:
    """Return the number of a label among those of each row, in the order in which they come; -1 if it is not there."""
    found = np.full(len(wanted), -1, dtype=np.int64)
    for place, (own, label) in enumerate(zip(labels.tolist(), wanted.tolist(), strict=True)):
        if label in own:
            found[place] = _slots(own)[own.index(label)]
    return found


def _index_of(hasher: Any) -> HammingIndex:
    return HammingIndex.build(hasher.codes_, n_bits=hasher.n_bits)
