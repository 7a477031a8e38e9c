"""Weights of terms: TF-IDF as the authors of the paper compute it, BM25, and plain term frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sthash.vectors.lengths import row_sums, unit_factors

if TYPE_CHECKING:
    import scipy.sparse as sp

Weighting = Literal["tfidf", "bm25", "tf"]
WEIGHTINGS: tuple[str, ...] = get_args(Weighting)

# Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.5.
BM25_SATURATION = 1.2
BM25_LENGTH = 0.75


@dataclass(frozen=True)
class CorpusStatistics:
    """What the weights depend on in the corpus.

    Attributes
    ----------
    n_documents : int
    document_frequency : array of int64
        Number of documents per term.
    mean_length : float
        Mean number of counted terms per document, repetitions included.
    """

    n_documents: int
    document_frequency: npt.NDArray[np.int64]
    mean_length: float


def weigh(counts: sp.csr_array, weighting: Weighting, statistics: CorpusStatistics) -> sp.csr_array:
    """Return weighted term counts, each row scaled to unit length; a row without weights stays zero."""
    import scipy.sparse as sp

    weights = term_weights(counts.indptr, counts.indices, counts.data, weighting, statistics)
    weighted = sp.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)
    if weighting == "tfidf" and (statistics.document_frequency == statistics.n_documents).any():
        weighted = weighted.copy()  # what follows changes in place what it shares with the counts
        weighted.eliminate_zeros()
    return weighted


def term_weights(
    indptr: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    counts: npt.NDArray[np.int32],
    weighting: Weighting,
    statistics: CorpusStatistics,
) -> npt.NDArray[np.float32]:
    """Return the weights of the term counts of rows, each row scaled to unit length.

    ``tfidf``: (1 + ln tf) · ln(N / df), so that a term in every document has no weight.
    ``bm25``: tf (k + 1) / (tf + k (1 − b + b · length / mean length)) · ln(1 + (N − df + ½) / (df + ½)).
    ``tf``: tf.
    """
    tf = counts.astype(np.float32)
    df = statistics.document_frequency
    if weighting == "tfidf":
        idf = np.log(statistics.n_documents / df).astype(np.float32)
        weights = (1 + np.log(tf)) * idf[indices]
    elif weighting == "bm25":
        idf = np.log1p((statistics.n_documents - df + 0.5) / (df + 0.5)).astype(np.float32)
        lengths = row_sums(indptr, counts).astype(np.float32)
        share = 1 - BM25_LENGTH + BM25_LENGTH * lengths / np.float32(statistics.mean_length)
        saturation = np.repeat(BM25_SATURATION * share, np.diff(indptr))
        weights = tf * (BM25_SATURATION + 1) / (tf + saturation) * idf[indices]
    else:
        weights = tf
    result: npt.NDArray[np.float32] = weights.astype(np.float32, copy=False)
    factors = unit_factors(row_sums(indptr, np.square(result, dtype=np.float64)))
    scale = factors.astype(np.float32)
    result *= scale if len(scale) == 1 else np.repeat(scale, np.diff(indptr))
    return result
