"""`TextModel`: the one way from a text to its code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.batches import batched
from sthash.checks import check_positive, check_whole, resolve_threads
from sthash.index.stored_vectors import Metric
from sthash.model import base
from sthash.model.encoded import EncodedRows, Margins, Row, shared_columns, stacked
from sthash.model.linear import check_settings, linear_parts, new_hasher, restored_weights, sample
from sthash.model.scatter import Scatter
from sthash.model.terms import MemoryTerms, TermRows, Terms
from sthash.text.analyzer import WordAnalyzer, check_stemmer, resolve_stop_words
from sthash.text.counters import WordCounter
from sthash.text.weighting import CorpusStatistics, Weighting, term_weights

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer


class TextModel:
    """A vectorizer, a hasher and, if wanted, random hyperplanes: from a text to its unit row and its code.

    Make one with `TextModel.fit`, or from a fitted vectorizer and hasher with `TextModel.of`. Every
    `sthash.Collection` of texts has one; Spark and Milvus use it too. Encoding needs neither SciPy nor scikit-learn.

    Parameters
    ----------
    settings : dict
        How it was learned, as plain JSON values.
    terms : Terms
        The vocabulary with its weights.
    threads : int or None
        None takes one thread per available core. The codes do not depend on it.

    Examples
    --------
    >>> import sthash, tempfile, pathlib
    >>> texts = [f"{animal} number {n} likes {food}" for n in range(6) for animal, food in
    ...          [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]]
    >>> model = sthash.TextModel.fit(texts, n_bits=4, n_neighbors=5)
    >>> codes = model.encode(["a dog that likes bones"]).codes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder, "model"))
    ...     again = sthash.TextModel.load(pathlib.Path(folder, "model"))
    >>> again.fingerprint == model.fingerprint
    True
    >>> bool((again.encode(["a dog that likes bones"]).codes == codes).all())
    True
    """

    dense = False
    metric: Metric = "cosine"

    def __init__(self, settings: dict[str, Any], terms: Terms, *, threads: int | None = None) -> None:
        self.settings = settings
        self.terms = terms
        self._threads = resolve_threads(threads)
        self._intercept = np.array(settings["intercept"], dtype=np.float32)
        self._scatter = Scatter(**settings.get("random_weights", {}))  # models of format 1 have none
        self._weighting: Weighting = settings["weighting"]
        analyzer = WordAnalyzer(
            frozenset(settings["stop_words"]),
            settings["stemmer"],
            settings.get("fold_accents", False),
            settings.get("segmentation", 1),  # models of version 0.1 have none
        )
        vocabulary = cast("dict[str, int]", terms)
        self._counter = WordCounter(analyzer, vocabulary, grow=False, threads=self._threads)

    @classmethod
    def fit(
        cls,
        texts: Iterable[str],
        n_bits: int = 64,
        n_neighbors: int = 25,
        *,
        recipe: Recipe = "neighbors",
        scatter: float = 0.0,
        sample_size: int | None = None,
        vectorizer: TextVectorizer | None = None,
        hasher: SelfTaughtHashing | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> Self:
        """Learn a model from texts.

        Parameters
        ----------
        texts : iterable of str
        n_bits, n_neighbors, recipe
            Of the hasher; see `sthash.SelfTaughtHashing`.
        scatter : float
            How much random hyperplanes are mixed into the learned ones; see `sthash.Collection.create`.
        sample_size : int or None
            Learn the hash functions from a random sample of this size; None takes all texts. The vocabulary is always
            that of all texts.
        vectorizer, hasher : TextVectorizer, SelfTaughtHashing, optional
            With settings of your own, not fitted. Those of the hasher replace ``n_bits``, ``n_neighbors`` and
            ``recipe``.
        random_state : int
            Seed of the sample and the hasher.
        threads : int or None
        """
        from sklearn.base import clone

        from sthash.text import TextVectorizer

        made = TextVectorizer(threads=threads) if vectorizer is None else clone(vectorizer)
        rows = made.fit_transform(texts)
        chosen = sample(rows.shape[0], sample_size, random_state)
        function = new_hasher(hasher, n_bits, n_neighbors, recipe, random_state, threads)
        function.fit(rows if len(chosen) == rows.shape[0] else rows[chosen])
        return cls.of(
            made, function, scatter=scatter, random_state=random_state, learned_on=len(chosen), threads=threads
        )

    @classmethod
    def of(
        cls,
        vectorizer: TextVectorizer,
        hasher: SelfTaughtHashing,
        *,
        scatter: float = 0.0,
        random_state: int = 0,
        learned_on: int | None = None,
        frequent_first: bool = False,
        threads: int | None = None,
    ) -> Self:
        """Make a model of a vectorizer and a hasher that were fitted together.

        Parameters
        ----------
        vectorizer : TextVectorizer
        hasher : SelfTaughtHashing
            With linear hash functions, as every recipe has.
        scatter : float
        random_state : int
            Seed of the random hyperplanes.
        learned_on : int, optional
            Number of documents that the hasher was fitted on, if it was not all of its own.
        frequent_first : bool
            Number the terms by falling document frequency, as collections do: what most documents need of a query then
            lies close together in memory. Otherwise the columns are those of the vectorizer, and the codes are to
            the bit ``hasher.transform(vectorizer.transform(texts))``.
        threads : int or None
        """
        check_positive("scatter", scatter, or_zero=True)
        if callable(vectorizer.analyzer):
            raise TypeError("a model cannot hold a vectorizer whose analyzer is a callable. Use analyzer='word'.")
        weights, intercept = linear_parts(hasher)
        frequency = vectorizer.statistics_.document_frequency
        if len(weights) != len(frequency):
            raise ValueError(
                f"the hasher takes rows of {len(weights)} columns, but the vectorizer makes {len(frequency)}. "
                "Pass the two that were fitted together."
            )
        order = np.arange(len(frequency))
        if frequent_first:
            order = np.argsort(-frequency, kind="stable")
        used = (weights != 0).any(axis=1)
        names = vectorizer.get_feature_names_out()[order].tolist()
        row = np.where(used[order], np.cumsum(used[order]), 0).astype(np.int32)
        learned = np.concatenate([np.zeros((1, weights.shape[1]), np.float32), weights[order[used[order]]]])
        terms = MemoryTerms(names, frequency[order], row, learned)
        settings = _settings(vectorizer, hasher, scatter) | {
            "learnt_on": len(hasher.codes_) if learned_on is None else learned_on,
            "n_terms": len(frequency),
            "stop_words": sorted(vectorizer.stop_words_),
            "n_documents": vectorizer.statistics_.n_documents,
            "mean_length": vectorizer.statistics_.mean_length,
            "intercept": [float(value) for value in intercept],
            "random_weights": asdict(Scatter.relative_to(weights[used], scatter, random_state)),
        }
        return cls(settings, terms, threads=threads)

    @classmethod
    def unlearned(
        cls,
        vectorizer: TextVectorizer,
        hasher: SelfTaughtHashing,
        *,
        scatter: float = 0.0,
        random_state: int = 0,
        threads: int | None = None,
    ) -> Self:
        """Make a model of a vectorizer and a hasher that are not fitted: it knows no term, and all codes are zero.

        A collection has such a model until it has enough documents to learn from.
        """
        check_positive("scatter", scatter, or_zero=True)
        vectorizer._validate()
        n_bits = int(hasher.n_bits)
        settings = _settings(vectorizer, hasher, scatter) | {
            "learnt_on": 0,
            "n_terms": 0,
            "stop_words": sorted(resolve_stop_words(vectorizer.stop_words, vectorizer.language)),
            "n_documents": 0,
            "mean_length": 1.0,
            "intercept": [0.0] * n_bits,
            "random_weights": asdict(Scatter(0.0, random_state)),
        }
        nothing = np.zeros(0, np.int64)
        terms = MemoryTerms([], nothing, nothing.astype(np.int32), np.zeros((1, n_bits), np.float32))
        return cls(settings, terms, threads=threads)

    def with_threads(self, threads: int | None) -> TextModel:
        """Return the same model with another number of threads."""
        return TextModel(self.settings, self.terms, threads=threads)

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return int(self.settings["n_bits"])

    @property
    def n_columns(self) -> int:
        """Number of terms."""
        return len(self.terms)

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same model, wherever it was loaded from; another one for any other model."""
        return base.fingerprint(json.dumps(self.settings, sort_keys=True).encode(), self.terms.checksums())

    @property
    def weighting(self) -> Weighting:
        """How terms are weighted."""
        return self._weighting

    @property
    def learned(self) -> bool:
        """Whether hash functions have been learned; without them all codes are zero."""
        return bool(self.settings["learnt_on"])

    def new_counter(self, columns: Any, *, grow: bool = False) -> WordCounter:
        """Return a counter that analyzes texts as this model does, over another vocabulary; see `WordCounter`."""
        return WordCounter(self._counter.analyzer, columns, grow=grow, threads=self._threads)

    def encode(self, inputs: Iterable[str]) -> EncodedRows:
        """Return the unit rows and the margins of texts; a text without a known term has a row without a value."""
        if isinstance(inputs, str | bytes):
            raise TypeError(f"texts must be an iterable of str, got one {type(inputs).__name__}. Put it into a list.")
        texts = [_checked_text(position, text) for position, text in enumerate(inputs)]
        parts = [self.encode_counts(*self._counter.count_parts(batch)) for batch in batched(texts, length=len)]
        return stacked(parts or [self.encode_counts(*self._counter.count_parts([]))])

    def encode_counts(
        self, indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], counts: npt.NDArray[np.int32]
    ) -> EncodedRows:
        """Return the unit rows and the margins of term counts: the parts of a CSR matrix with sorted columns."""
        terms, position = self.terms.look_up(indices)
        return self.encode_terms(indptr, indices, counts, terms, position)

    def encode_terms(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int32],
        terms: TermRows,
        position: npt.NDArray[np.integer],
    ) -> EncodedRows:
        """Return the same as `encode_counts`, for terms that were looked up before."""
        n_documents, mean_length = self.settings["n_documents"], self.settings["mean_length"]
        statistics = CorpusStatistics(n_documents, terms.frequency, mean_length)
        values = term_weights(indptr, position, counts, self._weighting, statistics)
        return EncodedRows(indptr, indices, values, self._margins(indptr, indices, values, terms, position))

    def margins(self, rows: EncodedRows) -> Margins:
        """Return the margins of unit rows."""
        terms, position = self.terms.look_up(rows.indices)
        return self._margins(rows.indptr, rows.indices, rows.values, terms, position)

    def _margins(
        self,
        indptr: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int32],
        values: npt.NDArray[np.float32],
        terms: TermRows,
        position: npt.NDArray[np.integer],
    ) -> Margins:
        rows = _core.CsrView(indptr, terms.row[position], values)
        margins = _core.project(rows, terms.weights, threads=self._threads)
        learned = margins[:, : self.n_bits] + self._intercept
        return self._scatter.added(learned, indptr, columns, values, self._threads)

    def matching_terms(self, query: Row, document: Row, most: int = 5) -> tuple[str, ...]:
        """Return the terms that two rows share, the one with the greatest part in their cosine first."""
        return tuple(self.terms.names(shared_columns(query, document)[:most]))

    def unused_words(self, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the words of a text that are stop words, and those that the model does not know."""
        words = self._counter.analyzer.words(text)
        terms, counted = self._counter.analyzer.terms(words)
        ignored = tuple(word for word, counts in zip(words, counted.tolist(), strict=True) if not counts)
        unknown = tuple(word for place, word in enumerate(words) if counted[place] and self.terms.get(terms[place]) < 0)
        return ignored, unknown

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, which `load` and `sthash.load` read. An interrupted write leaves no trace."""
        terms = list(self.terms)
        used = [term.weights for term in terms if term.weights]
        arrays: dict[str, npt.NDArray[Any]] = {
            "terms": np.frombuffer(json.dumps(self.terms.names(range(len(terms)))).encode(), dtype=np.uint8),
            "document_frequency": np.array([term.frequency for term in terms], dtype=np.int64),
            "has_weights": np.array([bool(term.weights) for term in terms], dtype=np.bool_),
            "weights": np.frombuffer(b"".join(used), dtype=np.float32).reshape(len(used), self.n_bits),
        }
        model_file.write(path, "TextModel", self.settings, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        return model_file.load_as(cls, path)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        check_settings(config, "text")
        names = json.loads(arrays["terms"].tobytes())
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("terms must be a list of str")
        n_bits, count = check_whole("n_bits", config["n_bits"]), len(names)
        model_file.check_array(arrays, "document_frequency", np.int64, (count,))
        model_file.check_array(arrays, "has_weights", np.bool_, (count,))
        used = arrays["has_weights"]
        weights = restored_weights(arrays, int(used.sum()), n_bits)
        row = np.where(used, np.cumsum(used), 0).astype(np.int32)
        learned = np.concatenate([np.zeros((1, n_bits), np.float32), weights])
        return cls(config, MemoryTerms(names, arrays["document_frequency"], row, learned))


def _settings(vectorizer: TextVectorizer, hasher: SelfTaughtHashing, scatter: float) -> dict[str, Any]:
    """Return what the settings of a model take over from a vectorizer and a hasher, fitted or not."""
    return {
        "kind": "text",
        "generation": 1,
        "n_bits": int(hasher.n_bits),
        "n_neighbors": int(hasher.n_neighbors),
        "recipe": hasher.recipe,
        "weighting": vectorizer.weighting,
        "language": vectorizer.language,
        "stemmer": check_stemmer(vectorizer.stemmer, vectorizer.language),
        "fold_accents": bool(vectorizer.fold_accents),
        "segmentation": vectorizer.segmentation,
        "min_df": vectorizer.min_df,
        "max_df": vectorizer.max_df,
        "max_features": vectorizer.max_features,
        "scatter": scatter,
    }


def _checked_text(position: int, text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text {position} is a {type(text).__name__}, not a str. Convert it, or leave it out.")
    return text
