"""Tallies: the counts that every measure needs, of documents and of relevant documents at each Hamming distance.

For a query, the codes of the corpus are a histogram over the distances 0 … l. A ball is a prefix sum of the histogram,
and a ranking with ties is the histogram itself, so each measure is a formula over a `Tally`. The distance of longer
codes is that of their prefixes plus that of a few more bits: one pass over the bits serves all lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.codes import Codes, n_bytes
from sthash.evaluation.relevance import Neighbors, Relevance, SharedLabels, Topics

Counts = npt.NDArray[np.int32]
Distances = npt.NDArray[np.unsignedinteger[Any]]

_CELLS = 1 << 18  # distances held at once: so few that they and their histogram fit into the cache


@dataclass(frozen=True)
class Tally:
    """Counts of every query at one code length.

    Attributes
    ----------
    n_bits : int
        The code length l.
    found, relevant : integer arrays of shape (n_queries, l + 1)
        Corpus documents at each distance, and the relevant ones among them.
    votes : integer array of shape (n_queries, l + 1) or None
        The majority label within each radius, -1 for an empty ball; None if relevance is not by topic. If several
        labels have equally many documents, the smallest one wins, as in Matlab's ``mode``.
    labels : integer array of shape (n_queries,) or None
        The labels of the queries, numbered as in `votes`: 0, 1, … in the order of the given labels.
    """

    n_bits: int
    found: Counts
    relevant: Counts
    votes: Counts | None = None
    labels: Counts | None = None


def tally(corpus: Codes, queries: Codes, relevance: Relevance, lengths: Sequence[int]) -> list[Tally]:
    """Count distances and relevant documents for each code length.

    Parameters
    ----------
    corpus, queries : packed codes
        Their first l bits are the code of length l.
    relevance : Neighbors, Topics or SharedLabels
    lengths : increasing code lengths

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import Topics, tally
    >>> corpus, queries = np.array([[0b11], [0b01], [0b00]], np.uint8), np.array([[0b11]], np.uint8)
    >>> (seen,) = tally(corpus, queries, Topics(np.array([1, 1, 2]), np.array([1])), [2])
    >>> seen.found, seen.relevant, seen.votes
    (array([[1, 1, 1]], dtype=int32), array([[1, 1, 0]], dtype=int32), array([[0, 0, 0]], dtype=int32))
    """
    check_codes(corpus, queries, relevance, max(lengths, default=0))
    if not lengths or any(a >= b for a, b in zip([0, *lengths], lengths, strict=False)):
        raise ValueError(f"lengths={list(lengths)} must be positive and increasing, such as [4, 8, 16].")
    n_classes, classes, labels = _classes(relevance)
    tallies = [_blank(n_bits, len(queries), labels) for n_bits in lengths]
    step = max(1, _CELLS // max(len(corpus), n_classes * (lengths[-1] + 1)))
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        shared = relevance.mask(*rows.indices(len(queries))[:2]) if isinstance(relevance, SharedLabels) else None
        for seen, distances in zip(tallies, _distances(corpus, queries[rows], lengths), strict=True):
            histograms = _histograms(distances, classes, n_classes, seen.n_bits + 1)
            seen.found[rows] = histograms.sum(axis=1)
            if isinstance(relevance, Neighbors):
                seen.relevant[rows] = _at(distances, relevance.indices[rows], seen.n_bits + 1)
            elif shared is not None:
                seen.relevant[rows] = _where(distances, shared, seen.n_bits + 1)
            elif seen.votes is not None and labels is not None:
                seen.relevant[rows] = histograms[np.arange(len(histograms)), labels[rows]]
                seen.votes[rows] = _majority(histograms)
    return tallies


def check_codes(corpus: Codes, queries: Codes, relevance: Relevance, n_bits: int) -> None:
    """Refuse codes that do not fit each other, the relevance or the code length."""
    for name, codes, rows in (
        ("corpus", corpus, relevance.n_corpus),
        ("queries", queries, relevance.n_queries),
    ):
        if codes.ndim != 2 or codes.dtype != np.uint8:
            raise ValueError(f"{name} must be a 2-d uint8 array of packed codes, got {codes.ndim}-d {codes.dtype}.")
        if len(codes) != rows:
            raise ValueError(f"{name} has {len(codes)} codes, but relevance is given for {rows} documents.")
        if codes.shape[1] < n_bytes(n_bits):
            raise ValueError(f"{name} has codes of {codes.shape[1]} bytes; {n_bits} bits need {n_bytes(n_bits)}.")


def _classes(relevance: Relevance) -> tuple[int, npt.NDArray[np.intp], Counts | None]:
    """Number the classes of the corpus and of the queries; without topics all documents are of one class."""
    if not isinstance(relevance, Topics):
        return 1, np.zeros(relevance.n_corpus, dtype=np.intp), None
    names, inverse = np.unique(np.concatenate([relevance.corpus, relevance.queries]), return_inverse=True)
    classes = inverse.astype(np.intp)
    return len(names), classes[: relevance.n_corpus], classes[relevance.n_corpus :].astype(np.int32)


def _blank(n_bits: int, n_queries: int, labels: Counts | None) -> Tally:
    found, relevant, votes = np.zeros((3, n_queries, n_bits + 1), dtype=np.int32)
    return Tally(n_bits, found, relevant, None if labels is None else votes, labels)


def _distances(corpus: Codes, queries: Codes, lengths: Sequence[int]) -> Iterator[Distances]:
    """Give the distances (queries × corpus) for each length, always in the same array."""
    wide = np.uint8 if lengths[-1] < 256 else np.uint16
    distances = np.zeros((len(queries), len(corpus)), dtype=wide)
    done = 0
    for length in lengths:
        while done < length:
            byte = done // 8
            upto = min(length, 8 * byte + 8)
            mask = np.uint8((1 << (upto - 8 * byte)) - (1 << (done - 8 * byte)))
            distances += np.bitwise_count((queries[:, byte] & mask)[:, None] ^ (corpus[:, byte] & mask))
            done = upto
        yield distances


def _histograms(distances: Distances, classes: npt.NDArray[np.intp], n_classes: int, width: int) -> Counts:
    """Documents of each query, class and distance: shape (queries, n_classes, width)."""
    rows = len(distances)
    cells = np.arange(rows)[:, None] * (n_classes * width) + classes * width
    np.add(cells, distances, out=cells)
    counts = np.bincount(cells.ravel(), minlength=rows * n_classes * width)
    return counts.astype(np.int32).reshape(rows, n_classes, width)


def _majority(histograms: Counts) -> Counts:
    within = np.cumsum(histograms, axis=2)
    return np.where(within.any(axis=1), within.argmax(axis=1), -1).astype(np.int32)


def _at(distances: Distances, indices: npt.NDArray[np.int64], width: int) -> Counts:
    """Histogram of the distances to the documents named in each row."""
    rows, columns = np.nonzero(indices >= 0)
    cells = rows * width + distances[rows, indices[rows, columns]]
    return np.bincount(cells, minlength=len(indices) * width).astype(np.int32).reshape(len(indices), width)


def _where(distances: Distances, relevant: npt.NDArray[np.bool_], width: int) -> Counts:
    """Histogram of the distances to the relevant documents of each row."""
    rows, columns = np.nonzero(relevant)
    cells = rows * width + distances[rows, columns]
    return np.bincount(cells, minlength=len(relevant) * width).astype(np.int32).reshape(len(relevant), width)
