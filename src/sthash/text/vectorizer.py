"""`TextVectorizer`: strings in, sparse unit rows out."""

from __future__ import annotations

import json
from collections.abc import Iterable
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
from sthash.text.analyzer import WordAnalyzer, check_stemmer, resolve_stop_words
from sthash.text.counting import CorpusCounts, TokenCounter, Tokenizer, WordCounter, batches
from sthash.text.weighting import WEIGHTINGS, CorpusStatistics, Weighting, weigh


class TextVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn texts into sparse rows of term weights, each of unit length.

    A word is a run of letters, numbers and combining marks of any script that starts with a letter or a number; it
    is lower-cased character by character, dropped if it is a stop word, and stemmed. A text without a known term
    becomes a zero row.

    Any iterable of str will do, a generator too: texts are read once, in batches, and not kept.

    Parameters
    ----------
    analyzer : "word" or callable, default="word"
        A callable takes a text and returns its terms; stop words and stemmer are then not used.
    stop_words : "english", None or collection of str, default="english"
    stemmer : str or None, default="porter"
        Name of a Snowball algorithm.
    min_df, max_df : int or float, default=1, 1.0
        Terms in fewer, or in more, documents are left out: an int counts documents, a float is their share.
    max_features : int or None, default=None
        Keep only so many terms, those with the highest count over the corpus (ties: in alphabetical order).
    weighting : {"tfidf", "bm25", "tf"}, default="tfidf"
        ``tfidf`` is (1 + ln tf) · ln(N / df).
    threads : int or None, default=None
        Threads to scan with; None takes one a core.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Column of each term; columns are in alphabetical order.
    statistics_ : CorpusStatistics
        Number of documents, document frequency of each term, mean length.
    stop_words_ : frozenset of str

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
        stop_words: str | Iterable[str] | None = "english",
        stemmer: str | None = "porter",
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        weighting: Weighting = "tfidf",
        threads: int | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.weighting = weighting
        self.threads = threads

    def fit(self, raw_documents: Iterable[str], y: object = None) -> Self:
        """Learn the vocabulary and the document frequencies."""
        self._learn(raw_documents, keep_counts=False)
        return self

    def fit_transform(self, raw_documents: Iterable[str], y: object = None) -> sp.csr_array:
        """Learn the vocabulary and return the rows of the same texts, reading them once."""
        return weigh(self._learn(raw_documents, keep_counts=True), self.weighting, self.statistics_)

    def transform(self, raw_documents: Iterable[str]) -> sp.csr_array:
        """Return a row a text; terms that were not learnt count for nothing."""
        check_is_fitted(self)
        counter = self._frozen_counter()
        rows = [weigh(counter.count(batch), self.weighting, self.statistics_) for batch in batches(raw_documents)]
        return stack(rows, len(self.vocabulary_))

    def analyze(self, text: str) -> list[str]:
        """Return the distinct known terms of a text, in alphabetical order."""
        check_is_fitted(self)
        (batch,) = batches([text])
        columns = self._frozen_counter().count(batch).indices
        return self.get_feature_names_out()[columns].tolist()  # type: ignore[no-any-return]

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the terms in the order of the columns."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted vectorizer to a file, which `sthash.load` reads. An interrupted write leaves no trace."""
        check_is_fitted(self)
        if callable(self.analyzer):
            raise TypeError("a vectorizer whose analyzer is a callable cannot be saved; use analyzer='word' to save.")
        names = ("stemmer", "min_df", "max_df", "max_features", "weighting", "threads")
        config = {
            "settings": {name: getattr(self, name) for name in names},
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
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        stop_words = frozenset(config["stop_words"])
        vectorizer = cls(stop_words=sorted(stop_words) or None, **config["settings"])
        terms = json.loads(arrays["terms"].tobytes())
        model_file.check_array(arrays, "document_frequency", np.int64, (len(terms),))
        vectorizer.vocabulary_ = {term: column for column, term in enumerate(terms)}
        vectorizer.statistics_ = CorpusStatistics(
            config["n_documents"], arrays["document_frequency"], config["mean_length"]
        )
        vectorizer.stop_words_ = stop_words
        return vectorizer

    def count(self, raw_documents: Iterable[str]) -> CorpusCounts:
        """Count the terms of a corpus, or of a part of one, without learning from them; see `fit_counts`."""
        self._validate()
        return self._count(raw_documents, self._counter(resolve_stop_words(self.stop_words), {}, grow=True), None)

    def fit_counts(self, counts: CorpusCounts) -> Self:
        """Learn from counts: as `fit` does from texts, for a corpus that was counted in parts and added up.

        Examples
        --------
        >>> from sthash import TextVectorizer
        >>> texts = ["The cats sat.", "A cat and a dog", "Dogs bark"]
        >>> vectorizer = TextVectorizer().fit_counts(TextVectorizer().count(texts))
        >>> vectorizer.vocabulary_ == TextVectorizer().fit(texts).vocabulary_
        True
        """
        self._validate()
        self._settle(counts, resolve_stop_words(self.stop_words))
        self.__dict__.pop("_frozen", None)
        return self

    def _learn(self, raw_documents: Iterable[str], *, keep_counts: bool) -> sp.csr_array:
        self._validate()
        stop_words = resolve_stop_words(self.stop_words)
        counter = self._counter(stop_words, {}, grow=True)
        rows: list[sp.csr_array] = []
        counts = self._count(raw_documents, counter, rows if keep_counts else None)
        kept = self._settle(counts, stop_words)
        self._frozen = counter.frozen(self.vocabulary_)
        if not keep_counts:
            return sp.csr_array((0, len(kept)), dtype=np.int32)
        return _take_columns(stack(rows, len(counts.terms)), kept)

    def _count(
        self, raw_documents: Iterable[str], counter: WordCounter | TokenCounter, rows: list[sp.csr_array] | None
    ) -> CorpusCounts:
        n_documents, total = 0, 0
        document_frequency = np.zeros(0, dtype=np.int64)
        term_count = np.zeros(0, dtype=np.int64)
        for batch in batches(raw_documents):
            counts = counter.count(batch)
            n_documents += counts.shape[0]
            total += int(counts.data.sum())
            width = len(counter.columns)
            document_frequency = _grown(document_frequency, width) + np.bincount(counts.indices, minlength=width)
            sums = np.bincount(counts.indices, weights=counts.data, minlength=width)
            term_count = _grown(term_count, width) + sums.astype(np.int64)
            if rows is not None:
                rows.append(counts)
        terms = np.array(list(counter.columns), dtype=object)
        return CorpusCounts(terms, document_frequency, term_count, n_documents, total)

    def _settle(self, counts: CorpusCounts, stop_words: frozenset[str]) -> npt.NDArray[np.int64]:
        """Take vocabulary and statistics from the counts; return the positions of the terms that were kept."""
        n_documents, terms = counts.n_documents, counts.terms
        if n_documents == 0:
            raise ValueError("the corpus is empty: pass at least one document.")
        if counts.n_tokens == 0:
            raise ValueError(
                f"none of the {n_documents} documents has a single term: they are blank or hold stop words only; "
                "check the input, or pass stop_words=None."
            )
        kept = self._kept(terms, counts.document_frequency, counts.term_count, n_documents)
        self.vocabulary_ = {term: column for column, term in enumerate(terms[kept])}
        frequency = counts.document_frequency[kept]
        self.statistics_ = CorpusStatistics(n_documents, frequency, counts.n_tokens / n_documents)
        self.stop_words_ = stop_words
        return kept

    def _kept(
        self,
        terms: npt.NDArray[np.object_],
        document_frequency: npt.NDArray[np.int64],
        term_count: npt.NDArray[np.int64],
        n_documents: int,
    ) -> npt.NDArray[np.int64]:
        """Positions of the terms that the limits leave, in alphabetical order."""
        low = self.min_df if isinstance(self.min_df, Integral) else self.min_df * n_documents
        high = self.max_df if isinstance(self.max_df, Integral) else self.max_df * n_documents
        if high < low:
            raise ValueError(
                f"max_df={self.max_df} allows fewer documents than min_df={self.min_df} asks for "
                f"in a corpus of {n_documents}; raise max_df or lower min_df."
            )
        kept = np.flatnonzero((document_frequency >= low) & (document_frequency <= high))
        if len(kept) == 0:
            raise ValueError(
                f"min_df={self.min_df} and max_df={self.max_df} leave none of the {len(terms)} terms; "
                "lower min_df or raise max_df."
            )
        kept = kept[np.argsort(terms[kept], kind="stable")]
        if self.max_features is not None and len(kept) > self.max_features:
            most_frequent = np.argsort(-term_count[kept], kind="stable")[: self.max_features]
            kept = kept[np.sort(most_frequent)]
        return kept

    def _validate(self) -> None:
        check_choice("weighting", self.weighting, WEIGHTINGS)
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

    def _counter(
        self, stop_words: frozenset[str], columns: dict[str, int], *, grow: bool
    ) -> WordCounter | TokenCounter:
        if callable(self.analyzer):
            return TokenCounter(self.analyzer, columns, grow=grow)
        analyzer = WordAnalyzer(stop_words, check_stemmer(self.stemmer))
        return WordCounter(analyzer, columns, grow=grow, threads=resolve_threads(self.threads))

    def _frozen_counter(self) -> WordCounter | TokenCounter:
        # What words were seen is a cache: it is not copied or saved with the vectorizer, and comes back with use.
        if getattr(self, "_frozen", None) is None:
            self._frozen = self._counter(self.stop_words_, self.vocabulary_, grow=False)
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


def stack(rows: list[sp.csr_array], width: int) -> sp.csr_array:
    """Put batches of rows under each other; earlier batches may be narrower than ``width``."""
    if not rows:
        return sp.csr_array((0, width), dtype=np.float32)
    if len(rows) == 1 and rows[0].shape[1] == width:
        return rows[0]
    for batch in rows:
        batch.resize((batch.shape[0], width))
    return sp.csr_array(sp.vstack(rows, format="csr"))


def _grown(array: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    return np.pad(array, (0, size - len(array)))


def _take_columns(counts: sp.csr_array, kept: npt.NDArray[np.int64]) -> sp.csr_array:
    """Return the columns ``kept``, in that order, with the columns of each row ascending."""
    position = np.full(counts.shape[1], -1, dtype=np.int32)
    position[kept] = np.arange(len(kept), dtype=np.int32)
    moved = sp.csr_array((counts.data, position[counts.indices], counts.indptr), shape=counts.shape)
    if len(kept) < counts.shape[1]:
        keep = moved.indices >= 0
        bounds = np.concatenate([[0], np.cumsum(keep)])[moved.indptr].astype(moved.indptr.dtype)
        moved = sp.csr_array((moved.data[keep], moved.indices[keep], bounds), shape=(counts.shape[0], len(kept)))
    moved.sort_indices()
    return moved
