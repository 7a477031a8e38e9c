"""`LoadedWords`: what a collection keeps in memory of its words from one state of the file to the next.

Only what has changed is read: the term counts of new documents, and those of removed ones from the log of removals.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sthash.arrays import Columns, Ids
from sthash.batches import batched
from sthash.collection.file.records import Records
from sthash.collection.file.removals import State, removed_since, state_of
from sthash.collection.file.store import Store
from sthash.collection.indexes.counts import unpacked
from sthash.collection.indexes.passages import LoadedPassages
from sthash.collection.indexes.postings import MOST_PENDING, PostingTable
from sthash.collection.indexes.roster import Roster
from sthash.collection.indexes.terms import Frequencies
from sthash.text.analyzer import WordAnalyzer
from sthash.vectors.rows import Rows

LENGTHS = "lengths"
# Rows that are in memory at once.
ROWS_TOGETHER = 4096
# Everything is read again when more than this share of the documents came or went.
MANY_CHANGES = 0.5


def read_lengths(store: Store, records: Records) -> tuple[Ids, npt.NDArray[np.int32]]:
    """Return the ids of all documents, ascending, and their numbers of words."""
    ids, content = records.all()
    lengths = np.ascontiguousarray(content).view("<i4").reshape(-1).astype(np.int32, copy=False)
    if len(lengths) and lengths.min() < 0:
        raise store.damaged("a document has a negative length")
    return ids, lengths


class LoadedWords:
    """The words of all documents in the state that was last followed to.

    Attributes
    ----------
    roster : Roster
        The documents; holds their lengths.
    n_words : int
        Sum of the lengths.
    frequencies : Frequencies
    postings : PostingTable
    passages : LoadedPassages
    """

    roster: Roster
    frequencies: Frequencies
    postings: PostingTable

    def __init__(self) -> None:
        self._state: State | None = None
        self.n_words = 0
        self.passages = LoadedPassages()

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Number of words of each document."""
        held = self.roster.held(LENGTHS)
        assert held is not None  # noqa: S101
        return held.values

    def trim(self) -> None:
        """Keep memory bounded; not while anybody searches."""
        if self._state is not None:
            self.postings.trim()

    def follow(self, store: Store, n_columns: int, analyzer: WordAnalyzer, threads: int) -> None:
        """Bring everything to the present state of the file, within a transaction of the caller's."""
        now, known = state_of(store), self._state
        if now == known:
            return
        self._state = None  # until all is done
        removed = None if known is None else removed_since(store, known)
        if known is None or removed is None or not self._go_on(store, known, removed, n_columns, threads):
            self._load(store, n_columns, analyzer, threads)
        self._state = now

    def _load(self, store: Store, n_columns: int, analyzer: WordAnalyzer, threads: int) -> None:
        ids, lengths = read_lengths(store, Records(store, LENGTHS, 4))
        self.roster = Roster(ids)
        self.roster.hold(LENGTHS, lengths)
        self.n_words = int(lengths.sum(dtype=np.int64))
        self.frequencies = Frequencies(store, n_columns, len(ids))
        self.postings = PostingTable(store, self.roster, analyzer, threads)

    def _go_on(
        self, store: Store, known: State, removed: list[tuple[int, bytes]], n_columns: int, threads: int
    ) -> bool:
        """Follow the changes since a state; False if everything must be read again."""
        (count,) = store.execute("SELECT count(*) FROM counts WHERE id >= ?", (known.next_id,)).fetchone()
        if len(removed) + count > MANY_CHANGES * len(self.roster):
            return False
        gone = [(number, content) for number, content in removed if number < known.next_id]
        ids = np.array([number for number, _ in gone], dtype=np.int64)
        positions = self.roster.positions(ids)
        if len(positions) < len(ids):
            return False
        rows = unpacked(store, [content for _, content in gone], n_columns, threads)
        self.postings.remove(positions)
        self.n_words -= int(rows.sums().sum())
        self.roster.remove(positions)
        self.frequencies.follow(n_columns, len(self.roster), rows.columns, -1)
        for own, new in _counts_from(store, known.next_id, n_columns, threads):
            self._append(own, new, n_columns, drop=count > MOST_PENDING)
        self.postings.follow(known.next_id)
        return self.n_words >= 0

    def _append(self, ids: Ids, rows: Rows, n_columns: int, *, drop: bool) -> None:
        lengths = rows.sums().astype(np.int32)
        self.n_words += int(lengths.sum(dtype=np.int64))
        self.roster.append(ids)
        held = self.roster.held(LENGTHS)
        assert held is not None  # noqa: S101
        held.append(lengths)
        columns: Columns = rows.columns
        self.frequencies.follow(n_columns, len(self.roster), columns, 1)
        if drop:
            self.postings.drop()
        else:
            self.postings.append(ids, rows, lengths)


def _counts_from(store: Store, first: int, n_columns: int, threads: int) -> Iterator[tuple[Ids, Rows]]:
    for part in batched(store.rows("counts", "WHERE id >= ? ORDER BY id", (first,)), ROWS_TOGETHER):
        ids = np.array([number for number, _ in part], dtype=np.int64)
        yield ids, unpacked(store, [content for _, content in part], n_columns, threads)
