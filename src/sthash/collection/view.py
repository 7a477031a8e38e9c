"""What a process keeps in memory of a collection's file, and for how long it is right."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sthash.collection.encoder import Encoder, load_encoder
from sthash.collection.shelf import Ids, Shelf, Vectors, load_shelf, load_vectors
from sthash.collection.store import Store
from sthash.index import HammingIndex


class View:
    """Codes, vectors and model of a file, read when they are first needed and again after each commit."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lock = threading.RLock()
        self._version: int | None = None
        self._generation: int | None = None
        self._encoder: Encoder | None = None
        self._forget()

    def _forget(self) -> None:
        self._shelf: Shelf | None = None
        self._vectors: Vectors | None = None
        self._index: HammingIndex | None = None
        self._read_singly = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the file throughout."""
        with self.lock, self.store.reading():
            version = self.store.version()
            if version != self._version:
                self._forget()
                self._version = version
                generation = self.store.setting("model").get("generation")
                if generation != self._generation:
                    self._encoder, self._generation = None, generation
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make all changes of the block or none of them."""
        with self.lock:
            try:
                with self.store.writing():
                    # Another process may have learnt a new model since; the lock keeps it as it is from here on.
                    self._encoder = None
                    yield
            finally:
                self._encoder, self._version, self._generation = None, None, None

    def encoder(self) -> Encoder:
        """The model."""
        if self._encoder is None:
            self._encoder = load_encoder(self.store)
        return self._encoder

    def shelf(self) -> Shelf:
        """All codes."""
        if self._shelf is None:
            self._shelf = load_shelf(self.store, self.encoder().n_bits)
        return self._shelf

    def vectors(self, ids: Ids) -> Vectors:
        """The vectors of some documents, whose ids ascend.

        They are read one by one for as long as few have been asked for, then all at once.
        """
        shelf, encoder = self.shelf(), self.encoder()
        self._read_singly += len(ids)
        if self._vectors is None and 2 * self._read_singly > len(shelf.ids):
            self._vectors = load_vectors(
                self.store, shelf.ids, dense=encoder.dense, n_columns=encoder.n_columns, whole=True
            )
        if self._vectors is not None:
            same = len(ids) == len(shelf.ids)
            return self._vectors if same else self._vectors.at(shelf.places(ids))
        return load_vectors(self.store, ids, dense=encoder.dense, n_columns=encoder.n_columns, whole=False)

    def index(self) -> HammingIndex:
        """An index of all codes, by the places of the documents on the shelf."""
        if self._index is None:
            shelf = self.shelf()
            self._index = HammingIndex(shelf.n_bits)
            self._index.add(np.ascontiguousarray(shelf.codes))
        return self._index
