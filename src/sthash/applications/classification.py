"""Classification by vote, with any collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sthash.collection import DocumentCollection, Prediction, Voting


def classify(
    collection: DocumentCollection,
    query: Any,
    k: int = 25,
    *,
    radius: int | None = None,
    voting: Voting = "majority",
) -> Prediction:
    """Return the majority label among the nearest documents.

    If no document contains a word of the text, there are no votes: ``known`` is False and the label is None. In a
    collection of vectors the nearest vectors vote; with ``metric="ip"``, those with the largest inner products.

    Parameters
    ----------
    collection : Collection, Client or MilvusCollection
    query : str or array
    k : int, default=25
        Without a radius, the neighborhood grows until it holds this many labeled documents.
    radius : int, optional
        Radius of the Hamming ball in bits, for collections with codes.
    voting : {"majority", "distance"}
        ``distance`` gives a document at d bits the weight 1 / (1 + d).

    Examples
    --------
    >>> import tempfile, sthash
    >>> animals = [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]
    >>> documents = [{"text": f"{animal} number {n} likes {food}", "label": animal}
    ...              for n in range(6) for animal, food in animals]
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", documents) as collection,
    ... ):
    ...     sthash.classify(collection, "who likes bones?", k=3).label
    'dog'
    """
    return collection.classify(query, k, radius=radius, voting=voting)
