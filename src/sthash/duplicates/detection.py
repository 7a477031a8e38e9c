"""Finding near-duplicates: of a collection, of texts in memory, or of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice, check_whole
from sthash.codes import Codes
from sthash.collection import Collection, PackedVectors, Snapshot
from sthash.duplicates.comparable_rows import ComparableRows, shingled_rows, term_rows, weighted_rows
from sthash.duplicates.grouping import GROUPINGS, Grouping
from sthash.duplicates.measures import Measure, check_measure, refuse_most_pairs
from sthash.duplicates.result import Duplicates, Texts
from sthash.duplicates.similarity_join import SimilarPairs, similar_rows, similar_vectors
from sthash.tables import texts_of

if TYPE_CHECKING:
    from sthash.text import TextVectorizer

Positions = npt.NDArray[np.int64]
SHINGLE_WORDS = 5


def near_duplicates(
    source: Any = None,
    threshold: float | None = None,
    *,
    measure: Measure = "cosine",
    grouping: Grouping = "connected",
    text: str | None = None,
    vectors: npt.ArrayLike | None = None,
    shingle_words: int = SHINGLE_WORDS,
    radius: int | None = None,
    vectorizer: TextVectorizer | None = None,
    threads: int | None = None,
) -> Duplicates:
    """Find the documents that say nearly the same: of a collection, of texts in memory, or by their embeddings.

    Pairs that reach the threshold are joined to groups. Documents without a known term are left out.

    Parameters
    ----------
    source : Collection, iterable of str, Series, DataFrame or None
        None if there are ``vectors`` only.
    threshold : float, optional
        Similarity that two documents must have; by default 0.9 for cosine, 0.8 for the others.
    measure : {"cosine", "jaccard", "containment"}, default="cosine"
        ``cosine`` of the TF-IDF vectors, or of embeddings, also in a collection with ``metric="ip"``. ``jaccard``: the
        share of the word shingles of both that both have; for copies that are nearly verbatim. ``containment``: the
        share of the shingles of one document that the other one has; for quotations, and for documents that were made
        part of larger ones.
    grouping : {"connected", "complete"}, default="connected"
        Whether documents that are joined by others between them are one group, or every pair of a group must be
        similar enough.
    text : str, optional
        For a DataFrame: the column that holds the texts; ``text`` by default.
    vectors : array of shape (n, m), optional
        Embeddings, one per text; they are compared in place of the texts.
    shingle_words : int, default=5
        Number of words of a shingle.
    radius : int, optional
        For a collection: compare only documents whose learned codes differ in at most so many bits.
    vectorizer : TextVectorizer, optional
        For texts and cosine: with settings of your own; it is fitted to the texts.
    threads : int or None
        None takes one thread per available core. The result does not depend on it.

    Returns
    -------
    Duplicates
        Pairs with their similarities, groups, and what to keep.

    Notes
    -----
    Of texts, the pairs are exactly those that reach the threshold. Vectors are compared if their sketches are close:
    99 in 100 of the pairs that just reach the threshold are found, and more of the closer ones.

    Examples
    --------
    >>> import sthash
    >>> texts = ["a cat and a dog", "sails on the sea", "a dog and a cat"]
    >>> sthash.near_duplicates(texts).groups
    [[0, 2]]
    """
    measure, threshold = check_measure(measure, threshold)
    check_choice("grouping", grouping, GROUPINGS)
    check_whole("shingle_words", shingle_words)
    if radius is not None:
        check_whole("radius", radius, least=0)
        if measure != "cosine":
            raise TypeError(f"a radius goes with measure='cosine', but got {measure!r}. Leave radius= out.")
    if isinstance(source, Collection):
        _refuse_given(vectorizer=vectorizer, text=text, vectors=vectors)
        return _in_collection(source, measure, threshold, grouping, shingle_words, radius, threads)
    if radius is not None:
        raise TypeError("texts have no codes that a radius could apply to. Leave radius= out, or pass a Collection.")
    if vectors is not None:
        return _in_vectors(source, vectors, text, measure, threshold, grouping, threads)
    if source is None:
        raise TypeError("near_duplicates needs a collection, texts or vectors, but got none. Pass one of them.")
    if isinstance(source, np.ndarray) and source.ndim == 2:
        raise TypeError("an array with two dimensions is not a list of texts. Pass it as vectors=.")
    return _in_texts(texts_of(source, text), measure, threshold, grouping, shingle_words, vectorizer, threads)


def _refuse_given(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"a collection has its own texts, vectors and settings. Leave {name}= out.")


def _in_texts(
    texts: Iterable[str],
    measure: Measure,
    threshold: float,
    grouping: Grouping,
    shingle_words: int,
    vectorizer: TextVectorizer | None,
    threads: int | None,
) -> Duplicates:
    held = texts if isinstance(texts, Sequence) else list(texts)
    if measure == "cosine":
        rows = weighted_rows(held, vectorizer, threads)
    elif vectorizer is not None:
        raise TypeError(f"measure={measure!r} compares words as they stand. Leave vectorizer= out.")
    else:
        rows = shingled_rows(held, shingle_words, threads)
    found = _pairs_of(rows, measure, threshold, threads)
    return Duplicates(Texts(held), range(len(held)), found, measure, threshold, grouping)


def _pairs_of(rows: ComparableRows, measure: Measure, threshold: float, threads: int | None) -> SimilarPairs:
    refuse_most_pairs(len(rows.chosen), threshold, lambda sample: rows.scores(rows.chosen[sample], measure))
    return similar_rows(rows, measure, threshold, threads=threads)


def _in_vectors(
    source: Any,
    vectors: npt.ArrayLike,
    text: str | None,
    measure: Measure,
    threshold: float,
    grouping: Grouping,
    threads: int | None,
) -> Duplicates:
    from sthash.rows import check_vectors, scaled_rows, squared_norms, unit_factors

    if measure != "cosine":
        raise TypeError(f"vectors are compared by cosine, but got measure={measure!r}. Leave measure= out.")
    X = check_vectors(vectors)
    if not isinstance(X, np.ndarray):
        X = X.toarray()
    held = [""] * len(X) if source is None else list(texts_of(source, text))
    if len(held) != len(X):
        raise ValueError(f"there are {len(held)} texts and {len(X)} vectors. Pass one vector per text.")
    unit = np.ascontiguousarray(scaled_rows(X, unit_factors(squared_norms(X))), dtype=np.float32)
    bounds = np.arange(len(unit) + 1, dtype=np.int64) * unit.shape[1]
    packed = PackedVectors(unit.ravel().view(np.int32), bounds[:-1], bounds[1:], dense=True, n_columns=unit.shape[1])
    refuse_most_pairs(len(unit), threshold, lambda sample: unit[sample] @ unit[sample].T)
    found = similar_vectors(packed, threshold, threads=threads)
    return Duplicates(Texts(held), range(len(held)), found, measure, threshold, grouping)


# The three steps of a comparison. Only the first and the last read the file, so a service can let others change it
# meanwhile.


@dataclass(frozen=True)
class Material:
    """What is compared: ids, and the vectors and codes of all documents, or their texts."""

    ids: Positions
    vectors: PackedVectors | None
    codes: Codes
    texts: list[str]


def gathered(snapshot: Snapshot, measure: Measure = "cosine") -> Material:
    """Read what is compared."""
    if measure == "cosine":
        return Material(snapshot.ids, snapshot.unit_vectors(), snapshot.codes, [])
    texts: list[str] = []
    after = -1
    while page := snapshot.page(after):
        texts.extend(stored.document.text for stored in page)
        after = page[-1].id
    return Material(snapshot.ids, None, snapshot.codes, texts)


def compared(
    material: Material,
    threshold: float,
    radius: int | None = None,
    threads: int | None = None,
    *,
    measure: Measure = "cosine",
    shingle_words: int = SHINGLE_WORDS,
) -> SimilarPairs:
    """Return the pairs of positions in ``material.ids``; see `near_duplicates`."""
    if material.vectors is None:
        return _pairs_of(shingled_rows(material.texts, shingle_words, threads), measure, threshold, threads)
    vectors = material.vectors
    if radius is not None or vectors.dense:
        codes = None if radius is None else material.codes
        return similar_vectors(vectors, threshold, codes=codes, radius=radius, threads=threads)
    return _pairs_of(term_rows(*vectors.rows(), vectors.n_columns, threads), measure, threshold, threads)


def named(snapshot: Snapshot, ids: Positions, found: SimilarPairs) -> tuple[list[str], SimilarPairs]:
    """Return the keys of the documents in pairs, and the pairs as positions in these keys.

    Documents that no longer exist are left out.
    """
    members = np.unique(np.concatenate([found.left, found.right]))
    names = snapshot.names(ids[members].tolist())
    exists = np.array([number in names for number in ids[members].tolist()], dtype=bool)
    place = np.full(len(ids), -1, dtype=np.int64)
    place[members[exists]] = np.arange(int(exists.sum()))
    left, right = place[found.left], place[found.right]
    held = (left >= 0) & (right >= 0)
    copies = int(held[len(held) - found.copies :].sum())
    keys = [names[number][0] for number in ids[members[exists]].tolist()]
    return keys, SimilarPairs(left[held], right[held], found.scores[held], copies, found.complete)


def _in_collection(
    collection: Collection,
    measure: Measure,
    threshold: float,
    grouping: Grouping,
    shingle_words: int,
    radius: int | None,
    threads: int | None,
) -> Duplicates:
    with collection.snapshot() as now:
        material = gathered(now, measure)
        found = compared(material, threshold, radius, threads, measure=measure, shingle_words=shingle_words)
        keys, pairs = named(now, material.ids, found)
    return Duplicates(collection, keys, pairs, measure, threshold, grouping)
