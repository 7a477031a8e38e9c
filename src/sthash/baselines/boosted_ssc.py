"""Boosted similarity-sensitive coding.

Pairs of documents are labeled similar (l = 1) or not (l = −1). A stump h asks whether one feature is above a
threshold; as a classifier of pairs it tests whether both documents get the same answer. AdaBoost picks stump after
stump. Let A± be the weight of the similar (+) and dissimilar (−) pairs whose answers agree, and S± of those that the
stump splits; among the stumps that split dissimilar pairs more often, A⁺ S⁻ > A⁻ S⁺, round t takes the one with the
smallest Z and gives each outcome its own vote:

    Z = 2 (√(A⁺ A⁻) + √(S⁺ S⁻)),    c_agree = ½ ln(A⁺ / A⁻),  c_split = ½ ln(S⁺ / S⁻),    w ← w exp(−l c) / Z.

The answers of the stumps are the code. Σ_t c_t > 0 classifies a pair as similar, with an error on the training pairs
of at most Π Z_t (Schapire & Singer 1999). The STH paper compares codes by plain Hamming distance, without votes.

Two votes instead of ±α is the form that Torralba et al. (2008) use as well. With ±α no stump on TF-IDF rows is better
than chance after a few rounds, because a term that both documents lack tells almost nothing.

Shakhnarovich et al. have labeled pairs. Here similar pairs are drawn from near neighbors by cosine and dissimilar pairs
at random, as usual without labels. The number of pairs is left open.
On sparse text a stump is a question about one term, which most documents do not have. The method was made for dense
descriptors, and its codes of TF-IDF rows are weak. For a fair comparison reduce such rows first, for example with
TruncatedSVD in a Pipeline.

References
----------
G. Shakhnarovich, P. Viola, T. Darrell. Fast pose estimation with parameter-sensitive hashing. ICCV 2003.
R. Schapire, Y. Singer. Improved boosting algorithms using confidence-rated predictions. Machine Learning 37(3), 1999.
A. Torralba, R. Fergus, Y. Weiss. Small codes and large image databases for recognition. CVPR 2008.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.baselines.baseline import LearnedArrays
from sthash.baselines.stumps import PairStumps, StumpHasher, dissimilar_pairs, similar_pairs, splits


class BoostedSSC(StumpHasher):
    """Boosted similarity-sensitive coding: stumps that separate random pairs but not neighbors.

    Bits are in the order in which they were picked: a shorter code is a prefix.

    Parameters
    ----------
    n_bits : int, default=64
    n_neighbors : int, default=25
        A pair is similar if one document is among this many nearest neighbors of the other.
    n_pairs : int, default=10000
        Largest number of pairs to learn from, of either kind.
    random_state : int, RandomState or None, default=0
        Source of the random pairs.
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    features_ : array of int64, shape (n_bits,)
    thresholds_ : array of float32, shape (n_bits,)
    votes_ : array of float64, shape (n_bits, 2)
        The vote for "similar" if the answers of a stump agree, and if they do not.
    normalizers_ : array of float64, shape (n_bits,)
        The Z of each round.
    training_errors_ : array of float64, shape (n_bits,)
        Share of misclassified training pairs, weighted as at the start, after each round.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import BoostedSSC
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> hasher = BoostedSSC(n_bits=8, n_neighbors=5).fit(X)
    >>> bool((hasher.training_errors_ <= np.cumprod(hasher.normalizers_)).all())
    True
    """

    _learned_arrays: ClassVar[LearnedArrays] = StumpHasher._learned_arrays | {
        "votes_": (np.float64, ("l", 2)),
        "normalizers_": (np.float64, ("l",)),
        "training_errors_": (np.float64, ("l",)),
    }

    def _learn(self, X: Vectors) -> None:
        rng = self._generator()
        similar, W = similar_pairs(X, self.n_neighbors, self.n_pairs, rng, self.threads)
        dissimilar = dissimilar_pairs(W, self.n_pairs, rng)
        if len(dissimilar) == 0:
            raise ValueError(
                f"with n_neighbors={self.n_neighbors} all {X.shape[0]} documents are neighbors of each other. "
                "Lower n_neighbors or bring more documents."
            )
        pairs = np.concatenate([similar, dissimilar])
        labels = np.repeat([1.0, -1.0], [len(similar), len(dissimilar)])
        # Each kind has the weight one half, however many pairs it has.
        start = np.repeat([0.5 / len(similar), 0.5 / len(dissimilar)], [len(similar), len(dissimilar)])
        stumps = PairStumps(X, pairs)
        # Keeps votes finite where one kind of pair is absent (Schapire & Singer, section 4.2).
        smoothing = 0.5 / len(pairs)
        weights, score = start.copy(), np.zeros(len(pairs))
        picked, votes, normalizers, errors = [], [], [], []
        for _ in range(self.n_bits):
            best = _best_stump(stumps, weights, labels)
            if best is None:
                break
            apart = splits(X, pairs, int(stumps.features[best]), float(stumps.thresholds[best]))
            mass = [
                [weights[(apart == split) & (labels == label)].sum() for label in (1, -1)] for split in (False, True)
            ]
            vote = [0.5 * np.log((plus + smoothing) / (minus + smoothing)) for plus, minus in mass]
            says = np.where(apart, vote[1], vote[0])
            weights *= np.exp(-labels * says)
            picked.append(best)
            votes.append(vote)
            normalizers.append(weights.sum())
            weights /= normalizers[-1]
            score += says
            errors.append(start[score * labels <= 0].sum())
        self._keep(X, stumps, picked)
        self.votes_, self.normalizers_, self.training_errors_ = np.array(votes), np.array(normalizers), np.array(errors)


def _best_stump(stumps: PairStumps, weights: npt.NDArray[np.float64], labels: npt.NDArray[np.float64]) -> int | None:
    """Return the stump with the smallest Z that splits dissimilar pairs more often than similar ones."""
    if len(stumps) == 0:
        return None
    split_plus, split_minus = (np.maximum(stumps.split_weight(weights * (labels == sign)), 0) for sign in (1, -1))
    plus, minus = weights[labels > 0].sum(), weights[labels < 0].sum()
    agree_plus, agree_minus = np.maximum(plus - split_plus, 0), np.maximum(minus - split_minus, 0)
    z = 2 * (np.sqrt(agree_plus * agree_minus) + np.sqrt(split_plus * split_minus))
    z[agree_plus * split_minus <= agree_minus * split_plus] = np.inf
    best = int(z.argmin())
    return best if np.isfinite(z[best]) else None
