"""BLAS with one thread."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Give BLAS one thread for the length of a ``with`` block.

    The number of BLAS threads changes the rounding, and through it bits whose margins are close to zero. With many
    small products, several threads also take longer than one.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.blas import one_blas_thread
    >>> with one_blas_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    limits: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(limits=1, user_api="blas")
    return limits


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    """Return the libraries that are loaded. To look for them takes milliseconds, and only imports load others."""
    return ThreadpoolController()
