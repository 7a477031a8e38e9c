"""A made-up corpus with lists of postings, and the slow, obvious twin of the search in them."""

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash import _core


@dataclass(frozen=True)
class Corpus:
    """Counts per document and column, ids and lengths of the documents."""

    counts: npt.NDArray[np.int32]
    ids: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]

    @property
    def mean_length(self):
        return float(self.lengths.mean()) if len(self.lengths) else 0.0

    def rows(self, begin=0, end=None):
        counts = self.counts[begin:end]
        rows, columns = np.nonzero(counts)
        indptr = np.searchsorted(rows, np.arange(len(counts) + 1))
        return indptr, columns.astype(np.int32), counts[rows, columns]

    def packed(self, begin=0, end=None):
        """Give the list of each column."""
        n_columns = self.counts.shape[1]
        parts = _core.pack_postings(*self.rows(begin, end), self.ids[begin:end], n_columns=n_columns, threads=1)
        columns, content, offsets = parts
        spans = itertools.pairwise(offsets)
        return {int(column): content[a:b].tobytes() for column, (a, b) in zip(columns, spans, strict=True)}

    def lists(self):
        lists, packed = _core.PostingLists(self.ids, self.lengths), self.packed()
        for column in range(self.counts.shape[1]):
            lists.put(column, [packed[column]] if column in packed else [])
        return lists


def make_corpus(n, shares, seed=0, gaps=1):
    """Make up a corpus; each column occurs in a share of the documents."""
    rng = np.random.default_rng(seed)
    counts = rng.geometric(0.5, (n, len(shares))) * (rng.random((n, len(shares))) < shares)
    ids = np.cumsum(rng.integers(1, gaps + 1, n)) - 1
    lengths = counts.sum(axis=1) + rng.integers(0, 30, n)
    return Corpus(counts.astype(np.int32), ids.astype(np.int64), lengths.astype(np.int32))


def twin(corpus, columns, weights, k, k1=1.5, b=0.75, mean_length=None, allowed=None, optional=0):
    """Add up all scores: impacts, products and sums are float32, by falling weight, then in the order given.

    The last ``optional`` columns come behind all others, and find no document on their own.
    """
    mean_length = corpus.mean_length if mean_length is None else mean_length
    merged = {}
    for column, weight in zip(columns, weights, strict=True):
        merged[int(column)] = np.float32(merged.get(int(column), np.float32(0)) + np.float32(weight))
    required = {int(column) for column in columns[: len(columns) - optional]}
    scores, found = np.zeros(len(corpus.ids), dtype=np.float32), np.zeros(len(corpus.ids), dtype=bool)
    per_word = k1 * b / mean_length if mean_length > 0 else 0.0
    for column, weight in sorted(merged.items(), key=lambda pair: (pair[0] not in required, -pair[1])):
        counts = corpus.counts[:, column].astype(np.float64)
        with np.errstate(invalid="ignore"):
            impacts = counts * (k1 + 1) / (counts + k1 * (1 - b) + per_word * corpus.lengths)
        scores += weight * np.where(counts > 0, impacts, 0).astype(np.float32)
        found |= (counts > 0) & (column in required) & (weight > 0)
    scores[~found] = 0
    if allowed is not None:
        scores[allowed == 0] = 0
    order = np.argsort(-scores, kind="stable")[:k]
    order = order[scores[order] > 0]
    missing = k - len(order)
    return np.append(order, [-1] * missing), np.append(scores[order], np.zeros(missing, np.float32))


def ask(lists, queries, k, mean_length, k1=1.5, b=0.75, allowed=None, threads=1, optional=None):
    """Search queries, which are pairs of columns and weights."""
    indptr = np.cumsum([0, *(len(columns) for columns, _ in queries)], dtype=np.int64)
    columns = np.array([column for columns, _ in queries for column in columns], dtype=np.int32)
    weights = np.array([weight for _, weights in queries for weight in weights], dtype=np.float32)
    settings = {"k1": k1, "b": b, "mean_length": mean_length, "allowed": allowed, "threads": threads}
    settings["optional"] = None if optional is None else np.array(optional, dtype=np.int64)
    return lists.search(indptr, columns, weights, k=k, **settings)
