"""Classification by vote: the labels of the documents around a query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice, check_whole
from sthash.collection.search.options import LARGEST
from sthash.collection.search.weighing import MOST, NEIGHBORS, SAMPLE, Neighborhoods, Weighing, choose, label_shares
from sthash.vectors.rows import Rows

Voting = Literal["auto", "majority", "distance"]
# Voters of a plain vote.
VOTERS = 25
# If too few of the documents around a query have a label, look at this many times as many.
GROWTH = 4


@dataclass(frozen=True)
class Prediction:
    """The label of a query, by the votes of the documents around it.

    Attributes
    ----------
    label : str or None
        The label with the largest share, of equals the one that comes first in the alphabet; None if nobody voted.
    shares : dict
        Share of each label that was voted for, the largest first. Shares of the default vote are calibrated: of the
        labels with a share of 0.8, about 80 % are right. Those of plain votes are shares of the votes.
    voters : int
        Number of labeled documents that voted.
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
class Vote:
    """How documents vote; see `sthash.classify`."""

    k: int | None = None
    radius: int | None = None
    voting: Voting = "auto"
    codes: bool = False

    def __post_init__(self) -> None:
        if self.k is not None:
            object.__setattr__(self, "k", min(check_whole("k", self.k), LARGEST))
        check_choice("voting", self.voting, get_args(Voting))
        if not isinstance(self.codes, bool):
            raise TypeError(f"codes={self.codes!r} must be True or False.")
        if self.radius is not None:
            object.__setattr__(self, "radius", min(check_whole("radius", self.radius, least=0), LARGEST))

    @property
    def by_codes(self) -> bool:
        """Whether the codes alone say who votes."""
        return self.codes or self.radius is not None


# Who votes: by codes


@dataclass(frozen=True)
class Ball:
    """The documents around a query by codes: their labels, their distances, and whether they are all that there are."""

    labels: list[str | None]
    distances: npt.NDArray[Any]
    complete: bool


def count_ball(around: Callable[[int], Ball], vote: Vote) -> Prediction:
    """Count the votes of a ball.

    Parameters
    ----------
    around : callable
        From a number of documents to the ball that holds as many; with a radius, to that of the radius.
    vote : Vote
    """
    wanted = least = vote.k or VOTERS
    while True:
        found = around(wanted)
        voters = sum(label is not None for label in found.labels)
        if vote.radius is not None or voters >= least or found.complete:
            break
        wanted *= GROWTH
    if vote.radius is None and not voters:
        raise no_labels()
    votes: defaultdict[str, float] = defaultdict(float)
    for label, weight in zip(found.labels, vote_weights(found.distances, vote.voting).tolist(), strict=True):
        if label is not None:
            votes[label] += weight
    return _prediction(votes, voters)


def vote_weights(distances: npt.NDArray[Any], voting: Voting) -> npt.NDArray[np.float64]:
    """Weight of each vote: one, or with ``distance`` less with the distance: 1 / (1 + d)."""
    if voting == "distance":
        return 1.0 / (1.0 + distances)
    return np.ones(distances.shape)


# Who votes: by content


@dataclass(frozen=True)
class Labeled:
    """Labeled documents around a query, nearest first, their cosines with it, and their unit vectors."""

    labels: list[str]
    similarities: npt.NDArray[np.float64]
    vectors: Rows

    def slots(self) -> list[int]:
        """Number each label in the order in which it comes."""
        numbers: dict[str, int] = {}
        return [numbers.setdefault(label, len(numbers)) for label in self.labels]


class Voters(Protocol):
    """The labeled documents of a collection, as a vote asks for them."""

    def nearest(self, row: Any, wanted: int, without: Any = None) -> Labeled:
        """Return labeled documents nearest to a row, as many as wanted or all; ``without`` one of them."""

    def sample(self, size: int) -> Iterator[tuple[Any, str, Any]]:
        """Iterate over labeled documents, spread evenly, always the same: what names it, label, row."""


def count_nearest(voters: Voters, row: Any, vote: Vote, kept: dict[Any, Any]) -> Prediction:
    """Count the votes of the labeled documents that are most like a query.

    Parameters
    ----------
    voters : Voters
    row
        The query's, as `Voters.nearest` takes it.
    vote : Vote
    kept : dict
        What is kept for the same state of the collection: the weighing that leave-one-out has chosen.
    """
    if vote.voting != "auto":
        found = voters.nearest(row, vote.k or VOTERS)
        votes: defaultdict[str, float] = defaultdict(float)
        weights = vote_weights(1 - found.similarities, vote.voting).tolist()
        for label, weight in zip(found.labels, weights, strict=True):
            votes[label] += weight
        return _prediction(votes, len(found.labels))
    k = None if vote.k is None else min(vote.k, MOST)
    weighing: Weighing | None = kept.get(("weighing", k))
    if weighing is None:
        kept["weighing", k] = weighing = leave_one_out(voters, k)
    found = voters.nearest(row, weighing.k)
    shares = label_shares(_neighborhoods([found]), weighing)[0].tolist()
    return _prediction(dict(zip(dict.fromkeys(found.labels), shares, strict=False)), len(found.labels))


def leave_one_out(voters: Voters, k: int | None) -> Weighing:
    """Choose the weighing by which labeled documents are labeled right by the others."""
    found, truth = list[Labeled](), list[int]()
    for name, label, row in voters.sample(SAMPLE):
        near = voters.nearest(row, k or NEIGHBORS[-1], without=name)
        if near.labels:
            found.append(near)
            labels = list(dict.fromkeys(near.labels))
            truth.append(labels.index(label) if label in labels else -1)
    return choose(_neighborhoods(found), np.array(truth, dtype=np.int64), k)


def _neighborhoods(found: list[Labeled]) -> Neighborhoods:
    width = max((len(own.labels) for own in found), default=0)
    slots, similarities = np.full((len(found), width), -1, dtype=np.int64), np.zeros((len(found), width))
    products = np.zeros((len(found), width, width), dtype=np.float32)
    for place, own in enumerate(found):
        size = len(own.labels)
        slots[place, :size], similarities[place, :size] = own.slots(), own.similarities
        products[place, :size, :size] = own.vectors.products()
    return Neighborhoods(slots, similarities, products)


def no_labels() -> ValueError:
    """Return the error of a collection without labels."""
    return ValueError("no document of the collection has a label. Add documents with labels to classify by.")


def _prediction(votes: Mapping[str, float], voters: int) -> Prediction:
    ranked = sorted(votes, key=lambda label: (-votes[label], label))
    total = sum(votes.values())
    return Prediction(ranked[0] if ranked else None, {label: votes[label] / total for label in ranked}, voters)
