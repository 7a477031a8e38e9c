"""Segments: the immutable parts of an index, each of a range of documents, as in Lucene.

A change of the file adds segments, drops them whole, or marks some of their documents as deleted. The content of a
segment never changes, and its number is never used again, so two states of a file share every segment that both have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from sthash.arrays import Ids
from sthash.collection.file.store import MOST_IDS, Store

PART_BITS = 32
MOST_SEGMENTS = 1 << 30
# The part with the ids of a segment, where these are not all of its range.
IDS = (1 << PART_BITS) - 1
# Documents whose deletions are one row of the table.
CHUNK = 1 << 16


@dataclass(frozen=True)
class Segment:
    """The documents of an index with ids from ``first`` to ``last``: how many, and how many bytes their parts have."""

    number: int
    kind: str
    first: int
    last: int
    size: int
    bytes: int

    def place(self, part: int) -> int:
        """Return the place of a part in the table."""
        return self.number << PART_BITS | part

    @property
    def places(self) -> tuple[int, int]:
        """The first and the last place of the segment."""
        return self.place(0), self.place(IDS)


class Segments:
    """The segments of one kind of index, within a transaction of the caller's.

    Parameters
    ----------
    store : Store
    kind : str
    """

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind

    def all(self) -> list[Segment]:
        """Return the segments, by ascending ids."""
        rows = self._store.rows("segments", "WHERE kind = ?", (self._kind,))
        segments = sorted((Segment(*row) for row in rows), key=lambda segment: segment.first)
        end = -1
        for segment in segments:
            right = end < segment.first <= segment.last < MOST_IDS and 0 <= segment.number < MOST_SEGMENTS
            if not right or not 0 < segment.size <= segment.last - segment.first + 1 or segment.bytes < 0:
                raise self._store.damaged("its segments are not in order")
            end = segment.last
        # Whoever forges a size must not get more memory than the file takes.
        if sum(segment.size for segment in segments) > self._store.n_bytes:
            raise self._store.damaged("its segments have more documents than the file has space for")
        return segments

    def end(self) -> int:
        """Return the first id after all segments."""
        segments = self.all()
        return segments[-1].last + 1 if segments else 0

    def add(self, first: int, ids: Ids, parts: Iterable[tuple[int, bytes]], size: int | None = None) -> None:
        """Write a segment that starts at ``first``; ``size`` decides about merging. Default: bytes of its parts."""
        segment = Segment(take_number(self._store), self._kind, first, int(ids[-1]), len(ids), 0)
        written = [(segment.place(part), content) for part, content in parts]
        if len(ids) != ids[-1] - first + 1:
            written.append((segment.place(IDS), ids.astype("<i8").tobytes()))
        self._store.put_many("parts", written)
        total = sum(len(content) for _, content in written) if size is None else size
        self._store.put("segments", *astuple(segment)[:-1], total)

    def drop(self, segment: Segment) -> None:
        """Remove a segment with all of its parts."""
        self._store.execute("DELETE FROM segments WHERE segment = ?", (segment.number,))
        for table in ("deletions", "parts"):
            self._store.execute(f"DELETE FROM {table} WHERE place BETWEEN ? AND ?", segment.places)  # noqa: S608

    def clear(self) -> None:
        """Remove all segments."""
        for segment in self.all():
            self.drop(segment)

    def find(self, segment: Segment, part: int) -> bytes | None:
        """Return a part, if the segment has it."""
        for _, content in self._store.rows("parts", "WHERE place = ?", (segment.place(part),)):
            return bytes(content)
        return None

    def find_before(self, segments: Sequence[Segment], parts: Sequence[int]) -> list[dict[int, bytes]]:
        """Return, for each of several segments, the last part up to each of some parts; the parts ascend."""
        places = [segment.place(part) for segment in segments for part in parts]
        last = (
            "WHERE place IN (SELECT (SELECT place FROM parts WHERE place BETWEEN value >> 32 << 32 AND value "
            "ORDER BY place DESC LIMIT 1) FROM json_each(?)) ORDER BY place"
        )
        found: dict[int, dict[int, bytes]] = {segment.number: {} for segment in segments}
        for place, content in self._store.rows("parts", last, (json.dumps(places),)):
            found[place >> PART_BITS][place & IDS] = content
        return [found[segment.number] for segment in segments]

    def parts(self, segment: Segment) -> Iterator[tuple[int, bytes]]:
        """Iterate over the parts of a segment, without its ids."""
        bounds = segment.place(0), segment.place(IDS)
        for place, content in self._store.rows("parts", "WHERE place >= ? AND place < ? ORDER BY place", bounds):
            yield place - bounds[0], content

    def ids(self, segment: Segment) -> Ids:
        """Return the ids of all documents of a segment, deleted ones too."""
        content, first, last = self.find(segment, IDS), segment.first, segment.last
        if content is None and segment.size == last - first + 1:
            return np.arange(first, last + 1, dtype=np.int64)
        if content is not None and len(content) == 8 * segment.size:
            ids = np.frombuffer(content, dtype="<i8").astype(np.int64, copy=False)
            if ids[0] >= first and ids[-1] == last and bool((ids[1:] > ids[:-1]).all()):
                return ids
        raise self._store.damaged("a segment does not have the ids of its documents")

    def live(self, segment: Segment) -> npt.NDArray[np.bool_] | None:
        """Return which documents of a segment are still there; None if all are."""
        live: npt.NDArray[np.bool_] | None = None
        for place, _, content in self._store.rows("deletions", "WHERE place BETWEEN ? AND ?", segment.places):
            live = np.ones(segment.size, dtype=bool) if live is None else live
            start = (place & IDS) * CHUNK
            live[start : start + CHUNK] = ~self._deleted(segment, place & IDS, content)
        return live

    def _deleted(self, segment: Segment, chunk: int, content: bytes | None) -> npt.NDArray[np.bool_]:
        """Return which documents of a chunk are deleted."""
        count = min(CHUNK, segment.size - chunk * CHUNK)
        if content is None:
            return np.zeros(count, dtype=bool)
        if count <= 0 or len(content) != -(-count // 8):
            raise self._store.damaged("the deletions of a segment have the wrong size")
        bits = np.unpackbits(np.frombuffer(content, dtype=np.uint8), count=count, bitorder="little")
        return bits.view(np.bool_)

    def n_deleted(self, segment: Segment) -> int:
        """Return how many documents of a segment are noted to be no longer there."""
        noted = self._store.execute("SELECT total(size) FROM deletions WHERE place BETWEEN ? AND ?", segment.places)
        return int(noted.fetchone()[0])

    def live_ids(self, segment: Segment) -> Ids:
        """Return the ids of the documents of a segment that are still there."""
        ids, live = self.ids(segment), self.live(segment)
        return ids if live is None else ids[live]

    def mark_deleted(self, ids: Ids) -> None:
        """Mark documents as deleted; those that are in no segment do not matter."""
        for segment in self.all():
            own = ids[(ids >= segment.first) & (ids <= segment.last)]
            if not len(own):
                continue
            if segment.size == segment.last - segment.first + 1:
                places = own - segment.first
            else:
                held = self.ids(segment)
                places = np.searchsorted(held, own)
                places = places[held[np.minimum(places, len(held) - 1)] == own]
            for chunk in sorted(set((places // CHUNK).tolist())):
                place = segment.place(chunk)
                row = next(self._store.rows("deletions", "WHERE place = ?", (place,)), None)
                deleted = self._deleted(segment, chunk, None if row is None else row[2]).copy()
                deleted[places[places // CHUNK == chunk] % CHUNK] = True
                content = np.packbits(deleted, bitorder="little").tobytes()
                self._store.put("deletions", place, int(deleted.sum()), content)

    def settle(self, pending: int, most_pending: int, most_bytes: int, index: Callable[[int, int], None]) -> None:
        """Index what has changed, as far as it is due: once at the end of each change.

        Pending documents become a segment when there are too many of them; a segment that has lost a quarter of its
        documents is written again; neighboring segments of similar size become one, so there are few.

        Parameters
        ----------
        pending, most_pending : int
            Number of documents in no segment, and how many of these are allowed.
        most_bytes : int
            No segment becomes larger by merging.
        index : callable
            Writes the documents of a range of ids to new segments. The old ones of this range are dropped before, or by
            it if it still reads them.
        """
        segments = self.all()
        sparse = [segment for segment in segments if 4 * self.n_deleted(segment) > segment.size]
        for segment in sparse:
            index(segment.first, segment.last)
        if pending > most_pending:
            index(self.end(), MOST_IDS - 1)
        if sparse or pending > most_pending:
            segments = self.all()
        while len(segments) > 1 and _alike(segments[-2], segments[-1], most_bytes):
            index(segments[-2].first, segments[-1].last)
            segments = self.all()

    def verify(self) -> int:
        """Read all segments and their deletions; return the number of parts."""
        count = 0
        for segment in self.all():
            if len(self.live_ids(segment)) != segment.size - self.n_deleted(segment):
                raise self._store.damaged("a segment does not know how many of its documents are left")
            count += sum(1 for _ in self.parts(segment)) + (self.find(segment, IDS) is not None)
        return count


def take_number(store: Store) -> int:
    """Return a number for a segment that no other one has had."""
    noted = store.setting("next")
    number = noted.get("segment") if isinstance(noted, dict) else None
    if type(number) is not int or not 0 <= number < MOST_SEGMENTS:
        raise store.damaged("the setting next cannot be read")
    store.put_setting("next", noted | {"segment": number + 1})
    return number


def _alike(left: Segment, right: Segment, most_bytes: int) -> bool:
    return left.bytes < 2 * right.bytes and left.bytes + right.bytes <= most_bytes
