"""From what a user brings to rows and codes, by the model in the file.

Only what a query needs is read: its terms are looked up in the file one by one. scikit-learn and SciPy, which take
longer to import than a search takes, are not needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import resolve_threads
from sthash.codes import Codes, pack
from sthash.collection.store import Store, decode, encode
from sthash.text.analyzer import WordAnalyzer
from sthash.text.counting import WordCounter
from sthash.text.weighting import CorpusStatistics, Weighting, term_weights

# A batch with more terms than this reads the whole vocabulary, once, instead of one term after the other.
MANY_TERMS = 2000
Margins = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Encoded:
    """Unit rows in CSR parts, and the margins of their bits."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    margins: npt.NDArray[np.float32]

    @cached_property
    def codes(self) -> Codes:
        """Packed codes."""
        return pack(self.margins > 0)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def part(self, first: int, last: int) -> Encoded:
        """Rows from ``first`` to before ``last``."""
        bounds = self.indptr[first : last + 1]
        own = slice(bounds[0], bounds[-1])
        return Encoded(bounds - bounds[0], self.indices[own], self.values[own], self.margins[first:last])


@dataclass(frozen=True)
class Scatter:
    """Random hyperplanes that are added to the learnt ones: each term has the weight ± ``weight`` for each bit.

    The signs come from a hash of column and bit, so that they take no room. The learnt weights tell topics apart, but
    know only the terms of the documents they were learnt from; the random ones tell any two terms apart.
    """

    weight: float = 0.0
    seed: int = 0

    def added(
        self,
        margins: npt.NDArray[np.float32],
        indptr: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int32],
        values: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.float32]:
        """Margins of rows with those of the random hyperplanes."""
        if self.weight == 0:
            return margins
        words = -(-margins.shape[1] // 64)
        rows = _core.CsrView(indptr, columns, values)
        sums = _core.scatter(rows, words=words, seed=self.seed, threads=resolve_threads(None))
        scattered: npt.NDArray[np.float32] = margins + np.float32(self.weight) * sums[:, : margins.shape[1]]
        return scattered


class Encoder(Protocol):
    """Makes rows and the margins of their bits by the model of a file."""

    dense: bool
    n_bits: int
    n_columns: int

    def encode(self, inputs: Any) -> Encoded:
        """Give the rows and the margins of texts, or of vectors."""

    def margins_of(self, rows: list[bytes]) -> Margins:
        """Give, for stored rows, the real numbers whose signs are the bits of their codes."""


def stored_row(encoded: Encoded, row: int, *, dense: bool) -> bytes:
    """Bytes of a row as the file keeps it: columns, unless it is dense, then values."""
    part = slice(encoded.indptr[row], encoded.indptr[row + 1])
    values = encoded.values[part].tobytes()
    return values if dense else encoded.indices[part].tobytes() + values


def load_encoder(store: Store) -> Encoder:
    """Give the encoder that the file's model asks for."""
    model = store.setting("model")
    try:
        return TextEncoder(store, model) if model["kind"] == "text" else VectorEncoder(store, model)
    except (KeyError, TypeError, ValueError) as error:
        raise store.damaged(f"its model cannot be read ({error})") from error


class TextEncoder:
    """Term counts, weighted and scaled to unit length; one hash function a bit over them."""

    dense = False

    def __init__(self, store: Store, model: dict[str, Any]) -> None:
        self.n_bits: int = model["n_bits"]
        self.n_columns: int = model["n_terms"]
        self._store = store
        self._weighting: Weighting = model["weighting"]
        self._n_documents: int = model["n_documents"]
        self._mean_length: float = model["mean_length"]
        self._intercept = np.array(model["intercept"], dtype=np.float32)
        self._scatter = Scatter(**model.get("random_weights", {}))  # files of format 1 have none
        self._vocabulary = _StoredTerms(store, self.n_columns)
        analyzer = WordAnalyzer(frozenset(model["stop_words"]), model["stemmer"])
        self._counter = WordCounter(analyzer, self._vocabulary, grow=False, threads=resolve_threads(None))
        self._whole: _Vocabulary | None = None

    def encode(self, inputs: list[str]) -> Encoded:
        """Give the rows and the margins of texts."""
        indptr, indices, counts = self._counter.count_parts(inputs)
        used, local = np.unique(indices, return_inverse=True)
        terms = self._terms(used)
        statistics = CorpusStatistics(self._n_documents, terms.frequency, self._mean_length)
        values = term_weights(indptr, local, counts, self._weighting, statistics)
        return Encoded(indptr, indices, values, self._margins(indptr, indices, values, terms, local))

    def margins_of(self, rows: list[bytes]) -> Margins:
        """Give the margins of stored rows."""
        sizes = np.array([len(row) // 8 for row in rows], dtype=np.int64)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        indices = np.frombuffer(b"".join(row[: len(row) // 2] for row in rows), dtype=np.int32)
        values = np.frombuffer(b"".join(row[len(row) // 2 :] for row in rows), dtype=np.float32)
        used, local = np.unique(indices, return_inverse=True)
        terms = self._terms(used)
        return self._margins(indptr, indices, values, terms, local)

    def names(self, columns: Sequence[int]) -> list[str]:
        """Give the terms of some columns."""
        return [
            decode(row[1]) for column in columns for row in self._store.rows("terms", "WHERE column = ?", (column,))
        ]

    def _margins(self, indptr: Any, columns: Any, values: Any, terms: _Vocabulary, local: Any) -> Margins:
        rows = _core.CsrView(indptr, terms.row[local], values)
        margins = _core.project(rows, terms.weights, threads=resolve_threads(None))
        return self._scatter.added(margins[:, : self.n_bits] + self._intercept, indptr, columns, values)

    def _terms(self, used: npt.NDArray[np.int32]) -> _Vocabulary:
        if self._whole is None and len(used) > MANY_TERMS:
            self._whole = self._vocabulary_of(self._store.rows("terms", "ORDER BY column"), self.n_columns)
        if self._whole is not None:
            return _Vocabulary(self._whole.frequency[used], self._whole.row[used], self._whole.weights)
        rows = (row for column in used.tolist() for row in self._store.rows("terms", "WHERE column = ?", (column,)))
        return self._vocabulary_of(rows, len(used))

    def _vocabulary_of(self, rows: Any, count: int) -> _Vocabulary:
        """Put rows of the table together; all terms without weights share the first, zero row."""
        width = self.n_bits + -self.n_bits % _core.lanes_in_group
        frequency, row_of = list[int](), list[int]()
        weights = [bytes(4 * self.n_bits)]
        for _, _, documents, content in rows:
            frequency.append(documents)
            row_of.append(len(weights) if content else 0)
            if content:
                weights.append(content)
        if len(frequency) != count:
            raise self._store.damaged(f"it has {len(frequency)} of {count} terms")
        matrix = np.zeros((len(weights), width), dtype=np.float32)
        matrix[:, : self.n_bits] = np.frombuffer(b"".join(weights), dtype=np.float32).reshape(len(weights), -1)
        return _Vocabulary(np.array(frequency, np.int64), np.array(row_of, np.int32), matrix)


@dataclass(frozen=True)
class _Vocabulary:
    """Some terms: how many documents have them, and their rows in the weights."""

    frequency: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]


class _StoredTerms(dict[str, int]):
    """The vocabulary as the word counter wants it, looked up in the file term by term."""

    def __init__(self, store: Store, size: int) -> None:
        self._store = store
        self._size = size

    def __len__(self) -> int:
        return self._size

    def get(self, term: str, default: Any = None) -> Any:
        wanted = encode(term)
        for row in self._store.rows("terms", "WHERE term = ?", (wanted,)):
            if row[1] != wanted:  # SQLite trusts its index of the terms, which has no sums
                raise self._store.damaged("the index of the terms does not fit them")
            return row[0]
        return default


class VectorEncoder:
    """Dense vectors that the user brings, scaled to unit length; one hash function a bit over them."""

    dense = True

    def __init__(self, store: Store, model: dict[str, Any]) -> None:
        self.n_bits: int = model["n_bits"]
        self.n_columns: int = model["n_columns"]
        self._intercept = np.array(model["intercept"], dtype=np.float32)
        weights = np.frombuffer(store.blob("weights"), dtype=np.float32).reshape(self.n_columns, self.n_bits)
        self._weights = np.pad(weights, ((0, 0), (0, -self.n_bits % _core.lanes_in_group)))

    def encode(self, inputs: npt.ArrayLike) -> Encoded:
        """Give the rows and the margins of vectors."""
        rows = unit_vectors(inputs, self.n_columns)
        n, m = rows.shape
        indptr = np.arange(n + 1, dtype=np.int64) * m
        return Encoded(indptr, np.tile(np.arange(m, dtype=np.int32), n), rows.reshape(-1), self._margins(rows))

    def margins_of(self, rows: list[bytes]) -> Margins:
        """Give the margins of stored rows."""
        return self._margins(np.frombuffer(b"".join(rows), dtype=np.float32).reshape(-1, self.n_columns))

    def _margins(self, rows: npt.NDArray[np.float32]) -> Margins:
        n, m = rows.shape
        indptr, columns = np.arange(n + 1, dtype=np.int64) * m, np.arange(m, dtype=np.int32)
        view = _core.CsrView(indptr, columns, rows.reshape(-1), dense=True)
        margins = _core.project(view, self._weights, threads=resolve_threads(None))
        learnt: Margins = margins[:, : self.n_bits] + self._intercept
        return learnt


def unit_vectors(vectors: npt.ArrayLike, width: int | None = None) -> npt.NDArray[np.float32]:
    """Check dense vectors, one a row, and scale them to unit length; zero stays zero."""
    rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
    if rows.ndim != 2 or (width is not None and rows.shape[1] != width):
        raise ValueError(f"vectors must have {width or 'equally many'} values each, got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("vectors must be finite, got NaN or infinity; check how they were made.")
    norms = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1, keepdims=True))
    norms[norms == 0] = 1
    return np.ascontiguousarray(rows / norms, dtype=np.float32)


def batched(documents: Any, size: int = 4096, characters: int = 1 << 24) -> Any:
    """Cut a stream of (document, vector) pairs into lists of bounded size."""
    pairs = iter(documents)
    while True:
        batch: list[Any] = []
        total = 0
        for pair in itertools.islice(pairs, size):
            batch.append(pair)
            total += len(pair[0].text)
            if total >= characters:
                break
        if not batch:
            return
        yield batch
