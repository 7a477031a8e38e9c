"""The open vocabulary of a collection: each word of its documents has a column and a current document frequency."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sthash.arrays import Columns
from sthash.checksums import decode_text, encode_text
from sthash.collection.file.store import Store

FREQUENCY_CHUNK = 256
MOST_TERMS = 1 << 30
LEAST_BYTES = 16  # that a word takes in a file
# Words that are looked up in one query.
TERMS_OF_QUERY = 500
# More names than this are read in one pass over the table.
MANY_NAMES = 2000
# Among which those that are spelled like another word are looked for.
MANY_WORDS = 300_000


class TermTable:
    """The words of a file and their columns; `sthash.text.counters.WordCounter` takes it for its columns.

    Parameters
    ----------
    store : Store
    grow : bool
        Whether `add` may append words. They are in the file after `flush`.
    """

    def __init__(self, store: Store, *, grow: bool = False) -> None:
        self._store = store
        self._size = count_terms(store)
        self._known: dict[str, int] | None = {} if grow else None
        self._new: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return self._size

    def get(self, term: str, default: int = -1, /) -> int:
        """Return the column of a word."""
        if self._known is not None and term in self._known:
            return self._known[term]
        return self._columns([term]).get(term, default)

    def find(self, terms: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the column of each word, and −1 for those that no document has had."""
        known = self._columns(list(dict.fromkeys(terms)))
        return np.fromiter((known.get(term, -1) for term in terms), dtype=np.int32, count=len(terms))

    def add(self, terms: Sequence[str], counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """Return the column of each word that is counted, and −1 for the others; those that are new are appended."""
        if self._known is None:
            raise TypeError("this table does not grow.")
        known = self._known
        wanted = dict.fromkeys(itertools.compress(terms, counted))
        known |= self._columns([term for term in wanted if term not in known])
        for term in wanted:
            if term not in known:
                known[term] = self._size
                self._new.append((self._size, encode_text(term)))
                self._size += 1
        columns = (known[term] if own else -1 for term, own in zip(terms, counted, strict=True))
        return np.fromiter(columns, dtype=np.int32, count=len(terms))

    def _columns(self, terms: Sequence[str]) -> dict[str, int]:
        found = find_columns(self._store, terms)
        if any(not 0 <= column < self._size for column in found.values()):
            raise self._store.damaged("a term has a column that is out of range")
        return found

    def flush(self) -> None:
        """Write the words that are new."""
        self._store.put_many("terms", self._new)
        self._new.clear()

    def names(self, columns: Sequence[int]) -> list[str]:
        """Return the words of some columns."""
        if len(columns) > MANY_NAMES:
            rows = self._store.rows("terms", "ORDER BY column")
        else:
            rows = self._store.rows_at("terms", columns)
        found = {row[0]: row[1] for row in rows}
        try:
            return [decode_text(found[column]) for column in columns]
        except (KeyError, UnicodeDecodeError) as error:
            raise self._store.damaged("a term is missing or cannot be read") from error

    def beginning_with(self, prefix: str, most: int) -> list[int]:
        """Return the columns of words with this beginning; of many, the most common ones."""
        start = encode_text(prefix)
        # No byte of a word is 0xff.
        rows = self._store.rows(
            "terms", "WHERE term >= ? AND term < ? ORDER BY column LIMIT ?", (start, start + b"\xff", most)
        )
        return [int(column) for column, name in rows if name.startswith(start) and 0 <= column < self._size]

    def first_names(self, most: int = MANY_WORDS) -> list[str]:
        """Return the words of the first columns, the most common ones, without a look at their checksums."""
        rows = self._store.execute("SELECT term FROM terms ORDER BY column LIMIT ?", (min(most, self._size),))
        try:
            return [term.decode(errors="replace") for (term,) in rows]
        except AttributeError as error:
            raise self._store.damaged("a term cannot be read") from error


def find_columns(store: Store, terms: Sequence[str]) -> dict[str, int]:
    """Return the columns of those words that some document has had."""
    found = {}
    for start in range(0, len(terms), TERMS_OF_QUERY):
        wanted = {encode_text(term): term for term in terms[start : start + TERMS_OF_QUERY]}
        marks = ", ".join("?" * len(wanted))
        for column, name in store.rows("terms", f"WHERE term IN ({marks})", tuple(wanted)):
            if (
                name not in wanted or wanted[name] in found
            ):  # SQLite trusts its index of the terms, which has no checksums
                raise store.damaged("the index of the terms does not fit them")
            found[wanted[name]] = int(column)
    return found


def count_terms(store: Store, *, exactly: bool = False) -> int:
    """Return the number of words, whose columns must have no gaps.

    They are counted only if asked for, or if there seem to be more than the file has space for: whoever forges a column
    must not get more memory than the file takes.
    """
    count = next_column(store)
    if exactly or count > store.n_bytes // LEAST_BYTES:
        counted, least = store.value("SELECT count(*) FROM terms"), store.value("SELECT min(column) FROM terms")
        if counted != count or least or count > MOST_TERMS:
            raise store.damaged("the columns of its terms have gaps")
    return count


def next_column(store: Store) -> int:
    """Return the column after the last word."""
    return int(store.value("SELECT coalesce(max(column), -1) FROM terms")) + 1


def append_terms(store: Store, names: Sequence[str]) -> None:
    """Append words. None of them may exist already."""
    start = next_column(store)
    store.put_many("terms", [(start + place, encode_text(name)) for place, name in enumerate(names)])


class Frequencies:
    """The current document frequencies of all words, read as they are needed; none is above ``n_documents``."""

    def __init__(self, store: Store, size: int, n_documents: int) -> None:
        self._store = store
        self._most = n_documents
        chunks = -(-size // FREQUENCY_CHUNK)
        self._values = np.zeros((chunks, FREQUENCY_CHUNK), dtype=np.int32)
        self._missing = np.ones(chunks, dtype=bool)
        self.size = size

    def follow(self, size: int, n_documents: int, columns: Columns, sign: int) -> None:
        """Bring what was read to another state of the file, in which documents with these columns came or went."""
        missing = -(-size // FREQUENCY_CHUNK) - len(self._missing)
        if missing > 0:
            # What is not read takes no memory, so there may be space for many more.
            missing += len(self._missing) // 8
            self._values = np.concatenate([self._values, np.zeros((missing, FREQUENCY_CHUNK), dtype=np.int32)])
            self._missing = np.concatenate([self._missing, np.ones(missing, dtype=bool)])
        self.size, self._most = size, n_documents
        chunks = columns // FREQUENCY_CHUNK
        columns = columns[~self._missing[chunks]]
        values = self._values.reshape(-1)
        np.add.at(values, columns, np.int32(sign))
        own = values[columns]
        if own.size and not 0 <= own.min() <= own.max() <= n_documents:
            raise self._store.damaged("a document frequency is out of range")

    def at(self, columns: Columns) -> npt.NDArray[np.int32]:
        """Return the frequencies of some columns."""
        # Not np.unique, which imports much more of NumPy than a search needs.
        few = len(columns) < len(self._missing)
        self._read(np.flatnonzero(np.bincount(columns // FREQUENCY_CHUNK)) if few else None)
        return self._values.reshape(-1)[columns]

    def all(self) -> npt.NDArray[np.int32]:
        """Return the frequencies of all columns."""
        self._read(None)
        return self._values.reshape(-1)[: self.size]

    def _read(self, chunks: npt.NDArray[np.int64] | None) -> None:
        if not self._missing.any():
            return
        if chunks is None:
            rows = self._store.rows("frequencies", "WHERE chunk < ?", (len(self._missing),))
        else:
            missing = chunks[self._missing[chunks]].tolist()
            rows = self._store.rows_at("frequencies", missing) if missing else iter(())
        for chunk, content in rows:
            if chunk < 0:
                raise self._store.damaged("a document frequency has a position that is out of range")
            self._values[chunk] = _checked_chunk(self._store, content)
        read = slice(None) if chunks is None else chunks
        own = self._values[read]
        if own.size and not 0 <= own.min() <= own.max() <= self._most:
            raise self._store.damaged("a document frequency is out of range")
        self._missing[read] = False


def change_frequencies(store: Store, columns: Columns, sign: int) -> None:
    """Add ``sign`` to the frequency of a column, as often as it is in ``columns``."""
    if len(columns) == 0:
        return
    if len(columns) > int(columns.max()) // 8:
        amounts = np.bincount(columns)
        used = np.flatnonzero(amounts)
        amounts = amounts[used]
    else:
        used, amounts = np.unique(columns, return_counts=True)
    cuts = np.flatnonzero(np.diff(used // FREQUENCY_CHUNK)) + 1
    for places, own in zip(np.split(used, cuts), np.split(sign * amounts, cuts), strict=True):
        chunk = int(places[0]) // FREQUENCY_CHUNK
        row = next(store.rows("frequencies", "WHERE chunk = ?", (chunk,)), None)
        content = bytes(4 * FREQUENCY_CHUNK) if row is None else row[1]
        values = _checked_chunk(store, content).copy()
        values[places % FREQUENCY_CHUNK] += own.astype(np.int32)
        if values.min() < 0:
            raise store.damaged("a document frequency is too small")
        store.put("frequencies", chunk, values.tobytes())


def _checked_chunk(store: Store, content: bytes) -> npt.NDArray[np.int32]:
    if len(content) != 4 * FREQUENCY_CHUNK:
        raise store.damaged("document frequencies have the wrong size")
    return np.frombuffer(content, dtype=np.int32)
