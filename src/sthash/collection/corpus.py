"""The documents that a collection learns from: added batch by batch, then sampled, and encoded by what was learned.

Each text is scanned once: its term counts are kept until all are encoded, as long as they fit into `KEPT_BYTES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.codes import pack
from sthash.collection.code_table import put_codes
from sthash.collection.count_table import CountRows, load_counts
from sthash.collection.document_table import count_documents, read_texts
from sthash.collection.packed_vectors import Ids, dense_vectors
from sthash.collection.row_buffer import RowBuffer
from sthash.collection.store import Store
from sthash.collection.term_table import append_terms, count_terms
from sthash.collection.writers import TextWriter
from sthash.index.stored_vectors import Metric
from sthash.model import Margins, Model, TextModel, VectorModel
from sthash.model.inner_products import InnerProducts
from sthash.model.learning_limits import CorpusSize
from sthash.model.vector_model import rows_of
from sthash.progress import Progress

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

    def size(self) -> CorpusSize:
        """Return how large the corpus is, when all documents have been added."""

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents, whose ids ascend, for `SelfTaughtHashing.fit`."""

    def margins(self, ids: Ids, model: Any) -> Margins:
        """Return the margins of documents by the model that is still in the file."""

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> Model:
        """Return the model that a fitted hasher makes."""

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> Model:
        """Return the model of documents that nothing can be learned from."""

    def encode(self, model: Any, report: Progress) -> None:
        """Write what follows from the documents anew."""


class TextCorpus:
    """Texts, counted as they come."""

    def __init__(self, store: Store, vectorizer: TextVectorizer) -> None:
        from sthash.text import CorpusCounter

        self._store = store
        self._counter = CorpusCounter(vectorizer)
        self._vectorizer = vectorizer
        self._kept: list[tuple[list[int], Any]] | None = []
        self._bytes = self._n_documents = 0

    def add(self, ids: list[int], inputs: list[str]) -> None:
        """Count the terms of texts."""
        self._n_documents += len(ids)
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

    def size(self) -> CorpusSize:
        """Return how large the corpus is."""
        frequency = self._vectorizer.statistics_.document_frequency
        return CorpusSize(self._n_documents, int(frequency.sum()), len(frequency))

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents, whose ids ascend."""
        size = self.size()
        buffer = RowBuffer(len(ids), size.columns, expected=size.values * len(ids) / size.documents)
        for rows in self._sampled(ids):
            buffer.add(rows)
        return buffer.matrix()

    def _sampled(self, ids: Ids) -> Iterator[Any]:
        if self._kept is None:
            for batch in batched(read_texts(self._store), length=lambda pair: len(pair[1])):
                chosen = _is_in(ids, [number for number, _ in batch])
                if chosen.any():
                    yield self._vectorizer.transform(batch[place][1] for place in np.flatnonzero(chosen))
            return
        for numbers, counts in self._kept:
            chosen = _is_in(ids, numbers)
            if chosen.any():
                yield self._counter.rows(counts if chosen.all() else counts[chosen])

    def margins(self, ids: Ids, model: TextModel) -> Margins:
        """Return the margins of documents by the model that is still in the file."""
        margins, done = np.empty((len(ids), model.n_bits), dtype=np.float32), 0
        whole = len(ids) == count_documents(self._store)
        for rows in load_counts(self._store, ids, count_terms(self._store), whole=whole):
            own = rows.below(len(model.terms))
            margins[done : done + len(rows)] = model.encode_counts(own.indptr, own.columns, own.counts).margins
            done += len(rows)
        return margins

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> TextModel:
        """Return the model that a fitted hasher makes."""
        model = TextModel.of(self._vectorizer, hasher, frequent_first=True, **settings)
        terms, _ = model.terms.look_up(np.arange(len(model.terms), dtype=np.int32))
        # A term that is in no document of the sample has no weights.
        model.settings["seen_terms"] = float(terms.frequency[terms.row > 0].sum() / max(terms.frequency.sum(), 1))
        return model

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> TextModel:
        """Return the model of documents that nothing can be learned from."""
        return TextModel.unlearned(self._vectorizer, hasher, **settings)

    def encode(self, model: TextModel, report: Progress) -> None:
        """Write words, counts, codes and lists of all documents anew; the model and its terms are there already."""
        done, total = 0, self._n_documents
        report("encoding", done, total)
        for table in ("frequencies", "counts", "codes", "segments", "postings"):
            self._store.execute(f"DELETE FROM {table}")  # noqa: S608
        column_of = self._append_words(model)
        writer = TextWriter(self._store, model, self._vectorizer.threads)
        for ids, rows in self._counted(column_of):
            writer.put_rows(ids, rows)
            done += len(ids)
            report("encoding", done, total)
        self._kept = None
        writer.finish(report)

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


def _is_in(ids: Ids, numbers: list[int]) -> npt.NDArray[np.bool_]:
    """Return which of some numbers are among the ids, which ascend."""
    wanted = np.asarray(numbers, dtype=np.int64)
    found: npt.NDArray[np.bool_] = ids[np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)] == wanted
    return found


def _count_rows(counts: Any) -> CountRows:
    return CountRows(counts.indptr.astype(np.int64), counts.indices, counts.data)


class VectorCorpus:
    """Dense vectors that the user brings; they go into the file as they come."""

    def __init__(self, store: Store, metric: Metric, width: int | None = None) -> None:
        self._store = store
        self._metric: Metric = metric
        self._width = width
        self._products: InnerProducts | None = None

    def add(self, ids: list[int], inputs: list[Any]) -> None:
        """Store the rows of vectors."""
        rows = rows_of(inputs, self._metric, self._width)
        self._width = rows.shape[1]
        self._store.put_many("vectors", [(number, row.tobytes()) for number, row in zip(ids, rows, strict=True)])

    def finish(self) -> None:
        """Make sure that there are vectors."""
        if self._width is None:
            raise ValueError("the corpus is empty. Pass at least one document.")

    def size(self) -> CorpusSize:
        """Return how large the corpus is."""
        count, width = count_documents(self._store), self._width or 0
        return CorpusSize(count, count * width, width)

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents, whose ids ascend; those of the last call are learned from."""
        rows = np.empty((len(ids), self._width or 0), dtype=np.float32)
        done = 0
        for page in batched(self._contents(ids)):
            vectors = dense_vectors(self._store, page, rows.shape[1])
            rows[done : done + len(page)] = vectors.content.view(np.float32).reshape(len(page), -1)
            done += len(page)
        if self._metric == "cosine":
            return rows
        self._products = InnerProducts.of(rows)
        return self._products.rows

    def _contents(self, ids: Ids) -> Iterator[bytes]:
        if len(ids) == count_documents(self._store):
            yield from (content for _, content in self._store.rows("vectors", "ORDER BY id"))
            return
        for number in ids.tolist():
            yield from (content for _, content in self._store.rows("vectors", "WHERE id = ?", (number,)))

    def margins(self, ids: Ids, model: VectorModel) -> Margins:
        """Return the margins of documents by the model that is still in the file."""
        margins, done = np.empty((len(ids), model.n_bits), dtype=np.float32), 0
        for page in batched(self._contents(ids)):
            vectors = dense_vectors(self._store, page, model.n_columns)
            margins[done : done + len(page)] = model.margins(vectors.encoded(model.n_bits))
            done += len(page)
        return margins

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> VectorModel:
        """Return the model that a fitted hasher makes."""
        return VectorModel.of(hasher, products=self._products, **settings)

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> VectorModel:
        """Return the model of documents that nothing can be learned from."""
        settings.pop("random_state")  # there are no random weights to draw
        return VectorModel.unlearned(self._width or 0, hasher, metric=self._metric, **settings)

    def encode(self, model: VectorModel, report: Progress) -> None:
        """Write the codes of all documents anew."""
        done, total = 0, count_documents(self._store)
        report("encoding", done, total)
        self._store.execute("DELETE FROM codes")
        for page in batched(self._store.rows("vectors", "ORDER BY id")):
            vectors = dense_vectors(self._store, [content for _, content in page], model.n_columns)
            margins = model.margins(vectors.encoded(model.n_bits))
            put_codes(self._store, [number for number, _ in page], pack(margins > 0))
            done += len(page)
            report("encoding", done, total)
