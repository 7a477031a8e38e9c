"""Checks of single arguments. Their errors name the argument, the value and the remedy."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any

MOST_THREADS = 1024


def check_whole(name: str, value: Any, least: int = 1, remedy: str = "", *, most: int | None = None) -> int:
    """Return ``value`` if it is a whole number of at least ``least``; ``remedy`` says what to do otherwise."""
    if type(value) is int and value >= least and (most is None or value <= most):  # the most frequent case
        return value
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and int(value) >= least and (most is None or int(value) <= most):
        return int(value)
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    message = f"{name}={value!r} must be an int {bounds}." + (f" {remedy[0].upper()}{remedy[1:]}." if remedy else "")
    raise ValueError(message) if whole else TypeError(message)


def check_positive(name: str, value: Any, *, or_zero: bool = False, most: float = math.inf) -> float:
    """Return ``value`` if it is a positive, finite number of at most ``most``, or zero if that is allowed."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (0 < number < math.inf or (or_zero and number == 0)):
        raise ValueError(f"{name}={value!r} must be a positive number{' or 0' if or_zero else ''}.")
    if number > most:
        raise ValueError(f"{name}={value!r} must be at most {most:g}.")
    return number


def check_share(name: str, value: Any) -> float:
    """Return ``value`` if it is a number above 0 and at most 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        raise ValueError(f"{name}={value!r} must be a number above 0 and at most 1, such as 0.95.")
    return float(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not known. Use one of: {', '.join(choices)}.")
    return str(value)


def check_key(key: Any) -> str:
    """Return the key of a document."""
    if not isinstance(key, str):
        raise TypeError(f"key={key!r} must be a str, got {type(key).__name__}. Pass the key of a document.")
    return key


def check_several(queries: Any) -> list[Any]:
    """Return queries as a list. A str is one query, not several of one letter each."""
    if isinstance(queries, str | bytes):
        raise TypeError(f"queries={queries!r} is one query. Pass a list of queries.")
    return list(queries)


def resolve_threads(threads: int | None) -> int:
    """Return the number of threads to use: None means one per core that this process may use; at most 1024.

    Examples
    --------
    >>> from sthash.checks import resolve_threads
    >>> resolve_threads(3)
    3
    >>> resolve_threads(None) >= 1
    True
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(check_whole("threads", threads), MOST_THREADS)
