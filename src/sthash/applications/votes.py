"""Classification by vote: the labels of the documents in the Hamming ball around a query."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice, check_whole

if TYPE_CHECKING:
    from sthash.collection import Collection, Snapshot
    from sthash.model import EncodedRows

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
        Labeled documents in the ball.
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


def vote_weights(distances: npt.NDArray[Any], voting: Voting) -> npt.NDArray[np.float64]:
    """Weight of each vote: one, or less with the distance: 1 / (1 + d)."""
    if voting == "majority":
        return np.ones(distances.shape)
    return 1.0 / (1.0 + distances)


def classify(
    collection: Collection,
    query: str | npt.ArrayLike,
    k: int = 25,
    *,
    radius: int | None = None,
    voting: Voting = "majority",
) -> Prediction:
    """Return the label that most of the documents around a query have.

    A text without a word that some document has is near to nothing: nobody votes, ``known`` is False, and the label is
    None. In a collection with ``metric="ip"`` those documents vote that have the largest inner products.

    Parameters
    ----------
    collection : Collection
    query : str or array
    k : int
        Without a radius, the ball grows until it holds so many labeled documents.
    radius : int, optional
        Radius of the ball in bits.
    voting : {"majority", "distance"}
        Whether near documents count for more: 1 / (1 + d) at d bits.

    Examples
    --------
    >>> import tempfile, sthash
    >>> animals = [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]
    >>> documents = [{"text": f"{animal} number {n} likes {food}", "label": animal}
    ...              for n in range(6) for animal, food in animals]
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", documents, n_bits=4, n_neighbors=5) as collection,
    ... ):
    ...     sthash.classify(collection, "who likes bones?", k=3).label
    'dog'
    """
    check_whole("k", k)
    check_choice("voting", voting, get_args(Voting))
    if radius is not None:
        check_whole("radius", radius, least=0)
    with collection.snapshot() as now:
        encoded = now.encode([query])
        ignored, unknown = now.unused_words(query) if isinstance(query, str) and not now.model.dense else ((), ())
        if not encoded.values.any():
            return Prediction(None, {}, 0, False, ignored, unknown)
        wanted = k
        while True:
            if radius is None and now.model.metric == "ip":
                hits = collection.search(encoded.values, wanted, ranking="ip")
                labels, distances = [hit.label for hit in hits], np.array([hit.distance for hit in hits])
            else:
                positions, distances = _ball(now, encoded, radius, wanted)
                documents = now.documents(now.ids[positions])
                labels = [documents[number].label for number in now.ids[positions].tolist()]
            voters = sum(label is not None for label in labels)
            if radius is not None or voters >= k or len(labels) == len(now):
                break
            wanted *= 4
    if radius is None and not voters:
        raise ValueError(f"no document of {collection.path} has a label. Build it with labels to classify by them.")
    votes: Counter[str] = Counter()
    for label, weight in zip(labels, vote_weights(distances, voting).tolist(), strict=True):
        if label is not None:
            votes[label] += weight
    ranked = sorted(votes, key=lambda label: (-votes[label], label))
    total = sum(votes.values())
    shares = {label: votes[label] / total for label in ranked}
    return Prediction(ranked[0] if ranked else None, shares, voters, True, ignored, unknown)


def _ball(
    snapshot: Snapshot, query: EncodedRows, radius: int | None, wanted: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return positions and distances within the radius, or within the least radius that holds so many as wanted.

    Where no hash functions have been learned, all codes are equal; then the nearest are those of the largest cosines.
    """
    code = query.codes
    if radius is None and not snapshot.learned and len(snapshot):
        wanted = min(wanted, len(snapshot))
        ranking = snapshot.table.rank(snapshot.vectors(), query, wanted, None, wanted, snapshot.threads)
        return ranking.positions[0], ranking.distances[0]
    if radius is None:
        nearest = snapshot.index.search(code, min(wanted, max(len(snapshot), 1)))[1]
        radius = max(int(nearest.max(initial=0)), 0)
    _, positions, distances = snapshot.index.radius_search(code, radius)
    return positions, distances
