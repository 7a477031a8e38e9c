"""`IndexSet`: the indexes that a file has. What all of them can do, it does for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sthash.arrays import Ids
from sthash.batches import batched
from sthash.collection.file.documents import Documents
from sthash.collection.file.store import Store
from sthash.collection.indexes.cells import LoadedCells
from sthash.collection.indexes.coded_vectors import vectors_in
from sthash.collection.indexes.codes import Codes
from sthash.collection.indexes.content import Content, Index
from sthash.collection.indexes.entries import Entries
from sthash.collection.indexes.loaded_words import LoadedWords
from sthash.collection.indexes.words import Words
from sthash.model import Model
from sthash.progress import Progress, silent


@dataclass
class LoadedIndexes:
    """What a collection keeps in memory from one state of the file to the next."""

    words: LoadedWords = field(default_factory=LoadedWords)
    cells: LoadedCells = field(default_factory=LoadedCells)


class IndexSet:
    """The indexes of a file, within a transaction of the caller's.

    Parameters
    ----------
    store : Store
    model : Model, optional
        The hash functions, if they are known already.
    threads : int or None
    loaded : LoadedIndexes, optional
        What was read of other states of the same file.

    Attributes
    ----------
    words : Words
        Every file has them.
    cells : Cells or None
        The vectors of the documents.
    contents : list of Content
        The words, and the vectors if the file has some.
    """

    def __init__(
        self,
        store: Store,
        model: Model | None = None,
        threads: int | None = None,
        loaded: LoadedIndexes | None = None,
    ) -> None:
        self._store = store
        self._model = model
        self._threads = threads
        loaded = LoadedIndexes() if loaded is None else loaded
        self.words = Words(store, threads, loaded.words)
        self.cells = vectors_in(store, threads, loaded.cells)
        self.contents: list[Content] = [self.words] if self.cells is None else [self.words, self.cells]

    @property
    def content(self) -> Content:
        """What documents are compared by: their vectors if they have some, or else their words."""
        return self.contents[-1]

    @cached_property
    def has_codes(self) -> bool:
        """Whether the documents have codes."""
        return Codes.are_in(self._store)

    @cached_property
    def codes(self) -> Codes:
        """The codes of the documents, and the hash functions; ValueError if there are none."""
        if not self.has_codes:
            raise ValueError(
                "this collection has no codes, because vectors are searched without them. Build it with "
                "learning=Learning(n_bits=64) (--n-bits 64) to have them too."
            )
        return Codes(self._store, self.content, self._model, self._threads, self.words)

    @property
    def all(self) -> list[Index]:
        """All indexes of the file."""
        return [*self.contents, self.codes] if self.has_codes else [*self.contents]

    def put(self, entries: Entries) -> None:
        """Write what each index keeps of documents."""
        for content in self.contents:
            raw = content.put(entries)
        if self.has_codes:
            self.codes.put(entries.ids, raw)

    def remove(self, ids: Ids) -> None:
        """Remove documents."""
        for index in self.all:
            index.remove(ids)

    def settle(self, report: Progress = silent) -> None:
        """Bring all segments up to date; once at the end of each change."""
        for content in self.contents:
            content.settle(report)
        if self.has_codes:
            if self.content.rewritten:
                self.encode(report)
            self.codes.settle(report)

    def encode(self, report: Progress = silent) -> None:
        """Write the codes of all documents, in place of those that are there."""
        self.codes.clear()
        ids = Documents(self._store).ids()
        done = 0
        for part in batched(ids.tolist()):
            own = np.array(part, dtype=np.int64)
            self.codes.put(own, next(self.content.of_stored(own)))
            done += len(own)
            report("encoding", done, len(ids))
