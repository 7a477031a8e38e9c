"""BLAS with one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import threadpool_limits


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
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits
