"""A time limit for the work of one thread. When it has passed, kernels and SQLite give up with a TimeoutError."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sthash import _core

LONGEST_SECONDS = 1e9
_thread = threading.local()


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit what this thread does in the block; None lifts a limit that is set outside.

    Kernels look at the limit ten times per second, and SQLite after some thousand steps. Python code between them may
    call `check_time`.

    Examples
    --------
    >>> from sthash.deadline import check_time, time_limit
    >>> with time_limit(0):
    ...     check_time()
    Traceback (most recent call last):
    ...
    TimeoutError: the time limit has passed. Ask for less, or allow more time.
    """
    before: float | None = getattr(_thread, "end", None)
    _set(None if seconds is None else time.monotonic() + min(seconds, LONGEST_SECONDS))
    try:
        yield
    finally:
        _set(before)


def has_time_limit() -> bool:
    """Whether this thread has a time limit."""
    return getattr(_thread, "end", None) is not None


def time_is_up() -> bool:
    """Whether the time limit of this thread has passed."""
    end: float | None = getattr(_thread, "end", None)
    return end is not None and time.monotonic() >= end


def check_time() -> None:
    """Raise TimeoutError if the time limit of this thread has passed."""
    if time_is_up():
        raise TimeoutError("the time limit has passed. Ask for less, or allow more time.")


def _set(end: float | None) -> None:
    _thread.end = end
    _core.set_time_limit(None if end is None else end - time.monotonic())
