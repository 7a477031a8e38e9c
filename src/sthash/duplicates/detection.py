"""Finding near-duplicates: of a collection, of texts in memory, or of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sthash.codes import Codes
from sthash.duplicates.comparable_rows import ComparableRows, shingled_rows, term_rows, weighted_rows
from sthash.duplicates.grouping import Grouping
from sthash.duplicates.measures import Measure, refuse_most_pairs
from sthash.duplicates.options import SHINGLE_WORDS, DuplicateOptions
from sthash.duplicates.result import Duplicates, Texts
from sthash.duplicates.similarity_join import SimilarPairs, similar_rows, similar_vectors
from sthash.tables import texts_of
from sthash.vectors.checks import check_vectors
from sthash.vectors.lengths import scaled_rows, squared_norms, unit_factors
from sthash.vectors.rows import Rows

if TYPE_CHECKING:
    from sthash.text import TextOptions, TextVectorizer


@runtime_checkable
class HasNearDuplicates(Protocol):
    """What finds its own near-duplicates: a collection, wherever its documents are."""

    def near_duplicates(self, threshold: float | None = None, **options: Any) -> Duplicates:
        """Find the near-duplicate documents."""


def near_duplicates(
    documents: Any = None,
    threshold: float | None = None,
    *,
    measure: Measure = "cosine",
    grouping: Grouping = "connected",
    text: str | None = None,
    vectors: npt.ArrayLike | None = None,
    shingle_words: int = SHINGLE_WORDS,
    radius: int | None = None,
    text_options: TextOptions | TextVectorizer | None = None,
    threads: int | None = None,
) -> Duplicates:
    """Find near-duplicate documents: of a collection, of texts in memory, or by their embeddings.

    Pairs that reach the threshold are joined to groups. Documents without a known term are left out.

    Parameters
    ----------
    documents : Collection, Client or MilvusCollection; iterable of str, Series or DataFrame; None
        None if there are ``vectors`` only.
    threshold : float, optional
        Least similarity of two near-duplicates. Default: 0.9 for cosine, 0.8 for the others.
    measure : {"cosine", "jaccard", "containment"}, default="cosine"
        ``cosine`` of the TF-IDF vectors, or of embeddings, even in a collection with ``metric="ip"``. ``jaccard``: the
        number of word shingles that both have, divided by the number that at least one has; for nearly verbatim copies.
        ``containment``: the share of the shingles of one document that the other one has; for quotations, and for
        documents that became part of larger ones.
    grouping : {"connected", "complete"}, default="connected"
        "connected" groups include documents that are linked only through others. In "complete" groups every pair
        reaches the threshold.
    text : str, optional
        For a DataFrame: the column that holds the texts; ``text`` by default.
    vectors : array of shape (n, m), optional
        Embeddings, one per text; they are compared in place of the texts.
    shingle_words : int, default=5
        Number of words of a shingle.
    radius : int, optional
        For a collection: compare only documents whose learned codes differ in at most this many bits.
    text_options : TextOptions or TextVectorizer, optional
        For texts and cosine: how texts become words, as in a collection.
    threads : int or None
        For texts and vectors; None takes one thread per available core. The result does not depend on it. A collection
        has the threads that it was opened with.

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
    options = DuplicateOptions(threshold, measure, grouping, shingle_words, radius)
    threshold = options.least
    if isinstance(documents, HasNearDuplicates):
        _refuse_given(text_options=text_options, text=text, vectors=vectors, threads=threads)
        return documents.near_duplicates(**options.keywords())
    if radius is not None:
        raise TypeError("texts have no codes that a radius could apply to. Leave radius= out, or pass a Collection.")
    if vectors is not None:
        return _in_vectors(documents, vectors, text, measure, threshold, grouping, threads)
    if documents is None:
        raise TypeError("near_duplicates needs a collection, texts or vectors, but got none. Pass one of them.")
    if isinstance(documents, np.ndarray) and documents.ndim == 2:
        raise TypeError("an array with two dimensions is not a list of texts. Pass it as vectors=.")
    return _in_texts(texts_of(documents, text), measure, threshold, grouping, shingle_words, text_options, threads)


def _refuse_given(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"a collection has its own texts, vectors, settings and threads. Leave {name}= out.")


def _in_texts(
    texts: Iterable[str],
    measure: Measure,
    threshold: float,
    grouping: Grouping,
    shingle_words: int,
    text_options: TextOptions | TextVectorizer | None,
    threads: int | None,
) -> Duplicates:
    held = texts if isinstance(texts, Sequence) else list(texts)
    if measure == "cosine":
        rows = weighted_rows(held, text_options, threads)
    elif text_options is not None:
        raise TypeError(f"measure={measure!r} compares words as they stand. Leave text_options= out.")
    else:
        rows = shingled_rows(held, shingle_words, threads)
    found = _pairs_of(rows, measure, threshold, threads)
    return Duplicates(Texts(held), range(len(held)), found, measure, threshold, grouping)


def _pairs_of(rows: ComparableRows, measure: Measure, threshold: float, threads: int | None) -> SimilarPairs:
    refuse_most_pairs(len(rows.chosen), threshold, lambda sample: rows.scores(rows.chosen[sample], measure))
    return similar_rows(rows, measure, threshold, threads=threads)


def _in_vectors(
    documents: Any,
    vectors: npt.ArrayLike,
    text: str | None,
    measure: Measure,
    threshold: float,
    grouping: Grouping,
    threads: int | None,
) -> Duplicates:
    if measure != "cosine":
        raise TypeError(f"vectors are compared by cosine, but got measure={measure!r}. Leave measure= out.")
    X = check_vectors(vectors)
    if not isinstance(X, np.ndarray):
        X = X.toarray()
    held = [""] * len(X) if documents is None else list(texts_of(documents, text))
    if len(held) != len(X):
        raise ValueError(f"there are {len(held)} texts and {len(X)} vectors. Pass one vector per text.")
    unit = np.ascontiguousarray(scaled_rows(X, unit_factors(squared_norms(X))), dtype=np.float32)
    refuse_most_pairs(len(unit), threshold, lambda sample: unit[sample] @ unit[sample].T)
    found = similar_vectors(Rows.dense(unit), threshold, threads=threads)
    return Duplicates(Texts(held), range(len(held)), found, measure, threshold, grouping)


@dataclass(frozen=True)
class Material:
    """What the documents of a collection are compared by: vectors, and codes if there is a radius; or texts."""

    vectors: Rows | None = None
    codes: Codes | None = None
    texts: Sequence[str] = ()


def compared(material: Material, options: DuplicateOptions, threads: int | None = None) -> SimilarPairs:
    """Return the pairs of positions in a collection that are similar enough; see `near_duplicates`."""
    measure, threshold, radius, vectors = options.measure, options.least, options.radius, material.vectors
    if vectors is None:
        return _pairs_of(shingled_rows(material.texts, options.shingle_words, threads), measure, threshold, threads)
    if radius is not None or vectors.is_dense:
        return similar_vectors(vectors, threshold, codes=material.codes, radius=radius, threads=threads)
    return _pairs_of(term_rows(vectors, threads), measure, threshold, threads)
