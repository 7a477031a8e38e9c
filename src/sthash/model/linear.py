"""What both models share: linear hash functions, their settings and their place in a model file."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sthash import model_file
from sthash.checks import check_choice, check_positive, check_whole
from sthash.model.learning import RECIPES
from sthash.text.analyzer import check_stemmer, resolve_stop_words
from sthash.text.weighting import WEIGHTINGS
from sthash.vectors.checks import LONGEST
from sthash.vectors.metric import METRICS

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing

LARGEST = float(np.finfo(np.float32).max)


def sample(count: int, sample_size: int, random_state: int) -> npt.NDArray[np.int64]:
    """Return all positions, or a random sample of them, ascending."""
    if sample_size >= count:
        return np.arange(count, dtype=np.int64)
    return np.sort(np.random.default_rng(random_state).choice(count, sample_size, replace=False))


def linear_parts(hasher: SelfTaughtHashing) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the weights and the intercept of a fitted hasher whose hash functions are linear."""
    from sthash.hashing.linear_hash import LinearHash

    function = hasher.hash_function_
    if not isinstance(function, LinearHash):
        raise TypeError(
            f"a model cannot hold a hash function that is a {type(function).__name__}. "
            "Use the default of the hasher, hash_function=None."
        )
    return function.weights_, function.intercept_


def check_settings(settings: Any, kind: str) -> None:
    """Refuse settings from a file that are not those of a model of this kind.

    Raises
    ------
    ValueError, TypeError, KeyError
        An untrusted file may state anything.
    """
    if not isinstance(settings, dict) or settings["kind"] != kind:
        raise ValueError(f"it does not hold a model of {kind}")
    n_bits, intercept = check_whole("n_bits", settings["n_bits"]), settings["intercept"]
    if not isinstance(intercept, list) or len(intercept) != n_bits:
        raise ValueError("its intercept does not have one value per bit")
    for value in intercept:
        _check_number("intercept", value)
    check_whole("n_neighbors", settings["n_neighbors"])
    check_choice("recipe", settings["recipe"], RECIPES)
    _check_number("scatter", settings["scatter"])
    for name in ("generation", "learned_on"):
        if check_whole(name, settings[name], 0) >= 1 << 62:
            raise ValueError(f"{name}={settings[name]} must be below 2**62.")
    if kind == "vectors":
        if check_whole("n_columns", settings["n_columns"]) >= 1 << 31:
            raise ValueError(f"n_columns={settings['n_columns']} must be below 2**31.")
        if check_choice("metric", settings["metric"], METRICS) == "ip":
            check_positive("length", settings["length"], or_zero=True, most=LONGEST)
        return
    check_whole("n_documents", settings["n_documents"], 0)
    _check_number("mean_length", settings["mean_length"])
    check_choice("weighting", settings["weighting"], WEIGHTINGS)
    check_stemmer(settings["stemmer"])
    for name in ("min_df", "max_df"):
        _check_number(name, settings[name])
    if settings["max_features"] is not None:
        check_whole("max_features", settings["max_features"])
    if not isinstance(settings["stop_words"], list):
        raise TypeError("its stop words are not a list")
    resolve_stop_words(settings["stop_words"])
    random = settings["random_weights"]
    _check_number("weight", random["weight"])
    if check_whole("seed", random["seed"], 0) >= 1 << 63 or len(random) != 2:
        raise ValueError("its random weights are malformed")


def _check_number(name: str, value: Any) -> None:
    number: Any = value if isinstance(value, Real) else math.nan
    if not -LARGEST <= number <= LARGEST:  # no conversion: a whole number may be beyond every float
        raise ValueError(f"{name}={value!r} must be a finite number.")


def restored_weights(arrays: dict[str, npt.NDArray[Any]], rows: int, n_bits: int) -> npt.NDArray[np.float32]:
    """Return the weights of a model file, checked."""
    model_file.check_array(arrays, "weights", np.float32, (rows, n_bits))
    return arrays["weights"]
