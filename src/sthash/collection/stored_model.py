"""The model of a collection in its file: written once, and read as far as it is needed.

Only what a query needs is read: its terms are looked up in the file one by one. SciPy and scikit-learn, which take
longer to import than a search takes, are not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.checks import check_choice, check_positive, check_whole
from sthash.checksums import encode_text
from sthash.collection.schema import PRODUCT_FORMAT
from sthash.collection.store import CollectionError, Store
from sthash.collection.term_table import TermTable, next_column
from sthash.model import Model, TextModel, VectorModel
from sthash.model.linear import check_settings
from sthash.model.scatter import Scatter
from sthash.model.terms import Columns, Term, TermRows, padded
from sthash.model.vector_model import weights_shape
from sthash.text.analyzer import check_stemmer
from sthash.text.weighting import WEIGHTINGS

# A batch with more terms than this reads the whole vocabulary, once, instead of one term after the other.
MANY_TERMS = 2000
# Bytes of weights of terms that are kept, before they are forgotten.
CACHED_BYTES = 1 << 24
LARGEST = 1e30  # of the values of an intercept; larger ones are not learned


def load_model(store: Store, threads: int | None = None) -> Model:
    """Return the model of a file."""
    settings = store.setting("model")
    try:
        kind = settings["kind"]
        check_settings(settings, kind)
        n_bits = check_whole("n_bits", settings["n_bits"])
        check_whole("learnt_on", settings["learnt_on"], least=0)
        check_whole("tried_on", settings.get("tried_on", 0), least=0)
        if not (np.abs(np.array(settings["intercept"], dtype=np.float64)) < LARGEST).all():
            raise ValueError("its intercept is not finite")
        if kind == "text":
            return _text_model(store, settings, n_bits, threads)
        weights = np.frombuffer(store.blob("weights"), dtype=np.float32).reshape(weights_shape(settings))
        if not np.isfinite(weights).all():
            raise ValueError("a weight is not finite")
        return VectorModel(settings, weights, threads=threads)
    except CollectionError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise store.damaged(f"its model cannot be read ({error})") from error


def text_model(store: Store, settings: dict[str, Any], threads: int | None = None) -> TextModel:
    """Return a model of texts with these settings, which come from the file."""
    try:
        check_settings(settings, "text")
        return _text_model(store, settings, check_whole("n_bits", settings["n_bits"]), threads)
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
    scatter = Scatter(**settings.get("random_weights", {}))
    check_positive("weight", scatter.weight, or_zero=True)
    check_whole("seed", scatter.seed, least=0)
    return TextModel(settings, StoredTerms(store, n_terms, n_bits), threads=threads)


def write_model(store: Store, model: Model) -> None:
    """Write a model in place of the one that is there."""
    if isinstance(model, TextModel):
        store.execute("DELETE FROM terms")
        for terms in batched(iter(model.terms)):
            store.put_many("terms", terms)
    elif isinstance(model, VectorModel):
        store.put("settings", "weights", np.ascontiguousarray(model.weights).tobytes())
        if model.metric == "ip":
            store.set_format(PRODUCT_FORMAT)
    else:
        raise TypeError(f"model is a {type(model).__name__}. Pass a TextModel or a VectorModel.")
    store.put_model(model.settings)


class StoredTerms:
    """The terms of a model in its file: the first columns. They are looked up one by one, or read whole if many."""

    def __init__(self, store: Store, size: int, n_bits: int) -> None:
        self._store = store
        self._size = size
        self._n_bits = n_bits
        self._whole: TermRows | None = None
        self._cached = CachedRows(n_bits)

    def __len__(self) -> int:
        return self._size

    def get(self, term: str, default: int = -1, /) -> int:
        """Return the column of a term."""
        wanted = encode_text(term)
        for row in self._store.rows("terms", "WHERE term = ?", (wanted,)):
            if row[1] != wanted:  # SQLite trusts its index of the terms, which has no checksums
                raise self._store.damaged("the index of the terms does not fit them")
            return int(row[0]) if 0 <= row[0] < self._size else default
        return default

    def look_up(self, columns: Columns) -> tuple[TermRows, npt.NDArray[np.integer]]:
        """Return the rows of the terms in ``columns``, and for each entry its position in them."""
        if self._whole is None and len(columns) <= MANY_TERMS:
            cached = self._cached
            if cached.nbytes > CACHED_BYTES:
                cached.clear()
            if missing := [column for column in dict.fromkeys(columns.tolist()) if column not in cached.place_of]:
                cached.add(missing, self._read(missing))
            return cached.at(columns)
        used, position = np.unique(columns, return_inverse=True)
        if self._whole is None and len(used) > MANY_TERMS:
            self._whole = self._joined(iter(self), self._size)
        if self._whole is not None:
            whole = self._whole
            return TermRows(whole.frequency[used], whole.row[used], whole.weights), position
        return self._read(used.tolist()), position

    def _read(self, columns: list[int]) -> TermRows:
        rows = (row for column in columns for row in self._store.rows("terms", "WHERE column = ?", (column,)))
        return self._joined(rows, len(columns))

    def names(self, columns: Sequence[int]) -> list[str]:
        """Return the terms of some columns."""
        return TermTable(self._store).names(columns)

    def __iter__(self) -> Iterator[Term]:
        return (Term(*row) for row in self._store.rows("terms", "WHERE column < ? ORDER BY column", (self._size,)))

    def checksums(self) -> Iterator[int]:
        """Iterate over the checksums of all terms in the order of their columns."""
        rows = self._store.execute("SELECT sum FROM terms WHERE column < ? ORDER BY column", (self._size,))
        return (checksum for (checksum,) in rows)

    def _joined(self, rows: Iterator[Any], count: int) -> TermRows:
        """Put rows of the table together; all terms without weights share the first row, which is zero."""
        frequency, row_of = list[int](), list[int]()
        weights = [bytes(4 * self._n_bits)]
        for _, _, documents, content in rows:
            frequency.append(documents)
            row_of.append(len(weights) if content else 0)
            if content:
                weights.append(content)
        if len(frequency) != count:
            raise self._store.damaged(f"it has {len(frequency)} of {count} terms")
        if any(len(content) != 4 * self._n_bits for content in weights):
            raise self._store.damaged("a term has weights of the wrong size")
        if frequency and not 0 < min(frequency) <= max(frequency) < 1 << 31:
            raise self._store.damaged("a term has a document frequency that cannot be")
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
