"""Counters: from texts to term counts.

The texts are scanned in C++. Each distinct word is analyzed once, in Python; after that its column is looked up.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.batches import BATCH_CHARACTERS, BATCH_DOCUMENTS, batched
from sthash.text.analyzer import WordAnalyzer

if TYPE_CHECKING:
    import scipy.sparse as sp

Tokenizer = Callable[[str], Iterable[str]]
CountParts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]

# A frozen counter remembers up to this many bytes of words between calls: about a million words. Beyond that it forgets
# all of them and looks them up again.
MAX_REMEMBERED_BYTES = 64 << 20
# A growing counter keeps a sample of about this many words.
SAMPLED_WORDS = 20_000
SAMPLED_WORDS_OF_BATCH = 2_000


@dataclass(frozen=True)
class CorpusCounts:
    """How often the terms of a corpus, or of a part of one, occur.

    Attributes
    ----------
    terms : array of str
        Each term once, in any order.
    document_frequency : array of int64
        Number of documents that have the term.
    term_count : array of int64
        Number of occurrences of the term in all documents.
    n_documents : int
    n_tokens : int
        Number of terms in all documents, repetitions included.
    """

    terms: npt.NDArray[np.object_]
    document_frequency: npt.NDArray[np.int64]
    term_count: npt.NDArray[np.int64]
    n_documents: int
    n_tokens: int


class GrowingVocabulary:
    """Terms in the order in which they were first added; the place of a term is its column.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.text.counters import GrowingVocabulary
    >>> vocabulary = GrowingVocabulary()
    >>> vocabulary.add(["cat", "the", "dog", "cat"], np.array([True, False, True, True])).tolist()
    [0, -1, 1, 0]
    >>> list(vocabulary), len(vocabulary)
    (['cat', 'dog'], 2)
    """

    def __init__(self) -> None:
        self._table = _core.WordTable()

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.words_from(0))

    def add(self, terms: list[str], counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """Return the column of each term that is counted, and −1 for the others."""
        return self._table.add(terms, counted)

    def find(self, terms: list[str]) -> npt.NDArray[np.int32]:
        """Return the column of each term, and −1 for those that were never added."""
        return self._table.find(terms)

    def at(self, columns: npt.NDArray[np.int32]) -> list[str]:
        """Return the terms of some columns."""
        return self._table.words_at(columns)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._table.nbytes()


class WordCounter:
    """Counts the terms that an analyzer makes of the words of a text.

    Parameters
    ----------
    analyzer : WordAnalyzer
    columns : dict of str to int, or GrowingVocabulary
        Column of each term; or anything with the methods of `GrowingVocabulary` that are needed: ``find``, and ``add``
        if it grows.
    grow : bool
        Whether a term without a column gets the next free one. If not, it is ignored.
    threads : int

    Attributes
    ----------
    sample : Counter of str or None
        If it grows, some of the words, including stop words: enough to recognize the language.
    """

    def __init__(
        self, analyzer: WordAnalyzer, columns: dict[str, int] | GrowingVocabulary, *, grow: bool, threads: int
    ) -> None:
        self.analyzer = analyzer
        self.columns = columns
        self._grow = grow
        self._threads = threads
        self._lock = threading.Lock()
        self.sample: Counter[str] | None = Counter() if grow else None
        self._forget()

    def _forget(self) -> None:
        self._words = _core.WordTable()
        self._column_of_word = np.empty(0, dtype=np.int32)

    def count(self, texts: list[str]) -> sp.csr_array:
        """Return the counts of the texts, one row per text."""
        return count_matrix(*self.count_parts(texts), n_columns=len(self.columns))

    def count_parts(self, texts: list[str]) -> CountParts:
        """Return the parts of the count matrix: row bounds, columns, counts."""
        with self._lock:
            starts, words = self._words.scan(texts, threads=self._threads)
            new_words = self._words.words_from(len(self._column_of_word))
            if new_words:
                self._column_of_word = np.concatenate([self._column_of_word, self._look_up(new_words)])
            if self.sample is not None:
                self._add_to_sample(words)
            column_of_word = self._column_of_word
            if not self._grow and self._words.nbytes() + column_of_word.nbytes > MAX_REMEMBERED_BYTES:
                self._forget()
        return _core.count_terms(
            starts, words, term_of=column_of_word, n_terms=len(self.columns), threads=self._threads
        )

    def _add_to_sample(self, words: npt.NDArray[np.int32]) -> None:
        """Take the first words of a batch, until there are enough."""
        if self.sample is None or self.sample.total() >= SAMPLED_WORDS:
            return
        numbers, counts = np.unique(words[:SAMPLED_WORDS_OF_BATCH], return_counts=True)
        names = self._words.words_at(numbers.astype(np.int32))
        self.sample.update(dict(zip(names, counts.tolist(), strict=True)))

    def _look_up(self, words: list[str]) -> npt.NDArray[np.int32]:
        terms, counts = self.analyzer.terms(words)
        if not isinstance(self.columns, dict):
            if self._grow:
                return self.columns.add(terms, counts)
            columns = np.full(len(words), -1, dtype=np.int32)
            columns[counts] = self.columns.find(list(itertools.compress(terms, counts)))
            return columns
        if self._grow:
            for term in dict.fromkeys(itertools.compress(terms, counts)):
                self.columns.setdefault(term, len(self.columns))
        found = map(self.columns.get, terms, itertools.repeat(-1))
        return np.where(counts, np.fromiter(found, dtype=np.int32, count=len(words)), np.int32(-1))

    def frozen(self, columns: dict[str, int]) -> WordCounter:
        """Return a counter for a final vocabulary; it already knows the words that this one has seen."""
        counter = WordCounter(self.analyzer, columns, grow=False, threads=self._threads)
        # The last entry is for words without a column, which have the number -1.
        final = np.full(len(self.columns) + 1, -1, dtype=np.int32)
        final[:-1] = np.fromiter(map(columns.get, self.columns, itertools.repeat(-1)), dtype=np.int32)
        counter._words, counter._column_of_word = self._words, final[self._column_of_word]
        return counter


class TokenCounter:
    """Counts the tokens that the user's own callable makes of a text, in plain Python."""

    def __init__(self, tokenizer: Tokenizer, columns: dict[str, int], *, grow: bool) -> None:
        self.tokenizer = tokenizer
        self.columns = columns
        self._grow = grow

    def count(self, texts: list[str]) -> sp.csr_array:
        """Return the counts of the texts, one row per text."""
        indptr, indices, counts = [0], list[int](), list[int]()
        for text in texts:
            row: Counter[int] = Counter()
            for token in self.tokenizer(text):
                if not isinstance(token, str):
                    raise TypeError(f"analyzer must return str tokens, got {token!r} ({type(token).__name__}).")
                column = self.columns.get(token, -1)
                if column < 0 and self._grow:
                    column = self.columns.setdefault(token, len(self.columns))
                if column >= 0:
                    row[column] += 1
            for column in sorted(row):
                indices.append(column)
                counts.append(row[column])
            indptr.append(len(indices))
        return count_matrix(
            np.array(indptr, dtype=np.int64),
            np.array(indices, dtype=np.int32),
            np.array(counts, dtype=np.int32),
            n_columns=len(self.columns),
        )

    def frozen(self, columns: dict[str, int]) -> TokenCounter:
        """Return a counter for a final vocabulary."""
        return TokenCounter(self.tokenizer, columns, grow=False)


def count_matrix(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
    *,
    n_columns: int,
) -> sp.csr_array:
    """Return the count matrix of these parts, with 32-bit row bounds where they suffice."""
    import scipy.sparse as sp

    bounds: npt.NDArray[Any] = indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr
    return sp.csr_array((counts, indices, bounds), shape=(len(indptr) - 1, n_columns))


def text_batches(documents: Iterable[str]) -> Iterator[list[str]]:
    """Cut a stream of documents into lists of bounded size; refuse what is not a str."""
    if isinstance(documents, str | bytes):
        raise TypeError(
            f"documents must be an iterable of str, got a single {type(documents).__name__}. "
            "Put it into a list: [document]."
        )
    if isinstance(documents, list):
        return _list_batches(documents)
    return batched(map(_check_text, itertools.count(), documents), BATCH_DOCUMENTS, length=len)


def _list_batches(documents: list[str]) -> Iterator[list[str]]:
    """Cut a list as a stream is cut, but by slices where no document is too long."""
    for start in range(0, len(documents), BATCH_DOCUMENTS):
        batch = documents[start : start + BATCH_DOCUMENTS]
        if set(map(type, batch)) == {str} and sum(map(len, batch)) < BATCH_CHARACTERS:
            yield batch
        else:
            yield from batched(map(_check_text, itertools.count(start), batch), BATCH_DOCUMENTS, length=len)


def _check_text(position: int, document: object) -> str:
    if not isinstance(document, str):
        remedy = "Decode it first" if isinstance(document, bytes) else "Convert it to str or leave it out"
        raise TypeError(f"document {position} is a {type(document).__name__}, not a str. {remedy}.")
    return document
