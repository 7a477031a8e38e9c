"""From texts to term counts.

The texts are scanned in C++; each distinct word is analysed once, in Python, and its column looked up from then on.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.text.analyzer import WordAnalyzer

if TYPE_CHECKING:
    import scipy.sparse as sp

Tokenizer = Callable[[str], Iterable[str]]
CountParts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]

# Words that no fitted term came from are remembered up to this many, then all are forgotten and looked up anew.
MAX_REMEMBERED_WORDS = 2_000_000
BATCH_DOCUMENTS = 8192
BATCH_CHARACTERS = 1 << 24


@dataclass(frozen=True)
class CorpusCounts:
    """How often terms occur in a corpus, or in a part of one.

    Attributes
    ----------
    terms : array of str
        Each once, in any order.
    document_frequency, term_count : arrays of int64
        In how many documents each term occurs, and how often in all.
    n_documents, n_tokens : int
        Documents, and terms in them, repetitions included.
    """

    terms: npt.NDArray[np.object_]
    document_frequency: npt.NDArray[np.int64]
    term_count: npt.NDArray[np.int64]
    n_documents: int
    n_tokens: int


class TermCounter(Protocol):
    """Counts, in each text of a batch, how often each term of ``columns`` occurs."""

    columns: dict[str, int]

    def count(self, texts: list[str]) -> sp.csr_array:
        """Return a row of counts a text."""


class WordCounter:
    """Counts the terms that an analyser makes of the words of a text.

    Parameters
    ----------
    analyzer : WordAnalyzer
    columns : dict from term to column
    grow : bool
        Whether a term that has no column yet is given the next one, or passed over.
    threads : int
    """

    def __init__(self, analyzer: WordAnalyzer, columns: dict[str, int], *, grow: bool, threads: int) -> None:
        self.analyzer = analyzer
        self.columns = columns
        self._grow = grow
        self._threads = threads
        self._lock = threading.Lock()
        self._words = _core.WordTable()
        self._column_of_word = np.empty(0, dtype=np.int32)

    def count(self, texts: list[str]) -> sp.csr_array:
        """Return a row of counts a text."""
        return count_matrix(*self.count_parts(texts), n_columns=len(self.columns))

    def count_parts(self, texts: list[str]) -> CountParts:
        """Return the parts of the count matrix: row bounds, columns, counts."""
        with self._lock:
            if len(self._words) > MAX_REMEMBERED_WORDS and not self._grow:
                self._words = _core.WordTable()
                self._column_of_word = np.empty(0, dtype=np.int32)
            starts, words = self._words.scan(texts, threads=self._threads)
            new_words = self._words.words_from(len(self._column_of_word))
            if new_words:
                self._column_of_word = np.concatenate([self._column_of_word, self._look_up(new_words)])
            column_of_word = self._column_of_word
        return _core.count_terms(
            starts, words, term_of=column_of_word, n_terms=len(self.columns), threads=self._threads
        )

    def _look_up(self, words: list[str]) -> npt.NDArray[np.int32]:
        terms, counts = self.analyzer.terms(words)
        if self._grow:
            for term in dict.fromkeys(itertools.compress(terms, counts)):
                self.columns.setdefault(term, len(self.columns))
        found = map(self.columns.get, terms, itertools.repeat(-1))
        return np.where(counts, np.fromiter(found, dtype=np.int32, count=len(words)), np.int32(-1))

    def frozen(self, columns: dict[str, int]) -> WordCounter:
        """Return a counter for a final vocabulary that already knows the words this one has seen."""
        counter = WordCounter(self.analyzer, columns, grow=False, threads=self._threads)
        # The last entry is for words without a column, which have the number -1.
        final = np.full(len(self.columns) + 1, -1, dtype=np.int32)
        final[:-1] = np.fromiter(map(columns.get, self.columns, itertools.repeat(-1)), dtype=np.int32)
        counter._words, counter._column_of_word = self._words, final[self._column_of_word]
        return counter


class TokenCounter:
    """Counts the tokens that a callable of the user's makes of a text: the plain way, in Python."""

    def __init__(self, tokenizer: Tokenizer, columns: dict[str, int], *, grow: bool) -> None:
        self.tokenizer = tokenizer
        self.columns = columns
        self._grow = grow

    def count(self, texts: list[str]) -> sp.csr_array:
        """Return a row of counts a text."""
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
    """Put the parts of a count matrix together, with 32-bit row bounds where they suffice."""
    import scipy.sparse as sp

    bounds: npt.NDArray[Any] = indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr
    return sp.csr_array((counts, indices, bounds), shape=(len(indptr) - 1, n_columns))


def batches(documents: Iterable[str]) -> Iterator[list[str]]:
    """Cut a stream of documents into lists of bounded size, refusing what is not a str."""
    if isinstance(documents, str | bytes):
        raise TypeError(
            f"documents must be an iterable of str, got a single {type(documents).__name__}; "
            "put it into a list: [document]."
        )
    batch: list[str] = []
    characters = 0
    for position, document in enumerate(documents):
        if not isinstance(document, str):
            hint = "decode it first" if isinstance(document, bytes) else "convert it to str or leave it out"
            raise TypeError(f"document {position} is a {type(document).__name__}, not a str; {hint}.")
        batch.append(document)
        characters += len(document)
        if len(batch) == BATCH_DOCUMENTS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
