"""Posting lists: for each term and each form the documents that have it, in segments.

A part of a segment is a block of lists of neighboring columns, and has the number of the first.

A change writes no list: documents after the last segment are *pending*, and a search reads their counts. When there are
too many of them, they become a segment. A document that is deleted stays in its lists, and is left out when they are
read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Columns, Ids, Positions
from sthash.collection.file.documents import Documents
from sthash.collection.file.segments import Segment, Segments
from sthash.collection.file.store import Store
from sthash.collection.indexes.counts import unpacked
from sthash.collection.indexes.forms import END_FORMS, count_forms
from sthash.collection.indexes.list_blocks import blocks_of, put_lists, unpacked_blocks
from sthash.collection.indexes.roster import Roster
from sthash.progress import Progress, silent
from sthash.sizes import default_memory
from sthash.text.analyzer import WordAnalyzer
from sthash.vectors.rows import Rows

KIND = "words"
MOST_PENDING = 4096
# A segment is indexed in memory: the packed counts of its documents take at most this many bytes, and about twenty
# times as many while they are turned into lists.
SEGMENT_BYTES = 1 << 24
# Lists that are kept for the next search take at most this part of `default_memory`.
CACHED_PART = 4
# Removed documents keep their slots in memory until there are more of them than this, and than an eighth of all.
FEW_REMOVED = 1024


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
        terms = blocks_of(unpacked(store, contents, n_columns, threads), ids, threads)
        del contents
        forms = blocks_of(_forms(store, ids, analyzer, threads), ids, threads)
        segments.add(int(ids[0]), ids, itertools.chain(terms, forms), size)
        done += len(ids)
        report("posting lists", done, total)


def _forms(store: Store, ids: Ids, analyzer: WordAnalyzer, threads: int | None) -> Rows:
    """Return the forms of documents."""
    rows = count_forms((text for _, text in Documents(store).counted_texts(ids.tolist())), analyzer, threads)
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


class ListWriter:
    """Turns the counts and forms of new documents into segments while they are at hand, so that nothing is read again.

    The lists of a segment are made on a thread of their own, while the next documents come.

    Parameters
    ----------
    store : Store
    threads : int or None
    """

    def __init__(self, store: Store, threads: int | None) -> None:
        self._store = store
        self._threads = threads
        self._buffer: list[tuple[Ids, Rows, Rows]] = []
        self._size = 0
        self._making: tuple[Ids, int, Future[list[tuple[int, bytes]]]] | None = None
        self._worker: ThreadPoolExecutor | None = None

    def put(self, ids: Ids, terms: Rows, forms: Rows, bounds: npt.NDArray[np.int64]) -> None:
        """Take documents, whose ids ascend and are greater than all before; ``bounds`` are those of packed terms."""
        first = 0
        while first < len(ids):
            ends = bounds[first + 1 :] - bounds[first]
            fitting = int(np.searchsorted(ends, SEGMENT_BYTES - self._size, side="right"))
            last = first + max(fitting, 0 if self._buffer else 1)
            if last > first:
                self._buffer.append((ids[first:last], terms.part(first, last), forms.part(first, last)))
                self._size += int(bounds[last] - bounds[first])
            if last < len(ids):
                self._make()
            first = last

    def finish(self, report: Progress) -> None:
        """Write the last segment, unless there are only a few documents in all: these are pending then."""
        if self._worker is not None or sum(len(ids) for ids, *_ in self._buffer) > MOST_PENDING:
            report("posting lists", 0, None)
            self._make()
            self._take()
        self._buffer.clear()
        self._size = 0
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def _make(self) -> None:
        self._take()
        if not self._buffer:
            return
        ids, terms, forms = zip(*self._buffer, strict=True)
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1)
        all_ids = np.concatenate(ids)
        self._making = all_ids, self._size, self._worker.submit(_blocks, all_ids, terms, forms, self._threads)
        self._buffer, self._size = [], 0

    def _take(self) -> None:
        if self._making is None:
            return
        ids, size, made = self._making
        self._making = None
        segments = Segments(self._store, KIND)
        segments.add(int(ids[0]), ids, made.result(), size)


def _blocks(ids: Ids, terms: Sequence[Rows], forms: Sequence[Rows], threads: int | None) -> list[tuple[int, bytes]]:
    return [block for rows in (terms, forms) for block in blocks_of(Rows.stacked(rows), ids, threads)]


@dataclass(frozen=True)
class Lists:
    """The lists of one state of the file, by the positions of its documents.

    The lists in memory are those of all states: `PostingTable` appends to them, and marks documents as removed. These
    keep their slots there for a while, so that what follows need not move.

    Attributes
    ----------
    lists : PostingLists
    n_slots : int
        Slots in this state; documents of later ones are behind them.
    gone : array of int64
        Slots of removed documents, ascending.
    """

    lists: _core.PostingLists
    n_slots: int
    gone: Positions

    def positions(self, column: int) -> Positions:
        """Return the documents that have a column, ascending."""
        slots = self.lists.positions(column)
        if len(slots) and slots[-1] >= self.n_slots:  # asked after the file has changed
            slots = slots[: np.searchsorted(slots, self.n_slots)]
        return self._positions_of(slots.astype(np.int64))

    def document_frequencies(self, columns: Columns) -> npt.NDArray[np.int32]:
        """Return in how many documents some columns are."""
        return self.lists.document_frequencies(columns)

    def search(
        self,
        indptr: Positions,
        columns: Columns,
        weights: npt.NDArray[np.float32],
        *,
        allowed: npt.NDArray[np.uint8] | None,
        **scoring: Any,
    ) -> tuple[Positions, npt.NDArray[np.float32]]:
        """Return the positions and the scores of the best documents of each query; see `_core.PostingLists`."""
        if allowed is not None and len(self.gone):
            allowed = np.insert(allowed, self.gone - np.arange(len(self.gone)), 0)
        slots, scores = self.lists.search(indptr, columns, weights, allowed=allowed, **scoring)
        return self._positions_of(slots), scores

    def _positions_of(self, slots: Positions) -> Positions:
        return slots - np.searchsorted(self.gone, slots) if len(self.gone) else slots


class PostingTable:
    """The lists of one state of the file after the other, read as they are needed.

    Parameters
    ----------
    store : Store
    roster : Roster
        The documents; holds their lengths.
    analyzer : WordAnalyzer
    threads : int or None
    """

    def __init__(self, store: Store, roster: Roster, analyzer: WordAnalyzer, threads: int | None) -> None:
        self._store = store
        self._roster = roster
        self._analyzer = analyzer
        self._threads = threads
        self._lists: _core.PostingLists | None = None
        self._gone = np.zeros(0, dtype=np.int64)
        self._new: list[tuple[Ids, Rows, npt.NDArray[np.int32]]] = []
        self._held: set[int] = set()
        self._grown = False
        self._take_segments()

    def _take_segments(self) -> None:
        self._segments = Segments(self._store, KIND)
        self._all = self._segments.all()

    @property
    def _end(self) -> int:
        """The first id that is in no list of the file yet."""
        return self._all[-1].last + 1 if self._all else 0

    # From one state to the next

    def drop(self) -> None:
        """Forget all lists."""
        self._lists = None
        self._new.clear()

    def remove(self, positions: Positions) -> None:
        """Mark documents as removed, by the positions that they have had until now."""
        if self._lists is None or not len(positions):
            return
        # Before the document at a position there are as many removed ones as have a slot before its own.
        before = np.searchsorted(self._gone - np.arange(len(self._gone)), positions, side="right")
        slots = positions + before
        self._lists.remove(slots.astype(np.int32))
        self._gone = np.sort(np.concatenate([self._gone, slots]))
        if len(self._gone) > max(FEW_REMOVED, len(self._roster) // 8):
            self.drop()

    def trim(self) -> None:
        """Forget the lists that were not searched for the longest, if all take much memory; not during a search."""
        if self._lists is not None and self._grown:
            self._held.difference_update(self._lists.evict(default_memory() // CACHED_PART, first=self._end).tolist())
        self._grown = False

    def append(self, ids: Ids, rows: Rows, lengths: npt.NDArray[np.int32]) -> None:
        """Append documents with their term counts; `follow` puts them into the lists."""
        if self._lists is not None:
            self._new.append((ids, rows, lengths))

    def follow(self, next_id: int) -> None:
        """Take note of the segments that there are now; ``next_id`` was that of the state before."""
        before = self._end
        self._take_segments()
        if self._lists is None:
            return
        after = self._end
        grown, new = after > before, self._new
        self._new = []
        known = self._roster.ids[: np.searchsorted(self._roster.ids, next_id)]
        if grown and len(known) and known[-1] >= after:
            self.drop()  # a segment that is not made of all pending documents; there is none
            return
        for ids, rows, lengths in new:
            cut = int(np.searchsorted(ids, after)) if grown else 0
            for own in (slice(0, cut), slice(cut, len(ids))):
                if grown and own.stop > cut:
                    # Segments have the documents up to here; what is read of them must not be here twice.
                    self._lists.forget_packed()
                    grown = False
                self._add(self._lists, ids[own], rows.part(own.start, own.stop), lengths[own])
        if grown:
            self._lists.forget_packed()

    def _add(self, lists: _core.PostingLists, ids: Ids, rows: Rows, lengths: npt.NDArray[np.int32]) -> None:
        if not len(ids):
            return
        both = _side_by_side(rows, _forms(self._store, ids, self._analyzer, self._threads))
        lists.add(both.indptr, both.columns, both.values, ids, lengths)

    # Reading

    def lists(self, columns: Iterable[int] | Columns, n_columns: int) -> Lists:
        """Return lists that hold at least these columns."""
        wanted = set(columns.tolist() if isinstance(columns, np.ndarray) else columns)
        if self._lists is None:
            self._lists = self._new_lists(n_columns)
            self._gone = self._gone[:0]
            self._held.clear()
        lists = self._lists
        if not wanted <= self._held:
            missing = sorted(wanted - self._held)
            put_lists(lists, missing, self._segments, self._all, n_columns, self._store)
            self._held.update(missing)
            self._grown = True
        return Lists(lists, len(self._roster) + len(self._gone), self._gone)

    def _new_lists(self, n_columns: int) -> _core.PostingLists:
        lengths = self._roster.held("lengths")
        assert lengths is not None  # noqa: S101
        lists = _core.PostingLists(self._roster.ids, lengths.values)
        ids, rows = self._pending(n_columns)
        try:
            for part in (rows, _forms(self._store, ids, self._analyzer, self._threads)):
                lists.put_counts(part.indptr, part.columns, part.values, ids)
        except ValueError as error:
            raise self._store.damaged(f"term counts do not fit the documents ({error})") from error
        return lists

    def _pending(self, n_columns: int) -> tuple[Ids, Rows]:
        """Return the ids and the counts of the documents that are in no list yet."""
        pending = list(self._store.rows("counts", "WHERE id >= ? ORDER BY id", (self._end,)))
        ids = np.array([number for number, _ in pending], dtype=np.int64)
        return ids, unpacked(self._store, [content for _, content in pending], n_columns, self._threads)


def _side_by_side(terms: Rows, forms: Rows) -> Rows:
    """Return rows of counts that have terms, and behind them forms."""
    both = Rows.stacked([terms, forms])
    order = np.argsort(np.tile(np.arange(len(terms)), 2), kind="stable")
    rows = both.at(order)
    indptr = np.concatenate([np.zeros(1, np.int64), rows.indptr[2::2]])
    return Rows.sparse(indptr, rows.columns, rows.values, END_FORMS)


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
    held, lists = unpacked_blocks(store, segments.parts(segment))
    entries = unpacked(store, lists, segment.last + 1)
    columns = np.repeat(held, np.diff(entries.indptr))
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
