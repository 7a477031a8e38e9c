"""The documents that a collection learns from: added batch by batch, then sampled, and encoded by what was learned.

Each text is scanned once: its term counts are kept until all are encoded, as long as they fit into `KEPT_BYTES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sthash.batches import batched
from sthash.codes import pack
from sthash.collection.code_table import put_codes
from sthash.collection.document_table import put_encoded, read_texts
from sthash.collection.packed_vectors import Ids, join_vectors
from sthash.collection.store import Store
from sthash.model import EncodedRows, Model, TextModel, VectorModel
from sthash.model.vector_model import unit_vectors

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.text import TextVectorizer

# Term counts take about this much memory at the most; a larger corpus is scanned again from the file.
KEPT_BYTES = 1 << 29


class LearningCorpus(Protocol):
    """Texts or vectors of documents that are in the file already."""

    def add(self, ids: list[int], inputs: list[Any]) -> None:
        """Take in the texts or vectors of documents."""

    def finish(self) -> None:
        """Take note that all documents have been added."""

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents, for `SelfTaughtHashing.fit`."""

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> Model:
        """Return the model that a fitted hasher makes."""

    def encode(self, model: Any) -> Iterator[int]:
        """Write the vectors and codes of all documents anew; yield how many there are per batch."""


class TextCorpus:
    """Texts, counted as they come."""

    def __init__(self, store: Store, vectorizer: TextVectorizer) -> None:
        from sthash.text import CorpusCounter

        self._store = store
        self._counter = CorpusCounter(vectorizer)
        self._vectorizer = vectorizer
        self._kept: list[tuple[list[int], Any]] | None = []
        self._bytes = 0

    def add(self, ids: list[int], inputs: list[str]) -> None:
        """Count the terms of texts."""
        counts = self._counter.add(inputs)
        self._bytes += counts.data.nbytes + counts.indices.nbytes + counts.indptr.nbytes
        if self._bytes > KEPT_BYTES:
            self._kept = None
        if self._kept is not None:
            self._kept.append((ids, counts))

    def finish(self) -> None:
        """Settle the vocabulary."""
        self._counter.finish()

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents."""
        from scipy.sparse import vstack

        wanted = set(ids.tolist())
        if self._kept is None:
            return self._vectorizer.transform(text for number, text in read_texts(self._store) if number in wanted)
        parts = []
        for batch, counts in self._kept:
            chosen = np.array([number in wanted for number in batch], dtype=bool)
            if chosen.any():
                parts.append(self._counter.rows(counts if chosen.all() else counts[chosen]))
        return vstack(parts, format="csr") if len(parts) > 1 else parts[0]

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> TextModel:
        """Return the model that a fitted hasher makes."""
        return TextModel.of(self._vectorizer, hasher, frequent_first=True, **settings)

    def encode(self, model: TextModel) -> Iterator[int]:
        """Write the vectors and codes of all documents anew."""
        self._store.execute("DELETE FROM vectors")
        self._store.execute("DELETE FROM codes")
        for ids, rows in self._encoded(model):
            put_encoded(self._store, ids, rows, dense=False)
            yield len(ids)

    def _encoded(self, model: TextModel) -> Iterator[tuple[list[int], EncodedRows]]:
        if self._kept is None:
            for batch in batched(read_texts(self._store), length=lambda pair: len(pair[1])):
                yield [number for number, _ in batch], model.encode([text for _, text in batch])
            return
        from sthash.text.vocabulary import take_columns

        column_of = np.array([model.terms.get(term) for term in self._vectorizer.vocabulary_], dtype=np.int32)
        for ids, provisional in self._kept:
            counts = take_columns(self._counter.settled(provisional), column_of, len(column_of))
            yield ids, model.encode_counts(counts.indptr.astype(np.int64), counts.indices, counts.data)


class VectorCorpus:
    """Dense vectors that the user brings; they go into the file as they come."""

    def __init__(self, store: Store, width: int | None = None) -> None:
        self._store = store
        self._width = width

    def add(self, ids: list[int], inputs: list[Any]) -> None:
        """Store the unit rows of vectors."""
        rows = unit_vectors(inputs, self._width)
        self._width = rows.shape[1]
        self._store.put_many("vectors", [(number, row.tobytes()) for number, row in zip(ids, rows, strict=True)])

    def finish(self) -> None:
        """Make sure that there are vectors."""
        if self._width is None:
            raise ValueError("the corpus is empty. Pass at least one document.")

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents."""
        rows = (row for number in ids.tolist() for row in self._store.rows("vectors", "WHERE id = ?", (number,)))
        return np.frombuffer(b"".join(content for _, content in rows), np.float32).reshape(-1, self._width or 0)

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> VectorModel:
        """Return the model that a fitted hasher makes."""
        return VectorModel.of(hasher, **settings)

    def encode(self, model: VectorModel) -> Iterator[int]:
        """Write the codes of all documents anew."""
        self._store.execute("DELETE FROM codes")
        for page in batched(self._store.rows("vectors", "ORDER BY id")):
            vectors = join_vectors([content for _, content in page], dense=True, n_columns=model.n_columns)
            margins = model.margins(vectors.encoded(model.n_bits))
            put_codes(self._store, [number for number, _ in page], pack(margins > 0))
            yield len(page)
