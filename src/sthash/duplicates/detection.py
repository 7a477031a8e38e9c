"""Finding near-duplicates: of a collection, of texts in memory, or of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sthash.codes import Codes
from sthash.duplicates.comparable_rows import (
    ComparableRows,
    shingled_rows,
    term_rows,
    weighted_rows,
    wording_rows,
)
from sthash.duplicates.grouping import Grouping
from sthash.duplicates.measures import Measure, check_measure, refuse_most_pairs
from sthash.duplicates.options import SHINGLE_WORDS, DuplicateOptions, Protect
from sthash.duplicates.result import Documents, Duplicates, Texts
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
    measure: Measure | None = None,
    grouping: Grouping = "connected",
    protect: Protect | None = None,
    text: str | None = None,
    vectors: npt.ArrayLike | None = None,
    shingle_words: int = SHINGLE_WORDS,
    radius: int | None = None,
    text_options: TextOptions | TextVectorizer | None = None,
    threads: int | None = None,
) -> Duplicates:
    """Find near-duplicate documents: of a collection, of texts in memory, or by their embeddings.

    Pairs that reach the threshold are joined to groups. Blank texts are left out, and for the cosine documents without
    a known term.

    Parameters
    ----------
    documents : Collection, Client or MilvusCollection; iterable of str, Series or DataFrame; None
        None if there are ``vectors`` only.
    threshold : float, optional
        Least similarity of two near-duplicates. Default: 0.75 for wording, 0.9 for cosine, 0.8 for the others.
    measure : {"wording", "cosine", "jaccard", "containment"}, optional
        Default: "wording" for texts, "cosine" for vectors. ``wording`` compares all words, in pairs of neighbors, and
        short texts and drawings by their characters. Texts that differ only in numbers, in names that are not spelled
        alike, or by a negation are kept apart; see the notes. ``cosine`` of the TF-IDF vectors, or of embeddings, even
        in a collection with ``metric="ip"``. ``jaccard``: the number of word shingles that both have, divided by the
        number that at least one has; for nearly verbatim copies. ``containment``: the share of the shingles of one
        document that the other one has; for quotations, and for documents that became part of larger ones.
    grouping : {"connected", "complete"}, default="connected"
        "connected" groups include documents that are linked only through others. In "complete" groups every pair
        reaches the threshold.
    protect : {"numbers"}, optional
        For wording: keep all texts apart that differ in a number, whatever else they differ in.
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
    Wording ignores case, punctuation and spacing. Texts of eight words and more are compared by the pairs of words that
    both have, divided by those that at least one has, shorter ones by runs of four characters; 7 pairs, or 10 runs, are
    added to both numbers, so that one word of a short text does not weigh too much. Only texts with the same words in
    the same order have a score of 1; all others have at most 0.999. A name is a word with a capital; negations are
    known for the larger European languages, Arabic, Chinese and Japanese.

    Of texts, the pairs are exactly those that reach the threshold. Vectors are compared if their sketches are close:
    99 in 100 of the pairs that just reach the threshold are found, and more of the closer ones.

    Examples
    --------
    >>> import sthash
    >>> texts = ["a cat and a dog", "sails on the sea", "A cat, and a dog!"]
    >>> sthash.near_duplicates(texts).groups
    [[0, 2]]
    """
    options = DuplicateOptions(threshold, measure, grouping, shingle_words, radius, protect)
    if isinstance(documents, HasNearDuplicates):
        _refuse_given(text_options=text_options, text=text, vectors=vectors, threads=threads)
        return documents.near_duplicates(**options.keywords())
    if radius is not None:
        raise TypeError("texts have no codes that a radius could apply to. Leave radius= out, or pass a Collection.")
    # What a text becomes matters for its vector only.
    options = options.settled(of_vectors=vectors is not None or text_options is not None)
    if vectors is not None:
        return _in_vectors(documents, vectors, text, options, threads)
    if documents is None:
        raise TypeError("near_duplicates needs a collection, texts or vectors, but got none. Pass one of them.")
    if isinstance(documents, np.ndarray) and documents.ndim == 2:
        raise TypeError("an array with two dimensions is not a list of texts. Pass it as vectors=.")
    return _in_texts(texts_of(documents, text), options, text_options, threads)


def _refuse_given(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"a collection has its own texts, vectors, settings and threads. Leave {name}= out.")


def _in_texts(
    texts: Iterable[str],
    options: DuplicateOptions,
    text_options: TextOptions | TextVectorizer | None,
    threads: int | None,
) -> Duplicates:
    held = texts if isinstance(texts, Sequence) else list(texts)
    if options.measure == "cosine":
        rows = weighted_rows(held, text_options, threads)
    elif text_options is not None:
        raise TypeError(f"measure={options.measure!r} compares words as they stand. Leave text_options= out.")
    else:
        rows = compared_texts(held, options, threads)
    return result_of(Texts(held), range(len(held)), _pairs_of(rows, options, threads), options)


def result_of(documents: Documents, keys: Sequence[Any], found: SimilarPairs, options: DuplicateOptions) -> Duplicates:
    """Return what was found with these options, whose measure is settled."""
    measure, threshold = check_measure(options.measure, options.threshold)
    return Duplicates(documents, keys, found, measure, threshold, options.grouping)


def compared_texts(texts: Iterable[str], options: DuplicateOptions, threads: int | None) -> ComparableRows:
    """Return texts as they are compared: by their wording, or by sets of shingles."""
    if options.measure == "wording":
        return wording_rows(texts, threads)
    return shingled_rows(texts, options.shingle_words, threads)


def _pairs_of(rows: ComparableRows, options: DuplicateOptions, threads: int | None) -> SimilarPairs:
    measure, threshold = check_measure(options.measure, options.threshold)
    compared = rows.firsts_of_documents
    refuse_most_pairs(len(compared), threshold, lambda sample: rows.scores(compared[sample], measure))
    return similar_rows(rows, measure, threshold, threads=threads, keep_numbers=options.protect == "numbers")


def _in_vectors(
    documents: Any, vectors: npt.ArrayLike, text: str | None, options: DuplicateOptions, threads: int | None
) -> Duplicates:
    if options.measure != "cosine":
        raise TypeError(f"vectors are compared by cosine, but got measure={options.measure!r}. Leave measure= out.")
    X = check_vectors(vectors)
    if not isinstance(X, np.ndarray):
        X = X.toarray()
    held = [""] * len(X) if documents is None else list(texts_of(documents, text))
    if len(held) != len(X):
        raise ValueError(f"there are {len(held)} texts and {len(X)} vectors. Pass one vector per text.")
    unit = np.ascontiguousarray(scaled_rows(X, unit_factors(squared_norms(X))), dtype=np.float32)
    refuse_most_pairs(len(unit), options.least, lambda sample: unit[sample] @ unit[sample].T)
    found = similar_vectors(Rows.dense(unit), options.least, threads=threads)
    return result_of(Texts(held), range(len(held)), found, options)


@dataclass(frozen=True)
class Material:
    """What the documents of a collection are compared by: vectors, and codes if there is a radius; or texts."""

    vectors: Rows | None = None
    codes: Codes | None = None
    texts: Sequence[str] = ()


def compared(material: Material, options: DuplicateOptions, threads: int | None = None) -> SimilarPairs:
    """Return the pairs of positions in a collection that are similar enough; see `near_duplicates`.

    The measure of the options is settled.
    """
    radius, vectors = options.radius, material.vectors
    if vectors is None:
        return _pairs_of(compared_texts(material.texts, options, threads), options, threads)
    if radius is not None or vectors.is_dense:
        return similar_vectors(vectors, options.least, codes=material.codes, radius=radius, threads=threads)
    return _pairs_of(term_rows(vectors, threads), options, threads)
