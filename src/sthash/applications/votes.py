"""Classification by vote: the labels of the documents in the Hamming ball around a query."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice, check_whole
from sthash.codes import as_words, row_distances
from sthash.collection.search import documents_at, encode_queries

if TYPE_CHECKING:
    from sthash.collection import Collection

Voting = Literal["majority", "distance"]


@dataclass(frozen=True)
class Prediction:
    """What the documents around a query say.

    Attributes
    ----------
    label : str or None
        The label with most votes, of equals the one that comes first in the alphabet; None if nobody voted.
    shares : dict
        Share of the votes that each label got, the largest first.
    voters : int
        Labelled documents in the ball.
    """

    label: str | None
    shares: dict[str, float]
    voters: int


def vote_weights(distances: npt.NDArray[Any], voting: Voting) -> npt.NDArray[np.float64]:
    """Weight of each vote: one, or less with the distance: 1 / (1 + d)."""
    if voting == "majority":
        return np.ones(distances.shape)
    return 1.0 / (1.0 + distances)


def classify(
    collection: Collection,
    query: str | npt.ArrayLike,
    k: int = 25,
    radius: int | None = None,
    voting: Voting = "majority",
) -> Prediction:
    """Give the label that most of the documents around a query have.

    Parameters
    ----------
    collection : Collection
    query : str or array
    k : int
        Without a radius, the ball grows until so many labelled documents are in it.
    radius : int, optional
    voting : {"majority", "distance"}
        Whether near documents count for more: 1 / (1 + d) at d bits.
    """
    check_whole("k", k)
    check_choice("voting", voting, get_args(Voting))
    if radius is not None:
        check_whole("radius", radius, least=0)
    view = collection._view
    with view.reading():
        code = encode_queries(view, [query]).codes
        shelf = view.shelf()
        wanted = k
        while True:
            ball = shelf.at(shelf.ball(as_words(code)[0], radius, wanted))
            labels = [document.label for document in documents_at(view.store, ball.ids.tolist()).values()]
            voters = sum(label is not None for label in labels)
            if radius is not None or voters >= k or len(ball.ids) == len(shelf.ids):
                break
            wanted *= 4
    if radius is None and not voters:
        raise ValueError(f"no document of {collection.path} has a label; build it with labels to classify by them.")
    distances = row_distances(ball.codes, code)
    votes: Counter[str] = Counter()
    for label, weight in zip(labels, vote_weights(distances, voting).tolist(), strict=True):
        if label is not None:
            votes[label] += weight
    ranked = sorted(votes, key=lambda label: (-votes[label], label))
    total = sum(votes.values())
    return Prediction(ranked[0] if ranked else None, {label: votes[label] / total for label in ranked}, voters)
