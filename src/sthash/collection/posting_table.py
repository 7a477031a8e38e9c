"""Posting lists: for each word the documents that have it, in segments of ids.

A change writes no list: documents after the last segment are *pending*, and a search reads their counts. When there are
too many of them, they become a segment; neighboring segments of similar size become one, so there are few. A document
that is deleted stays in its lists, and is left out when they are read. A segment that has lost a quarter of its
documents is indexed again. All of this is part of the transaction that makes it necessary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace

import numpy as np

from sthash import _core
from sthash.checks import resolve_threads
from sthash.collection.code_table import CodeTable
from sthash.collection.count_table import CountRows, unpacked
from sthash.collection.packed_vectors import Ids
from sthash.collection.store import MOST_IDS, Store
from sthash.collection.term_table import Columns
from sthash.progress import Progress, silent

MOST_PENDING = 4096
# A segment is indexed in memory: the packed counts of its documents take at most this many bytes, and about twenty
# times as many while they are turned into lists.
SEGMENT_BYTES = 1 << 24
# Lists that are kept for the next search.
CACHED_BYTES = 1 << 28
_COLUMN_BITS = 32


@dataclass(frozen=True)
class Segment:
    """The ids from ``first`` to ``last``: documents that were indexed, those still there, and bytes of their counts."""

    number: int
    first: int
    last: int
    indexed: int
    live: int
    size: int

    @property
    def places(self) -> tuple[int, int]:
        """The first place of its lists, and the first place after them."""
        return self.number << _COLUMN_BITS, (self.number + 1) << _COLUMN_BITS


def load_segments(store: Store) -> list[Segment]:
    """Read the segments, by ascending ids."""
    segments = sorted((Segment(*row) for row in store.rows("segments")), key=lambda segment: segment.first)
    end = -1
    for segment in segments:
        right = end < segment.first <= segment.last and 0 <= segment.live <= segment.indexed and segment.size >= 0
        if not right or segment.last >= MOST_IDS or not 0 <= segment.number < 1 << 30:
            raise store.damaged("its segments are not in order")
        end = segment.last
    return segments


def indexed_end(store: Store) -> int:
    """Return the first id after all segments."""
    segments = load_segments(store)
    return segments[-1].last + 1 if segments else 0


def note_removed(store: Store, ids: Iterable[int]) -> None:
    """Take note that documents are no longer there."""
    removed = np.fromiter(ids, dtype=np.int64)
    for segment in load_segments(store):
        lost = int(((removed >= segment.first) & (removed <= segment.last)).sum())
        if lost:
            _put(store, replace(segment, live=segment.live - lost))


def settle(store: Store, n_columns: int, threads: int | None = None, report: Progress = silent) -> None:
    """Index what has changed, as far as it is due; once at the end of each change."""
    segments = load_segments(store)
    for segment in segments:
        if 4 * (segment.indexed - segment.live) > segment.indexed:
            _drop(store, segment)
            _index(store, segment.first, segment.last, n_columns, threads, report)
    first = indexed_end(store)
    (pending,), *_ = store.execute("SELECT count(*) FROM counts WHERE id >= ?", (first,))
    if pending > MOST_PENDING:
        _index(store, first, MOST_IDS, n_columns, threads, report)
    segments = load_segments(store)
    while len(segments) > 1 and _alike(*segments[-2:]):
        for segment in segments[-2:]:
            _drop(store, segment)
        _index(store, segments[-2].first, segments[-1].last, n_columns, threads, report)
        segments = load_segments(store)


def _alike(left: Segment, right: Segment) -> bool:
    return left.size < 2 * right.size and left.size + right.size <= SEGMENT_BYTES


def _index(store: Store, first: int, last: int, n_columns: int, threads: int | None, report: Progress) -> None:
    """Turn the counts of a range of ids into lists, in as many segments as their size asks for."""
    (total,), *_ = store.execute("SELECT count(*) FROM counts WHERE id BETWEEN ? AND ?", (first, last))
    done = 0
    report("posting lists", done, total)
    number = int(store.value("SELECT coalesce(max(segment) + 1, 0) FROM segments"))
    for ids, contents in _pieces(store, first, last):
        rows = unpacked(store, contents, n_columns, threads)
        columns, packed, offsets = _core.pack_postings(
            rows.indptr,
            rows.columns,
            rows.counts,
            np.array(ids, dtype=np.int64),
            n_columns=n_columns,
            threads=resolve_threads(threads),
        )
        size = sum(map(len, contents))
        segment = Segment(number, first, ids[-1], len(ids), len(ids), size)
        del rows, contents
        content, bounds, start = packed.tobytes(), offsets.tolist(), segment.places[0]
        store.put_many(
            "postings",
            [(start + column, content[bounds[i] : bounds[i + 1]]) for i, column in enumerate(columns.tolist())],
        )
        _put(store, segment)
        number, first, done = number + 1, ids[-1] + 1, done + len(ids)
        report("posting lists", done, total)


def _pieces(store: Store, first: int, last: int) -> Iterator[tuple[list[int], list[bytes]]]:
    ids, contents, size = list[int](), list[bytes](), 0
    for number, content in store.rows("counts", "WHERE id BETWEEN ? AND ? ORDER BY id", (first, last)):
        if ids and size + len(content) > SEGMENT_BYTES:
            yield ids, contents
            ids, contents, size = [], [], 0
        ids.append(number)
        contents.append(content)
        size += len(content)
    if ids:
        yield ids, contents


def _put(store: Store, segment: Segment) -> None:
    store.put("segments", *astuple(segment))


def _drop(store: Store, segment: Segment) -> None:
    store.execute("DELETE FROM segments WHERE segment = ?", (segment.number,))
    store.execute("DELETE FROM postings WHERE place >= ? AND place < ?", segment.places)


class PostingTable:
    """The lists of one state of the file, read as they are needed."""

    def __init__(self, store: Store, table: CodeTable, n_columns: int, threads: int | None) -> None:
        self._store = store
        self._table = table
        self._n_columns = n_columns
        self._threads = threads
        self._segments = load_segments(store)
        self._lists: _core.PostingLists | None = None
        self._held: set[int] = set()
        self._full = False

    def lists(self, columns: Iterable[int] | Columns) -> _core.PostingLists:
        """Return lists that hold at least these columns."""
        if self._lists is None or self._full:
            self._lists, self._full = self._new_lists(), False
            self._held.clear()
        wanted = columns.tolist() if isinstance(columns, np.ndarray) else columns
        lists, missing = self._lists, set(wanted) - self._held
        for column in sorted(missing):
            if not 0 <= column < self._n_columns:
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
        places = [segment.places[0] + column for segment in self._segments]
        return [content for place in places for _, content in self._store.rows("postings", "WHERE place = ?", (place,))]

    def _new_lists(self) -> _core.PostingLists:
        lists = _core.PostingLists(self._table.ids, self._table.lengths)
        ids, rows = load_pending(self._store, self._segments, self._n_columns, self._threads)
        try:
            lists.put_counts(rows.indptr, rows.columns, rows.counts, ids)
        except ValueError as error:
            raise self._store.damaged(f"term counts do not fit the codes ({error})") from error
        return lists


def load_pending(
    store: Store, segments: list[Segment], n_columns: int, threads: int | None = None
) -> tuple[Ids, CountRows]:
    """Return the ids and the counts of the documents that are in no list yet."""
    first = segments[-1].last + 1 if segments else 0
    pending = list(store.rows("counts", "WHERE id >= ? ORDER BY id", (first,)))
    ids = np.array([number for number, _ in pending], dtype=np.int64)
    return ids, unpacked(store, [content for _, content in pending], n_columns, threads)
