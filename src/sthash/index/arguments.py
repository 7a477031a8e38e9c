"""Checks of the arguments of an index."""

from __future__ import annotations

import operator
from collections.abc import Set
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Ids
from sthash.checks import check_whole
from sthash.index.interface import Allowed, Index

GREATEST_ID = int(np.iinfo(np.int64).max)
MOST_RESULTS = 1 << 30


def check_k(k: Any) -> int:
    """Return the number of results per query."""
    return check_whole("k", k, 1, most=MOST_RESULTS)


def check_ids(ids: npt.ArrayLike | Set[int], name: str = "ids", count: int | None = None, of: str | None = None) -> Ids:
    """Return ``ids`` as a contiguous int64 vector; ``count`` is their required number, ``of`` the rows they are for."""
    if isinstance(ids, Set):
        if of is not None:
            raise TypeError(f"{name} are a set, which has no order. Pass a list, in the order of the {of}.")
        ids = list(ids)
    array = np.asarray(ids)
    if array.dtype.kind == "f" and not isinstance(ids, np.ndarray):
        array = np.asarray(ids, dtype=object)  # whole numbers of both int64 and uint64 size become floats
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}. Flatten them.")
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, got dtype {array.dtype}. Convert them to int64.")
    if array.size and (int(array.min()) < 0 or int(array.max()) > GREATEST_ID):
        wrong = int(array.min()) if int(array.min()) < 0 else int(array.max())
        raise ValueError(f"{name} must be from 0 to 2**63 - 1 (-1 marks a missing result), got {wrong}. Use other ids.")
    if count is not None and len(array) != count:
        raise ValueError(f"{name} must be as many as the {of}, got {len(array)} for {count} {of}. Give one for each.")
    return np.require(array, dtype=np.int64, requirements=["C_CONTIGUOUS", "ALIGNED"])


def check_allowed(allowed: Allowed | None, index: Index) -> Ids | None:
    """Return the ids that a search may find, if they are not all of the index; a mask is in the order of its ids."""
    if allowed is None:
        return None
    if not isinstance(allowed, Set):
        mask = np.asarray(allowed)
        if mask.dtype == np.bool_:
            ids = index.ids
            if mask.shape != ids.shape:
                raise ValueError(
                    f"a mask must have one value per id of the index, shape {ids.shape}, got shape {mask.shape}. "
                    "Make it in the order of index.ids."
                )
            chosen: Ids = ids[mask]
            return chosen
    return check_ids(allowed, "allowed")


def check_id(value: Any) -> int | None:
    """Return an id as an int, or None if no index can hold it."""
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if 0 <= number <= GREATEST_ID else None


def check_radius(radius: Any, n_bits: int) -> int:
    """Return ``radius``, at most ``n_bits``."""
    return min(check_whole("radius", radius, 0, "distances are whole numbers from 0 on"), n_bits)


def check_weights(weights: npt.ArrayLike, shape: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Return weights as contiguous rows of float32, one row per query and one column per bit."""
    array = np.asarray(weights)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"weights must be numbers, got dtype {array.dtype}. Convert them to float32.")
    if array.shape != shape:
        raise ValueError(
            f"weights must have one row per query and one column per bit, {shape}, got shape {array.shape}. "
            "Reshape them."
        )
    # Sums are taken in float32 too: what overflows there is as useless as infinity.
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(array, dtype=np.float32)
        sums = rows.sum(axis=1)
    if array.size and not array.min() >= 0:
        raise ValueError(f"weights must not be negative or NaN, got {array.min()}. Take the margins' absolute values.")
    if not np.isfinite(sums).all():
        raise ValueError(f"weights must have a finite sum, got {sums.max()}. Scale them down.")
    return rows


def _from_objects(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    for value in array:
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise TypeError(f"{name} must be whole numbers, got {value!r}. Convert them to int64.")
        if not 0 <= value <= GREATEST_ID:
            raise ValueError(
                f"{name} must be from 0 to 2**63 - 1 (-1 marks a missing result), got {value}. Use other ids."
            )
    return array.astype(np.int64)
