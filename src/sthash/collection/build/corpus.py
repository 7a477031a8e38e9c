"""The documents that a collection learns from: added batch by batch, then sampled, and encoded by what was learned.

Each text is scanned once: the counts of its terms and forms are kept until all are written, as long as they fit into
`KEPT_BYTES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sthash.arrays import Ids
from sthash.batches import batched
from sthash.collection.build.row_buffer import RowBuffer
from sthash.collection.file.documents import Documents
from sthash.collection.file.store import Store
from sthash.collection.indexes.cells import Cells
from sthash.collection.indexes.codes import Codes
from sthash.collection.indexes.counts import PackedRows
from sthash.collection.indexes.entries import Entries
from sthash.collection.indexes.forms import END_FORMS, count_forms
from sthash.collection.indexes.words import Words
from sthash.model import Model, TextModel, VectorModel
from sthash.model.inner_products import InnerProducts
from sthash.model.learning import CorpusSize
from sthash.progress import Progress
from sthash.text.analyzer import WordAnalyzer, check_stemmer, resolve_stop_words
from sthash.vectors.rows import Rows

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.text import TextVectorizer

# Term counts take about this much memory at the most; a larger corpus is scanned again from the file.
KEPT_BYTES = 1 << 29
FEW_DOCUMENTS = 1000


class LearningCorpus(Protocol):
    """Texts or vectors of documents that are in the file already."""

    def finish(self) -> None:
        """Take note that all documents have been added; ValueError if there is nothing to learn from."""

    def size(self) -> CorpusSize:
        """Return how large the corpus is, when all documents have been added."""

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents, whose ids ascend, for `SelfTaughtHashing.fit`."""

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> Model:
        """Return the model that a fitted hasher makes."""

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> Model:
        """Return the model of documents that nothing can be learned from."""


class TextCorpus:
    """Texts, counted as they come; their words go into the file when all are known.

    Parameters
    ----------
    store : Store
    vectorizer : TextVectorizer
        Not fitted.
    memory : int
        Bytes that everything may take; the term counts that are kept take at most a quarter of it.
    """

    def __init__(self, store: Store, vectorizer: TextVectorizer, memory: int) -> None:
        from sthash.text import CorpusCounter

        self._store = store
        self._counter = CorpusCounter(vectorizer)
        self._vectorizer = vectorizer
        self._kept: list[tuple[Ids, PackedRows, PackedRows]] | None = []
        self._bytes = self._n_documents = 0
        self._most_bytes = min(KEPT_BYTES, memory // 4)
        self._first: dict[str, int] = {}
        self._finished = False

    def put_stored(self, report: Progress) -> None:
        """Count the terms of all texts that are in the file."""
        documents = Documents(self._store)
        done, total = 0, documents.count()
        report("reading", done, total)
        for batch in batched(documents.counted_texts(), length=lambda pair: len(pair[1])):
            ids = np.array([number for number, _ in batch], dtype=np.int64)
            self.put(Entries(ids, [text for _, text in batch]))
            done += len(batch)
            report("reading", done, total)

    def word_settings(self) -> dict[str, Any]:
        """Return the settings of `Words` that the vectorizer stands for."""
        vectorizer = self._vectorizer
        return {
            "weighting": vectorizer.weighting,
            "language": vectorizer.language,
            "stemmer": check_stemmer(vectorizer.stemmer, vectorizer.language),
            "fold_accents": bool(vectorizer.fold_accents),
            "stop_words": sorted(resolve_stop_words(vectorizer.stop_words, vectorizer.language)),
        }

    def put(self, entries: Entries) -> None:
        """Count the terms and the forms of texts."""
        self._n_documents += len(entries.ids)
        counts = self._counter.add(entries.texts)
        if self._kept is None:
            return
        terms, forms = PackedRows.of(Rows.of(counts)), PackedRows.of(self._forms(entries.texts))
        self._bytes += terms.nbytes + forms.nbytes
        if self._bytes > self._most_bytes:
            self._kept = None
        else:
            self._kept.append((entries.ids, terms, forms))

    def finish(self) -> None:
        """Settle the vocabulary of the model; TooFewDocumentsError if it is empty."""
        from sthash.hashing.embedding import TooFewDocumentsError

        if self._finished:
            return
        try:
            self._counter.finish()
            self._finished = True
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
            for batch in batched(Documents(self._store).counted_texts(), length=lambda pair: len(pair[1])):
                chosen = np.isin([number for number, _ in batch], ids, assume_unique=True)
                if chosen.any():
                    yield self._vectorizer.transform(batch[place][1] for place in np.flatnonzero(chosen))
            return
        for numbers, terms, _ in self._kept:
            chosen = np.isin(numbers, ids, assume_unique=True)
            if chosen.any():
                counts = self._provisional(terms)
                yield self._counter.rows(counts if chosen.all() else counts[chosen])

    def expect_model(self) -> None:
        """Let `write` give the first columns to the terms of the model that is learned after it.

        So the words need not be written again then; the counts of the documents are kept until it is learned.
        """
        frequency = self._vectorizer.statistics_.document_frequency
        names = self._vectorizer.get_feature_names_out()[np.argsort(-frequency, kind="stable")]
        self._first = {name: column for column, name in enumerate(names.tolist())}

    def move_to(self, store: Store) -> None:
        """Go on with another connection to the file."""
        self._store = store

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

    def write(self, words: Words, codes: Codes | None, report: Progress) -> None:
        """Rewrite the words of all documents, and their codes if they encode texts."""
        done, total = 0, self._n_documents
        report("encoding", done, total)
        known = codes.model.terms if codes is not None and isinstance(codes.model, TextModel) else None
        column_of = self._columns(self._first or known)
        words.clear(sorted(column_of, key=column_of.__getitem__))
        for ids, rows, forms in self._counted(column_of):
            words.put_rows(ids, rows, forms)
            if codes is not None:
                codes.put(ids, rows)
            done += len(ids)
            report("encoding", done, total)
        if not self._first:
            self._kept = None

    def _columns(self, known: Any) -> dict[str, int]:
        """Return the columns of all words: first those that the model has, then the others by falling frequency."""
        totals = self._counter.totals
        names = totals.terms.tolist()
        first = 0 if known is None else len(known)
        columns = np.array([-1 if known is None else known.get(name) for name in names], dtype=np.int64)
        rest = np.flatnonzero(columns < 0)
        rest = rest[np.argsort(-totals.document_frequency[rest], kind="stable")]
        columns[rest] = first + np.arange(len(rest))
        column_of = dict(zip(names, columns.tolist(), strict=True))
        if known is not None and len(column_of) < first + len(rest):  # a model that knows words of other documents
            column_of |= {name: column for column, name in enumerate(known.names(range(first)))}
        return column_of

    def _forms(self, texts: list[str]) -> Rows:
        return count_forms(texts, self._analyzer, self._vectorizer.threads)

    @cached_property
    def _analyzer(self) -> WordAnalyzer:
        known = self.word_settings()
        return WordAnalyzer(frozenset(known["stop_words"]), known["stemmer"], known["fold_accents"])

    def _counted(self, column_of: dict[str, int]) -> Iterator[tuple[Ids, Rows, Rows]]:
        """Iterate over the counts of all documents in the columns of the file, and over their forms."""
        if self._kept is None:
            counter = self._counter.frozen(column_of)
            for batch in batched(Documents(self._store).counted_texts(), length=lambda pair: len(pair[1])):
                texts = [text for _, text in batch]
                counts = Rows.of(counter.count(texts))
                yield np.array([number for number, _ in batch], dtype=np.int64), counts, self._forms(texts)
            return
        from sthash.text.vocabulary import take_columns

        names = self._counter.totals.terms.tolist()
        columns = np.fromiter((column_of[name] for name in names), dtype=np.int32, count=len(names))
        for ids, terms, forms in self._kept:
            counts = take_columns(self._provisional(terms), columns, len(column_of))
            yield ids, Rows.of(counts), forms.rows(END_FORMS)

    def _provisional(self, terms: PackedRows) -> Any:
        """Return counts that were kept, as they came from the counter."""
        return terms.rows(len(self._counter.statistics.document_frequency)).to_scipy()


class VectorCorpus:
    """The vectors of a file, as hash functions learn from them.

    Parameters
    ----------
    cells : Cells
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._products: InnerProducts | None = None

    def finish(self) -> None:
        """Make sure that there are vectors."""
        if not self._cells.n_columns:
            raise ValueError(
                "hash functions of vectors need to know how many values a vector has. Pass at least one vector, or "
                "learn them later (relearn)."
            )

    def size(self) -> CorpusSize:
        """Return how large the corpus is."""
        count, width = len(self._cells), self._cells.n_columns
        return CorpusSize(count, count * width, width)

    def sample(self, ids: Ids) -> Any:
        """Return the unit rows of some documents, whose ids ascend; those of the last call are learned from."""
        rows = np.empty((len(ids), self._cells.n_columns), dtype=np.float32)
        done = 0
        for part in self._cells.of_stored(ids):
            rows[done : done + len(part)] = part.values
            done += len(part)
        if self._cells.metric == "cosine":
            return rows
        self._products = InnerProducts.of(rows)
        return self._products.rows

    def model(self, hasher: SelfTaughtHashing, **settings: Any) -> VectorModel:
        """Return the model that a fitted hasher makes."""
        return VectorModel.of(hasher, products=self._products, **settings)

    def unlearned(self, hasher: SelfTaughtHashing, **settings: Any) -> VectorModel:
        """Return the model of documents that nothing can be learned from."""
        settings.pop("random_state")  # there are no random weights to draw
        return VectorModel.unlearned(self._cells.n_columns, hasher, metric=self._cells.metric, **settings)
