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
from sthash.model import base
from sthash.model.encoded import Encoded, Margins, shared_columns
from sthash.model.learning import CorpusSize, Learning
from sthash.model.linear import check_settings, linear_parts, restored_weights, sample
from sthash.model.scatter import Scatter
from sthash.model.terms import MemoryTerms, TermRows, Terms
from sthash.pickling import reduced_to_file
from sthash.text.analyzer import WordAnalyzer, check_stemmer, resolve_stop_words
from sthash.text.counters import WordCounter
from sthash.text.options import TextOptions, new_vectorizer, refuse_callable
from sthash.text.weighting import CorpusStatistics, Weighting, term_weights
from sthash.vectors.metric import Metric
from sthash.vectors.rows import Row, Rows

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.text import TextVectorizer


class TextModel:
    """A vectorizer, a hasher and, if wanted, random hyperplanes: from a text to its unit row and its code.

    Make one with `TextModel.build`, or from a fitted vectorizer and hasher with `TextModel.of`. Every
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
    >>> model = sthash.TextModel.build(texts, learning=sthash.Learning(n_bits=4, n_neighbors=5))
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
        self._scatter = Scatter(**settings["random_weights"])
        self._weighting: Weighting = settings["weighting"]
        analyzer = WordAnalyzer(frozenset(settings["stop_words"]), settings["stemmer"], settings["fold_accents"])
        vocabulary = cast("dict[str, int]", terms)
        self._counter = WordCounter(analyzer, vocabulary, grow=False, threads=self._threads)

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        *,
        learning: Learning | None = None,
        text_options: TextOptions | TextVectorizer | None = None,
        threads: int | None = None,
    ) -> Self:
        """Learn a model from texts.

        Parameters
        ----------
        texts : iterable of str
        learning : Learning, optional
            How the hash functions are learned. The vocabulary is always that of all texts.
        text_options : TextOptions or TextVectorizer, optional
            How texts become words, as in a collection.
        threads : int or None
        """
        learning = (learning or Learning()).with_default("neighbors")
        vectorizer = new_vectorizer(text_options, threads)
        refuse_callable(vectorizer, "a model")
        rows = vectorizer.fit_transform(texts)
        size = CorpusSize(rows.shape[0], rows.nnz, rows.shape[1])
        chosen = sample(size.documents, learning.n_documents(size), learning.random_state)
        hasher = learning.new_hasher(threads=threads)
        hasher.fit(rows if len(chosen) == size.documents else rows[chosen])
        return cls.of(
            vectorizer,
            hasher,
            scatter=learning.scatter,
            random_state=learning.random_state,
            learned_on=len(chosen),
            threads=threads,
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
            Number of documents that the hasher was fitted on. Default: the number of its codes.
        frequent_first : bool
            Number the terms by descending document frequency, as collections do: what is needed most often then lies
            close together in memory. Otherwise the columns are those of the vectorizer, and the codes equal
            ``hasher.transform(vectorizer.transform(texts))`` to the bit.
        threads : int or None
        """
        check_positive("scatter", scatter, or_zero=True)
        refuse_callable(vectorizer, "a model")
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
            "learned_on": len(hasher.codes_) if learned_on is None else learned_on,
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
            "learned_on": 0,
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
        """Identifies the model: equal wherever the model was loaded from, different for any other model."""
        return base.fingerprint(json.dumps(self.settings, sort_keys=True).encode(), self.terms.checksums())

    @property
    def weighting(self) -> Weighting:
        """How terms are weighted."""
        return self._weighting

    @property
    def learned(self) -> bool:
        """Whether hash functions have been learned; without them all codes are zero."""
        return bool(self.settings["learned_on"])

    def encode(self, inputs: Iterable[str]) -> Encoded:
        """Return the unit rows and the margins of texts; a text without a known term has a row without a value."""
        if isinstance(inputs, str | bytes):
            raise TypeError(f"texts must be an iterable of str, got one {type(inputs).__name__}. Put it into a list.")
        texts = [_checked_text(position, text) for position, text in enumerate(inputs)]
        parts = [self.encode_counts(self._counted(batch)) for batch in batched(texts, length=len)]
        return Encoded.stacked(parts or [self.encode_counts(self._counted([]))])

    def _counted(self, texts: list[str]) -> Rows:
        return Rows.sparse(*self._counter.count_parts(texts), self.n_columns)

    def encode_counts(self, counts: Rows) -> Encoded:
        """Return the unit rows and the margins of term counts."""
        return self.encode_terms(counts, *self.terms.look_up(counts.columns))

    def encode_terms(self, counts: Rows, terms: TermRows, position: npt.NDArray[np.integer]) -> Encoded:
        """Return the same as `encode_counts`, for terms that were looked up before."""
        n_documents, mean_length = self.settings["n_documents"], self.settings["mean_length"]
        statistics = CorpusStatistics(n_documents, terms.frequency, mean_length)
        values = term_weights(counts.indptr, position, counts.values, self._weighting, statistics)
        rows = Rows.sparse(counts.indptr, counts.columns, values, counts.n_columns)
        return Encoded(rows, self._margins(rows, terms, position))

    def margins(self, rows: Rows) -> Margins:
        """Return the margins of unit rows."""
        return self._margins(rows, *self.terms.look_up(rows.columns))

    def _margins(self, rows: Rows, terms: TermRows, position: npt.NDArray[np.integer]) -> Margins:
        weighted = Rows.sparse(rows.indptr, terms.row[position], rows.values, len(terms.weights))
        margins = _core.project(weighted.view(), terms.weights, threads=self._threads)
        return self._scatter.added(margins[:, : self.n_bits] + self._intercept, rows, self._threads)

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

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_file(self)

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
        "min_df": vectorizer.min_df,
        "max_df": vectorizer.max_df,
        "max_features": vectorizer.max_features,
        "scatter": scatter,
    }


def _checked_text(position: int, text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text {position} is a {type(text).__name__}, not a str. Convert it, or leave it out.")
    return text
