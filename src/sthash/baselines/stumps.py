"""Decision stumps over pairs of documents: what the two boosted methods have in common.

A stump asks whether feature d is above T. It splits the pair (x, y) if T lies between x_d and y_d. All thresholds of
all features are searched at once: a pair is an interval on each feature in which its documents differ, and the weight
of the pairs that a threshold splits is a running sum over the sorted ends of the intervals.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.baselines.baseline import Baseline, LearnedArrays, check_rank
from sthash.baselines.matrices import dense
from sthash.checks import check_whole
from sthash.hashing.graph import knn_graph

Pairs = npt.NDArray[np.int64]


class StumpHasher(Baseline):
    """A baseline whose bits are stumps: bit p is on where feature ``features_[p]`` is above ``thresholds_[p]``."""

    _column_numbers: ClassVar[str | None] = "features_"
    _learned_arrays: ClassVar[LearnedArrays] = {"features_": (np.int64, ("l",)), "thresholds_": (np.float32, ("l",))}

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_neighbors: int = 25,
        n_pairs: int = 10_000,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_neighbors = n_neighbors
        self.n_pairs = n_pairs
        self.random_state = random_state
        self.threads = threads

    def _keep(self, X: Vectors, stumps: PairStumps, picked: list[int]) -> None:
        """Take one stump per bit, or say that there are not enough."""
        check_rank(self.n_bits, len(picked), X, "stumps that are better than chance")
        self.features_, self.thresholds_ = stumps.features[picked], stumps.thresholds[picked]

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        return np.asarray(dense(X[:, self.features_]) - self.thresholds_)


class PairStumps:
    """Every stump that splits at least one of the pairs, one for each distinct way to do so.

    Attributes
    ----------
    features : array of int64
    thresholds : array of float32
        Stump s is "feature ``features[s]`` above ``thresholds[s]``". Ordered by feature, then by threshold.
    """

    def __init__(self, X: Vectors, pairs: Pairs) -> None:
        pair, feature, low, high = _intervals(X, pairs)
        ends = np.concatenate([low, high])
        features = np.concatenate([feature, feature])
        order = np.lexsort((ends, features))
        ends, features = ends[order], features[order]
        self._pair = np.concatenate([pair, pair])[order]
        self._opens = np.where(order < len(low), 1.0, -1.0)
        # A threshold fits between two ends of a feature that differ; the last end of a feature closes its last pair.
        self._after = np.flatnonzero((features[:-1] == features[1:]) & (ends[:-1] < ends[1:]))
        below, above = ends[self._after], ends[self._after + 1]
        middle = below / 2 + above / 2
        self.thresholds = np.where((middle >= below) & (middle < above), middle, below).astype(np.float32)
        self.features = features[self._after]

    def __len__(self) -> int:
        return len(self.features)

    def split_weight(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return for every stump the sum of the weights of the pairs that it splits."""
        sums: npt.NDArray[np.float64] = np.cumsum(self._opens * weights[self._pair])[self._after]
        return sums

    def share_on(self, X: Vectors) -> npt.NDArray[np.float64]:
        """Return for every stump the share of the rows of X that it is on for."""
        entries = sp.csc_array(X)
        stored = np.diff(entries.indptr)
        features = np.concatenate([np.repeat(np.arange(X.shape[1]), stored), self.features])
        values = np.concatenate([entries.data, self.thresholds])
        is_stump = np.repeat([False, True], [entries.nnz, len(self)])
        # In one order with the entries of the corpus, a stump comes after those that are not above it.
        is_stump = is_stump[np.lexsort((is_stump, values, features))]
        not_above = np.cumsum(~is_stump)[is_stump] - entries.indptr[self.features]
        above = stored[self.features] - not_above
        above += np.where(self.thresholds < 0, X.shape[0] - stored[self.features], 0)  # the zeros, which are not stored
        return np.asarray(above / X.shape[0])


def splits(X: Vectors, pairs: Pairs, feature: int, threshold: float) -> npt.NDArray[np.bool_]:
    """Tell which pairs one stump splits."""
    on = dense(X[:, [feature]]).ravel() > threshold
    apart: npt.NDArray[np.bool_] = on[pairs[:, 0]] != on[pairs[:, 1]]
    return apart


def similar_pairs(
    X: Vectors, n_neighbors: int, n_pairs: int, rng: np.random.Generator, threads: int | None = None
) -> tuple[Pairs, Any]:
    """Draw pairs of near neighbors by cosine, all different; also return the graph they come from."""
    check_whole("n_pairs", n_pairs)
    if check_whole("n_neighbors", n_neighbors) >= X.shape[0]:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be less than the number of documents, n_samples={X.shape[0]}. "
            "Lower n_neighbors or bring more documents."
        )
    W = knn_graph(X, n_neighbors, threads=threads)
    edges = sp.coo_array(sp.triu(W, k=1))
    pairs = np.column_stack([edges.row, edges.col]).astype(np.int64)
    if len(pairs) == 0:
        raise ValueError(f"no two of the {X.shape[0]} documents have a term in common. Bring more documents.")
    if len(pairs) > n_pairs:
        pairs = pairs[np.sort(rng.choice(len(pairs), size=n_pairs, replace=False))]
    return pairs, W


def dissimilar_pairs(W: Any, n_pairs: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of documents at random, without those that are neighbors in W."""
    n = W.shape[0]
    drawn = np.sort(rng.integers(n, size=(n_pairs, 2)), axis=1)
    drawn = drawn[drawn[:, 0] < drawn[:, 1]]
    linked = np.asarray(W[drawn[:, 0], drawn[:, 1]]).ravel() > 0
    return drawn[~linked].astype(np.int64)


def _intervals(X: Vectors, pairs: Pairs) -> tuple[Any, Any, Any, Any]:
    """Pair, feature, lower and higher value, wherever the two documents of a pair differ."""
    left, right = X[pairs[:, 0]], X[pairs[:, 1]]
    if not sp.issparse(X):
        pair, feature = np.nonzero(left != right)
        a, b = left[pair, feature], right[pair, feature]
        return pair, feature, np.minimum(a, b), np.maximum(a, b)
    keys = []
    for side in (left, right):
        row = np.repeat(np.arange(len(pairs)), np.diff(side.indptr))
        keys.append(row * np.int64(X.shape[1]) + side.indices)
    places, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    values = np.zeros((2, len(places)), dtype=np.float32)
    values[0, inverse[: left.nnz]] = left.data
    values[1, inverse[left.nnz :]] = right.data
    differ = values[0] != values[1]
    places, values = places[differ], values[:, differ]
    return places // X.shape[1], places % X.shape[1], values.min(axis=0), values.max(axis=0)
