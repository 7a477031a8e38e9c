"""Which texts a collection already has, or nearly has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sthash.collection import DocumentCollection
from sthash.duplicates.deduplicator import Verdict
from sthash.duplicates.measures import check_measure


def known_copies(
    collection: DocumentCollection, queries: Iterable[Any], threshold: float | None = None
) -> list[Verdict]:
    """Tell for each text, or vector, whether a collection has a near-duplicate of it, and which.

    Nothing is added. Each is compared with the documents of the collection, not with the others, by the cosine of the
    vectors; candidates are found through codes or cells. A collection with ``metric="ip"`` is refused, because it ranks
    by inner products.

    Parameters
    ----------
    collection : Collection, Client or MilvusCollection
    queries : iterable of str or of vectors
    threshold : float, default=0.9

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
    least = check_measure("cosine", threshold)[1]
    verdicts = []
    for place, hits in enumerate(collection.search_many(queries, 1, ranking="cosine")):
        close = [hit for hit in hits if hit.score >= least]
        found = (close[0].key, close[0].score) if close else (None, 0.0)
        verdicts.append(Verdict(str(place), not close, *found))
    return verdicts
