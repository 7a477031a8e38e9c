"""Spectral hashing.

The corpus is rotated onto its principal axes and taken to be uniform in the box [a_1, b_1] × … there. On a uniform
box the eigenfunctions of the Laplacian are known: on axis j, for k = 1, 2, …,

    Φ_jk(x) = sin(π/2 + k π (x_j − a_j) / (b_j − a_j)),    eigenvalue rising with ω_jk = k π / (b_j − a_j).

Bit p is the sign of the eigenfunction with the p-th smallest frequency ω over all axes; products over several axes
are left out, as in Weiss et al. The box runs from the smallest to the largest value of the corpus, and there are as
many axes as bits: both are in the authors' published code, not in the paper. A 16-bit code is therefore not the
prefix of a 64-bit one, which has more axes to choose from. Frequencies that tie are taken in the order of the axes.

References
----------
Y. Weiss, A. Torralba, R. Fergus. Spectral hashing. NIPS 2008.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.baselines.baseline import Baseline, LearnedArrays
from sthash.baselines.decompositions import principal_components
from sthash.hashing.linear_hash import project


class SpectralHashing(Baseline):
    """Spectral hashing: the smoothest eigenfunctions of a uniform box around the corpus.

    Parameters
    ----------
    n_bits : int, default=64
        May exceed the rank of the corpus: an axis then gives several bits.
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    components_ : array of float32, shape (m, n_axes)
        The principal axes.
    low_ : array of float32, shape (n_axes,)
        The lower corner of the box.
    axis_ : array of int64, shape (n_bits,)
        The axis of each bit.
    frequency_ : array of float64, shape (n_bits,)
        Its ω; ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import SpectralHashing
    >>> X = np.random.default_rng(0).random((500, 2)) * [4, 1]
    >>> SpectralHashing(n_bits=5).fit(X).axis_.tolist()  # the long side first, and often
    [0, 0, 0, 1, 0]
    """

    _learned_arrays: ClassVar[LearnedArrays] = {
        "components_": (np.float32, ("m", None)),
        "low_": (np.float32, (None,)),
        "axis_": (np.int64, ("l",)),
        "frequency_": (np.float64, ("l",)),
    }

    def __init__(self, n_bits: int = 64, *, threads: int | None = None) -> None:
        self.n_bits = n_bits
        self.threads = threads

    def _learn(self, X: Vectors) -> None:
        axes = principal_components(X, self.n_bits)[1].astype(np.float32)
        values = project(X, axes, self.threads)
        spread = values.max(axis=0) > values.min(axis=0)
        if not spread.any():
            raise ValueError(
                f"all documents are the same (n_samples={X.shape[0]}, n_features={X.shape[1]}): there is no "
                "direction to tell them apart. Bring more varied documents."
            )
        self.components_, values = np.ascontiguousarray(axes[:, spread]), values[:, spread]
        self.low_ = values.min(axis=0)
        sides = values.max(axis=0).astype(np.float64) - self.low_
        wave, axis = (grid.ravel() for grid in np.mgrid[1 : self.n_bits + 1, 0 : len(sides)])
        frequencies = wave * np.pi / sides[axis]
        smallest = np.argsort(frequencies, kind="stable")[: self.n_bits]
        self.axis_, self.frequency_ = axis[smallest], frequencies[smallest]

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        values = project(X, self.components_, self.threads) - self.low_
        return np.asarray(np.sin(np.pi / 2 + values[:, self.axis_] * self.frequency_))
