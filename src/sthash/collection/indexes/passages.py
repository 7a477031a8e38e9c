"""Passages: the overlapping parts of long texts, each with its words in posting lists of its own.

A long document is about many things, so its words say little about the place that a query asks for, and its length
counts against it. Its passages are like short documents, and are scored as such; the best one counts for the document.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Columns, Ids
from sthash.batches import batched
from sthash.collection.file.documents import Documents
from sthash.collection.file.segments import Segment, Segments
from sthash.collection.file.store import MOST_IDS, Store
from sthash.collection.indexes.forms import END_FORMS, count_passage_forms
from sthash.collection.indexes.list_blocks import blocks_of, cut_lists, put_lists, unpacked_blocks
from sthash.collection.indexes.terms import TermTable
from sthash.text.analyzer import WordAnalyzer
from sthash.text.counters import WordCounter
from sthash.vectors.rows import Rows

KIND = "passages"
# A text with more words that count, stop words left out, is long if it is also longer than two passages.
MOST_WORDS = 600
# Characters of a passage; the next one begins in its middle, so whatever is short stands in one of them as a whole.
SIZE = 1500
# A passage has the id: number of the document << BITS | number of the passage.
BITS = 18
MOST_PASSAGES = 1 << BITS
MOST_DOCUMENTS = MOST_IDS >> BITS
# How far a passage may be from its place to begin at a space.
REACH = 40
# The part of a segment that has the lengths of its passages.
LENGTHS = END_FORMS
# Length of the texts of a segment. Segments merge up to this, so a merged one is written in one go.
SEGMENT_CHARACTERS = 1 << 24
CACHED_BYTES = 1 << 28


def passages_of(text: str) -> list[str]:
    """Cut a text into passages, each of which overlaps the next one by half; a text of at most two has none.

    Examples
    --------
    >>> from sthash.collection.indexes.passages import passages_of
    >>> passages_of("short"), len(passages_of("some words " * 400))
    ([], 5)
    """
    if len(text) <= 2 * SIZE:
        return []
    step = max(SIZE // 2, -(-len(text) // (MOST_PASSAGES - 2)))
    starts = [0, *(_word_start(text, start) for start in range(step, len(text) - step // 2, step))]
    ends = [*starts[2:], len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=False)]


def _word_start(text: str, start: int) -> int:
    """Return where the next word begins, if that is near."""
    return next((place for place in range(start, start + REACH) if text[place - 1 : place].isspace()), start)


class PassageWriter:
    """Writes the passages of long documents, within a transaction of the caller's.

    Parameters
    ----------
    store : Store
    analyzer : WordAnalyzer
    threads : int
    """

    def __init__(self, store: Store, analyzer: WordAnalyzer, threads: int) -> None:
        self._store = store
        self._segments = Segments(store, KIND)
        self._analyzer = analyzer
        self._threads = threads
        self._new: list[Ids] = []

    def put(self, ids: Ids, lengths: npt.NDArray[np.integer]) -> None:
        """Note which of some new documents are long; `settle` writes their passages."""
        long = ids[(lengths > MOST_WORDS) & (ids < MOST_DOCUMENTS)]
        if len(long):
            self._new.append(long)

    def remove(self, ids: Ids) -> None:
        """Remove the passages of documents."""
        self._new = [own[~np.isin(own, ids)] for own in self._new]
        for segment in self._segments.all():
            held = self._segments.ids(segment)
            self._segments.mark_deleted(held[np.isin(held >> BITS, ids)])

    def clear(self) -> None:
        """Remove all passages."""
        self._new = []
        self._segments.clear()

    def settle(self) -> None:
        """Write the passages of new documents, and merge segments as far as it is due."""
        if new := [own for own in self._new if len(own)]:
            self._write(np.concatenate(new))
            self._new = []
        self._segments.settle(0, 0, SEGMENT_CHARACTERS, self._rewrite)

    def _rewrite(self, first: int, last: int) -> None:
        documents = [np.zeros(0, dtype=np.int64)]
        for segment in self._segments.all():
            if first <= segment.first and segment.last <= last:
                documents.append(self._segments.live_ids(segment) >> BITS)
                self._segments.drop(segment)
        self._write(np.unique(np.concatenate(documents)))

    def _write(self, documents: Ids) -> None:
        read = Documents(self._store).texts(documents.tolist())
        for batch in batched(read, MOST_DOCUMENTS, length=_length, most=SEGMENT_CHARACTERS):
            ids, texts, beginnings = _passages(batch)
            if not texts:
                continue
            terms, forms = counted(self._store, texts, beginnings, self._analyzer, self._threads)
            parts = [(LENGTHS, terms.sums().astype("<i4").tobytes())]
            packed = itertools.chain(blocks_of(terms, ids, self._threads), blocks_of(forms, ids, self._threads), parts)
            self._segments.add(int(ids[0]), ids, packed, sum(map(_length, batch)))


def _length(document: tuple[int, str]) -> int:
    return len(document[1])


def _passages(documents: Sequence[tuple[int, str]]) -> tuple[Ids, list[str], list[str]]:
    """Return the ids and the texts of passages, and for each the beginning of its document."""
    cut = [(number, passages_of(text), text[:SIZE]) for number, text in documents]
    ids = [number << BITS | place for number, texts, _ in cut for place in range(len(texts))]
    beginnings = [beginning for _, texts, beginning in cut for _ in texts]
    return np.array(ids, dtype=np.int64), [text for _, texts, _ in cut for text in texts], beginnings


def counted(
    store: Store, texts: list[str], beginnings: list[str], analyzer: WordAnalyzer, threads: int
) -> tuple[Rows, Rows]:
    """Return how often passages have each term, and each form."""
    columns: Any = TermTable(store)
    counter = WordCounter(analyzer, columns, grow=False, threads=threads)
    return Rows.sparse(*counter.count_parts(texts), len(columns)), count_passage_forms(
        texts, beginnings, analyzer, threads
    )


class PassageLists:
    """The posting lists of all passages of one state of the file, read as they are needed.

    Parameters
    ----------
    store : Store
    segments : list of Segment

    Attributes
    ----------
    ids : array of int64
        Of all passages, ascending.
    n_words : int
        Words of all passages.
    """

    def __init__(self, store: Store, segments: list[Segment]) -> None:
        self._store, self._all, self._segments = store, segments, Segments(store, KIND)
        ids, lengths = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for segment in segments:
            held, live = self._segments.ids(segment), self._segments.live(segment)
            own = self._lengths(segment)
            ids.append(held if live is None else held[live])
            lengths.append(own if live is None else own[live])
        self.ids, self._own_lengths = np.concatenate(ids), np.concatenate(lengths)
        self.n_words = int(self._own_lengths.sum(dtype=np.int64))
        self._lists: _core.PostingLists | None = None
        self._held: set[int] = set()
        self._full = False

    def __len__(self) -> int:
        return len(self.ids)

    def _lengths(self, segment: Segment) -> npt.NDArray[np.int32]:
        content = self._segments.find(segment, LENGTHS)
        lengths = np.frombuffer(content or b"", dtype=np.uint8)
        if len(lengths) != 4 * segment.size:
            raise self._store.damaged("a segment does not have the lengths of its passages")
        found = lengths.view("<i4").astype(np.int32)
        if len(found) and found.min() < 0:
            raise self._store.damaged("a passage has a negative length")
        return found

    def lists(self, columns: Columns, n_columns: int) -> _core.PostingLists:
        """Return lists that hold at least these columns."""
        wanted = set(columns.tolist())
        if self._lists is None or (self._full and not wanted <= self._held):
            self._lists, self._full = _core.PostingLists(self.ids, self._own_lengths), False
            self._held.clear()
        if not wanted <= self._held:
            missing = sorted(wanted - self._held)
            put_lists(self._lists, missing, self._segments, self._all, n_columns, self._store)
            self._held.update(missing)
            self._full = self._lists.nbytes > CACHED_BYTES
        return self._lists


class LoadedPassages:
    """What is in memory of passages, from one state of the file to the next: their lists, until one of them changes."""

    def __init__(self) -> None:
        self._known: list[tuple[Segment, int]] = []
        self._lists: PassageLists | None = None

    def follow(self, store: Store) -> PassageLists | None:
        """Return the lists of the present state; None if there are no passages."""
        segments = Segments(store, KIND)
        now = [(segment, segments.n_deleted(segment)) for segment in segments.all()]
        if now != self._known:
            found = PassageLists(store, [segment for segment, _ in now])
            self._lists, self._known = (found if len(found) else None), now
        return self._lists


def verify(store: Store, lengths: npt.NDArray[np.int32], ids: Ids, analyzer: WordAnalyzer) -> None:
    """Compare all passages with the texts of the documents."""
    segments = Segments(store, KIND)
    segments.verify()
    long = ids[(lengths > MOST_WORDS) & (ids < MOST_DOCUMENTS)]
    found = [np.zeros(0, dtype=np.int64)]
    for segment in segments.all():
        own = segments.live_ids(segment)
        documents = long[(long >= segment.first >> BITS) & (long <= segment.last >> BITS)]
        wanted, texts, beginnings = _passages(list(Documents(store).texts(documents.tolist())))
        if not np.array_equal(own, wanted):
            raise store.damaged("passages are not those of the long documents")
        _verify_lists(store, segments, segment, own, counted(store, texts, beginnings, analyzer, 1))
        found.append(np.unique(own >> BITS))
    missing = np.setdiff1d(long, np.concatenate(found))
    if any(passages_of(text) for _, text in Documents(store).texts(missing.tolist())):
        raise store.damaged("a long document has no passages")


def _verify_lists(store: Store, segments: Segments, segment: Segment, ids: Ids, counts: tuple[Rows, Rows]) -> None:
    lists = PassageLists(store, [segment])
    if not np.array_equal(lists._own_lengths, counts[0].sums()):
        raise store.damaged("the length of a passage is not that of its words")
    blocks = ((part, content) for part, content in segments.parts(segment) if part != LENGTHS)
    kept = _by_column(*unpacked_blocks(store, blocks))
    live = segments.live(segment)
    if live is not None and not live.all():
        # Lists keep passages of documents that are gone; the search leaves them out.
        own = _core.PostingLists(ids, lists._own_lengths)
        for column, content in kept.items():
            own.put(column, [content])
        columns, packed, offsets = own.pack()
        kept = {column: part for column, part in _by_column(columns, cut_lists(packed, offsets)).items() if part}
    right = _by_column(*unpacked_blocks(store, itertools.chain(*(blocks_of(rows, ids, 1) for rows in counts))))
    if kept != right:
        raise store.damaged("posting lists of passages are not those of the texts")


def _by_column(columns: npt.NDArray[np.integer], lists: list[bytes]) -> dict[int, bytes]:
    return dict(zip(columns.tolist(), lists, strict=True))
