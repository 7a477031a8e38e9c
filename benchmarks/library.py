"""What the benchmarks take from inside the library, in one place: a change of an inner name is followed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash import HammingIndex, _core
from sthash.collection.search.by_words import analyze, rank_by_bm25
from sthash.collection.search.ranking import DEFAULTS, RankingParameters, rank_by_graph
from sthash.duplicates.similarity_join import sketch
from sthash.evaluation import Neighbors, nearest_neighbors
from sthash.hashing.graph import symmetric_graph
from sthash.index.bm25 import Bm25
from sthash.vectors.lengths import unit_rows

__all__ = [
    "DEFAULTS",
    "Bm25",
    "Bm25Lists",
    "Neighbors",
    "RankingParameters",
    "analyze",
    "nearest_neighbors",
    "rank_by_bm25",
    "rank_by_graph",
    "scanning_index",
    "sketch",
    "symmetric_graph",
    "unit_rows",
]


def scanning_index(n_bits: int) -> HammingIndex:
    """Make an index that never uses tables."""
    return HammingIndex(n_bits, strategy="scan")


class Bm25Lists:
    """The lists of postings of a corpus, as a collection has them: packed, and read when a query needs them."""

    def __init__(self, documents: Sequence[npt.NDArray[np.int64]], n_columns: int, *, k1: float, b: float) -> None:
        """Count the columns of each document."""
        lengths = np.array([len(columns) for columns in documents])
        rows = np.repeat(np.arange(len(documents)), lengths)
        pairs, counts = np.unique(rows * n_columns + np.concatenate(documents), return_counts=True)
        self.counts = sp.csr_array((counts, (pairs // n_columns, pairs % n_columns)), (len(documents), n_columns))
        self.lengths = lengths.astype(np.int32)
        self.k1, self.b, self.mean_length = k1, b, float(lengths.mean())
        self.n_columns, self.n_postings, self.n_read_postings = n_columns, len(pairs), 0
        self.frequency = np.bincount(pairs % n_columns, minlength=n_columns)
        n = len(documents)
        self.idf = np.log(1 + (n - self.frequency + 0.5) / (self.frequency + 0.5)).astype(np.float32)
        self.pack()

    def pack(self) -> None:
        """Pack all lists, and forget what was read."""
        counts = self.counts
        self.columns, self.content, self.offsets = _core.pack_postings(
            counts.indptr.astype(np.int64),
            counts.indices.astype(np.int32),
            counts.data.astype(np.int32),
            np.arange(counts.shape[0], dtype=np.int64),
            n_columns=self.n_columns,
            threads=1,
        )
        self.lists = _core.PostingLists(np.arange(counts.shape[0], dtype=np.int64), self.lengths)
        self.empty_bytes, self.n_read, self.n_read_postings = self.lists.nbytes, 0, 0

    @property
    def n_packed_bytes(self) -> int:
        """Bytes of all lists in the file."""
        return len(self.content)

    @property
    def n_bytes(self) -> int:
        """Bytes of what was read, in memory."""
        return self.lists.nbytes - self.empty_bytes

    def read(self, queries: Iterable[Iterable[int]]) -> None:
        """Read the lists that queries need."""
        for column in {column for query in queries for column in query}:
            if not self.lists.holds(column):
                place = int(np.searchsorted(self.columns, column))
                begin, end = self.offsets[place : place + 2]
                self.lists.put(column, [self.content[begin:end].tobytes()])
                self.n_read += 1
                self.n_read_postings += int(self.frequency[column])

    def search(self, queries: Sequence[Sequence[int]], k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Find the k best documents of each query."""
        if any(not self.lists.holds(column) for query in queries for column in query):
            self.read(queries)
        columns = np.concatenate(queries).astype(np.int32)
        return self.lists.search(
            np.cumsum([0, *map(len, queries)], dtype=np.int64),
            columns,
            self.idf[columns],
            k=k,
            k1=self.k1,
            b=self.b,
            mean_length=self.mean_length,
            allowed=None,
            threads=1,
        )

    @cached_property
    def _by_column(self) -> sp.csc_array:
        return self.counts.tocsc()

    def all_scores(self, query: Sequence[int]) -> npt.NDArray[np.float64]:
        """Add up the scores of all documents, in double precision."""
        scores = np.zeros(self.counts.shape[0])
        for column in query:
            part = slice(*self._by_column.indptr[column : column + 2])
            rows, counts = self._by_column.indices[part], self._by_column.data[part]
            norms = self.k1 * (1 - self.b + self.b * self.lengths[rows] / self.mean_length)
            scores[rows] += self.idf[column] * counts * (self.k1 + 1) / (counts + norms)
        return scores
