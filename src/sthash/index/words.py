"""The index of words: exact search by BM25.

For each term there is a list of the documents that have it. A list stays packed, as in a file, until a query needs it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Set
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.arrays import Columns, Ids
from sthash.checks import check_whole, resolve_threads
from sthash.index.arguments import GREATEST_ID, check_id, check_ids, check_k
from sthash.index.bm25 import Bm25, inverse_frequencies
from sthash.index.id_table import IdTable
from sthash.index.shared_lock import SharedLock
from sthash.pickling import reduced_to_file
from sthash.tables import texts_of
from sthash.text.counters import GrowingVocabulary, WordCounter, text_batches
from sthash.text.options import TextOptions, resolve_text_options
from sthash.vectors.lengths import row_sums

if TYPE_CHECKING:
    from sthash.text import TextVectorizer

Scores = npt.NDArray[np.float32]

BM25 = Bm25()
MOST_WORDS = int(np.iinfo(np.int32).max)
MOST_NUMBER = 1 << 62  # of a document in a file


class CountedTexts(NamedTuple):
    """Term counts of texts: the parts of a CSR matrix."""

    indptr: npt.NDArray[np.int64]
    columns: Columns
    counts: npt.NDArray[np.int32]

    def lengths(self) -> npt.NDArray[np.int32]:
        """Return the number of words of each text, repetitions included."""
        sums: npt.NDArray[np.int64] = row_sums(self.indptr, self.counts.astype(np.int64))
        return np.minimum(sums, MOST_WORDS).astype(np.int32)


class QueryTerms(NamedTuple):
    """Queries as counts of their terms: number i is that of the term in ``columns[i]``."""

    columns: Columns
    indptr: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]


@dataclass(frozen=True)
class WordStats:
    """What an index of words holds.

    Attributes
    ----------
    size, dead
        Documents held; removed documents that still take memory, until they are a quarter of all.
    nbytes
        Memory that the index takes.
    words
        Words of all documents, repetitions included and stop words left out.
    terms
        Distinct terms. Those of removed documents count until the index is saved and opened again.
    """

    size: int
    dead: int
    nbytes: int
    words: int
    terms: int


class WordIndex:
    """Exact search by words: documents that share words with a query, ranked by BM25.

    Frequencies and lengths are always those of the documents that are in the index: after any changes it answers as if
    it had just been built. Any number of threads may search while one changes the index: a search sees all of a change
    or nothing of it. Two threads may change it at once; their changes follow each other.

    Parameters
    ----------
    text_options : TextOptions or TextVectorizer, optional
        How texts and queries become words: language, stop words, stems. Of a vectorizer only these are used.

    Attributes
    ----------
    text_options : TextOptions

    Examples
    --------
    >>> from sthash import WordIndex
    >>> index = WordIndex.build(["The cat sat.", "Dogs and cats", "A dog barks"], ids=[10, 20, 30])
    >>> ids, scores = index.search("barking dogs", k=2)
    >>> ids.tolist(), scores.round(2)
    ([[30, 20]], array([[1.45, 0.47]], dtype=float32))
    >>> index.add(["Cats chase cats"])
    array([31])
    >>> index.remove([20])
    >>> index.search(["cat", "mouse"], k=2)[0].tolist()
    [[31, 10], [-1, -1]]
    """

    def __init__(self, text_options: TextOptions | TextVectorizer | None = None) -> None:
        self.text_options = resolve_text_options(text_options)
        self._analyzer = self.text_options.analyzer()
        self._terms = GrowingVocabulary()
        self._lists = _core.PostingLists(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))
        self._table = IdTable()
        self._changing = threading.Lock()  # held while a change is prepared
        self._lock = SharedLock()  # of the lists and the table, which belong together

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        ids: npt.ArrayLike | None = None,
        *,
        text_options: TextOptions | TextVectorizer | None = None,
        threads: int | None = None,
    ) -> Self:
        """Build the index of texts.

        Parameters
        ----------
        texts : iterable of str
            Including a generator; a pandas or polars Series; or a DataFrame with a column ``text``.
        ids : whole numbers, optional
            Default: the positions of the texts.
        text_options : TextOptions or TextVectorizer, optional
            As in the class.
        threads : int, optional
            Default: one per available core.
        """
        index = cls(text_options)
        index.add(texts, ids, threads=threads)
        return index

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_file(self)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        number = check_id(key)
        return number is not None and bool(self._table.positions(np.array([number], dtype=np.int64))[0] >= 0)

    def __repr__(self) -> str:
        return f"WordIndex(size={len(self)}, language={self.text_options.language!r})"

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""
        return self._table.ascending.copy()

    @property
    def stats(self) -> WordStats:
        """What the index holds."""
        with self._lock.reading():
            lists, table = self._lists, self._table
            return WordStats(
                size=len(table),
                dead=table.n_positions - len(table),
                nbytes=lists.nbytes + table.nbytes + self._terms.nbytes,
                words=lists.n_words,
                terms=len(self._terms),
            )

    def add(self, texts: Iterable[str], ids: npt.ArrayLike | None = None, *, threads: int | None = None) -> Ids:
        """Add texts, and return their ids. If something is wrong with one of them, nothing changes.

        Parameters
        ----------
        texts : iterable of str
            As in `build`.
        ids : whole numbers, optional
            New to the index, none negative, in any order. By default they continue from the greatest id ever given.
        threads : int, optional
            Default: one per available core.
        """
        given = None if ids is None else check_ids(ids, of="texts")
        if given is not None:
            self._table.new(given, len(given))  # before the vocabulary grows
        rows = self._counted(texts, resolve_threads(threads))
        count = len(rows.indptr) - 1
        if given is not None and len(given) != count:
            raise ValueError(
                f"ids must be as many as the texts, got {len(given)} for {count} texts. Give one for each."
            )
        with self._changing:
            new = self._table.new(given, count)
            table = self._table.appended(new)
            lists, lengths = self._lists, rows.lengths()
            numbers = np.arange(count, dtype=np.int64) + lists.next_id
            with self._lock.writing():
                # The lists tell whether it has happened, even if Ctrl-C comes right after it.
                try:
                    lists.add(*rows, numbers, lengths)
                finally:
                    if lists.n_documents == table.n_positions:
                        self._table = table
        return new.copy()

    def remove(self, ids: npt.ArrayLike | Set[int]) -> None:
        """Remove documents by their ids; if one is not there, KeyError names the first such id and nothing changes."""
        wanted = check_ids(ids)
        with self._changing:
            positions = self._table.held(wanted)
            table, lists = self._table.without(positions), self._lists
            with self._lock.writing():
                try:
                    lists.remove(positions.astype(np.int32))
                finally:
                    if lists.live == len(table):
                        self._table = table
                if 4 * len(table) < 3 * table.n_positions:
                    table = table.compacted()
                    try:
                        lists.compact()
                    finally:
                        if lists.n_documents == table.n_positions:
                            self._table = table

    def search(
        self,
        queries: str | Iterable[str],
        k: int = 10,
        *,
        allowed: npt.ArrayLike | Set[int] | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Scores]:
        """Find the best documents that share a word with each query.

        Parameters
        ----------
        queries : str or iterable of str
        k : int, default=10
        allowed : whole numbers or boolean mask, optional
            Only documents with these ids, or those that a mask in the order of `ids` selects. Ids that are not in the
            index are ignored.
        threads : int, optional
            Default: one per available core.

        Returns
        -------
        ids, scores : arrays of shape (queries, k)
            Best first, equal ones by id; -1 and -infinity where fewer were found.

        Examples
        --------
        >>> from sthash import WordIndex
        >>> index = WordIndex.build(["red apples", "green apples", "red wine"])
        >>> index.search("apple", k=3)[0].tolist()
        [[0, 1, -1]]
        >>> index.search(["apple", "red"], k=1, allowed=[1, 2])[0].tolist()
        [[1], [2]]
        """
        texts = _check_queries(queries)
        k = check_k(k)
        workers = resolve_threads(threads)
        with self._lock.reading():
            lists, table, terms = self._lists, self._table, self._analyzed(texts, workers)
            for column in terms.columns.tolist():
                lists.put(column, [])
            weights = inverse_frequencies(lists.document_frequencies(terms.columns), len(table))
            places, scores = lists.search(
                terms.indptr,
                terms.columns[terms.numbers],
                weights[terms.numbers] * terms.counts.astype(np.float32),
                k=k,
                k1=BM25.k1,
                b=BM25.b,
                mean_length=lists.n_words / max(len(table), 1) or 1.0,
                allowed=None if allowed is None else table.mask(allowed),
                threads=workers,
                ranks=table.ranks,
            )
        scores[places < 0] = -np.inf
        return table.found(places), scores

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to one file. After a crash the path holds the old file or the new one."""
        with self._lock.reading():
            lists, table = self._lists, self._table
            columns, content, offsets = lists.pack()
            arrays: dict[str, npt.NDArray[Any]] = {
                "ids": table.by_position,
                "numbers": lists.ids(),
                "lengths": lists.lengths(),
                "content": content,
                "offsets": offsets,
            }
        arrays["terms"] = np.frombuffer(json.dumps(self._terms.at(columns)).encode(), dtype=np.uint8)
        analyzer = self._analyzer
        options = {
            "language": self.text_options.language,
            "fold_accents": analyzer.fold_accents,
            "stop_words": sorted(analyzer.stop_words),
            "stemmer": analyzer.stemmer,
        }
        model_file.write(path, type(self).__name__, {"options": options, "last_id": table.last}, arrays)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Read a file that `save` wrote. It is safe to open untrusted files. Its options list the stop words.

        Raises
        ------
        ModelFileError
            If the file is not an index of words, is damaged, or was written by a newer version. It is a ValueError.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sthash import WordIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     WordIndex.build(["a cat", "a dog"]).save(pathlib.Path(folder, "words.index"))
        ...     again = WordIndex.open(pathlib.Path(folder, "words.index"))
        >>> again
        WordIndex(size=2, language='english')
        """
        return model_file.load_as(cls, path)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        index = cls(TextOptions(**config["options"]))
        terms = json.loads(arrays["terms"].tobytes())
        if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
            raise ValueError("its terms are not strings")
        columns = index._terms.add(terms, np.ones(len(terms), dtype=bool))
        if len(index._terms) != len(terms):
            raise ValueError("its terms are not distinct")
        size = len(arrays["ids"])
        for name, dtype, length in (
            ("ids", np.int64, size),
            ("numbers", np.int64, size),
            ("lengths", np.int32, size),
            ("content", np.uint8, None),
            ("offsets", np.int64, len(terms) + 1),
        ):
            model_file.check_array(arrays, name, dtype, (length,))
        if arrays["offsets"][0] != 0 or arrays["offsets"][-1] != len(arrays["content"]):
            raise ValueError("its lists do not fill their space")
        if size and arrays["numbers"][-1] >= MOST_NUMBER:
            raise ValueError("its documents are numbered too high")
        index._lists = _core.PostingLists(arrays["numbers"], arrays["lengths"])
        index._lists.load(columns, arrays["content"], arrays["offsets"])
        table = IdTable()
        table = table.appended(table.new(check_ids(arrays["ids"]), size))
        table.last = check_whole("last_id", config["last_id"], table.last, most=GREATEST_ID)
        index._table = table
        return index

    def _counted(self, texts: Iterable[str], threads: int) -> CountedTexts:
        if not isinstance(texts, Iterable):
            raise TypeError(f"texts must be an iterable of str, got a {type(texts).__name__}. Put them into a list.")
        counter = WordCounter(self._analyzer, self._terms, grow=True, threads=threads)
        parts = [CountedTexts(*counter.count_parts(batch)) for batch in text_batches(texts_of(texts))]
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part.columns) for part in parts)])
        bounds = [part.indptr[1:] + start for part, start in zip(parts, starts, strict=False)]
        return CountedTexts(
            np.concatenate([np.zeros(1, dtype=np.int64), *bounds]),
            np.concatenate([np.empty(0, dtype=np.int32), *(part.columns for part in parts)]),
            np.concatenate([np.empty(0, dtype=np.int32), *(part.counts for part in parts)]),
        )

    def _analyzed(self, queries: list[str], threads: int) -> QueryTerms:
        """Return the terms of queries that the vocabulary has, in the order of the alphabet.

        Scores are sums in the order of the terms. This one depends neither on the order in which documents came nor on
        the other queries of a batch.
        """
        table = _core.WordTable()
        starts, words = table.scan(queries, threads=threads)
        stems, counted = self._analyzer.terms(table.words_from(0))
        distinct = sorted({stem for stem, is_counted in zip(stems, counted.tolist(), strict=True) if is_counted})
        columns = self._terms.find(distinct)
        known = np.flatnonzero(columns >= 0)
        number_of = {distinct[place]: number for number, place in enumerate(known.tolist())}
        numbers = np.array([number_of.get(stem, -1) for stem in stems], dtype=np.int32)
        term_of = np.where(counted, numbers, np.int32(-1))
        counts = _core.count_terms(starts, words, term_of=term_of, n_terms=len(known), threads=threads)
        return QueryTerms(columns[known], *counts)


def _check_queries(queries: str | Iterable[str]) -> list[str]:
    if isinstance(queries, str):
        return [queries]
    if isinstance(queries, bytes) or not isinstance(queries, Iterable):
        raise TypeError(f"queries must be a str or an iterable of str, got a {type(queries).__name__}. Use str.")
    texts = list(texts_of(queries))
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            remedy = "Decode it first" if isinstance(text, bytes) else "Convert it to str or leave it out"
            raise TypeError(f"query {number} is a {type(text).__name__}, not a str. {remedy}.")
    return texts
