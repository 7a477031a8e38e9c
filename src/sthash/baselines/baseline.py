"""What all baselines have in common: checks, learning with reproducible rounding, codes of the corpus, model files."""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from sthash import codes, model_file
from sthash.arrays import Vectors
from sthash.baselines.matrices import entries
from sthash.blas import one_blas_thread
from sthash.checks import check_whole, resolve_threads
from sthash.hashing.hasher import Hasher, check_features, check_seed, saved_seed

LearnedArrays: TypeAlias = dict[str, tuple[type[Any], tuple[str | int | None, ...]]]


class Baseline(Hasher):
    """Base of the baselines. A subclass gives ``_learn`` and ``_margins``, and lists its learned arrays.

    The corpus gets its codes in the same way as unseen documents: ``codes_`` equals ``transform`` of the training data.
    """

    # The arrays that a model file keeps, with type and shape. In a shape, m is the number of features, l is the number
    # of bits, and None is any length.
    _learned_arrays: ClassVar[LearnedArrays]
    # Which of them holds numbers of features, if no array has one row per feature.
    _column_numbers: ClassVar[str | None] = None
    # Whether rows must not hold negative weights.
    _non_negative: ClassVar[bool] = False

    def _learn(self, X: Vectors) -> None:
        raise NotImplementedError

    def _fit(self, X: Vectors, y: object) -> None:
        X = self._check(X, reset=True)
        self._check_corpus(X)
        with one_blas_thread():
            self._learn(X)
        self.codes_ = codes.pack(self._margins(X) > 0)

    def _check(self, X: Vectors, *, reset: bool) -> Vectors:
        X = super()._check(X, reset=reset)
        if self._non_negative:
            check_not_negative(X, type(self).__name__)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._non_negative
        return tags

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "threads"}
        if "random_state" in settings:
            settings["random_state"] = saved_seed(settings["random_state"])
        settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
        arrays = {name: getattr(self, name) for name in (*self._learned_arrays, "codes_")}
        return {"settings": settings, "n_features": self.n_features_in_}, arrays

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        hasher = cls(**config["settings"])
        hasher.n_features_in_ = check_features(config["n_features"])
        resolve_threads(getattr(hasher, "threads", None))
        check_seed(getattr(hasher, "random_state", None))
        sizes = {"m": hasher.n_features_in_, "l": check_whole("n_bits", hasher.n_bits)}
        for name, (dtype, shape) in cls._learned_arrays.items():
            wanted = tuple(sizes[side] if isinstance(side, str) else side for side in shape)
            model_file.check_array(arrays, name, dtype, wanted)
            if "m" in shape and arrays[name].size == 0:
                raise ValueError(f"{name} is empty")
            setattr(hasher, name, arrays[name])
        model_file.check_array(arrays, "codes_", np.uint8, (None, codes.n_bytes(hasher.n_bits)))
        hasher.codes_ = arrays["codes_"]
        hasher._take_more(arrays)
        if cls._column_numbers is None:  # then an array has one row per feature, so a row is no larger than the file
            if hasher._margins(np.zeros((1, sizes["m"]), dtype=np.float32)).shape != (1, hasher.n_bits):
                raise ValueError("its parts do not give one value per bit")
        else:
            columns = arrays[cls._column_numbers]
            if ((columns < 0) | (columns >= sizes["m"])).any():
                raise ValueError(f"{cls._column_numbers} names a feature that does not exist")
        return hasher

    def _take_more(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Take from a model file the parts whose number of arrays is not fixed."""


def check_rank(n_bits: int, rank: int, X: Vectors, source: str = "independent directions") -> None:
    """Refuse more bits than there are sources for them."""
    if n_bits > rank:
        raise ValueError(
            f"n_bits={n_bits} needs as many {source}, but this corpus (n_samples={X.shape[0]}, "
            f"n_features={X.shape[1]}) has {rank}. Ask for fewer bits, or bring more documents, and more varied ones."
        )


def check_not_negative(X: Vectors, method: str) -> None:
    """Refuse negative weights, in the words that scikit-learn uses."""
    smallest = entries(X).min(initial=0)
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to {method} (smallest {smallest:.3g}): it needs counts or weights of "
            "terms. Use another method for vectors with signs."
        )
