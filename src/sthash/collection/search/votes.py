"""Classification by vote: the labels of the documents around a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice, check_whole
from sthash.collection.indexes.cells import Cells
from sthash.collection.snapshot import Snapshot

Voting = Literal["majority", "distance"]
# If too few of the documents around a query have a label, look at this many times as many.
GROWTH = 4


@dataclass(frozen=True)
class Prediction:
    """The label of a query, by the votes of the documents around it.

    Attributes
    ----------
    label : str or None
        The label with the most votes, of equals the one that comes first in the alphabet; None if nobody voted.
    shares : dict
        Share of the votes of each label, the largest first.
    voters : int
        Number of labeled documents around the query.
    known : bool
        Whether the query has anything in common with documents; if not, nobody votes.
    ignored, unknown : tuple of str
        Words of the text that are stop words, and those that no document has.
    """

    label: str | None
    shares: dict[str, float]
    voters: int
    known: bool = True
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Neighborhood:
    """The documents around a query: their labels, their distances, and whether they are all that there are."""

    labels: list[str | None]
    distances: npt.NDArray[Any]
    complete: bool


@dataclass(frozen=True)
class Vote:
    """How documents vote; see `sthash.classify`."""

    k: int = 25
    radius: int | None = None
    voting: Voting = "majority"

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        check_choice("voting", self.voting, get_args(Voting))
        if self.radius is not None:
            check_whole("radius", self.radius, least=0)

    def count(
        self, around: Callable[[int], Neighborhood], ignored: tuple[str, ...] = (), unknown: tuple[str, ...] = ()
    ) -> Prediction:
        """Count the votes around a query.

        Parameters
        ----------
        around : callable
            From a number of documents to the neighborhood that holds as many; with a radius, to that of the radius.
        ignored, unknown : tuple of str
            For the prediction.
        """
        wanted = self.k
        while True:
            found = around(wanted)
            voters = sum(label is not None for label in found.labels)
            if self.radius is not None or voters >= self.k or found.complete:
                break
            wanted *= GROWTH
        if self.radius is None and not voters:
            raise ValueError("no document of the collection has a label. Add documents with labels to classify by.")
        votes: Counter[str] = Counter()
        for label, weight in zip(found.labels, vote_weights(found.distances, self.voting).tolist(), strict=True):
            if label is not None:
                votes[label] += weight
        ranked = sorted(votes, key=lambda label: (-votes[label], label))
        total = sum(votes.values())
        shares = {label: votes[label] / total for label in ranked}
        return Prediction(ranked[0] if ranked else None, shares, voters, True, ignored, unknown)


def vote_weights(distances: npt.NDArray[Any], voting: Voting) -> npt.NDArray[np.float64]:
    """Weight of each vote: one, or less with the distance: 1 / (1 + d)."""
    if voting == "majority":
        return np.ones(distances.shape)
    return 1.0 / (1.0 + distances)


def predict(snapshot: Snapshot, query: str | npt.ArrayLike, vote: Vote) -> Prediction:
    """Return the label of a text or a vector."""
    content = snapshot.content
    rows = content.compared(content.of_queries([query], snapshot.embedder))
    ignored, unknown = snapshot.words.unused(query) if isinstance(query, str) else ((), ())
    if not rows.values.any():
        return Prediction(None, {}, 0, False, ignored, unknown)

    def around(wanted: int) -> Neighborhood:
        if vote.radius is None and isinstance(content, Cells):
            ((ids,), (scores,)) = content.search(rows.values, wanted)
            distances: npt.NDArray[Any] = 1 - np.array(scores)
        else:
            ids, distances = _ball(snapshot, query, vote.radius, wanted)
        return Neighborhood(snapshot.documents.labels(ids), distances, len(ids) == len(snapshot))

    return vote.count(around, ignored, unknown)


def _ball(snapshot: Snapshot, query: Any, radius: int | None, wanted: int) -> tuple[list[int], npt.NDArray[np.int32]]:
    """Return ids and distances within the radius, or within the least radius that holds as many as wanted.

    Where no hash functions have been learned, all codes are equal; then the nearest are those of the largest cosines.
    """
    encoded, codes = snapshot.encode([query]), snapshot.codes
    if radius is None and not codes.learned and len(snapshot):
        wanted = min(wanted, len(snapshot))
        ranking = codes.table.rank(snapshot.content.vectors(), encoded, wanted, None, wanted, snapshot.threads)
        return snapshot.ids[ranking.positions[0]].tolist(), ranking.distances[0]
    if radius is None:
        nearest = codes.index.search(encoded.codes, min(wanted, max(len(snapshot), 1)))[1]
        radius = max(int(nearest.max(initial=0)), 0)
    _, positions, distances = codes.index.radius_search(encoded.codes, radius)
    return snapshot.ids[positions].tolist(), distances
