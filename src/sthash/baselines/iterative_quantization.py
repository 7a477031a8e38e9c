"""Iterative quantization after principal component analysis (PCA-ITQ).

The centered corpus, projected onto its l principal axes, is V. A rotation R that brings V close to the corners of the
cube {−1, 1}^l is found by alternating two steps, from a random start:

    B = sgn(V R);    R = S Ŝᵀ, where Vᵀ B = S Ω Ŝᵀ is a singular value decomposition.

Either step lowers the loss ‖B − V R‖² or leaves it. The bits of x are the signs of (x − mean) W R. Gong & Lazebnik
stop after 50 iterations, as here, unless it has converged before. Bits are not ordered: a rotation mixes all axes.

References
----------
Y. Gong, S. Lazebnik. Iterative quantization: a Procrustean approach to learning binary codes. CVPR 2011.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.baselines.baseline import Baseline, LearnedArrays, check_rank
from sthash.baselines.decompositions import principal_components
from sthash.checks import check_whole
from sthash.hashing.linear_hash import project
from sthash.hashing.rotation import quantizing_rotation


class IterativeQuantization(Baseline):
    """Principal components, rotated so that little is lost by taking signs.

    Parameters
    ----------
    n_bits : int, default=64
        At most the rank of the centered corpus.
    max_iter : int, default=50
        Largest number of iterations.
    random_state : int, RandomState or None, default=0
        Seed of the first rotation.
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    weights_ : array of float32, shape (m, n_bits)
        The principal axes, rotated.
    offsets_ : array of float32, shape (n_bits,)
        The mean of the corpus, projected.
    losses_ : array of float64
        ‖B − V R‖² at the start of each iteration.
    n_iter_ : int
        Iterations taken.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import IterativeQuantization
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> losses = IterativeQuantization(n_bits=8).fit(X).losses_
    >>> bool((np.diff(losses) <= 0).all())
    True
    """

    _learned_arrays: ClassVar[LearnedArrays] = {
        "weights_": (np.float32, ("m", "l")),
        "offsets_": (np.float32, ("l",)),
        "losses_": (np.float64, (None,)),
    }

    def __init__(
        self,
        n_bits: int = 64,
        *,
        max_iter: int = 50,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads

    def _learn(self, X: Vectors) -> None:
        check_whole("max_iter", self.max_iter, 1)
        mean, axes = principal_components(X, self.n_bits)
        check_rank(self.n_bits, axes.shape[1], X)
        V = np.asarray(X @ axes) - mean @ axes
        start = np.linalg.qr(self._generator().standard_normal((self.n_bits, self.n_bits)))[0]
        rotation, self.losses_ = quantizing_rotation(V, start, self.max_iter)
        self.weights_ = (axes @ rotation).astype(np.float32)
        self.offsets_ = (mean @ axes @ rotation).astype(np.float32)

    @property
    def n_iter_(self) -> int:
        """Iterations taken."""
        return len(self.losses_)

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        return project(X, self.weights_, self.threads) - self.offsets_
