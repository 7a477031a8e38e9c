"""The hash functions of a collection in its file: written once, and read as far as they are needed.

Only what a query needs is read: its terms are looked up in the file one by one. SciPy and scikit-learn, which take
longer to import than a search takes, are not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Columns
from sthash.batches import batched
from sthash.checks import check_choice, check_positive, check_whole
from sthash.collection.file.connection import CollectionError
from sthash.collection.file.store import Store
from sthash.collection.indexes.terms import TermTable, find_columns, next_column
from sthash.model import Margins, Model, TextModel, VectorModel
from sthash.model.linear import check_settings
from sthash.model.scatter import Scatter
from sthash.model.terms import Term, TermRows, padded
from sthash.model.vector_model import weights_shape
from sthash.text.analyzer import check_stemmer
from sthash.text.weighting import WEIGHTINGS
from sthash.vectors.rows import Rows

# A batch with more terms than this, and than this part of a large model, reads the whole vocabulary, once, instead of
# one term after the other.
MANY_TERMS = 2000
WHOLE_SHARE = 16
# Bytes of weights of terms that are kept, before they are forgotten.
CACHED_BYTES = 1 << 24
BATCH = 10_000  # terms that are read in one transaction
LARGEST = 1e30  # of the values of an intercept; larger ones are not learned


SETTING = "codes"


def load_model(store: Store, threads: int | None = None) -> Model:
    """Return the model of a file."""
    settings = store.setting(SETTING)
    try:
        kind = settings["kind"]
        check_settings(settings, kind)
        n_bits = check_whole("n_bits", settings["n_bits"])
        check_whole("learned_on", settings["learned_on"], least=0)
        check_whole("tried_on", settings.get("tried_on", 0), least=0)
        if not isinstance(settings.get("refused"), str | None):
            raise TypeError("refused must be a str or null")
        if not (np.abs(np.array(settings["intercept"], dtype=np.float64)) < LARGEST).all():
            raise ValueError("its intercept is not finite")
        if kind == "text":
            return _text_model(store, settings, n_bits, threads)
        return VectorModel(settings, _dense_weights(store, *weights_shape(settings)), threads=threads)
    except CollectionError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise store.damaged(f"its model cannot be read ({error})") from error


def _text_model(store: Store, settings: dict[str, Any], n_bits: int, threads: int | None) -> TextModel:
    n_terms = check_whole("n_terms", settings["n_terms"], least=0)
    if n_terms > next_column(store):
        raise ValueError("it has more terms than the file")
    check_whole("n_documents", settings["n_documents"], least=0)
    check_positive("mean_length", settings["mean_length"])
    check_choice("weighting", settings["weighting"], WEIGHTINGS)
    check_stemmer(settings["stemmer"])
    scatter = Scatter(**settings["random_weights"])
    check_positive("weight", scatter.weight, or_zero=True)
    check_whole("seed", scatter.seed, least=0)
    return TextModel(settings, StoredTerms(store, n_terms, n_bits, _identity(settings)), threads=threads)


def _identity(settings: dict[str, Any]) -> list[Any]:
    """Return what the settings of other hash functions do not have."""
    names = ("generation", "n_terms", "n_bits", "n_documents", "mean_length", "intercept", "random_weights")
    return [settings.get(name) for name in names]


def _dense_weights(store: Store, n_rows: int, n_bits: int) -> npt.NDArray[np.float32]:
    rows = [(column, content) for column, _, content in store.rows("weights", "ORDER BY column")]
    if [column for column, _ in rows] != list(range(len(rows))) or len(rows) != n_rows:
        raise ValueError(f"it has weights of {len(rows)} of {n_rows} dimensions")
    weights = np.frombuffer(b"".join(content for _, content in rows), dtype=np.float32).reshape(n_rows, n_bits)
    if not np.isfinite(weights).all():
        raise ValueError("a weight is not finite")
    return weights


def write_model(store: Store, model: Model) -> None:
    """Write a model in place of the one that is there. The terms of a model of texts are written by `Words`."""
    store.execute("DELETE FROM weights")
    rows: Iterator[tuple[int, int, bytes]]
    if isinstance(model, TextModel):
        rows = ((term.column, term.frequency, term.weights) for term in model.terms)
    elif isinstance(model, VectorModel):
        weights = np.ascontiguousarray(model.weights)
        rows = ((column, 0, row.tobytes()) for column, row in enumerate(weights))
    else:
        raise TypeError(f"model is a {type(model).__name__}. Pass a TextModel or a VectorModel.")
    for batch in batched(rows):
        store.put_many("weights", batch)
    store.put_setting(SETTING, model.settings)


def document_margins(model: Model, raw: Rows) -> Margins:
    """Return the margins of raw rows of documents: of term counts, or of vectors."""
    if isinstance(model, TextModel):
        return model.encode_counts(raw.below(model.n_columns)).margins
    return model.margins(raw)


def query_margins(model: Model, raw: Rows) -> Margins:
    """Return the margins of raw rows of queries. With inner products they have other margins than documents."""
    return model.query_margins(raw) if isinstance(model, VectorModel) else document_margins(model, raw)


class StoredTerms:
    """The terms of a model in its file: the first columns. They are looked up one by one, or read whole if many.

    Outside of a snapshot, each method reads in a transaction of its own, as long as the file has the same model.
    """

    def __init__(self, store: Store, size: int, n_bits: int, identity: list[Any]) -> None:
        self._store = store
        self._size = size
        self._n_bits = n_bits
        self._identity = identity
        self._version, self._transaction = store.version(), store.transactions
        self._whole: TermRows | None = None
        self._cached = CachedRows(n_bits)

    def __len__(self) -> int:
        return self._size

    def _reading(self) -> AbstractContextManager[None]:
        """Read from the file, which must have the same model still."""
        if self._store.is_inside and self._transaction == self._store.transactions:
            return nullcontext()  # most often so, and for each word of a query
        return self._reading_again()

    @contextmanager
    def _reading_again(self) -> Iterator[None]:
        with self._store.reading():
            version = self._store.version()
            if version != self._version and (
                not self._store.has_setting(SETTING) or _identity(self._store.setting(SETTING)) != self._identity
            ):
                raise CollectionError(
                    f"{self._store.path} no longer has the hash functions of this model: it was learned again, or "
                    "replaced. Take the model from a new snapshot, or save it before the change."
                )
            self._version, self._transaction = version, self._store.transactions
            yield

    def get(self, term: str, default: int = -1, /) -> int:
        """Return the column of a term."""
        column = int(self.find([term])[0])
        return default if column < 0 else column

    def find(self, terms: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the column of each term, and −1 for those that the model does not have."""
        with self._reading():
            known = find_columns(self._store, list(dict.fromkeys(terms)))
        columns = np.fromiter((known.get(term, -1) for term in terms), dtype=np.int64, count=len(terms))
        columns[columns >= self._size] = -1  # words that came after learning have later columns
        return np.maximum(columns, -1).astype(np.int32)

    def look_up(self, columns: Columns) -> tuple[TermRows, npt.NDArray[np.integer]]:
        """Return the rows of the terms in ``columns``, and for each entry its position in them."""
        with self._reading():
            return self._look_up(columns)

    def _look_up(self, columns: Columns) -> tuple[TermRows, npt.NDArray[np.integer]]:
        if self._whole is None and len(columns) <= MANY_TERMS:
            cached = self._cached
            if cached.nbytes > CACHED_BYTES:
                cached.clear()
            if missing := [column for column in dict.fromkeys(columns.tolist()) if column not in cached.place_of]:
                cached.add(missing, self._read(missing))
            return cached.at(columns)
        used, position = np.unique(columns, return_inverse=True)
        if self._whole is None and len(used) > max(MANY_TERMS, self._size // WHOLE_SHARE):
            rows = self._store.rows("weights", "WHERE column < ? ORDER BY column", (self._size,))
            self._whole = self._joined(rows, self._size)
        if self._whole is not None:
            whole = self._whole
            return TermRows(whole.frequency[used], whole.row[used], whole.weights), position
        return self._read(used.tolist()), position

    def _read(self, columns: list[int]) -> TermRows:
        rows = {row[0]: row for row in self._store.rows_at("weights", columns)}
        return self._joined((rows[column] for column in columns if column in rows), len(columns))

    def names(self, columns: Sequence[int]) -> list[str]:
        """Return the terms of some columns."""
        with self._reading():
            return TermTable(self._store).names(columns)

    def __iter__(self) -> Iterator[Term]:
        for start in range(0, self._size, BATCH):  # no transaction stays open while the caller does something else
            yield from self._terms(start, min(start + BATCH, self._size))

    def _terms(self, start: int, end: int) -> list[Term]:
        own = "WHERE column >= ? AND column < ? ORDER BY column"
        with self._reading():
            names = list(self._store.rows("terms", own, (start, end)))
            weights = list(self._store.rows("weights", own, (start, end)))
        if [row[0] for row in names] != [row[0] for row in weights]:
            raise self._store.damaged("terms and weights are not of the same columns")
        return [
            Term(column, name, frequency, content)
            for (column, name), (_, frequency, content) in zip(names, weights, strict=True)
        ]

    def checksums(self) -> Iterator[int]:
        """Iterate over the checksums of all terms in the order of their columns."""
        return (term.checksum() for term in self)

    def _joined(self, rows: Iterator[Any], count: int) -> TermRows:
        """Put rows of the table together; all terms without weights share the first row, which is zero."""
        frequency, row_of = list[int](), list[int]()
        weights = [bytes(4 * self._n_bits)]
        for _, documents, content in rows:
            frequency.append(documents)
            row_of.append(len(weights) if content else 0)
            if content:
                weights.append(content)
        if len(frequency) != count:
            raise self._store.damaged(f"it has {len(frequency)} of {count} terms")
        if any(len(content) != 4 * self._n_bits for content in weights):
            raise self._store.damaged("a term has weights of the wrong size")
        if frequency and not 0 < min(frequency) <= max(frequency) < 1 << 31:
            raise self._store.damaged("a term has a document frequency that is out of range")
        matrix = np.frombuffer(b"".join(weights), dtype=np.float32).reshape(len(weights), self._n_bits)
        if not np.isfinite(matrix).all():
            raise self._store.damaged("a weight of a term is not finite")
        return TermRows(np.array(frequency, np.int64), np.array(row_of, np.int32), padded(matrix))


class CachedRows:
    """Terms that were read, kept for the next queries.

    Attributes
    ----------
    place_of : dict of int to int
        For each column that is there, its place.
    """

    def __init__(self, n_bits: int) -> None:
        self._width = padded(np.zeros((1, n_bits), np.float32)).shape[1]
        self.place_of: dict[int, int] = {}
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.place_of.clear()
        self._frequency = np.zeros(64, np.int64)
        self._row = np.zeros(64, np.int32)
        self._weights = np.zeros((64, self._width), np.float32)
        self._used = 1  # rows of weights; the first one is zero

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self._weights.nbytes

    def add(self, columns: list[int], rows: TermRows) -> None:
        """Keep the rows of some columns, which are not there yet."""
        start, end = len(self.place_of), len(self.place_of) + len(columns)
        first, last = self._used, self._used + len(rows.weights) - 1
        if end > len(self._row):
            more = 2 * end - len(self._row)
            self._frequency, self._row = np.pad(self._frequency, (0, more)), np.pad(self._row, (0, more))
        if last > len(self._weights):
            self._weights = np.pad(self._weights, ((0, 2 * last - len(self._weights)), (0, 0)))
        self._frequency[start:end] = rows.frequency
        self._row[start:end] = np.where(rows.row > 0, rows.row + (first - 1), 0)
        self._weights[first:last] = rows.weights[1:]
        self._used = last
        self.place_of.update(zip(columns, range(start, end), strict=True))

    def at(self, columns: Columns) -> tuple[TermRows, npt.NDArray[np.integer]]:
        """Return the rows of some columns, one for each entry, and their positions."""
        places = np.fromiter(map(self.place_of.__getitem__, columns.tolist()), dtype=np.int64, count=len(columns))
        return TermRows(self._frequency[places], self._row[places], self._weights), np.arange(len(columns))
