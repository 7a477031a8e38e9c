"""`Snapshot`: one state of a collection, with everything that can be read of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.checksums import encode_text
from sthash.codes import Codes
from sthash.collection.code_table import CodeTable, Positions, load_codes
from sthash.collection.conditions import Where
from sthash.collection.document_table import (
    DocumentFields,
    StoredDocument,
    find,
    read_fields,
    read_page,
)
from sthash.collection.filters import ids_where
from sthash.collection.packed_vectors import Ids, PackedVectors, load_vectors
from sthash.collection.store import Store
from sthash.index import HammingIndex
from sthash.model import EncodedRows, Margins, Model
from sthash.sources import Document


class Snapshot:
    """One state of a collection's file, from `Collection.snapshot`; valid inside the ``with`` statement.

    Everything is read when it is first needed, and kept for as long as the file does not change.

    Attributes
    ----------
    version : int
        Another one after every change of the file.
    model : Model
        The `sthash.TextModel` or `sthash.VectorModel` of the collection.

    Examples
    --------
    >>> import tempfile, sthash
    >>> texts = [f"{animal} number {n}" for n in range(6) for animal in ("cat", "dog", "rabbit")]
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", texts, n_bits=4, n_neighbors=5) as animals,
    ...     animals.snapshot() as now,
    ... ):
    ...     now.ids.shape, now.codes.shape, now.documents([0])[0].text
    ((18,), (18, 1), 'cat number 0')
    """

    def __init__(self, store: Store, version: int, model: Model, threads: int | None) -> None:
        self.version = version
        self.model = model
        self.threads = threads
        self._store = store
        self._vectors: PackedVectors | None = None
        self._read_singly = 0

    def __len__(self) -> int:
        return len(self.table)

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self.model.n_bits

    @property
    def ids(self) -> Ids:
        """Ids of all documents, ascending."""
        return self.table.ids

    @property
    def codes(self) -> Codes:
        """Packed codes of all documents, in the order of `ids`."""
        return self.table.codes

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The codes as 64-bit words."""
        return self.table.words

    @cached_property
    def table(self) -> CodeTable:
        """All codes, as the ball search reads them."""
        return load_codes(self._store, self.n_bits)

    @cached_property
    def index(self) -> HammingIndex:
        """An index of all codes, by the positions of the documents."""
        index = HammingIndex(self.n_bits)
        index.add(np.ascontiguousarray(self.codes))
        return index

    def find(self, key: str) -> int | None:
        """Return the id of a key, if there is such a document."""
        return find(self._store, encode_text(key))

    def positions(self, ids: npt.ArrayLike) -> Positions:
        """Return where some ids, which must be there, stand in `ids` and `codes`."""
        return self.table.positions(ids)

    def ids_where(self, where: Where) -> Ids:
        """Return the ids of the documents that meet conditions; see `SearchOptions`."""
        return ids_where(self._store, where)

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Return some documents by their ids."""
        wanted = [int(number) for number in ids]
        return {number: Document(*fields) for number, fields in self.fields(wanted).items()}

    def fields(self, ids: Collection[int]) -> dict[int, DocumentFields]:
        """Return key, text, label and metadata of some documents by their ids."""
        return read_fields(self._store, ids)

    def page(self, after: int = -1, limit: int = 1000) -> list[StoredDocument]:
        """Return the first documents whose ids are greater than ``after``, at most ``limit`` of them."""
        return read_page(self._store, after, limit)

    def vectors(self, ids: Ids | None = None) -> PackedVectors:
        """Return the vectors of some documents, whose ids ascend, or of all.

        They are read one by one for as long as few have been asked for, then all at once.
        """
        ids = self.ids if ids is None else ids
        self._read_singly += len(ids)
        model = self.model
        if self._vectors is None and 2 * self._read_singly > len(self):
            self._vectors = load_vectors(
                self._store, self.ids, dense=model.dense, n_columns=model.n_columns, whole=True
            )
        if self._vectors is not None:
            return self._vectors if len(ids) == len(self) else self._vectors.at(self.positions(ids))
        return load_vectors(self._store, ids, dense=model.dense, n_columns=model.n_columns, whole=False)

    def encode(self, queries: list[Any]) -> EncodedRows:
        """Return the rows, margins and codes of texts or of vectors, whichever the collection is of."""
        if not self.model.dense:
            for query in queries:
                if not isinstance(query, str):
                    raise TypeError(
                        f"this collection is of texts, but a query is a {type(query).__name__}. Pass a str."
                    )
            return self.model.encode(queries)
        if any(isinstance(query, str) for query in queries):
            raise TypeError("this collection is of vectors, but a query is a str. Pass an array, or search by key.")
        return self.model.encode(np.array(queries, dtype=np.float32).reshape(len(queries), -1))

    def encode_stored(self, id: int) -> EncodedRows:  # noqa: A002
        """Return the row, the margins and the code of a document of the collection."""
        rows = self.vectors(np.array([id])).encoded(self.n_bits)
        return EncodedRows(rows.indptr, rows.indices, rows.values, self.model.margins(rows))

    def margins(self, ids: Ids) -> Margins:
        """Return the margins of documents of the collection, in the order of ``ids``."""
        order = np.argsort(ids, kind="stable")
        margins = np.empty((len(ids), self.n_bits), dtype=np.float32)
        margins[order] = self.model.margins(self.vectors(ids[order]).encoded(self.n_bits))
        return margins
