"""The index of packed codes: who is within a given number of bits of whom.

An index scans, or it looks into hash tables over parts of the codes (multi-index hashing; for codes of up to
24 bits, one table over the whole code, in which the codes around the query are enumerated). Both give the
same, exact answers: which of them a call uses, and when tables are built, only changes the time it takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash import codes as packed
from sthash.checks import check_whole
from sthash.codes import Codes
from sthash.files import replacing
from sthash.index.arguments import Ids, check_id, check_ids, check_threads, check_weights

Distances = npt.NDArray[np.int32]
WeightedDistances = npt.NDArray[np.float32]
SomeIds = npt.ArrayLike | Set[int]
SearchPath = Literal["auto", "scan", "tables"]

MAX_BITS = 1024
_PATHS: dict[str, int] = {"auto": 0, "scan": 1, "tables": 2}


class Pairs(NamedTuple):
    """A block of pairs within a radius: ``left[i]`` and ``right[i]`` are ``distances[i]`` bits apart."""

    left: Ids
    right: Ids
    distances: Distances


@dataclass(frozen=True)
class IndexStats:
    """What an index holds, and how it has answered its queries so far.

    Attributes
    ----------
    size, dead
        Codes held; removed ones that still take up room, until they are a quarter of all.
    code_bytes, id_bytes, table_bytes
        Memory of the codes, of the ids with the map from ids to codes, and of the tables.
    in_tables
        Codes, counting removed ones, that the tables cover; the others are scanned.
    scanned_in_batches, scanned_singly, probed, enumerated
        Queries answered by the bit-sliced scan, by the scan for few queries, by multi-index hashing, and by
        enumeration of the codes around the query.
    weighted
        Queries with weights, which have a scan of their own.
    """

    size: int
    dead: int
    code_bytes: int
    id_bytes: int
    table_bytes: int
    in_tables: int
    scanned_in_batches: int
    scanned_singly: int
    probed: int
    enumerated: int
    weighted: int


class HammingIndex:
    """Exact nearest-neighbour, radius and all-pairs search over packed binary codes.

    Any number of threads may search while one changes the index: a search sees all or nothing of each change.

    Parameters
    ----------
    n_bits : int
        Bits of a code, from 1 to 1024.
    path : {"auto", "scan", "tables"}
        "auto" chooses for each call by an estimate of the cost, and builds tables once scanning has cost more
        time than they would have. "scan" never builds tables, which takes the least memory; "tables" uses
        nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> import sthash
    >>> index = sthash.HammingIndex(n_bits=8)
    >>> index.add(np.array([[0b0000], [0b0001], [0b1111]], dtype=np.uint8)).tolist()
    [0, 1, 2]
    >>> ids, distances = index.search(np.array([[0b0011]], dtype=np.uint8), k=2)
    >>> ids.tolist(), distances.tolist()
    ([[1, 0]], [[1, 2]])
    >>> index.remove([1])
    >>> lims, ids, distances = index.radius_search(np.array([[0b0011]], dtype=np.uint8), radius=2)
    >>> ids.tolist()
    [0, 2]
    """

    def __init__(self, n_bits: int, *, path: SearchPath = "auto") -> None:
        n_bits = check_whole("n_bits", n_bits, 1, f"use 1 to {MAX_BITS}")
        if n_bits > MAX_BITS:
            raise ValueError(f"n_bits must be at most {MAX_BITS}, got {n_bits}; use sthash.codes.prefix")
        self._n_bits = n_bits
        self._core = _core.HammingCore(n_bits, _path_number(path))

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
        return self._n_bits

    def __len__(self) -> int:
        return self._core.size()

    def __contains__(self, key: object) -> bool:
        number = check_id(key)
        return number is not None and self._core.contains(number)

    def __repr__(self) -> str:
        return f"HammingIndex(n_bits={self._n_bits}, size={len(self)})"

    def add(self, codes: Codes, ids: npt.ArrayLike | None = None) -> Ids:
        """Add codes, and give their ids.

        Parameters
        ----------
        codes : array of uint8, one row a code
        ids : whole numbers, optional
            New to the index, none negative. By default they go on from the greatest id ever held.
        """
        codes = packed.check(codes, self._n_bits)
        return self._core.add(codes, None if ids is None else check_ids(ids, count=len(codes)))

    def remove(self, ids: SomeIds) -> None:
        """Remove codes by their ids, in constant time each; other ids stay as they are."""
        self._core.remove(check_ids(ids))

    def update(self, codes: Codes, ids: npt.ArrayLike) -> None:
        """Replace the codes of ids that are in the index."""
        codes = packed.check(codes, self._n_bits)
        self._core.update(codes, check_ids(ids, count=len(codes)))

    def ids(self) -> Ids:
        """All ids, ascending."""
        return self._core.ids()

    def codes(self, ids: npt.ArrayLike) -> Codes:
        """Give the codes of some ids, in their order."""
        return self._core.codes(check_ids(ids))

    @overload
    def search(
        self,
        codes: Codes,
        k: int,
        *,
        weights: None = None,
        within: int | None = None,
        allowed: SomeIds | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Distances]: ...
    @overload
    def search(
        self,
        codes: Codes,
        k: int,
        *,
        weights: npt.ArrayLike,
        within: int | None = None,
        allowed: SomeIds | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, WeightedDistances]: ...
    def search(
        self,
        codes: Codes,
        k: int,
        *,
        weights: npt.ArrayLike | None = None,
        within: int | None = None,
        allowed: SomeIds | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Distances | WeightedDistances]:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes : array of uint8, one row a query
        k : int
        weights : array of float32, shape (queries, n_bits), optional
            How much it counts that a bit differs from the query's, not negative; usually how sure the query is of
            the bit, ``np.abs(hasher.decision_function(X))``. The distance of a code is then the sum of the weights of
            the bits that differ. The answer is as exact as without; it is found by a scan, never by tables.
        within : int, optional
            Only codes that differ in at most this many bits, with weights too.
        allowed : whole numbers, optional
            Only codes with these ids; ids that are not in the index are ignored. Takes time in proportion to
            them.
        threads : int, optional
            By default all processors.

        Returns
        -------
        ids, distances : arrays of shape (queries, k)
            Ordered by distance, then id; -1 where there are fewer than k. Distances are int32, with weights float32:
            those of each four bits are added up from the lowest bit on, then these sums, so that every machine gives
            the same.

        Examples
        --------
        >>> import numpy as np
        >>> import sthash
        >>> index = sthash.HammingIndex(n_bits=8)
        >>> _ = index.add(np.array([[0b0001], [0b1100]], dtype=np.uint8))
        >>> query = np.array([[0b0000]], dtype=np.uint8)
        >>> index.search(query, k=2)[0].tolist()
        [[0, 1]]
        >>> sure_of_the_lowest = np.array([[3, 1, 1, 1, 1, 1, 1, 1]], dtype=np.float32)
        >>> ids, distances = index.search(query, k=2, weights=sure_of_the_lowest)
        >>> ids.tolist(), distances.tolist()
        ([[1, 0]], [[2.0, 3.0]])
        """
        codes = packed.check(codes, self._n_bits)
        k = check_whole("k", k, 1, "ask for at least one neighbour")
        radius = self._n_bits if within is None else self._radius(within, "within")
        ids, processors = _optional_ids(allowed), check_threads(threads)
        if weights is None:
            return self._core.search(codes, k, radius, ids, processors)
        checked = check_weights(weights, (len(codes), self._n_bits))
        return self._core.weighted_search(codes, checked, k, radius, ids, processors)

    def radius_search(
        self, codes: Codes, radius: int, *, allowed: SomeIds | None = None, threads: int | None = None
    ) -> tuple[Ids, Ids, Distances]:
        """Find all codes with distance at most ``radius`` from each query.

        Returns
        -------
        lims, ids, distances : arrays
            Query j owns ``ids[lims[j]:lims[j + 1]]`` and the same part of ``distances``, ordered by distance,
            then id.
        """
        codes = packed.check(codes, self._n_bits)
        radius = self._radius(radius, "radius")
        return self._core.radius_search(codes, radius, _optional_ids(allowed), check_threads(threads))

    def count(
        self, codes: Codes, radius: int, *, allowed: SomeIds | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Count the codes with distance at most ``radius`` from each query."""
        codes = packed.check(codes, self._n_bits)
        radius = self._radius(radius, "radius")
        return self._core.count(codes, radius, _optional_ids(allowed), check_threads(threads))

    @overload
    def pairs(self, radius: int, /, *, threads: int | None = None) -> Iterator[Pairs]: ...
    @overload
    def pairs(self, *, radius: int, threads: int | None = None) -> Iterator[Pairs]: ...
    @overload
    def pairs(self, other: HammingIndex, radius: int, *, threads: int | None = None) -> Iterator[Pairs]: ...
    def pairs(self, other: Any = None, radius: Any = None, *, threads: int | None = None) -> Iterator[Pairs]:
        """Give all pairs of codes at most ``radius`` bits apart, in blocks of bounded size.

        ``pairs(radius)`` joins the index with itself and gives each pair once, the smaller id first;
        ``pairs(other, radius)`` joins it with another index, this one's ids on the left. Both see the indexes
        as they were at the call.

        Examples
        --------
        >>> import numpy as np
        >>> import sthash
        >>> index = sthash.HammingIndex(n_bits=8)
        >>> _ = index.add(np.array([[0], [1], [255]], dtype=np.uint8))
        >>> for block in index.pairs(radius=3):
        ...     print(block.left, block.right, block.distances)
        [0] [1] [1]
        """
        if radius is None:
            other, radius = None, other
        if other is None:
            other = self
        if not isinstance(other, HammingIndex):
            raise TypeError(f"other must be a HammingIndex, got {type(other).__name__}")
        if other.n_bits != self._n_bits:
            raise ValueError(f"both indexes must have the same n_bits, got {self._n_bits} and {other.n_bits}")
        radius = self._radius(radius, "radius")
        return _blocks(_core.HammingJoin(self._core, other._core, radius, check_threads(threads)))

    def build_tables(self, *, threads: int | None = None) -> None:
        """Build the hash tables now instead of when they have become worth it."""
        self._core.build_tables(check_threads(threads))

    def stats(self) -> IndexStats:
        """Tell what the index holds and how it has answered."""
        return IndexStats(**self._core.stats())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file, which either is there whole or, after a crash, the old one.

        Tables are not written. Removed codes are left out.
        """
        with replacing(path) as temporary, temporary.open("r+b") as file:
            self._core.save(file.fileno())

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mmap: bool = True, search_path: SearchPath = "auto") -> HammingIndex:
        """Open a file that ``save`` has written.

        Parameters
        ----------
        path : path
        mmap : bool
            Map the file, which takes milliseconds however large it is; its checksums are verified before the
            codes are first used. Otherwise it is read and verified at once. Changes stay in memory until
            ``save``.
        search_path : {"auto", "scan", "tables"}
            As ``path`` of the class.

        Raises
        ------
        ValueError
            If the file is no index, damaged, or of a version that this release does not know; with ``mmap``
            damage to the codes is found, and raised, at the first use.
        """
        number = _path_number(search_path)
        with Path(path).open("rb") as file:
            core = _core.HammingCore.open(file.fileno(), mmap, os.fspath(path), number)
        if not mmap:
            core.verify()
        index = cls.__new__(cls)
        index._n_bits = core.n_bits()
        index._core = core
        return index

    def _radius(self, value: Any, name: str) -> int:
        return min(check_whole(name, value, 0, "distances are whole numbers from 0 on"), self._n_bits)


def _blocks(join: _core.HammingJoin) -> Iterator[Pairs]:
    while True:
        block = Pairs(*join.next())
        if len(block.left) == 0:
            return
        yield block


def _optional_ids(allowed: SomeIds | None) -> Ids | None:
    return None if allowed is None else check_ids(allowed, "allowed")


def _path_number(path: str) -> int:
    if path not in _PATHS:
        raise ValueError(f"path must be one of {', '.join(map(repr, _PATHS))}, got {path!r}")
    return _PATHS[path]
