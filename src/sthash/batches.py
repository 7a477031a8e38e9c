"""Batches: a stream cut into lists of bounded size. All batches are made here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

BATCH_DOCUMENTS = 4096
BATCH_CHARACTERS = 1 << 24


def batched(
    items: Iterable[Item],
    size: int = BATCH_DOCUMENTS,
    *,
    length: Callable[[Item], int] | None = None,
    most: int = BATCH_CHARACTERS,
) -> Iterator[list[Item]]:
    """Cut a stream into lists of at most ``size`` items.

    Parameters
    ----------
    items : iterable
        Read once, and only as far as batches are taken.
    size : int
        Largest number of items per batch.
    length : callable, optional
        Returns the length of an item. A batch also ends with the item that brings its total length to ``most``.
    most : int
        Used only with ``length``.

    Examples
    --------
    >>> from sthash.batches import batched
    >>> list(batched(range(5), 2))
    [[0, 1], [2, 3], [4]]
    >>> list(batched(["a", "long one", "b"], length=len, most=5))
    [['a', 'long one'], ['b']]
    """
    stream = iter(items)
    while batch := _taken(itertools.islice(stream, size), length, most):
        yield batch


def _taken(items: Iterator[Item], length: Callable[[Item], int] | None, most: int) -> list[Item]:
    if length is None:
        return list(items)
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += length(item)
        if total >= most:
            break
    return batch
