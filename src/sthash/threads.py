"""How many threads a call may use."""

from __future__ import annotations

import os
from numbers import Integral


def resolve_threads(threads: int | None) -> int:
    """Return ``threads``, or the number of cores this process may use where it is None."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(threads, Integral) or isinstance(threads, bool) or threads < 1:
        raise ValueError(f"threads={threads!r} must be None (one a core) or an int of at least 1.")
    return int(threads)
