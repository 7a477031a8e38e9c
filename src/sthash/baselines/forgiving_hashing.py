"""Forgiving hashing: boosted stumps from similar pairs only.

Only similar pairs are given. A stump that is on for no document never splits them, so a useful stump must also split
random pairs. A stump that is on for a share p of the corpus gives two random documents the same answer with
probability p² + (1 − p)². Weak learner t therefore minimizes

    ε(h) = ½ Σ w_i [h splits similar pair i] + ½ (p_h² + (1 − p_h)²),

and AdaBoost moves weight to the similar pairs that it splits. The weight of random pairs does not change:

    α_t = ½ ln((1 − ε_t) / ε_t),    w_i ← w_i exp(2 α_t [h_t splits pair i]) / Z_t.

The answers of the stumps are the code. The second term makes bits balanced, so that codes have entropy.

Baluja & Covell work on audio, with several kinds of weak learners, and the details of their training were not
available. This implementation follows the STH paper's description: AdaBoost with similar pairs only, stumps, and their
answers as the code. Random pairs enter through their expectation. That is a choice made here; it follows the
observation of Ke et al. that a balanced stump can be no better than chance on random pairs, so only similar pairs are
re-weighted.

References
----------
S. Baluja, M. Covell. Learning to hash: forgiving hash functions and applications. Data Mining and Knowledge Discovery
17(3), 2008.
Y. Ke, D. Hoiem, R. Sukthankar. Computer vision for music identification. CVPR 2005.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sthash.arrays import Vectors
from sthash.baselines.baseline import LearnedArrays
from sthash.baselines.stumps import PairStumps, StumpHasher, similar_pairs, splits


class ForgivingHashing(StumpHasher):
    """Forgiving hashing: balanced stumps that do not separate neighbors.

    Bits are in the order in which they were picked: a shorter code is a prefix.

    Parameters
    ----------
    n_bits : int, default=64
    n_neighbors : int, default=25
        A pair is similar if one document is among this many nearest neighbors, by cosine, of the other.
    n_pairs : int, default=10000
        Largest number of pairs to learn from.
    random_state : int, RandomState or None, default=0
        Source of the random pairs.
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    features_ : array of int64, shape (n_bits,)
    thresholds_ : array of float32, shape (n_bits,)
    alphas_ : array of float64, shape (n_bits,)
    errors_ : array of float64, shape (n_bits,)
        The ε of each round; below one half.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import ForgivingHashing
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> bool((ForgivingHashing(n_bits=8, n_neighbors=5).fit(X).errors_ < 0.5).all())
    True
    """

    _learned_arrays: ClassVar[LearnedArrays] = StumpHasher._learned_arrays | {
        "alphas_": (np.float64, ("l",)),
        "errors_": (np.float64, ("l",)),
    }

    def _learn(self, X: Vectors) -> None:
        pairs, _ = similar_pairs(X, self.n_neighbors, self.n_pairs, self._generator(), self.threads)
        stumps = PairStumps(X, pairs)
        on = stumps.share_on(X)
        strangers = on**2 + (1 - on) ** 2
        weights = np.full(len(pairs), 1 / len(pairs))
        picked, alphas, errors = [], [], []
        for _ in range(self.n_bits if len(stumps) else 0):
            error = 0.5 * stumps.split_weight(weights) + 0.5 * strangers
            best = int(error.argmin())
            if error[best] >= 0.5:
                break
            alpha = 0.5 * np.log((1 - error[best]) / error[best])
            apart = splits(X, pairs, int(stumps.features[best]), float(stumps.thresholds[best]))
            weights *= np.exp(2 * alpha * apart)
            weights /= weights.sum()
            picked.append(best)
            alphas.append(alpha)
            errors.append(error[best])
        self._keep(X, stumps, picked)
        self.alphas_, self.errors_ = np.array(alphas), np.array(errors)
