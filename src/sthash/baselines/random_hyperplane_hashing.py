"""Locality-sensitive hashing by random projections.

Each bit asks on which side of a random hyperplane through the origin a document lies: with a ~ N(0, I),

    bit(x) = [a·x > 0],    P(bit(x) = bit(y)) = 1 − θ(x, y) / π        (Charikar 2002).

With ``threshold="random"`` the hyperplanes do not go through the origin: for each of them a threshold is drawn
uniformly between the smallest and the largest a·x of the corpus.

With ``width`` w the hash is the p-stable one for Euclidean distance, ⌊(a·x + b) / w⌋ with b uniform in [0, w)
(Datar et al. 2004; Andoni & Indyk 2006), of which a binary code keeps the parity:

    P(bit(x) = bit(y)) = ½ + (4 / π²) Σ_{k odd} k⁻² exp(−k² π² |x − y|² / (2 w²)).

Otherwise only the number of features is learned from the corpus. Andoni & Indyk keep the whole integer and tune w.
They leave open how to make it a single bit; the parity is the choice made here.

References
----------
M. Charikar. Similarity estimation techniques from rounding algorithms. STOC 2002.
A. Andoni, P. Indyk. Near-optimal hashing algorithms for approximate nearest neighbor in high dimensions. FOCS 2006.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.baselines.baseline import Baseline, LearnedArrays
from sthash.checks import check_choice, check_positive
from sthash.hashing.linear_hash import project

Threshold = Literal["origin", "random"]


class RandomHyperplaneHashing(Baseline):
    """Locality-sensitive hashing: random hyperplanes, or random stripes.

    Bits are independent and equally good. With one seed, a shorter code is a prefix of a longer one.

    Parameters
    ----------
    n_bits : int, default=64
    width : float or None, default=None
        None takes hyperplanes through the origin, for cosines. A number takes stripes of that width with random
        offsets, for Euclidean distances: documents much nearer than ``width`` share most bits.
    threshold : {"origin", "random"}, default="origin"
        Where a hyperplane cuts its line. ``random`` takes a point of the range that the corpus has there.
    random_state : int, RandomState or None, default=0
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    weights_ : array of float32, shape (m, n_bits)
    offsets_ : array of float32, shape (n_bits,)
        Of the stripes; with random thresholds, minus the thresholds; otherwise zero.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import RandomHyperplaneHashing
    >>> X = np.array([[1.0, 0.0], [0.99, 0.1], [-1.0, 0.0]])
    >>> codes = RandomHyperplaneHashing(n_bits=64).fit(X).codes_
    >>> np.bitwise_count(codes[0] ^ codes).sum(axis=1).tolist()
    [0, 1, 64]
    """

    _learned_arrays: ClassVar[LearnedArrays] = {"weights_": (np.float32, ("m", "l")), "offsets_": (np.float32, ("l",))}

    def __init__(
        self,
        n_bits: int = 64,
        *,
        width: float | None = None,
        threshold: Threshold = "origin",
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.width = width
        self.threshold = threshold
        self.random_state = random_state
        self.threads = threads

    def _learn(self, X: Vectors) -> None:
        if self.width is not None:
            check_positive("width", self.width)
        check_choice("threshold", self.threshold, get_args(Threshold))
        if self.width is not None and self.threshold == "random":
            raise ValueError(
                "width makes stripes with random offsets already. Leave threshold='origin', or width=None."
            )
        directions, shifts = self._generator().spawn(2)
        # Drawn bit by bit, so that the first bits do not depend on how many follow.
        drawn = directions.standard_normal((self.n_bits, X.shape[1]), dtype=np.float32)
        self.weights_ = np.ascontiguousarray(drawn.T)
        shares = shifts.random(self.n_bits, dtype=np.float32)
        if self.threshold == "random":
            values = project(X, self.weights_, self.threads)
            low, high = values.min(axis=0), values.max(axis=0)
            self.offsets_ = -(low + shares * (high - low))
        else:
            self.offsets_ = shares * np.float32(self.width or 0)

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        values = project(X, self.weights_, self.threads) + self.offsets_
        if self.width is None:
            return np.asarray(values)
        # Negative on even stripes, positive on odd ones, zero on the borders.
        return np.asarray(-np.sin(np.pi * (values / self.width)))
