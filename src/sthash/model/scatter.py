"""Random hyperplanes that are mixed into learned ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import resolve_threads
from sthash.model.encoded import Margins
from sthash.vectors.rows import Rows


@dataclass(frozen=True)
class Scatter:
    """Random hyperplanes: each column has the weight ± ``weight`` per bit.

    The signs come from a hash of column and bit, so they take no space. The learned weights tell topics apart, but know
    only the terms of the documents they were learned from; the random ones tell any two terms apart.
    """

    weight: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.weight, Real) or not math.isfinite(self.weight):
            raise ValueError(f"the weight of random hyperplanes is {self.weight!r}, not a finite number. Learn again.")
        if not isinstance(self.seed, Integral) or not 0 <= self.seed < 2**64:
            raise ValueError(f"the seed of random hyperplanes is {self.seed!r}. Use an int from 0 to 2**64 - 1.")

    @classmethod
    def relative_to(cls, weights: npt.NDArray[np.float32], scale: float, seed: int) -> Scatter:
        """Return random weights whose size is ``scale`` times the average size of learned ones."""
        if weights.size == 0:
            return cls(0.0, seed)
        typical = np.sqrt(np.square(weights, dtype=np.float64).mean())
        return cls(float(scale * typical), seed)

    def added(self, margins: Margins, rows: Rows, threads: int | None = None) -> Margins:
        """Return the margins of rows with those of the random hyperplanes added."""
        if self.weight == 0:
            return margins
        words = -(-margins.shape[1] // 64)
        sums = _core.scatter(rows.view(), words=words, seed=self.seed, threads=resolve_threads(threads))
        scattered: Margins = margins + np.float32(self.weight) * sums[:, : margins.shape[1]]
        return scattered
