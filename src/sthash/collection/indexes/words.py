"""`Words`: the index of the words of all texts, in the file of a collection.

It holds the open vocabulary, in how many documents each term is, the term counts of each document, posting lists of
terms and of forms, and the number of words of each document. Weights follow from the documents that are there now, so
answers after any change are those of a fresh build.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Columns, Ids, Positions
from sthash.batches import batched
from sthash.checks import check_choice, resolve_threads
from sthash.collection.file.field_weights import read_weights
from sthash.collection.file.records import Records
from sthash.collection.file.removals import note_all_changed, note_removed
from sthash.collection.file.segments import Segments
from sthash.collection.file.store import Store
from sthash.collection.indexes import passages, postings
from sthash.collection.indexes.counts import (
    ROWS_TOGETHER,
    CurrentWeights,
    counts_between,
    load_counts,
    put_counts,
    stored_counts,
    unpacked,
    weighted_rows,
)
from sthash.collection.indexes.embedder import Embedder
from sthash.collection.indexes.entries import Entries
from sthash.collection.indexes.loaded_words import LENGTHS, LoadedWords
from sthash.collection.indexes.passages import PassageLists, PassageWriter
from sthash.collection.indexes.postings import Lists, ListWriter
from sthash.collection.indexes.query_words import QueryWords, unused
from sthash.collection.indexes.roster import Roster
from sthash.collection.indexes.terms import (
    FREQUENCY_CHUNK,
    Frequencies,
    TermTable,
    append_terms,
    change_frequencies,
    count_terms,
    next_column,
)
from sthash.index.bm25 import inverse_frequencies
from sthash.progress import Progress, silent
from sthash.text.analyzer import WordAnalyzer, check_stemmer, resolve_stop_words
from sthash.text.counters import WordCounter
from sthash.text.languages import check_language
from sthash.text.spelling import Spellings
from sthash.text.weighting import WEIGHTINGS, Weighting
from sthash.vectors.metric import Metric
from sthash.vectors.rows import Rows

SETTING = "words"
# Terms of new documents that are counted together.
MOST_UNCOUNTED = 1 << 22
# Settings that `Collection.info` shows.
SHOWN = ("weighting", "language", "stemmer", "fold_accents")
# Documents whose vectors a search reads for later ones, at least: about five milliseconds.
READ_AHEAD = 1024


def typical(mean: float) -> float:
    """Return a mean length to within 1/64 of it."""
    fraction, exponent = math.frexp(mean)
    return math.ldexp(round(fraction * 64), exponent - 6)


class Words:
    """The words of the texts, within a transaction of the caller's.

    Parameters
    ----------
    store : Store
    threads : int or None
    loaded : LoadedWords, optional
        What was read of other states of the same file.
    """

    kind: Literal["text", "vectors"] = "text"
    strategy: Literal["codes", "cells"] = "codes"
    metric: Metric = "cosine"
    segment_kinds = (postings.KIND, passages.KIND, LENGTHS)
    rewritten = False

    def __init__(self, store: Store, threads: int | None = None, loaded: LoadedWords | None = None) -> None:
        self._store = store
        self._threads = resolve_threads(threads)
        self._loaded = LoadedWords() if loaded is None else loaded
        self._lengths = Records(store, LENGTHS, 4)
        self._vectors: Rows | None = None
        self._read_singly = 0
        self._parts: list[Rows] = []  # the vectors of the first documents, until all are read
        self._n_read = 0
        self._growing: WordCounter | None = None
        self._uncounted: list[Columns] = []
        self._lists = ListWriter(store, self._threads)

    @cached_property
    def _passages(self) -> PassageWriter:
        return PassageWriter(self._store, self.analyzer, self._threads)

    @staticmethod
    def lay_out(store: Store, settings: dict[str, Any]) -> None:
        """Prepare a file for words; the settings are those of `WordAnalyzer`, and the weighting."""
        store.put_setting(SETTING, settings)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """How texts become weighted words."""
        settings = self._store.setting(SETTING)
        try:
            check_choice("weighting", settings["weighting"], WEIGHTINGS)
            check_language(settings["language"])
            check_stemmer(settings["stemmer"])
            resolve_stop_words(settings["stop_words"])
            if type(settings["fold_accents"]) is not bool:
                raise TypeError("fold_accents is not a bool")
        except (KeyError, TypeError, ValueError) as error:
            raise self._store.damaged(f"the setting {SETTING} cannot be read ({error})") from error
        return dict(settings)

    @cached_property
    def analyzer(self) -> WordAnalyzer:
        """What makes terms of words."""
        known = self.settings
        return WordAnalyzer(frozenset(known["stop_words"]), known["stemmer"], known["fold_accents"])

    @property
    def setting_names(self) -> set[str]:
        """Names of the settings that it has in the file."""
        return {SETTING}

    def facts(self) -> dict[str, Any]:
        """Return the number of terms, and how they are made."""
        facts = {"words": len(self.terms)} | {name: self.settings[name] for name in SHOWN}
        weights = read_weights(self._store)
        return facts | ({"fields": weights} if weights else {})

    @property
    def weighting(self) -> Weighting:
        """How terms are weighted."""
        weighting: Weighting = self.settings["weighting"]
        return weighting

    # Writing

    def put(self, entries: Entries) -> Rows:
        """Write the words of documents; a new word becomes a term at once. Return the counts of the terms."""
        if self._growing is None:
            self._new_terms = TermTable(self._store, grow=True)
            columns: Any = self._new_terms
            self._growing = WordCounter(self.analyzer, columns, grow=True, threads=self._threads)
        rows = Rows.sparse(*self._growing.count_parts(entries.texts), len(self._new_terms))
        self._new_terms.flush()
        self.put_rows(entries.ids, rows)
        return rows

    def put_rows(self, ids: Ids, rows: Rows, forms: Rows | None = None) -> None:
        """Write term counts, whose terms are all in the file; with the forms of the same texts, their lists too."""
        bounds = put_counts(self._store, ids.tolist(), rows, self._threads)
        self._uncounted.append(rows.columns)
        if sum(map(len, self._uncounted)) > MOST_UNCOUNTED:
            self._count()
        if forms is not None:
            self._lists.put(ids, rows, forms, bounds)
        lengths = rows.sums()
        self._lengths.put(ids, lengths.astype("<i4").view(np.uint8).reshape(-1, 4))
        self._passages.put(ids, lengths)

    def remove(self, ids: Ids) -> None:
        """Remove documents."""
        self._count()
        removed = list(stored_counts(self._store, ids))
        contents = [content for _, content in removed]
        change_frequencies(self._store, unpacked(self._store, contents, next_column(self._store)).columns, -1)
        note_removed(self._store, removed)
        Segments(self._store, postings.KIND).mark_deleted(ids)
        self._store.execute_many("DELETE FROM counts WHERE id = ?", [(number,) for number in ids.tolist()])
        self._lengths.remove(ids)
        self._passages.remove(ids)

    def _count(self) -> None:
        """Add the terms of new documents to the frequencies in the file."""
        if self._uncounted:
            change_frequencies(self._store, np.concatenate(self._uncounted), 1)
            self._uncounted.clear()

    def clear(self, terms: Iterable[str]) -> None:
        """Remove everything, and start again with these terms in the first columns."""
        self._uncounted.clear()
        self._lists = ListWriter(self._store, self._threads)
        for table in ("terms", "frequencies", "counts"):
            self._store.execute(f"DELETE FROM {table}")  # noqa: S608
        Segments(self._store, postings.KIND).clear()
        self._lengths.clear()
        self._passages.clear()
        note_all_changed(self._store)
        for batch in batched(terms):
            append_terms(self._store, batch)

    def settle(self, report: Progress = silent) -> None:
        """Bring lengths and posting lists up to date; once at the end of each change."""
        self._count()
        self._lists.finish(report)
        self._lengths.settle()
        postings.settle(self._store, next_column(self._store), self.analyzer, self._threads, report)
        self._passages.settle()

    # Reading

    def __len__(self) -> int:
        return len(self._present.roster)

    @cached_property
    def _present(self) -> LoadedWords:
        """What is in memory, of the present state."""
        self._loaded.follow(self._store, len(self.terms), self.analyzer, self._threads)
        return self._loaded

    @property
    def roster(self) -> Roster:
        """The documents, with what is kept of each in memory."""
        return self._present.roster

    @property
    def ids(self) -> Ids:
        """Ids of all documents, ascending."""
        return self.roster.ids

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Number of words of each text, in the order of `ids`."""
        return self._present.lengths

    @property
    def mean_length(self) -> float:
        """Mean number of words per text."""
        return self._present.n_words / len(self) if len(self) else 0.0

    @property
    def typical_length(self) -> float:
        """The mean number of words, to within 1/64 of it.

        BM25 uses it in place of the mean, which changes with every document: posting lists in memory stay as they are
        until it has changed by so much. It follows from the documents alone.
        """
        return typical(self.mean_length)

    @cached_property
    def terms(self) -> TermTable:
        """All terms, and their columns."""
        return TermTable(self._store)

    @property
    def n_columns(self) -> int:
        """Number of terms."""
        return len(self.terms)

    def frequencies(self, columns: Columns) -> npt.NDArray[np.int32]:
        """Return in how many documents some terms are."""
        return self._present.frequencies.at(columns)

    def posting_lists(self, columns: Iterable[int] | Columns) -> Lists:
        """Return the documents per term or form, by their positions in `ids`, for these columns at least."""
        return self._present.postings.lists(columns, len(self.terms))

    @cached_property
    def passages(self) -> PassageLists | None:
        """The passages of long texts; None if there are no long texts."""
        return self._loaded.passages.follow(self._store)

    @cached_property
    def passage_documents(self) -> Positions:
        """For each passage the position of its document in `ids`."""
        if self.passages is None:
            return np.zeros(0, dtype=np.int64)
        owners = self.passages.ids >> passages.BITS
        positions = np.searchsorted(self.ids, owners).astype(np.int64)
        if positions[-1] >= len(self) or not np.array_equal(self.ids[positions], owners):
            raise self._store.damaged("there are passages of documents that it does not have")
        return positions

    @cached_property
    def n_long(self) -> int:
        """Number of documents that have passages."""
        owners = self.passage_documents  # ascending
        return int(np.count_nonzero(np.diff(owners))) + 1 if len(owners) else 0

    def passage_lists(self, columns: Columns) -> _core.PostingLists:
        """Return the passages per term or form, for these columns at least."""
        assert self.passages is not None  # noqa: S101
        return self.passages.lists(columns, len(self.terms))

    @cached_property
    def spellings(self) -> Spellings:
        """The most common terms that documents have, to be looked up by their spelling."""
        names = self.terms.first_names()
        frequencies = self.frequencies(np.arange(len(names), dtype=np.int32))
        used = np.flatnonzero(frequencies)
        return Spellings([names[column] for column in used.tolist()], frequencies[used])

    def columns_of(self, words: list[str]) -> tuple[Columns, npt.NDArray[np.int32], npt.NDArray[np.bool_], Columns]:
        """Return what `LookUp` gives."""
        terms, counted = self.analyzer.terms(words)
        columns = np.where(counted, self.terms.find(terms), np.int32(-1))
        frequencies = np.zeros(len(columns), dtype=np.int32)
        held = np.flatnonzero(columns >= 0)
        frequencies[held] = self.frequencies(columns[held])
        columns[held[frequencies[held] == 0]] = -1
        return columns, frequencies, counted, _core.head_columns(terms)

    def form_frequencies(self, forms: Columns) -> npt.NDArray[np.int32]:
        """Return in how many documents some forms are."""
        return self.posting_lists(forms).document_frequencies(forms)

    def rarities(self, columns: Columns, frequencies: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        """Return the inverse frequencies of some terms or forms, of all documents and passages; -1 stands for none."""
        count = len(self)
        if self.passages is not None:
            held = np.flatnonzero(columns >= 0)
            count += len(self.passages)
            frequencies = frequencies.copy()
            frequencies[held] += self.passage_lists(columns[held]).document_frequencies(columns[held])
        return inverse_frequencies(frequencies, count)

    @cached_property
    def mean_length_of_parts(self) -> float:
        """The mean number of words of documents and passages, as `typical_length` is that of documents."""
        if self.passages is None:
            return self.typical_length
        count = len(self) + len(self.passages)
        return typical((self.mean_length * len(self) + self.passages.n_words) / count)

    @cached_property
    def query_words(self) -> QueryWords:
        """What makes words of queries."""
        return QueryWords(self.columns_of, self.form_frequencies, self.rarities)

    def unused(self, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the words of a text that are stop words, and those that no document has."""
        return unused(self.query_words.of([text])[0])

    # Texts as weighted vectors

    @cached_property
    def _weights(self) -> CurrentWeights:
        return CurrentWeights(self._present.frequencies, len(self), self.mean_length, self.weighting)

    @cached_property
    def _counter(self) -> WordCounter:
        columns: Any = self.terms
        return WordCounter(self.analyzer, columns, grow=False, threads=self._threads)

    def takes_texts(self, embedder: Embedder | None) -> bool:
        """Whether texts can be compared with the documents: always."""
        return True

    def of_queries(self, queries: list[Any], embedder: Embedder | None = None) -> Rows:
        """Return the term counts of texts; TypeError if a query is something else."""
        for query in queries:
            if not isinstance(query, str):
                raise TypeError(f"this collection is of texts, but a query is a {type(query).__name__}. Pass a str.")
        parts = [self._counted(batch) for batch in batched(queries, length=len)]
        return Rows.stacked(parts or [self._counted([])])

    def _counted(self, texts: list[str]) -> Rows:
        return Rows.sparse(*self._counter.count_parts(texts), self.n_columns)

    def of_stored(self, ids: Ids) -> Iterator[Rows]:
        """Iterate over the term counts of documents, whose ids ascend, some at a time."""
        store, whole = self._store, len(ids) == len(self)
        rows = store.rows("counts", "ORDER BY id") if whole else stored_counts(store, ids)
        return load_counts(store, ids, len(self.terms), rows, self._threads)

    def compared(self, raw: Rows) -> Rows:
        """Return term counts as unit rows; terms that are in no document now are left out."""
        rows = self._weights.known(raw)
        return Rows.sparse(rows.indptr, rows.columns, self._weights.values(rows), self.n_columns)

    def vectors(self, ids: Ids | None = None) -> Rows:
        """Return the unit vectors of some documents, whose ids ascend, or of all.

        They are read one by one for as long as few have been asked for. Then each call reads some more, until all are
        in memory: no search takes much longer than others, and what was read stays if a time limit ends it.
        """
        if ids is None or len(ids) == len(self):
            if self._vectors is None:
                self._read_on(len(self))
            assert self._vectors is not None  # noqa: S101
            return self._vectors
        self._read_singly += len(ids)
        if self._vectors is None and 2 * self._read_singly > len(self):
            self._read_on(max(READ_AHEAD, 2 * len(ids)))
        if self._vectors is not None:
            return self._vectors.at(np.searchsorted(self.ids, ids))
        return weighted_rows(self.of_stored(ids), self._weights, self.n_columns)

    def _read_on(self, count: int) -> None:
        """Read the vectors of so many more documents, in the order of their ids."""
        end = min(self._n_read + count, len(self))
        while self._n_read < end:
            ids = self.ids[self._n_read : min(self._n_read + ROWS_TOGETHER, end)]
            rows = counts_between(self._store, int(ids[0]), int(ids[-1]))
            counts = load_counts(self._store, ids, len(self.terms), rows, self._threads)
            self._parts.append(weighted_rows(counts, self._weights, self.n_columns))
            self._n_read += len(ids)
        if self._n_read == len(self):
            self._vectors = Rows.stacked(self._parts or [Rows.empty(self.n_columns)])
            self._parts = []

    def unit_vectors(self) -> Rows:
        """Return the unit vectors of all documents."""
        return self.vectors()

    def vectors_by_position(self) -> Rows | Callable[[Positions], Rows]:
        """Return the vectors of all documents if they are in memory, else what reads those at some positions."""
        return self._vectors if self._vectors is not None else lambda used: self.vectors(self.ids[used])

    # Checks

    def verify(self, ids: Ids) -> None:
        """Compare everything with the counts of the documents."""
        store, n_columns = self._store, count_terms(self._store, exactly=True)
        _ = self.analyzer, self.terms.names(range(n_columns))  # they can be read
        self._lengths.verify(ids)
        frequencies, position = np.zeros(n_columns, dtype=np.int64), 0
        for page in batched(store.rows("counts", "ORDER BY id")):
            own = slice(position, position + len(page))
            if ids[own].tolist() != [number for number, _ in page]:
                raise store.damaged("documents and counts are not of the same documents")
            rows = unpacked(store, [content for _, content in page], n_columns)
            if not np.array_equal(rows.sums(), self.lengths[own]):
                raise store.damaged("a length is not that of its document")
            frequencies += np.bincount(rows.columns, minlength=n_columns)
            position += len(page)
        if position != len(ids):
            raise store.damaged("documents and counts are not equally many")
        last = store.value("SELECT coalesce(max(chunk), -1) FROM frequencies")
        if last > n_columns // FREQUENCY_CHUNK or not np.array_equal(
            Frequencies(store, n_columns, len(ids)).all(), frequencies
        ):
            raise store.damaged("document frequencies are not those of the documents")
        postings.verify(store, ids, n_columns, self.analyzer)
        passages.verify(store, self.lengths, ids, self.analyzer)
