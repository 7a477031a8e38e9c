"""From real-valued embeddings to bits: stage 1, last step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.codes import Bits


def median_bits(embedding: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None = None) -> Bits:
    """Threshold each column at its median: a bit is on where the value lies above it.

    If all values differ, half of the documents (rounded down) get the bit. If several values equal the median, their
    documents must get equal bits: all of them get the bit or none, whichever leaves the column closer to balance, and
    none if both are equally close. A constant column is off for all documents.

    Parameters
    ----------
    embedding : array of shape (n, l)
    sample_weight : array of shape (n,), optional
        How many documents each row stands for; not negative. The median is the weighted one, and balance is that of
        the weights.

    Returns
    -------
    bits : array of bool, shape (n, l)

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import median_bits
    >>> median_bits(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 1.0]])).astype(int).tolist()
    [[0, 1], [0, 1], [1, 1], [1, 0]]
    """
    values = np.asarray(embedding)
    if values.ndim != 2:
        raise ValueError(f"embedding must have two dimensions, got an array of shape {values.shape}.")
    if len(values) == 0:
        return np.zeros(values.shape, dtype=bool)
    median = np.median(values, axis=0) if sample_weight is None else weighted_medians(values, sample_weight)
    above, from_median_on = values > median, values >= median
    weights = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    excess, excess_with_ties = (np.abs(2 * (weights @ bits) - weights.sum()) for bits in (above, from_median_on))
    varied = ~from_median_on.all(axis=0)
    return np.asarray(np.where((excess_with_ties < excess) & varied, from_median_on, above))


def weighted_medians(values: npt.NDArray[Any], weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the smallest value of each column up to which rows have half of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.binarizer import weighted_medians
    >>> weighted_medians(np.array([[1.0], [2.0], [4.0]]), np.array([1, 1, 5]))
    array([4.])
    """
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(np.asarray(weights, dtype=np.float64)[order], axis=0)
    middle = (reached >= reached[-1] / 2).argmax(axis=0)
    columns = np.arange(values.shape[1])
    return np.asarray(values[order[middle, columns], columns])


def median_thresholds(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return one threshold per column such that ``values > thresholds`` gives `median_bits`: the median, but for ties.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.binarizer import median_thresholds
    >>> median_thresholds(np.array([[1.0], [2.0], [4.0]]))
    array([2.])
    """
    bits = median_bits(values)
    median = np.median(values, axis=0).astype(values.dtype)
    halves = (bits == (values > median)).all(axis=0)
    return np.where(halves, median, separating_thresholds(values, bits))


def separating_thresholds(values: npt.NDArray[Any], bits: Bits) -> npt.NDArray[Any]:
    """Return one threshold per column such that ``values > thresholds`` gives exactly ``bits``.

    It lies halfway between the largest value that is off and the smallest that is on. A column whose bits are all off
    gets its largest value; a column whose bits are all on gets minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.binarizer import separating_thresholds
    >>> separating_thresholds(np.array([[1.0], [2.0], [4.0]]), np.array([[False], [False], [True]]))
    array([3.])
    """
    highest_off = np.where(bits, -np.inf, values).max(axis=0).astype(values.dtype)
    lowest_on = np.where(bits, values, np.inf).min(axis=0).astype(values.dtype)
    if (highest_off >= lowest_on).any():
        column = int(np.argmax(highest_off >= lowest_on))
        raise ValueError(
            f"no threshold of the values in column {column} gives these bits. Use median_bits to binarize."
        )
    finite = np.isfinite(highest_off) & np.isfinite(lowest_on)
    middle = np.where(finite, highest_off, 0) / 2 + np.where(finite, lowest_on, 0) / 2
    # Neighboring floats have no midpoint: rounding may hit the value that is on.
    inside = finite & (middle >= highest_off) & (middle < lowest_on)
    return np.where(inside, middle, highest_off).astype(values.dtype)
