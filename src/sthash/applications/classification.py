"""Classification by vote, with any collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sthash.collection import DocumentCollection, Prediction, Voting


def classify(
    collection: DocumentCollection,
    query: Any,
    k: int | None = None,
    *,
    radius: int | None = None,
    voting: Voting = "auto",
    codes: bool = False,
) -> Prediction:
    """Return the label of a text or a vector, by the votes of the nearest labeled documents.

    Posting lists, cells or, in Milvus, codes propose documents; the cosines of their vectors decide which of them vote,
    and how much. If no document contains a word of the text, there are no votes: ``known`` is False and the label is
    None. With ``metric="ip"`` the documents with the largest inner products vote, weighted by their cosines.

    Parameters
    ----------
    collection : Collection, Client or MilvusCollection
    query : str or array
    k : int, optional
        Number of labeled documents that vote. By default it is chosen as the weights are; for plain votes it is 25.
    radius : int, optional
        All documents within a Hamming ball of this many bits vote, by codes only. For collections with codes.
    voting : {"auto", "majority", "distance"}
        ``auto`` weights neighbors by their likeness to the query; those that are like each other share their weight
        (docs/labels.md). Up to 200 labeled documents, classified by the others, choose the number of neighbors, the
        weights, and how shares follow from them; this takes seconds, once per state of the collection. At most 400
        neighbors are weighed. ``majority`` gives each one vote, ``distance`` the weight 1 / (1 + d), where d is one
        minus the cosine, or the distance of the codes in bits.
    codes : bool, default=False
        The documents with the nearest codes vote, whatever their content. ``auto`` is then ``majority``.

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
    return collection.classify(query, k, radius=radius, voting=voting, codes=codes)
