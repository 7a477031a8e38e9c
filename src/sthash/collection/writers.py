"""What stands in the file beside a document: counts and frequencies of a text, or a vector; and the code."""

from __future__ import annotations

from typing import Any, Protocol

from sthash.checks import resolve_threads
from sthash.collection.code_table import put_codes
from sthash.collection.count_table import CountRows, put_counts
from sthash.collection.posting_table import settle
from sthash.collection.store import Store
from sthash.collection.term_table import TermTable, change_frequencies
from sthash.model import Model, TextModel, VectorModel
from sthash.progress import Progress, silent


class Writer(Protocol):
    """Writes for documents what a search needs, within a transaction of the caller's."""

    def put(self, ids: list[int], inputs: list[Any]) -> None:
        """Write what follows from texts or vectors."""

    def finish(self, report: Progress = silent) -> None:
        """Do what is due once per change."""


class TextWriter:
    """For texts. A word that is new becomes a term of the collection at once."""

    def __init__(self, store: Store, model: TextModel, threads: int | None = None) -> None:
        self._store = store
        self._model = model
        self._threads = resolve_threads(threads)
        self._terms = TermTable(store, grow=True)
        self._counter = model.new_counter(self._terms, grow=True)

    def put(self, ids: list[int], inputs: list[str]) -> None:
        """Write what follows from texts."""
        rows = CountRows(*self._counter.count_parts(inputs))
        self._terms.flush()
        self.put_rows(ids, rows)

    def put_rows(self, ids: list[int], rows: CountRows) -> None:
        """Write what follows from term counts, whose words are all in the file."""
        put_counts(self._store, ids, rows, self._threads)
        change_frequencies(self._store, rows.columns, 1)
        own = rows.below(len(self._model.terms))
        codes = self._model.encode_counts(own.indptr, own.columns, own.counts).codes
        put_codes(self._store, ids, codes, rows.lengths())

    def finish(self, report: Progress = silent) -> None:
        """Bring the posting lists up to date."""
        settle(self._store, len(self._terms), self._threads, report)


class VectorWriter:
    """For dense vectors."""

    def __init__(self, store: Store, model: VectorModel) -> None:
        self._store = store
        self._model = model

    def put(self, ids: list[int], inputs: list[Any]) -> None:
        """Write the rows of vectors, and their codes."""
        if not ids:
            return
        rows = self._model.encode(inputs)
        values = rows.values.reshape(len(rows), -1)
        self._store.put_many("vectors", [(number, row.tobytes()) for number, row in zip(ids, values, strict=True)])
        put_codes(self._store, ids, rows.codes)

    def finish(self, report: Progress = silent) -> None:
        """Do nothing: vectors have no lists."""


def writer_for(store: Store, model: Model, threads: int | None = None) -> Writer:
    """Return the writer for documents of a collection with this model."""
    if isinstance(model, TextModel):
        return TextWriter(store, model, threads)
    if isinstance(model, VectorModel):
        return VectorWriter(store, model)
    raise TypeError(f"model is a {type(model).__name__}. Pass a TextModel or a VectorModel.")
