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
from sthash.collection.count_table import CountRows
from sthash.collection.document_table import read_texts
from sthash.collection.packed_vectors import Ids, dense_vectors
from sthash.collection.store import Store
from sthash.collection.term_table import append_terms
from sthash.collection.writers import TextWriter
from sthash.model import Model, TextModel, VectorModel
from sthash.rows import check_dense, unit_rows

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.text import TextVectorizer

# Term counts take about this much memory at the most; a larger corpus is scanned again from the file.
KEPT_BYTES = 1 << 29
FEW_DOCUMENTS = 1000


class LearningCorpus(Protocol):
    """Texts or vectors of documents that are in the file already."""

    def add(self, ids: list[int], inputs: list[Any]) -> None:
        """Take in the texts or vectors of documents."""

    def finish(self) -> None:
        """Take note that all documents have been added; ValueError if there is nothing to learn from."""

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents, for `SelfTaughtHashing.fit`."""

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> Model:
        """Return the model that a fitted hasher makes."""

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> Model:
        """Return the model of documents that nothing can be learned from."""

    def encode(self, model: Any) -> Iterator[int]:
        """Write what follows from the documents anew; yield how many there are per batch."""


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
        """Settle the vocabulary of the model; TooFewDocumentsError if it is empty."""
        from sthash.hashing.embedding import TooFewDocumentsError

        try:
            self._counter.finish()
        except ValueError as error:
            # Limits that leave no term are a mistake, unless there are few documents, or no words at all.
            totals = self._counter.totals
            if totals.n_tokens and totals.n_documents >= FEW_DOCUMENTS:
                raise
            raise TooFewDocumentsError(str(error)) from error

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

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> TextModel:
        """Return the model of documents that nothing can be learned from."""
        return TextModel.unlearned(self._vectorizer, hasher, **settings)

    def encode(self, model: TextModel) -> Iterator[int]:
        """Write words, counts, codes and lists of all documents anew; the model and its terms are there already."""
        for table in ("frequencies", "counts", "codes", "segments", "postings"):
            self._store.execute(f"DELETE FROM {table}")  # noqa: S608
        column_of = self._append_words(model)
        writer = TextWriter(self._store, model, self._vectorizer.threads)
        for ids, rows in self._counted(column_of):
            writer.put_rows(ids, rows)
            yield len(ids)
        self._kept = None
        writer.finish()

    def _append_words(self, model: TextModel) -> dict[str, int]:
        """Append the words that the model does not have, by falling frequency; return the columns of all."""
        totals = self._counter.totals
        names = totals.terms.tolist()
        columns = np.array([model.terms.get(name) for name in names], dtype=np.int64)
        rest = np.flatnonzero(columns < 0)
        rest = rest[np.argsort(-totals.document_frequency[rest], kind="stable")]
        columns[rest] = len(model.terms) + np.arange(len(rest))
        append_terms(self._store, [names[place] for place in rest.tolist()])
        return dict(zip(names, columns.tolist(), strict=True))

    def _counted(self, column_of: dict[str, int]) -> Iterator[tuple[list[int], CountRows]]:
        """Iterate over the counts of all documents in the columns of the file."""
        if self._kept is None:
            counter = self._counter.frozen(column_of)
            for batch in batched(read_texts(self._store), length=lambda pair: len(pair[1])):
                counts = counter.count([text for _, text in batch])
                yield [number for number, _ in batch], _count_rows(counts)
            return
        from sthash.text.vocabulary import take_columns

        columns = np.fromiter(column_of.values(), dtype=np.int32, count=len(column_of))
        for ids, provisional in self._kept:
            yield ids, _count_rows(take_columns(provisional, columns, len(columns)))


def _count_rows(counts: Any) -> CountRows:
    return CountRows(counts.indptr.astype(np.int64), counts.indices, counts.data)


class VectorCorpus:
    """Dense vectors that the user brings; they go into the file as they come."""

    def __init__(self, store: Store, width: int | None = None) -> None:
        self._store = store
        self._width = width

    def add(self, ids: list[int], inputs: list[Any]) -> None:
        """Store the unit rows of vectors."""
        rows = unit_rows(check_dense(inputs, self._width))
        self._width = rows.shape[1]
        self._store.put_many("vectors", [(number, row.tobytes()) for number, row in zip(ids, rows, strict=True)])

    def finish(self) -> None:
        """Make sure that there are vectors."""
        if self._width is None:
            raise ValueError("the corpus is empty. Pass at least one document.")

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents."""
        rows = (row for number in ids.tolist() for row in self._store.rows("vectors", "WHERE id = ?", (number,)))
        vectors = dense_vectors(self._store, [content for _, content in rows], self._width or 0)
        return vectors.content.view(np.float32).reshape(-1, self._width or 0)

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> VectorModel:
        """Return the model that a fitted hasher makes."""
        return VectorModel.of(hasher, **settings)

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> VectorModel:
        """Return the model of documents that nothing can be learned from."""
        settings.pop("random_state")  # there are no random weights to draw
        return VectorModel.unlearned(self._width or 0, hasher, **settings)

    def encode(self, model: VectorModel) -> Iterator[int]:
        """Write the codes of all documents anew."""
        self._store.execute("DELETE FROM codes")
        for page in batched(self._store.rows("vectors", "ORDER BY id")):
            vectors = dense_vectors(self._store, [content for _, content in page], model.n_columns)
            margins = model.margins(vectors.encoded(model.n_bits))
            put_codes(self._store, [number for number, _ in page], pack(margins > 0))
            yield len(page)
