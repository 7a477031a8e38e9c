"""`OpenFile`: the open file of a collection, its present state, and its changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Self

from sthash.checks import resolve_threads
from sthash.collection.embedder import Embedder, check_name
from sthash.collection.snapshot import Snapshot
from sthash.collection.store import WAIT_SECONDS, Store
from sthash.collection.stored_model import load_model
from sthash.collection.upgrade import prepare_reading, prepare_writing
from sthash.model import Model


class OpenFile:
    """The file of a collection, open; the base of `Collection`."""

    def __init__(self, store: Store, *, threads: int | None = None) -> None:
        self._store = store
        self._threads = resolve_threads(threads)
        self._current: Snapshot | None = None
        self._model: Model | None = None
        self._origin: tuple[int, int] | None = None
        self._embedder: Embedder | None = None

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        wait: float = WAIT_SECONDS,
        threads: int | None = None,
        max_read_bytes: int | None = None,
        embedder: Callable[[list[str]], Any] | None = None,
        embedder_name: str | None = None,
    ) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : path
        wait : float
            Number of seconds to wait for another process that is changing the file.
        threads : int or None
            None takes one thread per available core.
        max_read_bytes : int, optional
            Most bytes of documents that are read for one answer. Hits beyond it raise `AnswerTooLargeError`, a page
            ends before it. By default there is no limit.
        embedder : callable, optional
            For a collection of vectors: the function from a list of str to an array that it was built with, so that
            texts can be searched for and added. The file knows its name, and never imports or runs anything.
        embedder_name : str, optional
            Name of the embedder; by default ``module:qualname``. Another name than the one in the file is an error.
        """
        writable = os.access(path, os.W_OK) and os.access(Path(path).absolute().parent, os.W_OK)
        collection = cls(Store(path, "rw" if writable else "ro", wait), threads=threads)
        collection._store.max_read_bytes = max_read_bytes
        try:
            with collection._store.reading():
                if embedder is not None:
                    collection._embedder = Embedder.of(embedder, embedder_name)
                    check_name(collection._store, collection._embedder)
        except BaseException:
            collection.close()
            raise
        return collection

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # One state of the file

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read one state of the file throughout, whatever others change meanwhile.

        Other threads that use the same object wait until the ``with`` statement ends.
        """
        with self._store.reading():
            version = self._store.version()
            if self._current is None or self._current.version != version:
                prepare_reading(self._store, version, self._threads)
                self._current = Snapshot(self._store, version, self._present_model(), self._threads, self._embedder)
            yield self._current

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Make all changes of the block or none of them."""
        try:
            with self._store.writing():
                prepare_writing(self._store, self._threads)
                yield
        except BaseException:
            self._current = self._model = self._store.prepared_for = None
            raise

    def _present_model(self) -> Model:
        """Return the model of the file: the one that is in memory, if the file still has it."""
        origin, known = self._store.origin(), self._model
        if known is not None and self._origin == origin and known.settings.get("generation") == self._generation():
            return known
        self._origin, self._model = origin, load_model(self._store, self._threads)
        return self._model

    def _generation(self) -> Any:
        return self._store.setting("model").get("generation")

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        with self.snapshot() as now:
            return now.n_bits

    def __len__(self) -> int:
        with self.snapshot() as now:
            return len(now)

    def __contains__(self, key: object) -> bool:
        with self.snapshot() as now:
            return isinstance(key, str) and now.find(key) is not None

    @property
    def takes_texts(self) -> bool:
        """Whether queries and documents may be texts: not in a collection of vectors that has no embedder."""
        with self._store.reading():
            return self._embedder is not None or self._store.setting("model").get("kind") == "text"

    @property
    def version(self) -> int:
        """A number that grows with every change of the file, as long as it is open."""
        with self._store.reading():
            return self._store.version()

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._store.path
