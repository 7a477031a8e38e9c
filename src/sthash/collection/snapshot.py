"""`Snapshot`: one state of a collection: its documents, and the indexes over them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Ids, Positions
from sthash.collection.file.documents import Documents, KeptDocuments
from sthash.collection.file.store import Store
from sthash.collection.indexes.codes import Codes
from sthash.collection.indexes.content import Content
from sthash.collection.indexes.embedder import Embedder, read_name
from sthash.collection.indexes.index_set import IndexSet, LoadedIndexes
from sthash.model import Encoded, Model


class Snapshot:
    """One state of a collection, from `Collection.snapshot`.

    Attributes
    ----------
    version : int
        Another one after every change of the file.
    documents : Documents
        Keys, texts, labels and metadata, by id.
    indexes : IndexSet
        All indexes of the file.
    words : Words
        The words of all texts.
    cells : Cells or None
        The vectors of the documents; None in a collection of texts.
    threads : int
    embedder : Embedder or None
        The function that the collection was opened with.
    kept : dict
        What a search keeps in memory for the next ones.

    Examples
    --------
    >>> import tempfile, sthash
    >>> texts = [f"{animal} number {n}" for n in range(6) for animal in ("cat", "dog", "rabbit")]
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", texts) as animals,
    ...     animals.snapshot() as now,
    ... ):
    ...     now.ids.shape, now.documents.get(0).text
    ((18,), 'cat number 0')
    """

    def __init__(
        self,
        store: Store,
        version: int,
        threads: int,
        *,
        model: Model | None = None,
        embedder: Embedder | None = None,
        loaded: LoadedIndexes | None = None,
        kept: KeptDocuments | None = None,
    ) -> None:
        self.version = version
        self.threads = threads
        self.embedder = embedder
        self.documents = Documents(store, kept)
        self.indexes = IndexSet(store, model, threads, loaded)
        self.words = self.indexes.words
        self.cells = self.indexes.cells
        self.kept: dict[str, Any] = {}
        self._store = store

    @cached_property
    def content(self) -> Content:
        """What documents are compared by: their vectors if they have some, or else their words."""
        content = self.indexes.content
        if content is not self.words and not np.array_equal(content.ids, self.words.ids):
            raise self._store.damaged("vectors and words are not of the same documents")
        return content

    @property
    def has_codes(self) -> bool:
        """Whether the documents have codes; those of a collection of vectors need not."""
        return self.indexes.has_codes

    @property
    def codes(self) -> Codes:
        """The codes of the documents, and the hash functions; ValueError if there are none."""
        return self.indexes.codes

    @property
    def takes_texts(self) -> bool:
        """Whether texts can be compared with the documents."""
        return self.indexes.content.takes_texts(self.embedder)

    @property
    def ids(self) -> Ids:
        """Ids of all documents, ascending."""
        return self.words.ids

    def __len__(self) -> int:
        return len(self.words)

    def texts(self) -> list[str]:
        """Return the texts of all documents, by ascending id."""
        ids, texts = list[int](), list[str]()
        for number, text in self.documents.texts():
            ids.append(number)
            texts.append(text)
        if ids != self.ids.tolist():
            raise self._store.damaged("documents and indexes are not of the same documents")
        return texts

    def positions(self, ids: npt.ArrayLike) -> Positions:
        """Return where some ids, which must be there, stand in `ids`."""
        wanted = np.asarray(ids, dtype=np.int64)
        positions = np.searchsorted(self.ids, wanted).astype(np.int64)
        if len(wanted) and (positions.max() >= len(self) or not (self.ids[positions] == wanted).all()):
            raise self._store.damaged("documents and indexes are not of the same documents")
        return positions

    def encode(self, queries: list[Any]) -> Encoded:
        """Return the rows, margins and codes of texts or of vectors, whichever the collection is of."""
        return self.codes.encode(queries, self.embedder)

    @cached_property
    def embedder_name(self) -> str | None:
        """Name of the embedder that the texts were embedded by, if the file knows it."""
        return read_name(self._store)
