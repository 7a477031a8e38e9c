"""The interface that all indexes share."""

from __future__ import annotations

import os
from collections.abc import Set
from typing import Any, Protocol, Self, TypeAlias

import numpy.typing as npt

from sthash.arrays import Ids

# Ids, or one boolean per id of the index.
Allowed: TypeAlias = npt.ArrayLike | Set[int]


class IndexStats(Protocol):
    """A summary of an index: the number of rows that it holds, and the bytes of memory that it takes."""

    @property
    def size(self) -> int:
        """Rows held."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        ...


class Index(Protocol):
    """Rows under ids, and a search that finds the best of them.

    Any number of threads may search while one changes the index: a search sees all of a change or nothing of it. Two
    threads may change it at once; their changes follow each other.
    """

    def add(self, rows: Any, /, ids: npt.ArrayLike | None = None, *, threads: int | None = None) -> Ids:
        """Add rows, and return their ids.

        ``ids`` are whole numbers from 0 on. By default they continue from the greatest id ever given. If one is in the
        index already, or is given twice, a ValueError is raised and nothing changes.
        """

    def remove(self, ids: Allowed, /) -> None:
        """Remove rows by their ids; if one is not there, a KeyError names the first such id and nothing is removed."""

    def search(
        self,
        queries: Any,
        /,
        k: int = 10,
        *,
        allowed: Allowed | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, npt.NDArray[Any]]:
        """Return the ids and scores of the k best rows per query, best first, equal ones by id.

        ``allowed`` are the ids that may be found; those that are not in the index are ignored. It can also be a boolean
        mask in the order of `ids`. A search by codes or vectors returns k rows, or all that are allowed; one by words
        returns only those that share a word with the query. -1 takes the place of ids that are missing.
        """

    def __len__(self) -> int: ...

    def __contains__(self, key: object, /) -> bool: ...

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""

    @property
    def stats(self) -> IndexStats:
        """What the index holds."""

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Write one file; after a crash the path holds the old file or the new one."""

    @classmethod
    def open(cls, path: str | os.PathLike[str], /) -> Self:
        """Open a file that `save` wrote; parts of it may stay in the file, memory-mapped."""
