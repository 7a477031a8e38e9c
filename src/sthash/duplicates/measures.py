"""The measures of similarity, and the thresholds that they take."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice

Measure = Literal["wording", "cosine", "jaccard", "containment"]
MEASURES: tuple[str, ...] = get_args(Measure)
DEFAULT_THRESHOLDS = {"wording": 0.75, "cosine": 0.9, "jaccard": 0.8, "containment": 0.8}
# Below this threshold, the number of pairs is estimated first.
LOW_THRESHOLD = 0.5
# As the kernels number them; wording is compared as sets are.
KERNEL_MEASURES = {"cosine": 0, "jaccard": 1, "containment": 2, "wording": 1}
MOST_PAIRS_PER_DOCUMENT = 100
FEW_DOCUMENTS = 1000
SAMPLED_ROWS = 1000


def check_measure(measure: Any, threshold: Any) -> tuple[Measure, float]:
    """Return the checked measure and threshold; None is the default threshold of the measure."""
    check_choice("measure", measure, MEASURES)
    if threshold is None:
        return measure, DEFAULT_THRESHOLDS[measure]
    if not isinstance(threshold, Real) or isinstance(threshold, bool) or not 0 < float(threshold) <= 1:
        raise ValueError(
            f"threshold={threshold!r} must be above 0 and at most 1. For near-duplicates take 0.8 to 1; documents "
            "that share little are found by a search."
        )
    return measure, float(threshold)


def refuse_most_pairs(
    count: int, threshold: float, scores: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]]
) -> None:
    """Refuse a low threshold that very many of the pairs reach.

    Parameters
    ----------
    count : int
        Number of documents.
    threshold : float
    scores : callable
        Takes positions of documents and returns the matrix of their similarities.
    """
    if threshold >= LOW_THRESHOLD or count < FEW_DOCUMENTS:
        return
    sample = np.sort(np.random.default_rng(0).choice(count, min(count, SAMPLED_ROWS), replace=False))
    matrix = scores(sample)
    close = int((np.triu(matrix, 1) >= threshold).sum())
    pairs = close / (len(sample) * (len(sample) - 1) / 2) * (count * (count - 1) / 2)
    if pairs > MOST_PAIRS_PER_DOCUMENT * count:
        raise ValueError(
            f"threshold={threshold} would give about {pairs:,.0f} pairs of {count:,} documents. Raise the threshold; "
            "near-duplicates have a similarity of 0.8 or more."
        )
