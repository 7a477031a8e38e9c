"""Posting lists: for each term and each form the documents that have it, in segments.

A change writes no list: documents after the last segment are *pending*, and a search reads their counts. When there are
too many of them, they become a segment. A document that is deleted stays in its lists, and is left out when they are
read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Columns, Ids
from sthash.checks import resolve_threads
from sthash.collection.file.documents import Documents
from sthash.collection.file.segments import Segment, Segments
from sthash.collection.file.store import Store
from sthash.collection.indexes.counts import unpacked
from sthash.collection.indexes.forms import END_FORMS, FIRST_FORM, count_forms
from sthash.progress import Progress, silent
from sthash.text.analyzer import WordAnalyzer
from sthash.vectors.rows import Rows

KIND = "words"
MOST_PENDING = 4096
# A segment is indexed in memory: the packed counts of its documents take at most this many bytes, and about twenty
# times as many while they are turned into lists.
SEGMENT_BYTES = 1 << 24
# Lists that are kept for the next search.
CACHED_BYTES = 1 << 28


def settle(
    store: Store, n_columns: int, analyzer: WordAnalyzer, threads: int | None = None, report: Progress = silent
) -> None:
    """Index what has changed, as far as it is due; once at the end of each change."""
    segments = Segments(store, KIND)
    (pending,), *_ = store.execute("SELECT count(*) FROM counts WHERE id >= ?", (segments.end(),))
    segments.settle(
        pending,
        MOST_PENDING,
        SEGMENT_BYTES,
        lambda first, last: _index(store, first, last, n_columns, analyzer, threads, report),
    )


def _index(
    store: Store,
    first: int,
    last: int,
    n_columns: int,
    analyzer: WordAnalyzer,
    threads: int | None,
    report: Progress,
) -> None:
    """Turn the counts and the forms of a range of ids into lists, in as many segments as their size asks for."""
    segments = Segments(store, KIND)
    for segment in segments.all():
        if first <= segment.first and segment.last <= last:
            segments.drop(segment)
    (total,), *_ = store.execute("SELECT count(*) FROM counts WHERE id BETWEEN ? AND ?", (first, last))
    done = 0
    report("posting lists", done, total)
    for ids, contents in _pieces(store, first, last):
        size = sum(map(len, contents))
        terms = _packed(unpacked(store, contents, n_columns, threads), ids, threads)
        del contents
        forms = _packed(_forms(store, ids, analyzer, threads), ids, threads)
        segments.add(int(ids[0]), ids, itertools.chain(terms, forms), size)
        done += len(ids)
        report("posting lists", done, total)


def _packed(rows: Rows, ids: Ids, threads: int | None) -> Iterator[tuple[int, bytes]]:
    columns, packed, offsets = _core.pack_postings(
        rows.indptr, rows.columns, rows.values, ids, n_columns=rows.n_columns, threads=resolve_threads(threads)
    )
    content, bounds = packed.tobytes(), offsets.tolist()
    return ((column, content[bounds[i] : bounds[i + 1]]) for i, column in enumerate(columns.tolist()))


def _forms(store: Store, ids: Ids, analyzer: WordAnalyzer, threads: int | None) -> Rows:
    """Return the forms of documents."""
    rows = count_forms((text for _, text in Documents(store).texts(ids.tolist())), analyzer, threads)
    if len(rows) != len(ids):
        raise store.damaged("documents and counts are not of the same documents")
    return rows


def _pieces(store: Store, first: int, last: int) -> Iterator[tuple[Ids, list[bytes]]]:
    ids, contents, size = list[int](), list[bytes](), 0
    for number, content in store.rows("counts", "WHERE id BETWEEN ? AND ? ORDER BY id", (first, last)):
        if ids and size + len(content) > SEGMENT_BYTES:
            yield np.array(ids, dtype=np.int64), contents
            ids, contents, size = [], [], 0
        ids.append(number)
        contents.append(content)
        size += len(content)
    if ids:
        yield np.array(ids, dtype=np.int64), contents


class PostingTable:
    """The lists of one state of the file, read as they are needed.

    Parameters
    ----------
    store : Store
    ids, lengths : arrays of int64, int32
        Of all documents: their ids, ascending, and their numbers of words.
    n_columns : int
    analyzer : WordAnalyzer
    threads : int or None
    """

    def __init__(
        self,
        store: Store,
        ids: Ids,
        lengths: npt.NDArray[np.int32],
        n_columns: int,
        analyzer: WordAnalyzer,
        threads: int | None,
    ) -> None:
        self._store = store
        self._ids = ids
        self._lengths = lengths
        self._n_columns = n_columns
        self._analyzer = analyzer
        self._threads = threads
        self._segments = Segments(store, KIND)
        self._all = self._segments.all()
        self._lists: _core.PostingLists | None = None
        self._held: set[int] = set()
        self._full = False

    def lists(self, columns: Iterable[int] | Columns) -> _core.PostingLists:
        """Return lists that hold at least these columns."""
        wanted = set(columns.tolist() if isinstance(columns, np.ndarray) else columns)
        if self._lists is None or (self._full and not wanted <= self._held):
            self._lists, self._full = self._new_lists(), False
            self._held.clear()
        lists, missing = self._lists, wanted - self._held
        for column in sorted(missing):
            if not (0 <= column < self._n_columns or FIRST_FORM <= column < END_FORMS):
                raise ValueError(f"column {column} is not that of a term. Take columns from encoded queries.")
            try:
                lists.put(column, self._parts(column))
            except ValueError as error:
                raise self._store.damaged(f"a posting list cannot be read ({error})") from error
            self._held.add(column)
        if missing:
            self._full = lists.nbytes > CACHED_BYTES
        return lists

    def _parts(self, column: int) -> list[bytes]:
        parts = (self._segments.find(segment, column) for segment in self._all)
        return [part for part in parts if part is not None]

    def _new_lists(self) -> _core.PostingLists:
        lists = _core.PostingLists(self._ids, self._lengths)
        ids, rows = self._pending()
        try:
            for part in (rows, _forms(self._store, ids, self._analyzer, self._threads)):
                lists.put_counts(part.indptr, part.columns, part.values, ids)
        except ValueError as error:
            raise self._store.damaged(f"term counts do not fit the documents ({error})") from error
        return lists

    def _pending(self) -> tuple[Ids, Rows]:
        """Return the ids and the counts of the documents that are in no list yet."""
        first = self._all[-1].last + 1 if self._all else 0
        pending = list(self._store.rows("counts", "WHERE id >= ? ORDER BY id", (first,)))
        ids = np.array([number for number, _ in pending], dtype=np.int64)
        return ids, unpacked(self._store, [content for _, content in pending], self._n_columns, self._threads)


def verify(store: Store, ids: Ids, n_columns: int, analyzer: WordAnalyzer) -> None:
    """Compare all lists with the counts and the forms of the documents."""
    segments = Segments(store, KIND)
    segments.verify()
    for segment in segments.all():
        _verify_segment(store, segments, segment, ids, n_columns, analyzer)


def _verify_segment(
    store: Store, segments: Segments, segment: Segment, ids: Ids, n_columns: int, analyzer: WordAnalyzer
) -> None:
    own = ids[(ids >= segment.first) & (ids <= segment.last)]
    if not np.array_equal(segments.live_ids(segment), own):
        raise store.damaged("a segment does not know which of its documents are left")
    lists = list(segments.parts(segment))
    entries = unpacked(store, [content for _, content in lists], segment.last + 1)
    columns = np.repeat(np.array([column for column, _ in lists], dtype=np.int64), np.diff(entries.indptr))
    live = np.isin(entries.columns, own)
    listed = _stacked(columns[live], entries.columns[live], entries.values[live])
    between = store.rows("counts", "WHERE id BETWEEN ? AND ? ORDER BY id", (segment.first, segment.last))
    counts = unpacked(store, [content for _, content in between], n_columns)
    both = [_by_column(rows, own) for rows in (counts, _forms(store, own, analyzer, None))]
    counted = np.concatenate(both, axis=1)
    if not np.array_equal(listed, counted):
        raise store.damaged("posting lists are not those of the documents")


def _by_column(rows: Rows, ids: Ids) -> npt.NDArray[np.int64]:
    order = np.argsort(rows.columns, kind="stable")
    return _stacked(rows.columns[order], np.repeat(ids, np.diff(rows.indptr))[order], rows.values[order])


def _stacked(*parts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    return np.stack([part.astype(np.int64) for part in parts])
