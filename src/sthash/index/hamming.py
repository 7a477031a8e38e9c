"""The index of packed codes: exact search in Hamming space.

An index scans all codes, or it looks into hash tables over parts of the codes (multi-index hashing; for codes of up to
24 bits, one table over the whole code, in which the codes around the query are enumerated). Both give the same, exact
answers: which of them a call uses, and when tables are built, only changes the time it takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args, overload

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash import codes as packed
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.codes import Codes
from sthash.files import replacing
from sthash.index.arguments import Ids, check_id, check_ids, check_radius, check_weights

Distances = npt.NDArray[np.int32]
WeightedDistances = npt.NDArray[np.float32]
SomeIds = npt.ArrayLike | Set[int]
Strategy = Literal["auto", "scan", "tables"]

MAX_BITS = 1024


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
        Codes held; removed codes that still take memory, until they are a quarter of all.
    code_bytes, id_bytes, table_bytes
        Memory of the codes, of the ids with the map from ids to codes, and of the tables.
    in_tables
        Codes that the tables cover, removed ones included; the others are scanned.
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
    """Exact nearest-neighbor, radius and all-pairs search over packed binary codes.

    Any number of threads may search while one changes the index: a search sees all of a change or nothing of it.
    Searches run on ``threads`` threads, by default one per available core.

    Parameters
    ----------
    n_bits : int
        Bits per code, from 1 to 1024.
    strategy : {"auto", "scan", "tables"}
        "auto" chooses for each call by an estimate of the cost, and builds tables once scanning has cost more time
        than they would have. "scan" never builds tables, which takes the least memory. "tables" always uses tables.

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

    def __init__(self, n_bits: int, *, strategy: Strategy = "auto") -> None:
        n_bits = check_whole("n_bits", n_bits, 1, f"use 1 to {MAX_BITS}")
        if n_bits > MAX_BITS:
            raise ValueError(f"n_bits={n_bits} must be at most {MAX_BITS}. Shorten the codes with sthash.codes.prefix.")
        self._n_bits = n_bits
        self._core = _core.HammingCore(n_bits, _core_strategy(strategy))

    @property
    def n_bits(self) -> int:
        """Bits per code."""
        return self._n_bits

    def __len__(self) -> int:
        return self._core.size()

    def __contains__(self, key: object) -> bool:
        number = check_id(key)
        return number is not None and self._core.contains(number)

    def __repr__(self) -> str:
        return f"HammingIndex(n_bits={self._n_bits}, size={len(self)})"

    def add(self, codes: Codes, ids: npt.ArrayLike | None = None) -> Ids:
        """Add codes, and return their ids.

        Parameters
        ----------
        codes : array of uint8, one row per code
        ids : whole numbers, optional
            New to the index, none negative. By default they continue from the greatest id ever held.
        """
        codes = packed.check(codes, self._n_bits)
        return self._core.add(codes, None if ids is None else check_ids(ids, count=len(codes)))

    def remove(self, ids: SomeIds) -> None:
        """Remove codes by their ids, in constant time each. Other ids stay as they are."""
        self._core.remove(check_ids(ids))

    def update(self, codes: Codes, ids: npt.ArrayLike) -> None:
        """Replace the codes of ids that are in the index."""
        codes = packed.check(codes, self._n_bits)
        self._core.update(codes, check_ids(ids, count=len(codes)))

    def ids(self) -> Ids:
        """Return all ids, ascending."""
        return self._core.ids()

    def codes(self, ids: npt.ArrayLike) -> Codes:
        """Return the codes of some ids, in the order of the ids."""
        return self._core.codes(check_ids(ids))

    @overload
    def search(
        self,
        codes: Codes,
        k: int,
        *,
        weights: None = None,
        radius: int | None = None,
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
        radius: int | None = None,
        allowed: SomeIds | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, WeightedDistances]: ...
    def search(
        self,
        codes: Codes,
        k: int,
        *,
        weights: npt.ArrayLike | None = None,
        radius: int | None = None,
        allowed: SomeIds | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Distances | WeightedDistances]:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes : array of uint8, one row per query
        k : int
        weights : array of float32, shape (queries, n_bits), optional
            How much it counts that a bit differs from the bit of the query, not negative; usually how sure the query
            is of the bit, ``np.abs(hasher.decision_function(X))``. The distance of a code is then the sum of the
            weights of the bits that differ. The answer is as exact as without weights. It is found by a scan, never
            by tables.
        radius : int, optional
            Only codes that differ in at most this many bits, with weights too.
        allowed : whole numbers, optional
            Only codes with these ids. Ids that are not in the index are ignored. The time grows with their number.
        threads : int, optional
            By default one per available core.

        Returns
        -------
        ids, distances : arrays of shape (queries, k)
            Ordered by distance, then id; -1 where there are fewer than k. Distances are int32; with weights they are
            float32, and the order of the additions is fixed, so that every machine gives the same.

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
        k = check_whole("k", k, 1, "ask for at least one neighbor")
        bound = None if radius is None else check_radius(radius, self._n_bits)
        ids, workers = _optional_ids(allowed), resolve_threads(threads)
        if weights is None:
            return self._core.search(codes, k=k, radius=bound, allowed=ids, threads=workers)
        checked = check_weights(weights, (len(codes), self._n_bits))
        return self._core.weighted_search(codes, checked, k=k, radius=bound, allowed=ids, threads=workers)

    def radius_search(
        self, codes: Codes, radius: int, *, allowed: SomeIds | None = None, threads: int | None = None
    ) -> tuple[Ids, Ids, Distances]:
        """Find all codes at most ``radius`` bits from each query.

        Returns
        -------
        lims, ids, distances : arrays
            Query j owns ``ids[lims[j]:lims[j + 1]]`` and the same part of ``distances``, ordered by distance,
            then id.
        """
        codes, radius = packed.check(codes, self._n_bits), check_radius(radius, self._n_bits)
        ids, workers = _optional_ids(allowed), resolve_threads(threads)
        return self._core.radius_search(codes, radius=radius, allowed=ids, threads=workers)

    def count(
        self, codes: Codes, radius: int, *, allowed: SomeIds | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Count the codes at most ``radius`` bits from each query."""
        codes, radius = packed.check(codes, self._n_bits), check_radius(radius, self._n_bits)
        ids, workers = _optional_ids(allowed), resolve_threads(threads)
        return self._core.count(codes, radius=radius, allowed=ids, threads=workers)

    def pairs(self, radius: int, other: HammingIndex | None = None, *, threads: int | None = None) -> Iterator[Pairs]:
        """Yield all pairs of codes at most ``radius`` bits apart, in blocks of bounded size.

        Parameters
        ----------
        radius : int
        other : HammingIndex, optional
            Pairs of a code of this index, on the left, and a code of the other index. By default pairs within this
            index, each pair once, the smaller id on the left. Both indexes are seen as they are at the call.
        threads : int, optional
            By default one per available core.

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
        radius = check_radius(radius, self._n_bits)
        other = self if other is None else other
        if not isinstance(other, HammingIndex):
            raise TypeError(f"other must be a HammingIndex, got {type(other).__name__}. Put its codes into one.")
        if other.n_bits != self._n_bits:
            raise ValueError(
                f"Both indexes must have the same n_bits, got {self._n_bits} and {other.n_bits}. "
                "Shorten the longer codes with sthash.codes.prefix."
            )
        return _blocks(_core.HammingJoin(self._core, other._core, radius=radius, threads=resolve_threads(threads)))

    def build_tables(self, *, threads: int | None = None) -> None:
        """Build the hash tables now instead of when they have become worth it."""
        self._core.build_tables(threads=resolve_threads(threads))

    def stats(self) -> IndexStats:
        """Return what the index holds and how it has answered its queries."""
        return IndexStats(**self._core.stats())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file. After a crash the file is either the whole new one or the old one.

        Tables and removed codes are not written. A file that exists is replaced by renaming; whoever has the old one
        open, mapped or not, keeps it.
        """
        with replacing(path) as temporary, temporary.open("r+b") as file:
            self._core.save(file.fileno())

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mmap: bool = False, strategy: Strategy = "auto") -> HammingIndex:
        """Open a file that ``save`` has written.

        Parameters
        ----------
        path : path
        mmap : bool, default=False
            By default the file is read and verified at once; afterwards it may be changed or deleted. With True it is
            mapped, which takes milliseconds for a file of any size; its checksums are verified before the codes are
            first used. A mapped file may be renamed, deleted, or replaced by ``save``. It must not be changed in
            place (``cp`` over it, ``truncate``, ``rsync --inplace``): each call compares its size and its time of
            change and raises ValueError, but a change in the middle of a call may end the process (SIGBUS) or give
            wrong answers. Do not map files that others may write, or files on a network file system.

            Changes to the index stay in memory until ``save``, either way.
        strategy : {"auto", "scan", "tables"}
            As in the class.

        Raises
        ------
        ValueError
            If the file is no index, is damaged, or has a version that this release does not know. With ``mmap``,
            damage to the codes is raised at the first use, and a change of the file at the next one.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import numpy as np, pathlib, sthash, tempfile
        >>> index = sthash.HammingIndex(n_bits=8)
        >>> _ = index.add(np.array([[3], [7]], dtype=np.uint8))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     index.save(pathlib.Path(folder, "codes.index"))
        ...     again = sthash.HammingIndex.open(pathlib.Path(folder, "codes.index"))
        >>> again
        HammingIndex(n_bits=8, size=2)
        """
        chosen = _core_strategy(strategy)
        with Path(path).open("rb") as file:
            core = _core.HammingCore.open(file.fileno(), mapped=mmap, name=os.fspath(path), strategy=chosen)
        if not mmap:
            core.verify()
        index = cls.__new__(cls)
        index._n_bits = core.n_bits()
        index._core = core
        return index


def _blocks(join: _core.HammingJoin) -> Iterator[Pairs]:
    while True:
        block = Pairs(*join.next())
        if len(block.left) == 0:
            return
        yield block


def _optional_ids(allowed: SomeIds | None) -> Ids | None:
    return None if allowed is None else check_ids(allowed, "allowed")


def _core_strategy(strategy: str) -> _core.Strategy:
    return _core.Strategy[check_choice("strategy", strategy, get_args(Strategy))]
