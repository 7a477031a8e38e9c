"""How much the vote of each neighbor counts, chosen by leave-one-out.

A neighbor counts the more, the more it is like the query, and the less, the more other neighbors are like itself: ten
copies of one document are little more than one vote. These weights are the solution of kernel ridge regression over the
neighborhood (Zhang et al., "SVM-KNN", CVPR 2006, do the same with a support vector machine). Without the ridge's
correction they are the similarities themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Positions
from sthash.checks import resolve_threads

Floats = npt.NDArray[np.float64]

# What leave-one-out chooses from.
NEIGHBORS = (25, 50, 100, 200)
POWERS = (1, 2, 4, 8)
RIDGES = (0.1, 0.3, 1.0, np.inf)
SLOPES = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
# Neighbors that are weighed, at most: the work grows with their cube.
MOST = 400
# Labeled documents that are classified by the others.
SAMPLE = 200
# The weight of the accuracy beside the mean logarithm of the right label's share: of few documents, the accuracy alone
# tells little.
ACCURACY = 5.0
# The share that a label without any vote is taken to have, when the slope is chosen.
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Weighing:
    """How neighbors vote.

    Attributes
    ----------
    k : int
        Number of neighbors.
    power : int
        Of the cosines: the greater, the more the nearest count.
    ridge : float
        The smaller, the less neighbors count that are like each other; with infinity, cosines alone count.
    slope : float
        The share of a label is proportional to exp(slope · sum of its neighbors' weights).
    """

    k: int = 100
    power: int = 1
    ridge: float = 0.3
    slope: float = 8.0


@dataclass(frozen=True)
class Neighborhoods:
    """The neighbors of some queries, nearest first; rows are as long as the longest one has neighbors.

    Attributes
    ----------
    slots : array of int64, shape (n, width)
        The label of each neighbor, as the number of a label among those of its neighborhood; -1 after the last one.
    similarities : array of float64, shape (n, width)
        Cosines with the query.
    products : array of float32, shape (n, width, width)
        Cosines of the neighbors with each other.
    """

    slots: Positions
    similarities: Floats
    products: npt.NDArray[np.float32]

    def nearest(self, k: int) -> Neighborhoods:
        """Return only the nearest neighbors of each query."""
        return Neighborhoods(self.slots[:, :k], self.similarities[:, :k], self.products[:, :k, :k])

    def __len__(self) -> int:
        return len(self.slots)


def label_scores(near: Neighborhoods, weighing: Weighing, threads: int | None = None) -> Floats:
    """Return the sum of the weights of each label, by its number in the neighborhood: shape (n, width)."""
    near = near.nearest(weighing.k)
    held, scores = near.slots >= 0, np.zeros(near.slots.shape)
    np.add.at(scores, (np.nonzero(held)[0], near.slots[held]), _weights(near, weighing, threads)[held])
    return scores


def label_shares(near: Neighborhoods, weighing: Weighing, threads: int | None = None) -> Floats:
    """Return the share of each label, by its number in the neighborhood; shares of a neighborhood add up to one."""
    scores = label_scores(near, weighing, threads)
    return _shares(scores, _n_labels(near.nearest(weighing.k)), weighing.slope)


def _weights(near: Neighborhoods, weighing: Weighing, threads: int | None) -> Floats:
    held = near.slots >= 0
    likeness: Floats = np.where(held, np.maximum(near.similarities, 0), 0) ** weighing.power
    # Where nothing is like the query, all neighbors count alike.
    likeness[(likeness.sum(axis=1) == 0)] = 1
    likeness[~held] = 0
    if np.isinf(weighing.ridge):
        likeness /= np.maximum(likeness.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return likeness
    weights: Floats = _core.vote_weights(
        np.ascontiguousarray(near.products),
        likeness,
        power=weighing.power,
        ridge=weighing.ridge,
        threads=resolve_threads(threads),
    )
    return weights


def _n_labels(near: Neighborhoods) -> Positions:
    counts: Positions = near.slots.max(axis=1, initial=-1) + 1
    return counts


def _shares(scores: Floats, n_labels: Positions, slope: float) -> Floats:
    voted = np.arange(scores.shape[1]) < n_labels[:, np.newaxis]
    raised = np.where(voted, slope * scores, -np.inf)
    raised -= raised.max(axis=1, keepdims=True, initial=-1e300)
    shares: Floats = np.exp(raised)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return shares


def choose(near: Neighborhoods, truth: Positions, k: int | None = None, threads: int | None = None) -> Weighing:
    """Choose a weighing that labels documents right which took no part in the vote.

    Parameters
    ----------
    near : Neighborhoods
        Of labeled documents, which are not in their own.
    truth : array of int64
        The label of each, as its number in the neighborhood; -1 if no neighbor has it.
    k : int, optional
        Number of neighbors, if it is not to be chosen.
    """
    best = Weighing() if k is None else Weighing(k=k)
    if not len(near):
        return best
    # The number of neighbors is chosen last: the other choices depend little on it, and cost less with fewer.
    best = _best(
        near, truth, [replace(best, power=power, ridge=ridge) for ridge in RIDGES for power in POWERS], threads
    )
    if k is None:
        width = near.slots.shape[1]
        # All that are larger than the neighborhoods are the same.
        sizes = [size for place, size in enumerate(NEIGHBORS) if not place or NEIGHBORS[place - 1] < width]
        best = _best(near, truth, [replace(best, k=size) for size in sizes], threads)
    return best


def _best(near: Neighborhoods, truth: Positions, weighings: Sequence[Weighing], threads: int | None) -> Weighing:
    """Return the weighing by which most labels are right, and right ones have large shares; of equals, the first."""
    rated = [_rated(near, truth, weighing, threads) for weighing in weighings]
    return max(rated, key=lambda entry: entry[0])[1]


def _rated(near: Neighborhoods, truth: Positions, weighing: Weighing, threads: int | None) -> tuple[float, Weighing]:
    scores, n_labels = label_scores(near, weighing, threads), _n_labels(near.nearest(weighing.k))
    known = (truth >= 0) & (truth < n_labels)
    rows = np.flatnonzero(known)
    accuracy = np.count_nonzero(_shares(scores, n_labels, 1.0)[rows].argmax(axis=1) == truth[rows]) / len(truth)

    def likelihood(slope: float) -> float:
        given = np.full(len(truth), LEAST_SHARE)
        given[rows] = np.maximum(_shares(scores, n_labels, slope)[rows, truth[rows]], LEAST_SHARE)
        return float(np.log(given).mean())

    likelihoods = [likelihood(slope) for slope in SLOPES]
    best = int(np.argmax(likelihoods))
    return round(ACCURACY * accuracy + likelihoods[best], 9), replace(weighing, slope=SLOPES[best])
