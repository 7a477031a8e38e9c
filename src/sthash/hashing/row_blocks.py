"""Work on the rows of tall matrices, block by block on several threads, in place where possible.

Blocks are the same for any number of threads and their results are added up in order, so the result does not depend on
the number of threads. BLAS must be limited to one thread (`sthash.blas.one_blas_thread`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sthash.checks import resolve_threads

Result = TypeVar("Result")
Tall = npt.NDArray[np.float32]

BLOCK_ROWS = 8192


def over_blocks(n: int, work: Callable[[slice], Result], threads: int | None) -> Iterator[Result]:
    """Yield ``work(rows)`` for each block of rows, in order.

    Examples
    --------
    >>> from sthash.hashing.row_blocks import over_blocks
    >>> list(over_blocks(10000, lambda rows: rows.stop - rows.start, threads=2))
    [8192, 1808]
    """
    blocks = [slice(first, min(first + BLOCK_ROWS, n)) for first in range(0, n, BLOCK_ROWS)]
    with ThreadPoolExecutor(resolve_threads(threads)) as pool:
        try:
            yield from pool.map(work, blocks)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def each_block(n: int, work: Callable[[slice], None], threads: int | None) -> None:
    """Call ``work(rows)`` for each block of rows; it changes them in place."""
    for _ in over_blocks(n, work, threads):
        pass


def gram(left: Tall, right: Tall, threads: int | None) -> npt.NDArray[np.float64]:
    """Return leftᵀ right; blocks are multiplied in single precision and added up in double precision."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for part in over_blocks(len(left), lambda rows: left[rows].T @ right[rows], threads):
        total += part
    return total


def turn(block: Tall, matrix: npt.NDArray[Any], threads: int | None) -> None:
    """Multiply the rows of a block by a square matrix, in place."""
    matrix = matrix.astype(np.float32)

    def work(rows: slice) -> None:
        block[rows] = block[rows] @ matrix

    each_block(len(block), work, threads)


def times(block: Tall, matrix: npt.NDArray[Any], threads: int | None) -> Tall:
    """Return the block times a matrix of fewer columns."""
    matrix = matrix.astype(np.float32)
    product = np.empty((len(block), matrix.shape[1]), dtype=np.float32)

    def work(rows: slice) -> None:
        np.matmul(block[rows], matrix, out=product[rows])

    each_block(len(block), work, threads)
    return product
