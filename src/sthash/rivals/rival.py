"""What every rival does alike: checks, learning with reproducible rounding, codes of the corpus, model files."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from sthash import codes
from sthash.hashing.hasher import Hasher
from sthash.hashing.vectors import Vectors


class Rival(Hasher):
    """Base of the rivals: a subclass gives ``_learn`` and ``_margins``, and names what it has learnt.

    The corpus gets its codes as unseen documents do: ``codes_`` equals ``transform`` of the training data.
    """

    # Attributes that a model file keeps: all arrays.
    _learnt: ClassVar[tuple[str, ...]]

    def _learn(self, X: Vectors) -> None:
        raise NotImplementedError

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Learn hash functions from a corpus; ``y`` is not used."""
        X = self._check(X, reset=True)
        self._check_corpus(X)
        # The number of BLAS threads changes the rounding, and through it bits that lie on an edge.
        with threadpool_limits(limits=1, user_api="blas"):
            self._learn(X)
        self.codes_ = codes.pack(self._margins(X) > 0)
        return self

    def _generator(self) -> np.random.Generator:
        """Return the source of randomness that ``random_state`` stands for."""
        state: Any = getattr(self, "random_state", 0)
        return np.random.default_rng(int(check_random_state(state).randint(2**31)))

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        settings = self.get_params(deep=False)
        if "random_state" in settings and not isinstance(settings["random_state"], Integral):
            settings["random_state"] = None
        arrays = {name: getattr(self, name) for name in (*self._learnt, "codes_")}
        return {"settings": settings, "n_features": self.n_features_in_}, arrays

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        hasher = cls(**config["settings"])
        for name in (*cls._learnt, "codes_"):
            setattr(hasher, name, arrays[name])
        hasher.n_features_in_ = config["n_features"]
        return hasher


def check_int(name: str, value: Any, least: int) -> int:
    """Return ``value`` if it is an int of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} must be an int of at least {least}.")
    return int(value)


def check_rank(n_bits: int, rank: int, X: Vectors) -> None:
    """Refuse more bits than there are independent directions to take them from."""
    if n_bits > rank:
        raise ValueError(
            f"n_bits={n_bits} needs as many independent directions, but this corpus (n_samples={X.shape[0]}, "
            f"n_features={X.shape[1]}) has {rank}; ask for fewer bits or bring more, and more varied, documents."
        )


def check_not_negative(X: Vectors, method: str) -> None:
    """Refuse negative weights, in the words that scikit-learn uses."""
    smallest = (X.data if hasattr(X, "indptr") else X).min(initial=0)
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to {method} (smallest {smallest:.3g}): it needs counts or weights of "
            "terms; use another method for vectors with signs."
        )
