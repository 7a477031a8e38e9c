"""Normal scores: the values of a column replaced by normal quantiles of their ranks.

Values count as equal if they differ by less than a small share of the largest. So ranks need no sorting: values are
counted in steps of that share.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from sthash.checks import resolve_threads

Array = npt.NDArray[np.float64]

# Values of an eigenvector that differ by less than this share of the largest count as equal: a graph of several
# components has eigenvectors that are constant on each component, except for rounding.
EQUAL_SHARE = 1e-5
# Columns that are copied to be next to each other in memory.
PANEL = 16


def normal_scores(values: npt.NDArray[Any]) -> Array:
    """Replace the values of each column by normal quantiles of their ranks; equal values get equal quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.normal_scores import normal_scores
    >>> print(normal_scores(np.array([[0.0], [900.0], [3.0]])).round(2).ravel())
    [-0.97  0.97  0.  ]
    """
    scores = np.empty(values.shape, order="F")  # sums over rows depend on the order in memory, in the last bit
    for column, values_of_one in enumerate(values.T):
        scores[:, column] = _scores_of(np.array(values_of_one), 1.0)
    return scores


def score_columns(block: npt.NDArray[np.float32], factors: Array, threads: int | None) -> None:
    """Do the same in place, and multiply each column by its factor."""

    def work(first: int) -> None:
        columns = slice(first, min(first + PANEL, block.shape[1]))
        panel = np.ascontiguousarray(block[:, columns].T)
        for values, factor in zip(panel, factors[columns], strict=True):
            values[:] = _scores_of(values, float(factor))
        block[:, columns] = panel.T

    with ThreadPoolExecutor(resolve_threads(threads)) as pool:
        for _ in pool.map(work, range(0, block.shape[1], PANEL)):
            pass


def _scores_of(values: npt.NDArray[Any], factor: float) -> npt.NDArray[Any]:
    largest = np.abs(values).max(initial=0)
    steps = np.rint(values / (largest * EQUAL_SHARE if largest > 0 else 1)).astype(np.int64)
    steps -= steps.min(initial=0)
    counts = np.bincount(steps)
    filled = np.flatnonzero(counts)
    table = np.zeros(len(counts), dtype=values.dtype)
    # Equal values share the mean of their ranks.
    table[filled] = ndtri((np.cumsum(counts)[filled] - counts[filled] / 2) / len(values)) * factor
    return np.asarray(table[steps])
