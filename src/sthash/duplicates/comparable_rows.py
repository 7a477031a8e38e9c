"""From texts to rows that a similarity join compares: weighted terms, or sets of shingles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Positions
from sthash.checks import resolve_threads
from sthash.text.counters import text_batches
from sthash.text.options import new_vectorizer
from sthash.vectors.lengths import row_sums
from sthash.vectors.rows import Rows

if TYPE_CHECKING:
    from sthash.text import TextOptions, TextVectorizer

SETS_PER_TEXT = 2  # of pairs of words, and of runs of characters
COMMON_ITEMS = (7.0, 10.0)  # as in join/wording.hpp
# The table of words is cleared when it has this many bytes; hashes do not depend on it.
MOST_WORD_BYTES = 256 << 20


@dataclass(frozen=True)
class ComparableRows:
    """Sparse rows without negative values, one or more per document, and which of them are compared.

    Attributes
    ----------
    rows : Rows
    squares : array of float32
        Squared length of each row: of a set, its size. Columns that only one row has may be left out of the rows, but
        they count here.
    chosen : array of int64
        The rows that are compared, ascending, each different from all others.
    copies, firsts : array of int64
        Documents that are equal to an earlier one, and that one.
    marks : (array of int64, array of uint64), optional
        Of texts that are compared by their wording: bounds, and the words that decide what they say.
    per_document : int
        Number of rows of each document.
    """

    rows: Rows
    squares: npt.NDArray[np.float32]
    chosen: Positions
    copies: Positions
    firsts: Positions
    marks: tuple[Positions, npt.NDArray[np.uint64]] | None = None
    per_document: int = 1

    @property
    def firsts_of_documents(self) -> Positions:
        """The first row of each document that is compared."""
        return self.chosen[np.diff(self.chosen // self.per_document, prepend=-1) > 0]

    def scores(self, rows: Positions, measure: str) -> npt.NDArray[Any]:
        """Return the similarities of some rows, all with all."""
        X = self.rows.at(rows).to_scipy()
        products, squares = (X @ X.T).toarray(), self.squares[rows]
        if measure == "cosine":
            return products / np.sqrt(squares[:, None] * squares)  # type: ignore[no-any-return]
        if measure == "wording":
            common = np.array(COMMON_ITEMS)[rows % SETS_PER_TEXT]
            products, squares = products + (products > 0) * common, squares + common
        if measure in ("jaccard", "wording"):
            return products / (squares[:, None] + squares - products)  # type: ignore[no-any-return]
        return products / np.minimum(squares[:, None], squares)  # type: ignore[no-any-return]


def weighted_rows(
    texts: Iterable[str], text_options: TextOptions | TextVectorizer | None, threads: int | None
) -> ComparableRows:
    """Return the TF-IDF rows of texts, by a vectorizer that is fitted to them."""
    from sthash.text import CorpusCounter, TextVectorizer

    vectorizer = new_vectorizer(text_options, threads)
    if isinstance(text_options, TextVectorizer):
        X = vectorizer.fit_transform(texts)
    else:  # without limits for the vocabulary, which then need not be put in order
        counter = CorpusCounter(vectorizer)
        X = counter.unsettled_rows(counter.add(texts))
    return term_rows(Rows.of(X), threads)


def term_rows(rows: Rows, threads: int | None) -> ComparableRows:
    """Return weighted rows of unit length as they are compared; those without weights are left out."""
    first_of = _core.first_equal_rows(rows.view(), threads=resolve_threads(threads))
    squares = (row_sums(rows.indptr, (rows.values > 0).astype(np.int32)) > 0).astype(np.float32)
    return ComparableRows(rows, squares, *folded(first_of, squares > 0))


def folded(first_of: Positions, known: npt.NDArray[np.bool_]) -> tuple[Positions, Positions, Positions]:
    """Return the rows to compare, those that are copies, and of which rows."""
    first = first_of == np.arange(len(first_of))
    copies = np.flatnonzero(~first & known)
    return np.flatnonzero(first & known), copies, first_of[copies]


def shingled_rows(texts: Iterable[str], size: int, threads: int | None) -> ComparableRows:
    """Return the sets of shingles of texts: runs of ``size`` words, in lower case."""
    shingler = Shingler(size, threads)
    parts = [shingler(batch) for batch in text_batches(texts)]
    sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(indptr) for indptr, _ in parts)])
    items = np.concatenate([np.zeros(0, np.uint64), *(own for _, own in parts)])
    parts.clear()
    return set_rows(bounds_of(sizes), items, threads)


def set_rows(indptr: Positions, items: npt.NDArray[np.uint64], threads: int | None) -> ComparableRows:
    """Return sets of 64-bit hashes as rows; empty ones are left out."""
    sizes = np.diff(indptr)
    workers = resolve_threads(threads)
    rows = folded(_core.first_equal_sets(indptr, items, threads=workers), sizes > 0)
    bounds, columns, n_columns = _core.shared_columns(indptr, items, threads=workers)
    ones = np.ones(len(columns), dtype=np.float32)
    return ComparableRows(Rows.sparse(bounds, columns, ones, n_columns), sizes.astype(np.float32), *rows)


SetsOfTexts = tuple[Positions, npt.NDArray[np.uint64], Positions, npt.NDArray[np.uint64]]


def wording_sets(texts: Iterable[str], threads: int | None) -> SetsOfTexts:
    """Return what the wording of texts is compared by: two sets per text, and marks; see ``join/wording.hpp``."""
    workers = resolve_threads(threads)
    parts = [_core.wording(batch, threads=workers) for batch in text_batches(texts)]
    return (
        bounds_of(np.concatenate([np.zeros(0, np.int64), *(np.diff(part[0]) for part in parts)])),
        np.concatenate([np.zeros(0, np.uint64), *(part[1] for part in parts)]),
        bounds_of(np.concatenate([np.zeros(0, np.int64), *(np.diff(part[2]) for part in parts)])),
        np.concatenate([np.zeros(0, np.uint64), *(part[3] for part in parts)]),
    )


def wording_rows(texts: Iterable[str], threads: int | None) -> ComparableRows:
    """Return texts as their wording is compared; those without a visible character are left out."""
    return worded_rows(wording_sets(texts, threads), threads)


def worded_rows(sets: SetsOfTexts, threads: int | None) -> ComparableRows:
    """Return the sets of texts as rows, two per text."""
    indptr, items, marks_indptr, marks = sets
    workers = resolve_threads(threads)
    sizes = np.diff(indptr)
    texts = np.arange(len(sizes) // SETS_PER_TEXT)
    main = SETS_PER_TEXT * texts + (sizes[::SETS_PER_TEXT] == 0)
    first_of = _core.first_equal_sets(indptr, items, threads=workers)[main] // SETS_PER_TEXT
    chosen, copies, firsts = folded(first_of, sizes[main] > 0)
    rows = (SETS_PER_TEXT * chosen[:, None] + np.arange(SETS_PER_TEXT)).ravel()
    bounds, columns, n_columns = _core.shared_columns(indptr, items, threads=workers)
    ones = np.ones(len(columns), dtype=np.float32)
    # One item of each set stands for the text as a whole; it makes copies equal, and counts for nothing else.
    squares = np.maximum(sizes - 1, 0).astype(np.float32)
    own = Rows.sparse(bounds, columns, ones, n_columns)
    compared = rows[sizes[rows] > 0]
    return ComparableRows(own, squares, compared, copies, firsts, (marks_indptr, marks), SETS_PER_TEXT)


def member_rows(
    sizes: Positions,
    is_here: npt.NDArray[np.bool_],
    items: npt.NDArray[np.uint64],
    marks: tuple[Positions, npt.NDArray[np.uint64]],
    threads: int | None,
) -> ComparableRows:
    """Return different texts as rows, of which only some sets are compared.

    ``sizes`` has those of all sets of each text, and ``items`` the content of those that are here.
    """
    per_text = sizes.shape[1]
    indptr = bounds_of((sizes * is_here).ravel())
    bounds, columns, n_columns = _core.shared_columns(indptr, items, threads=resolve_threads(threads))
    own = Rows.sparse(bounds, columns, np.ones(len(columns), dtype=np.float32), n_columns)
    none, compared = np.zeros(0, dtype=np.int64), np.flatnonzero(is_here.ravel())
    if per_text == 1:
        return ComparableRows(own, sizes.ravel().astype(np.float32), compared, none, none)
    # One item of each set stands for the text as a whole.
    squares = np.maximum(sizes.ravel() - 1, 0).astype(np.float32)
    return ComparableRows(own, squares, compared, none, none, marks, per_text)


class Shingler:
    """Turns texts into sets of shingles: row bounds, and the hashes of each set, ascending.

    Examples
    --------
    >>> from sthash.duplicates.comparable_rows import Shingler
    >>> indptr, hashes = Shingler(2, threads=1)(["to be or not to be", "To be!"])
    >>> indptr.tolist(), hashes[-1] in hashes[:-1]
    ([0, 4, 5], True)
    """

    def __init__(self, size: int, threads: int | None) -> None:
        self._size = size
        self._threads = resolve_threads(threads)
        self._forget()

    def _forget(self) -> None:
        self._table, self._hashes = _core.WordTable(), np.zeros(0, np.uint64)

    def __call__(self, texts: list[str]) -> tuple[Positions, npt.NDArray[np.uint64]]:
        """Return the sets of some texts."""
        return self.of_sizes(texts, [self._size])[1][0]

    def of_sizes(
        self, texts: list[str], sizes: Sequence[int]
    ) -> tuple[npt.NDArray[np.int64], list[tuple[Positions, npt.NDArray[np.uint64]]]]:
        """Return how many words each text has, and its sets for several numbers of words."""
        starts, words = self._table.scan(texts, threads=self._threads)
        self._hashes = np.concatenate([self._hashes, self._table.hashes_from(len(self._hashes))])
        sets = [_core.shingle_sets(starts, words, self._hashes, size=each, threads=self._threads) for each in sizes]
        if self._table.nbytes() > MOST_WORD_BYTES:
            self._forget()
        return np.diff(starts), sets


def bounds_of(sizes: npt.NDArray[np.integer]) -> Positions:
    """Return the row bounds of rows of these sizes."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
