"""From texts to rows that a similarity join compares: weighted terms, or sets of shingles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import resolve_threads
from sthash.rows import row_sums
from sthash.text.counters import text_batches

if TYPE_CHECKING:
    from sthash.text import TextVectorizer

Positions = npt.NDArray[np.int64]
# Words are forgotten when their table has so many bytes; their hashes do not depend on it.
MOST_WORD_BYTES = 256 << 20


@dataclass(frozen=True)
class ComparableRows:
    """Sparse rows without negative values, one per document, and which of them are compared.

    Attributes
    ----------
    indptr, columns, values
        The parts of a CSR matrix.
    squares : array of float32
        Squared length of each row: of a set, its size. Columns that only one row has may be left out of the matrix,
        but they count here.
    n_columns : int
    chosen : array of int64
        The rows that are compared, ascending, each different from all others.
    copies, firsts : array of int64
        Rows that are equal to an earlier one, and that one.
    """

    indptr: Positions
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    squares: npt.NDArray[np.float32]
    n_columns: int
    chosen: Positions
    copies: Positions
    firsts: Positions

    def scores(self, rows: Positions, measure: str) -> npt.NDArray[Any]:
        """Return the similarities of some rows, all with all."""
        import scipy.sparse as sp

        X = sp.csr_array((self.values, self.columns, self.indptr), shape=(len(self.squares), self.n_columns))[rows]
        products, squares = (X @ X.T).toarray(), self.squares[rows]
        if measure == "cosine":
            return products / np.sqrt(squares[:, None] * squares)  # type: ignore[no-any-return]
        if measure == "jaccard":
            return products / (squares[:, None] + squares - products)  # type: ignore[no-any-return]
        return products / np.minimum(squares[:, None], squares)  # type: ignore[no-any-return]


def weighted_rows(texts: Iterable[str], vectorizer: TextVectorizer | None, threads: int | None) -> ComparableRows:
    """Return the TF-IDF rows of texts, by a vectorizer that is fitted to them."""
    from sklearn.base import clone

    from sthash.rows import row_parts
    from sthash.text import CorpusCounter, TextVectorizer

    if vectorizer is None:
        counter = CorpusCounter(TextVectorizer(threads=threads))
        X = counter.unsettled_rows(counter.add(texts))
    else:
        X = clone(vectorizer).fit_transform(texts)
    parts = row_parts(X)
    return term_rows(parts.indptr, parts.indices, parts.values, X.shape[1], threads)


def term_rows(
    indptr: Positions,
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    n_columns: int,
    threads: int | None,
) -> ComparableRows:
    """Return weighted rows of unit length as they are compared; those without weights are left out."""
    first_of = _core.first_equal_rows(_core.CsrView(indptr, columns, values), threads=resolve_threads(threads))
    squares = (row_sums(indptr, (values > 0).astype(np.int32)) > 0).astype(np.float32)
    return ComparableRows(indptr, columns, values, squares, n_columns, *folded(first_of, squares > 0))


def folded(first_of: Positions, known: npt.NDArray[np.bool_]) -> tuple[Positions, Positions, Positions]:
    """Return the rows to compare, those that are copies, and of which rows."""
    first = first_of == np.arange(len(first_of))
    copies = np.flatnonzero(~first & known)
    return np.flatnonzero(first & known), copies, first_of[copies]


def shingled_rows(texts: Iterable[str], size: int, threads: int | None) -> ComparableRows:
    """Return the sets of shingles of texts: runs of ``size`` words, as they stand but for their case."""
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
    return ComparableRows(bounds, columns, ones, sizes.astype(np.float32), n_columns, *rows)


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
        starts, words = self._table.scan(texts, threads=self._threads)
        self._hashes = np.concatenate([self._hashes, self._table.hashes_from(len(self._hashes))])
        sets = _core.shingle_sets(starts, words, self._hashes, size=self._size, threads=self._threads)
        if self._table.nbytes() > MOST_WORD_BYTES:
            self._forget()
        return sets


def bounds_of(sizes: npt.NDArray[np.integer]) -> Positions:
    """Return the row bounds of rows of these sizes."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
