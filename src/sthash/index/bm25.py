"""BM25: the score of a word that a document shares with a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Bm25:
    """Parameters of BM25; docs/ranking.md explains how the defaults were chosen.

    Attributes
    ----------
    k1 : float
        Saturation by term frequency.
    b : float
        Normalization by length.
    """

    k1: float = 1.2
    b: float = 0.6


def inverse_frequencies(frequencies: npt.NDArray[np.int32], n_documents: int) -> npt.NDArray[np.float32]:
    """Return the weight of terms: ln(1 + (N - df + ½) / (df + ½)), which is never negative.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.index.bm25 import inverse_frequencies
    >>> inverse_frequencies(np.array([1, 10], dtype=np.int32), 10).round(2)
    array([1.99, 0.05], dtype=float32)
    """
    df = frequencies.astype(np.float64)
    weights: npt.NDArray[np.float32] = np.log1p((n_documents - df + 0.5) / (df + 0.5)).astype(np.float32)
    return weights
