"""From term counts to unit rows: TF-IDF as the paper's authors compute it, BM25, and plain term frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Weighting = Literal["tfidf", "bm25", "tf"]
WEIGHTINGS: tuple[str, ...] = get_args(Weighting)

# Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.5.
BM25_SATURATION = 1.2
BM25_LENGTH = 0.75


@dataclass(frozen=True)
class CorpusStatistics:
    """What the weights need to know of the corpus.

    Attributes
    ----------
    n_documents : int
    document_frequency : array of int64
        In how many documents each term occurs.
    mean_length : float
        Mean number of counted terms in a document, repetitions included.
    """

    n_documents: int
    document_frequency: npt.NDArray[np.int64]
    mean_length: float


def weigh(counts: sp.csr_array, weighting: Weighting, statistics: CorpusStatistics) -> sp.csr_array:
    """Weigh term counts and scale each row to unit length; a row without weight stays zero.

    ``tfidf``: (1 + ln tf) · ln(N / df), so that a term which every document has weighs nothing.
    ``bm25``: tf (k + 1) / (tf + k (1 − b + b · length / mean length)) · ln(1 + (N − df + ½) / (df + ½)).
    ``tf``: tf.
    """
    tf = counts.data.astype(np.float32)
    df = statistics.document_frequency
    if weighting == "tfidf":
        idf = np.log(statistics.n_documents / df).astype(np.float32)
        weights = (1 + np.log(tf)) * idf[counts.indices]
    elif weighting == "bm25":
        idf = np.log1p((statistics.n_documents - df + 0.5) / (df + 0.5)).astype(np.float32)
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float32).ravel()
        share = 1 - BM25_LENGTH + BM25_LENGTH * lengths / np.float32(statistics.mean_length)
        saturation = np.repeat(BM25_SATURATION * share, np.diff(counts.indptr))
        weights = tf * (BM25_SATURATION + 1) / (tf + saturation) * idf[counts.indices]
    else:
        weights = tf
    weighted = sp.csr_array((weights.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)
    if weighting == "tfidf" and (df == statistics.n_documents).any():
        weighted.eliminate_zeros()
    return unit_rows(weighted)


def unit_rows(matrix: sp.csr_array) -> sp.csr_array:
    """Scale each row to Euclidean length one, in place; zero rows stay zero."""
    entries = np.diff(matrix.indptr)
    filled = entries > 0
    norms = np.ones(matrix.shape[0])
    if filled.any():
        squares = np.square(matrix.data, dtype=np.float64)
        norms[filled] = np.sqrt(np.add.reduceat(squares, matrix.indptr[:-1][filled]))
        norms[norms == 0] = 1
    matrix.data *= np.repeat((1 / norms).astype(matrix.data.dtype), entries)
    return matrix
