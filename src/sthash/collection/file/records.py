"""Records: a row of bytes per document, all of one width, such as its code, its vector or its number of words.

Most are in segments, one array each. Records that come later are *pending*: a row of a table each, until there are so
many that they become a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from sthash.arrays import Ids
from sthash.collection.file.segments import Segment, Segments
from sthash.collection.file.store import MOST_IDS, Store

Content = npt.NDArray[np.uint8]

# The place of a pending record is kind << 52 | id. These numbers are part of the format.
KINDS = {"lengths": 1, "codes": 2, "cells": 3, "vectors": 4}
CONTENT = 0  # the part of a segment
MOST_PENDING = 1024
# Segments are written in pieces of about this size, and merged up to it.
SEGMENT_BYTES = 1 << 24


class Records:
    """The records of one kind, within a transaction of the caller's.

    Parameters
    ----------
    store : Store
    kind : str
        One of `KINDS`.
    width : int
        Bytes per record.
    """

    def __init__(self, store: Store, kind: str, width: int) -> None:
        self._store = store
        self._kind = kind
        self._base = KINDS[kind] << 52
        self._segments = Segments(store, kind)
        self._buffer: list[tuple[Ids, Content]] = []
        self._buffered = 0
        self.width = width

    # Writing

    def put(self, ids: Ids, records: Content) -> None:
        """Append records of documents, whose ids ascend and are greater than all before; `settle` writes the last."""
        if not len(ids):
            return
        self._buffer.append((ids, records))
        self._buffered += records.nbytes
        if self._buffered > SEGMENT_BYTES:
            self._write_segment()

    def remove(self, ids: Ids) -> None:
        """Remove the records of documents; those that have none do not matter."""
        self.flush()
        self._segments.mark_deleted(ids)
        self._store.execute_many(
            "DELETE FROM pending WHERE place = ?", [(self._base | number,) for number in ids.tolist()]
        )

    def clear(self) -> None:
        """Remove all records."""
        self._buffer.clear()
        self._buffered = 0
        self._segments.clear()
        self._store.execute("DELETE FROM pending WHERE place BETWEEN ? AND ?", self._places(0))

    def flush(self) -> None:
        """Write the records that are still in memory: a few as pending rows, many as a segment."""
        count = sum(len(ids) for ids, _ in self._buffer)
        if count > MOST_PENDING:
            self._write_segment()
        elif count:
            rows = [
                (self._base | number, record.tobytes())
                for ids, records in self._buffer
                for number, record in zip(ids.tolist(), records, strict=True)
            ]
            self._store.put_many("pending", rows)
            self._buffer.clear()
            self._buffered = 0

    def settle(self) -> None:
        """Write what is in memory, and merge segments as far as it is due; once at the end of each change."""
        self.flush()
        self._segments.settle(self.n_pending(), MOST_PENDING, SEGMENT_BYTES, self._rewrite)

    def _write_segment(self) -> None:
        """Write all that is pending or in memory as one segment."""
        pending_ids, pending = self._pending()
        self._store.execute("DELETE FROM pending WHERE place BETWEEN ? AND ?", self._places(0))
        ids = np.concatenate([pending_ids, *(own for own, _ in self._buffer)])
        records = np.concatenate([pending, *(own for _, own in self._buffer)])
        self._buffer.clear()
        self._buffered = 0
        self._add(ids, records)

    def _add(self, ids: Ids, records: Content) -> None:
        step = max(1, SEGMENT_BYTES // max(self.width, 1))
        for first in range(0, len(ids), step):
            own = ids[first : first + step]
            self._segments.add(int(own[0]), own, [(CONTENT, records[first : first + step].tobytes())])

    def _rewrite(self, first: int, last: int) -> None:
        inside = [segment for segment in self._segments.all() if first <= segment.first and segment.last <= last]
        parts = [self._content(segment) for segment in inside]
        for segment in inside:
            self._segments.drop(segment)
        if last == MOST_IDS - 1:
            parts.append(self._pending())
            self._store.execute("DELETE FROM pending WHERE place BETWEEN ? AND ?", self._places(0))
        ids, records = self.joined(parts)
        self._add(ids, records)

    # Reading

    def ids(self) -> Ids:
        """Return the ids of all documents that have a record, ascending; the records are not read."""
        first, last = self._places(self._segments.end())
        rows = self._store.execute(
            "SELECT place FROM pending WHERE place BETWEEN ? AND ? ORDER BY place", (first, last)
        )
        pending = np.array([place - self._base for (place,) in rows], dtype=np.int64)
        return np.concatenate([*(self._segments.live_ids(segment) for segment in self._segments.all()), pending])

    def parts(self, after: int = -1) -> Iterator[tuple[Ids, Content]]:
        """Iterate over the ids and records of documents by ascending ids, a segment at a time.

        Segments without a document that comes after an id are left out.
        """
        later = [segment for segment in self._segments.all() if segment.last > after]
        for segment in (*later, None):
            ids, records = self._pending() if segment is None else self._content(segment)
            if len(ids):
                yield ids, records

    def n_pending(self) -> int:
        """Return the number of pending records."""
        places = self._places(self._segments.end())
        (count,) = self._store.execute("SELECT count(*) FROM pending WHERE place BETWEEN ? AND ?", places).fetchone()
        return int(count)

    def all(self) -> tuple[Ids, Content]:
        """Return the ids and records of all documents, by ascending ids."""
        return self.joined(self.parts())

    def at(self, ids: Ids) -> Content:
        """Return the records of some documents, whose ids ascend."""
        found = np.empty((len(ids), self.width), dtype=np.uint8)
        count = 0
        for held, records in self.parts(int(ids[0]) - 1 if len(ids) else MOST_IDS):
            places = np.searchsorted(held, ids)
            here = np.flatnonzero((places < len(held)) & (held[np.minimum(places, len(held) - 1)] == ids))
            found[here] = records[places[here]]
            count += len(here)
        if count != len(ids):
            raise self._store.damaged(f"it has {self._kind} of {count} of {len(ids)} documents")
        return found

    def verify(self, ids: Ids) -> None:
        """Compare the documents that have records with those that there are."""
        self._segments.verify()
        if not np.array_equal(self.ids(), ids):
            raise self._store.damaged(f"documents and {self._kind} are not of the same documents")

    def joined(self, parts: Iterable[tuple[Ids, Content]]) -> tuple[Ids, Content]:
        """Put parts one after the other."""
        parts = list(parts)
        ids = np.concatenate([np.zeros(0, np.int64), *(own for own, _ in parts)])
        if len(parts) == 1:
            return parts[0]
        if not (ids[1:] > ids[:-1]).all():
            raise self._store.damaged(f"its {self._kind} are not in order")
        return ids, np.concatenate([np.zeros((0, self.width), np.uint8), *(own for _, own in parts)])

    def _content(self, segment: Segment) -> tuple[Ids, Content]:
        content = self._segments.find(segment, CONTENT) or b""
        if len(content) != self.width * segment.size:
            raise self._store.damaged(f"a segment of {self._kind} has the wrong size")
        ids, live = self._segments.ids(segment), self._segments.live(segment)
        records = np.frombuffer(content, dtype=np.uint8).reshape(segment.size, self.width)
        return (ids, records) if live is None else (ids[live], records[live])

    def _pending(self) -> tuple[Ids, Content]:
        first = self._segments.end()
        rows = list(self._store.rows("pending", "WHERE place BETWEEN ? AND ? ORDER BY place", self._places(first)))
        if any(len(content) != self.width for _, content in rows):
            raise self._store.damaged(f"a record of {self._kind} has the wrong size")
        ids = np.array([place - self._base for place, _ in rows], dtype=np.int64)
        content = np.frombuffer(b"".join(content for _, content in rows), dtype=np.uint8)
        return ids, content.reshape(len(ids), self.width)

    def _places(self, first: int) -> tuple[int, int]:
        return self._base | first, self._base | (MOST_IDS - 1)
