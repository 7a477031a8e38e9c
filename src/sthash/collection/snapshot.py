"""`Snapshot`: one state of a collection, with everything that can be read of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.batches import batched
from sthash.checksums import encode_text
from sthash.codes import Codes
from sthash.collection.code_distances import CodeDistances, QueryTerms
from sthash.collection.code_table import CodeTable, Positions, load_codes
from sthash.collection.conditions import Where
from sthash.collection.count_table import CountRows, CurrentWeights, load_counts, weighted_vectors
from sthash.collection.document_cache import DocumentCache
from sthash.collection.document_table import DocumentFields, StoredDocument, find, read_names, read_page
from sthash.collection.embedder import Embedder, query_vectors, read_name
from sthash.collection.filters import ids_where
from sthash.collection.hit import ReadDocument
from sthash.collection.packed_vectors import Ids, PackedVectors, load_vectors
from sthash.collection.posting_table import PostingTable
from sthash.collection.query_words import (
    REMEMBERED_PIECES,
    STOP_WORD,
    UNKNOWN_WORD,
    ModelTerm,
    QueryWord,
    QueryWords,
)
from sthash.collection.ranking import inverse_frequencies
from sthash.collection.store import Store
from sthash.collection.term_table import Columns, Frequencies, TermTable
from sthash.collection.word_index import word_model
from sthash.index import HammingIndex
from sthash.model import EncodedRows, Margins, Model, TextModel, VectorModel
from sthash.model.encoded import Row, shared_columns, stacked
from sthash.sources import Document
from sthash.text.analyzer import WordAnalyzer
from sthash.text.counters import WordCounter

# Most bytes of the weights of words of queries.
WEIGHT_BYTES = 1 << 24


class Snapshot:
    """One state of a collection's file, from `Collection.snapshot`; valid inside the ``with`` statement.

    Everything is read when it is first needed, and kept for as long as the file does not change.

    Texts have two sides. Their codes and margins come from the model: its own terms, weighted as when it was learned.
    Their vectors, and so all cosines, come from all words, weighted by the documents that are there now.

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

    def __init__(
        self, store: Store, version: int, model: Model, threads: int | None, embedder: Embedder | None = None
    ) -> None:
        self.version = version
        self.model = model
        self.threads = threads
        self._store = store
        self._embedder = embedder
        self._vectors: PackedVectors | None = None
        self._read_singly = 0
        self._documents = DocumentCache(store)

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

    @property
    def learned(self) -> bool:
        """Whether hash functions have been learned; without them all codes are zero."""
        return self.model.learned

    @cached_property
    def embedder_name(self) -> str | None:
        """Name of the embedder that the texts were embedded by, if the file knows it."""
        return read_name(self._store) if self.model.dense else None

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Number of counted words of each text, in the order of `ids`."""
        return self.table.lengths

    @cached_property
    def mean_length(self) -> float:
        """Mean number of counted words per text."""
        return float(self.lengths.mean()) if len(self) else 0.0

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
        wanted = np.asarray(ids, dtype=np.int64)
        positions = self.table.positions(wanted)
        if len(wanted) and (positions.max() >= len(self.table) or not (self.table.ids[positions] == wanted).all()):
            raise self._store.damaged("documents and codes are not of the same documents")
        return positions

    def ids_where(self, where: Where) -> Ids:
        """Return the ids of the documents that meet conditions; see `SearchOptions`."""
        return ids_where(self._store, where)

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Return some documents by their ids."""
        wanted = [int(number) for number in ids]
        return {number: Document(*fields) for number, fields in self.fields(wanted).items()}

    def fields(self, ids: Collection[int]) -> dict[int, DocumentFields]:
        """Return key, text, label and metadata of some documents by their ids."""
        return self._documents.fields(ids)

    def read(self, ids: Collection[int]) -> dict[int, ReadDocument]:
        """Return some documents by their ids, with metadata that are not decoded yet."""
        return self._documents.documents(ids)

    def names(self, ids: Iterable[int]) -> dict[int, tuple[str, str | None]]:
        """Return key and label of those of some documents that exist. Their texts are not kept in memory."""
        return read_names(self._store, [int(number) for number in ids])

    def page(self, after: int = -1, limit: int = 1000) -> list[StoredDocument]:
        """Return the first documents whose ids are greater than ``after``, at most ``limit`` of them."""
        return read_page(self._store, after, limit)

    # Words

    @cached_property
    def terms(self) -> TermTable:
        """All words of the texts, and their columns."""
        return TermTable(self._store)

    @property
    def n_columns(self) -> int:
        """Number of columns of a vector: of words, or of values of a dense vector."""
        return self.model.n_columns if self.model.dense else len(self.terms)

    def frequencies(self, columns: Columns) -> npt.NDArray[np.int32]:
        """Return in how many documents some words are."""
        return self._frequencies.at(columns)

    def posting_lists(self, columns: Iterable[int] | Columns) -> _core.PostingLists:
        """Return the documents per word, by their positions in `ids`, for these columns at least."""
        return self._postings.lists(columns)

    @property
    def analyzer(self) -> WordAnalyzer:
        """What makes terms of words."""
        return self._counter.analyzer

    @cached_property
    def query_words(self) -> QueryWords:
        """What makes words of queries."""
        return QueryWords(self.analyzer, self._look_up, min(REMEMBERED_PIECES, WEIGHT_BYTES // (4 * self.n_bits)))

    def _look_up(self, words: list[str]) -> list[QueryWord]:
        terms, counted = self.analyzer.terms(words)
        columns = np.array([self.terms.get(term, UNKNOWN_WORD) for term in terms], dtype=np.int32)
        columns[~counted] = STOP_WORD
        frequencies = np.zeros(len(columns), dtype=np.int32)
        held = np.flatnonzero(columns >= 0)
        frequencies[held] = self.frequencies(columns[held])
        columns[held[frequencies[held] == 0]] = UNKNOWN_WORD
        weights = inverse_frequencies(frequencies, len(self))
        known = self._model_terms(columns)
        return list(map(QueryWord, words, columns.tolist(), frequencies.tolist(), weights.tolist(), known))

    def _model_terms(self, columns: Columns) -> list[ModelTerm | None]:
        known = np.flatnonzero((columns >= 0) & (columns < self._text_model.n_columns))
        terms: list[ModelTerm | None] = [None] * len(columns)
        rows, positions = self._text_model.terms.look_up(columns[known])
        for place, position in zip(known.tolist(), positions.tolist(), strict=True):
            # A copy, because the rows are part of a table that is read for many queries.
            terms[place] = ModelTerm(int(rows.frequency[position]), rows.weights[rows.row[position]].copy())
        return terms

    def matching_terms(self, query: Row, document: Row, most: int = 5) -> tuple[str, ...]:
        """Return the words that two rows share, the one with the greatest part in their cosine first."""
        return tuple(self.terms.names(shared_columns(query, document)[:most]))

    def unused_words(self, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the words of a text that are stop words, and those that no document has."""
        words = self.analyzer.words(text)
        terms, counted = self.analyzer.terms(words)
        columns = np.array([self.terms.get(term) for term in terms], dtype=np.int32)
        used = columns >= 0
        used[used] = self.frequencies(columns[used]) > 0
        ignored = tuple(words[place] for place in np.flatnonzero(~counted).tolist())
        return ignored, tuple(words[place] for place in np.flatnonzero(counted & ~used).tolist())

    @cached_property
    def spellings(self) -> tuple[list[str], npt.NDArray[np.int32]]:
        """The most common terms that documents have, and in how many documents each is."""
        names = self.terms.first_names()
        frequencies = self.frequencies(np.arange(len(names), dtype=np.int32))
        used = np.flatnonzero(frequencies)
        return [names[column] for column in used.tolist()], frequencies[used]

    @cached_property
    def _frequencies(self) -> Frequencies:
        return Frequencies(self._store, len(self.terms), len(self))

    @cached_property
    def _weights(self) -> CurrentWeights:
        return CurrentWeights(self._frequencies, len(self), self.mean_length, self._text_model.weighting)

    @cached_property
    def _postings(self) -> PostingTable:
        return PostingTable(self._store, self.table, len(self.terms), self.threads)

    @cached_property
    def _counter(self) -> WordCounter:
        return self._text_model.new_counter(self.terms)

    @property
    def has_words(self) -> bool:
        """Whether the words of the texts can be searched for; beside vectors they need not be."""
        return self._words_of is not None

    @cached_property
    def _words_of(self) -> TextModel | None:
        return self.model if isinstance(self.model, TextModel) else word_model(self._store, self.threads)

    @property
    def _text_model(self) -> TextModel:
        if self._words_of is None:
            raise TypeError("this collection is of vectors without an index of words. Build it with text_search=True.")
        return self._words_of

    # Vectors and codes

    def vectors(self, ids: Ids | None = None) -> PackedVectors:
        """Return the vectors of some documents, whose ids ascend, or of all.

        They are read one by one for as long as few have been asked for, then all at once.
        """
        ids = self.ids if ids is None else ids
        self._read_singly += len(ids)
        if self._vectors is None and 2 * self._read_singly > len(self):
            self._vectors = self._load_vectors(self.ids, whole=True)
        if self._vectors is not None:
            return self._vectors if len(ids) == len(self) else self._vectors.at(self.positions(ids))
        return self._load_vectors(ids, whole=False)

    def unit_vectors(self) -> PackedVectors:
        """Return the vectors of all documents, of unit length."""
        return self.vectors() if self.model.metric == "cosine" else self.vectors().unit()

    def vectors_by_position(self) -> PackedVectors | Callable[[Positions], PackedVectors]:
        """Return the vectors of all documents if they are in memory, else what reads those at some positions."""
        return self._vectors if self._vectors is not None else lambda used: self.vectors(self.ids[used])

    def _load_vectors(self, ids: Ids, *, whole: bool) -> PackedVectors:
        if self.model.dense:
            return load_vectors(self._store, ids, n_columns=self.n_columns, whole=whole)
        return weighted_vectors(self._counts(ids, whole=whole), self._weights, self.n_columns)

    def _counts(self, ids: Ids, *, whole: bool = False) -> Iterator[CountRows]:
        return load_counts(self._store, ids, len(self.terms), whole=whole, threads=self.threads)

    def word_vectors(self, ids: Ids) -> PackedVectors:
        """Return the weighted words of some documents, whose ids ascend, also where these have vectors beside."""
        if not self.model.dense:
            return self.vectors(ids)
        return weighted_vectors(self._counts(ids), self._weights, len(self.terms))

    def encode(self, queries: list[Any]) -> EncodedRows:
        """Return the rows, margins and codes of texts or of vectors, whichever the collection is of.

        Words that are in no document are left out.
        """
        if isinstance(self.model, VectorModel):
            vectors = query_vectors(self._store, queries, self.n_columns, self._embedder)
            return self._checked(self.model.encode_queries(vectors))
        texts = self.check_texts(queries)
        return self._checked(
            stacked([self._encoded(batch) for batch in batched(texts, length=len)] or [self._encoded([])])
        )

    def check_texts(self, queries: list[Any]) -> list[str]:
        """Return queries that are texts; TypeError if one is something else."""
        for query in queries:
            if not isinstance(query, str):
                raise TypeError(f"this collection is of texts, but a query is a {type(query).__name__}. Pass a str.")
        return queries

    def _encoded(self, texts: list[str]) -> EncodedRows:
        return self._encoded_counts(CountRows(*self._counter.count_parts(texts)))

    def _encoded_counts(self, counted: CountRows) -> EncodedRows:
        rows = self._weights.known(counted)
        return EncodedRows(rows.indptr, rows.columns, self._weights.values(rows), self._margins(counted))

    def distances(self, queries: list[QueryTerms], positions: list[list[int]]) -> CodeDistances:
        """Return the distances of queries from documents, whose positions are given for each query."""
        return CodeDistances(self._text_model, queries, self.codes, positions)

    def _margins(self, rows: CountRows) -> Margins:
        own = rows.below(self.model.n_columns)
        return self._text_model.encode_counts(own.indptr, own.columns, own.counts).margins

    def _checked(self, rows: EncodedRows) -> EncodedRows:
        if not np.isfinite(rows.margins).all():
            raise self._store.damaged("its weights are too large")
        return rows

    def encode_stored(self, id: int) -> EncodedRows:  # noqa: A002
        """Return the row, the margins and the code of a document of the collection, as a query has them."""
        ids = np.array([id], dtype=np.int64)
        if isinstance(self.model, VectorModel):
            rows = self.vectors(ids).encoded(self.n_bits)
            return self._checked(replace(rows, margins=self.model.query_margins(rows)))
        return self._checked(self._encoded_counts(next(self._counts(ids))))

    def margins(self, ids: Ids) -> Margins:
        """Return the margins of documents of the collection, in the order of ``ids``."""
        order = np.argsort(ids, kind="stable")
        margins = np.empty((len(ids), self.n_bits), dtype=np.float32)
        if self.model.dense:
            margins[order] = self.model.margins(self.vectors(ids[order]).encoded(self.n_bits))
        elif len(ids):
            margins[order] = np.concatenate([self._margins(part) for part in self._counts(ids[order])])
        return margins
