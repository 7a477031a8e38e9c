"""`TextVectorizer` makes sparse unit rows of texts; `CorpusCounter` fits it in one scan whose counts can be kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sthash import model_file
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.tables import texts_of
from sthash.text.analyzer import FUNCTION_WORDS, WordAnalyzer, check_stemmer, resolve_stop_words
from sthash.text.counters import (
    CorpusCounts,
    GrowingVocabulary,
    TokenCounter,
    Tokenizer,
    WordCounter,
    text_batches,
)
from sthash.text.detection import warn_of_language
from sthash.text.languages import check_language, language_stemmer
from sthash.text.vocabulary import kept_terms, stack, take_columns
from sthash.text.weighting import WEIGHTINGS, CorpusStatistics, Weighting, weigh


class TextVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn texts into sparse rows of term weights, each of unit length.

    A word is a run of letters, numbers and combining marks of any script that starts with a letter or a number. It
    is lower-cased character by character, dropped if it is a stop word, and stemmed. Han, kana, Hangul, Thai, Lao,
    Khmer and Myanmar, which have no spaces between words or many endings, become overlapping pairs of letters:
    東京都 has the terms 東京 and 京都. A text without a known term becomes a zero row.

    Texts are any iterable of str, including a generator; a pandas or polars Series; or a DataFrame, from which the
    column ``text`` is taken, or the one that ``text=`` names. They are read once, in batches, and not kept.

    Parameters
    ----------
    analyzer : "word" or callable, default="word"
        A callable takes one text and returns its terms. Language, stop words and stemmer are then not used.
    language : str, default="english"
        Picks stop words and stemmer where these are "auto"; `sthash.text.languages.language_names` lists all. "none"
        picks neither. If most words seem to be of another language, fitting warns.
    stop_words : "auto", "function words", name of a language, None or collection of str, default="auto"
        "function words" are those that people do not search for; the usual English list also has "system" and "fire".
    stemmer : str or None, default="auto"
        Name of a Snowball algorithm; for English "auto" is ``porter``, as in the paper.
    fold_accents : bool, default=False
        Remove accents first, so that ``café`` and ``cafe`` are one term.
    min_df, max_df : int or float, default=1, 1.0
        Terms in fewer or in more documents are left out. An int is a number of documents, a float their share.
    max_features : int or None, default=None
        Largest number of terms. Those with the highest count in the corpus are kept; ties are broken alphabetically.
    weighting : {"tfidf", "bm25", "tf"}, default="tfidf"
        ``tfidf`` is (1 + ln tf) · ln(N / df).
    threads : int or None, default=None
        Threads to scan with; None takes one per available core.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Column of each term. Columns are in alphabetical order.
    statistics_ : CorpusStatistics
        Number of documents, document frequency of each term, mean length.
    stop_words_ : frozenset of str
    stemmer_ : str or None

    Examples
    --------
    >>> from sthash import TextVectorizer
    >>> vectorizer = TextVectorizer()
    >>> X = vectorizer.fit_transform(["The cats sat.", "A cat and a dog", "Dogs bark"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['bark', 'cat', 'dog', 'sat']
    >>> X.shape, X.dtype
    ((3, 4), dtype('float32'))
    """

    def __init__(
        self,
        *,
        analyzer: str | Tokenizer = "word",
        language: str = "english",
        stop_words: str | Iterable[str] | None = "auto",
        stemmer: str | None = "auto",
        fold_accents: bool = False,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        weighting: Weighting = "tfidf",
        threads: int | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.language = language
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.fold_accents = fold_accents
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.weighting = weighting
        self.threads = threads

    def fit(self, raw_documents: Any, y: object = None, *, text: str | None = None) -> Self:
        """Learn the vocabulary and the document frequencies; ``text`` names the column of a table."""
        counter = CorpusCounter(self)
        for batch in text_batches(texts_of(raw_documents, text)):
            counter.add(batch)
        counter.finish()
        return self

    def fit_transform(self, raw_documents: Any, y: object = None, *, text: str | None = None) -> sp.csr_array:
        """Learn the vocabulary and return the rows of the same texts, which are read once."""
        counter = CorpusCounter(self)
        counts = counter.add(texts_of(raw_documents, text))
        counter.finish()
        return counter.rows(counts)

    def transform(self, raw_documents: Any, *, text: str | None = None) -> sp.csr_array:
        """Return one row per text; terms that were not learned are ignored."""
        check_is_fitted(self)
        counter = self._frozen_counter()
        batches = text_batches(texts_of(raw_documents, text))
        rows = [weigh(counter.count(batch), self.weighting, self.statistics_) for batch in batches]
        return stack(rows, len(self.vocabulary_))

    def term_counts(self, raw_documents: Any, *, text: str | None = None) -> sp.csr_array:
        """Return how often each learned term is in each text, as int32, for models of word counts.

        Examples
        --------
        >>> from sthash import TextVectorizer
        >>> texts = ["A cat and a cat", "Dogs bark"]
        >>> TextVectorizer().fit(texts).term_counts(texts).toarray()
        array([[0, 2, 0],
               [1, 0, 1]], dtype=int32)
        """
        check_is_fitted(self)
        counter = self._frozen_counter()
        batches = text_batches(texts_of(raw_documents, text))
        return stack([counter.count(batch) for batch in batches], len(self.vocabulary_))

    def analyze(self, text: str) -> list[str]:
        """Return the distinct known terms of a text, in alphabetical order."""
        check_is_fitted(self)
        (batch,) = text_batches([text])
        columns = self._frozen_counter().count(batch).indices
        return self.get_feature_names_out()[columns].tolist()  # type: ignore[no-any-return]

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the terms in the order of the columns."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted vectorizer to a file for `load` and `sthash.load`. An interrupted write leaves no trace."""
        check_is_fitted(self)
        if callable(self.analyzer):
            raise TypeError("a vectorizer whose analyzer is a callable cannot be saved. Use analyzer='word' to save.")
        names = ("language", "fold_accents", "min_df", "max_df", "max_features", "weighting", "threads")
        config = {
            "settings": {name: getattr(self, name) for name in names} | {"stemmer": self.stemmer_},
            "stop_words": sorted(self.stop_words_),
            "n_documents": self.statistics_.n_documents,
            "mean_length": self.statistics_.mean_length,
        }
        terms = np.frombuffer(json.dumps(list(self.vocabulary_)).encode(), dtype=np.uint8)
        arrays: dict[str, npt.NDArray[Any]] = {
            "terms": terms,
            "document_frequency": self.statistics_.document_frequency,
        }
        model_file.write(path, "TextVectorizer", config, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a vectorizer that `save` wrote."""
        return model_file.load_as(cls, path)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        stop_words = frozenset(config["stop_words"])
        vectorizer = cls(stop_words=sorted(stop_words) or None, **config["settings"])
        terms = json.loads(arrays["terms"].tobytes())
        model_file.check_array(arrays, "document_frequency", np.int64, (len(terms),))
        vectorizer.vocabulary_ = {term: column for column, term in enumerate(terms)}
        if len(vectorizer.vocabulary_) != len(terms) or not all(isinstance(term, str) for term in terms):
            raise ValueError("its terms are not distinct strings")
        vectorizer._validate()
        check_stemmer(vectorizer.stemmer)
        resolve_stop_words(stop_words)
        resolve_threads(vectorizer.threads)
        frequency, n_documents = arrays["document_frequency"], check_whole("n_documents", config["n_documents"])
        if len(frequency) and not 1 <= frequency.min() <= frequency.max() <= n_documents:
            raise ValueError("its document frequencies are not those of its documents")
        if not 0 <= float(config["mean_length"]) < np.inf:
            raise ValueError("its mean length is not a valid number of terms")
        vectorizer.statistics_ = CorpusStatistics(
            config["n_documents"], arrays["document_frequency"], config["mean_length"]
        )
        vectorizer.stop_words_ = stop_words
        vectorizer.stemmer_ = vectorizer.stemmer
        return vectorizer

    def count(self, raw_documents: Iterable[str]) -> CorpusCounts:
        """Count the terms of a corpus, or of a part of one, without learning from them; see `fit_counts`."""
        counter = CorpusCounter(self)
        for batch in text_batches(raw_documents):
            counter.add(batch)
        return counter.totals

    def fit_counts(self, counts: CorpusCounts) -> Self:
        """Learn from counts as `fit` learns from texts: for a corpus that was counted in parts and added up.

        Examples
        --------
        >>> from sthash import TextVectorizer
        >>> texts = ["The cats sat.", "A cat and a dog", "Dogs bark"]
        >>> vectorizer = TextVectorizer().fit_counts(TextVectorizer().count(texts))
        >>> vectorizer.vocabulary_ == TextVectorizer().fit(texts).vocabulary_
        True
        """
        self._validate()
        self._learn(counts, self._resolved_stop_words())
        self.__dict__.pop("_frozen", None)
        return self

    def _learn(self, counts: CorpusCounts, stop_words: frozenset[str]) -> npt.NDArray[np.int64]:
        """Take vocabulary and statistics from the counts; return the positions of the terms that were kept."""
        kept = kept_terms(counts, self.min_df, self.max_df, self.max_features)
        self.vocabulary_ = {term: column for column, term in enumerate(counts.terms[kept])}
        mean_length = counts.n_tokens / counts.n_documents
        self.statistics_ = CorpusStatistics(counts.n_documents, counts.document_frequency[kept], mean_length)
        self.stop_words_ = stop_words
        self.stemmer_ = self.resolved_stemmer()
        return kept

    def resolved_stemmer(self) -> str | None:
        """Return the name of the Snowball algorithm."""
        language = check_language(self.language)
        return "porter" if self.stemmer == "auto" and language == "english" else check_stemmer(self.stemmer, language)

    def _resolved_stop_words(self) -> frozenset[str]:
        return resolve_stop_words(self.stop_words, check_language(self.language))

    def _warn_of_language(self, words: Mapping[str, int]) -> None:
        """Warn if the words of the corpus seem to be of another language than the chosen one."""
        language = check_language(self.language)
        own_stems = self.stemmer in ("auto", language_stemmer(language))
        if isinstance(self.stop_words, str) and self.stop_words in ("auto", FUNCTION_WORDS) and own_stems:
            warn_of_language(words, language)

    def _validate(self) -> None:
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_language(self.language)
        if not isinstance(self.fold_accents, bool | np.bool_):
            raise TypeError(f"fold_accents={self.fold_accents!r} must be True or False.")
        if self.analyzer != "word" and not callable(self.analyzer):
            raise ValueError(f"analyzer={self.analyzer!r} is neither 'word' nor a callable from str to tokens.")
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            if isinstance(value, Integral):
                check_whole(name, value)
            elif not isinstance(value, Real) or not 0 <= float(value) <= 1:
                raise ValueError(f"{name}={value!r} must be an int of at least 1 or a float between 0 and 1.")
        if self.max_features is not None:
            check_whole("max_features", self.max_features)

    def _counter(self, stop_words: frozenset[str], columns: dict[str, int] | None = None) -> WordCounter | TokenCounter:
        """Return a counter for these columns, or one that makes them as terms come."""
        grow = columns is None
        if callable(self.analyzer):
            return TokenCounter(self.analyzer, {} if columns is None else columns, grow=grow)
        analyzer = WordAnalyzer(stop_words, self.resolved_stemmer(), bool(self.fold_accents))
        known = GrowingVocabulary() if columns is None else columns
        return WordCounter(analyzer, known, grow=grow, threads=resolve_threads(self.threads))

    def _frozen_counter(self) -> WordCounter | TokenCounter:
        # The words that were seen are a cache: not copied, pickled or saved with the vectorizer, but made again.
        if getattr(self, "_frozen", None) is None:
            self._frozen = self._counter(self.stop_words_, self.vocabulary_)
        return self._frozen

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_frozen"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = False
        return tags


class CorpusCounter:
    """Fit a vectorizer in one scan of a corpus whose counts are kept, so that no text is scanned twice.

    Terms get provisional columns in the order in which they appear. When all texts have been counted, the vocabulary
    is settled, and the kept counts turn into the rows that ``vectorizer.transform`` gives for the same texts, equal
    to the bit. The caller decides where to keep the counts until then.

    Parameters
    ----------
    vectorizer : TextVectorizer
        Unchanged until `finish` fits it.

    Examples
    --------
    >>> from sthash import TextVectorizer
    >>> from sthash.text import CorpusCounter
    >>> counter = CorpusCounter(TextVectorizer())
    >>> first = counter.add(["The cats sat.", "A cat and a dog"])
    >>> second = counter.add(["Dogs bark"])
    >>> vectorizer = counter.finish()
    >>> vectorizer.get_feature_names_out().tolist()
    ['bark', 'cat', 'dog', 'sat']
    >>> counter.rows(second).shape
    (1, 4)
    """

    def __init__(self, vectorizer: TextVectorizer) -> None:
        vectorizer._validate()
        self._vectorizer = vectorizer
        self._stop_words = vectorizer._resolved_stop_words()
        self._counter = vectorizer._counter(self._stop_words)
        self._n_documents, self._n_tokens = 0, 0
        self._document_frequency = np.zeros(0, dtype=np.int64)
        self._term_count = np.zeros(0, dtype=np.int64)
        self._column_of: npt.NDArray[np.int32] | None = None

    @property
    def totals(self) -> CorpusCounts:
        """Counts over all texts so far; the position of a term is its provisional column."""
        terms = np.array(list(self._counter.columns), dtype=object)
        return CorpusCounts(terms, self._document_frequency, self._term_count, self._n_documents, self._n_tokens)

    @property
    def statistics(self) -> CorpusStatistics:
        """What weights depend on, over all texts so far and in provisional columns."""
        mean_length = self._n_tokens / max(self._n_documents, 1)
        return CorpusStatistics(self._n_documents, self._document_frequency, mean_length)

    def add(self, texts: Iterable[str]) -> sp.csr_array:
        """Count texts; return their counts, int32, one row per text, one provisional column per term so far."""
        if self._column_of is not None:
            raise ValueError("this counter has finished. Make a new CorpusCounter to count more texts.")
        return stack([self._add(batch) for batch in text_batches(texts)], len(self._counter.columns))

    def finish(self) -> TextVectorizer:
        """Settle the vocabulary and return the vectorizer, fitted to all texts that were added.

        If no term is left, it raises ValueError, and the vectorizer does not change.
        """
        kept = self._vectorizer._learn(self.totals, self._stop_words)
        self._vectorizer._frozen = self._counter.frozen(self._vectorizer.vocabulary_)
        column_of = np.full(len(self._counter.columns), -1, dtype=np.int32)
        column_of[kept] = np.arange(len(kept), dtype=np.int32)
        self._column_of = column_of
        self._warn_of_language()
        return self._vectorizer

    def _warn_of_language(self) -> None:
        if isinstance(self._counter, WordCounter) and self._counter.sample:
            self._vectorizer._warn_of_language(self._counter.sample)

    def unsettled_rows(self, counts: sp.csr_array) -> sp.csr_array:
        """Return weighted unit rows in provisional columns: for rows that are only compared with each other.

        The vocabulary has all terms, as if the vectorizer had no limits for it, and is not put in order.
        """
        self._warn_of_language()
        return weigh(counts, self._vectorizer.weighting, self.statistics)

    def frozen(self, columns: dict[str, int]) -> WordCounter | TokenCounter:
        """Return a counter over columns of the caller's own, which knows the words of all texts that were added."""
        return self._counter.frozen(columns)

    def settled(self, counts: sp.csr_array) -> sp.csr_array:
        """Return counts that `add` gave, or some rows of them, in the columns of the vocabulary."""
        if self._column_of is None:
            raise ValueError("the vocabulary is not settled yet. Call finish() when all texts have been added.")
        return take_columns(counts, self._column_of, len(self._vectorizer.vocabulary_))

    def rows(self, counts: sp.csr_array) -> sp.csr_array:
        """Return the weighted unit rows of counts that `add` gave, or of some rows of them, as float32."""
        return weigh(self.settled(counts), self._vectorizer.weighting, self._vectorizer.statistics_)

    def _add(self, texts: list[str]) -> sp.csr_array:
        counts = self._counter.count(texts)
        n_terms = len(self._counter.columns)
        self._n_documents += counts.shape[0]
        self._n_tokens += int(counts.data.sum())
        documents = np.bincount(counts.indices, minlength=n_terms)
        occurrences = np.bincount(counts.indices, weights=counts.data, minlength=n_terms).astype(np.int64)
        new = (0, n_terms - len(self._document_frequency))
        self._document_frequency = np.pad(self._document_frequency, new) + documents
        self._term_count = np.pad(self._term_count, new) + occurrences
        return counts
