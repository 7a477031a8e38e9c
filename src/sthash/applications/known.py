"""Which texts a collection already has, or nearly has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sthash.collection import DocumentCollection, Hit
from sthash.duplicates.deduplicator import Verdict
from sthash.duplicates.detection import near_duplicates
from sthash.duplicates.measures import check_measure

# Documents that a text is compared with: the nearest ones by their vectors.
CANDIDATES = 20


def known_copies(
    collection: DocumentCollection, queries: Iterable[Any], threshold: float | None = None
) -> list[Verdict]:
    """Tell for each text, or vector, whether a collection has a near-duplicate of it, and which.

    Nothing is added. Each is compared with documents of the collection, not with the others: a text by its wording with
    the 20 documents whose vectors are nearest, a vector by cosine. Candidates are found through codes or cells. A
    collection with ``metric="ip"`` is refused, because it ranks by inner products.

    Parameters
    ----------
    collection : Collection, Client or MilvusCollection
    queries : iterable of str or of vectors
    threshold : float, optional
        Default: 0.75 for texts, 0.9 for vectors.

    Returns
    -------
    verdicts : list of Verdict
        Their keys are the positions of the queries.

    Examples
    --------
    >>> import tempfile, sthash
    >>> texts = [f"{animal} number {n}" for n in range(9) for animal in ("cat", "dog", "rabbit")]
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", texts) as animals,
    ... ):
    ...     [verdict.is_new for verdict in known_copies(animals, ["Dog number 3!", "a blue whale"])]
    [False, True]
    """
    asked = list(queries)
    check_measure("wording", threshold)
    k = CANDIDATES if any(isinstance(query, str) for query in asked) else 1
    found = collection.search_many(asked, k, ranking="cosine")
    return [
        Verdict(str(place), not nearest[0], *(nearest if nearest[0] else (None, 0.0)))
        for place, nearest in enumerate(map(_nearest, asked, found, [threshold] * len(asked)))
    ]


def _nearest(query: Any, hits: Sequence[Hit], threshold: float | None) -> tuple[str | None, float]:
    """Return the key and the score of the hit that is nearest, if it is near enough."""
    if not isinstance(query, str):
        least = check_measure("cosine", threshold)[1]
        return (hits[0].key, hits[0].score) if hits and hits[0].score >= least else (None, 0.0)
    pairs = near_duplicates([query, *(hit.text for hit in hits)], threshold).pairs
    best = max((pair for pair in pairs if pair.left == 0), key=lambda pair: (pair.score, -pair.right), default=None)
    return (None, 0.0) if best is None else (hits[best.right - 1].key, best.score)
