"""The index of packed codes: exact search in Hamming space.

An index scans all codes, or probes hash tables over parts of the codes (multi-index hashing; for codes of up to
24 bits, one table over the whole code, in which the codes around the query are enumerated). Both give the same, exact
answers: which of them a call uses, and when tables are built, only changes the time it takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args, overload

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash import codes as packed
from sthash.arrays import Ids
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.codes import Codes
from sthash.files import replacing
from sthash.index.arguments import check_allowed, check_id, check_ids, check_k, check_radius, check_weights
from sthash.index.interface import Allowed
from sthash.pickling import reduced_to_file

Distances = npt.NDArray[np.int32]
WeightedDistances = npt.NDArray[np.float32]
Strategy = Literal["auto", "scan", "tables"]

MAX_BITS = 1024


class Pairs(NamedTuple):
    """A block of pairs within a radius: ``left[i]`` and ``right[i]`` are ``distances[i]`` bits apart."""

    left: Ids
    right: Ids
    distances: Distances


@dataclass(frozen=True)
class HammingStats:
    """What an index holds, and how it has answered its queries so far.

    Attributes
    ----------
    size, dead
        Codes held; removed codes that still take memory, until they are 1,024 and a quarter of all.
    nbytes
        Memory that the index takes, or has mapped.
    code_bytes, id_bytes, table_bytes
        Its parts: the codes, the ids with the map from ids to codes, and the tables.
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
    nbytes: int
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
    Searches run on ``threads`` threads. Default: one per available core.

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
        self._n_bits, self._strategy = n_bits, strategy
        self._core = _core.HammingCore(n_bits, _core_strategy(strategy))

    @classmethod
    def build(
        cls,
        codes: Codes,
        ids: npt.ArrayLike | None = None,
        *,
        n_bits: int | None = None,
        strategy: Strategy = "auto",
        threads: int | None = None,
    ) -> Self:
        """Build the index of codes.

        Parameters
        ----------
        codes : array of uint8, one row per code
        ids : whole numbers, optional
            Default: the positions of the rows.
        n_bits : int, optional
            Bits per code. Default: all bits of a row, 8 per byte.
        strategy : {"auto", "scan", "tables"}
            As in the class.
        threads : int, optional
            As in `add`.

        Examples
        --------
        >>> import numpy as np
        >>> import sthash
        >>> index = sthash.HammingIndex.build(np.array([[1], [2]], dtype=np.uint8), ids=[7, 9])
        >>> index, index.ids.tolist()
        (HammingIndex(n_bits=8, size=2), [7, 9])
        """
        if n_bits is None:
            if np.ndim(codes) != 2:
                raise ValueError(f"codes must have two dimensions, one row per code, got shape {np.shape(codes)}.")
            n_bits = 8 * np.shape(codes)[1]
        index = cls(n_bits, strategy=strategy)
        index.add(codes, ids, threads=threads)
        return index

    @property
    def n_bits(self) -> int:
        """Bits per code."""
        return self._n_bits

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_file(self, strategy=self._strategy)

    def __len__(self) -> int:
        return self._core.size()

    def __contains__(self, key: object) -> bool:
        number = check_id(key)
        return number is not None and self._core.contains(number)

    def __repr__(self) -> str:
        return f"HammingIndex(n_bits={self._n_bits}, size={len(self)})"

    def add(self, codes: Codes, ids: npt.ArrayLike | None = None, *, threads: int | None = None) -> Ids:
        """Add codes, and return their ids.

        Parameters
        ----------
        codes : array of uint8, one row per code
        ids : whole numbers, optional
            New to the index, none negative. By default they continue from the greatest id ever given.
        threads : int, optional
            For consistency with the other indexes; one thread copies the codes.
        """
        resolve_threads(threads)
        codes = packed.check(codes, self._n_bits)
        return self._core.add(codes, None if ids is None else check_ids(ids, count=len(codes), of="codes"))

    def remove(self, ids: npt.ArrayLike | Set[int]) -> None:
        """Remove codes by id, in constant time each. If an id is missing, none is removed. Other ids do not change."""
        self._core.remove(check_ids(ids))

    def update(self, codes: Codes, ids: npt.ArrayLike) -> None:
        """Replace the codes of ids that are in the index."""
        codes = packed.check(codes, self._n_bits)
        self._core.update(codes, check_ids(ids, count=len(codes), of="codes"))

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""
        return self._core.ids()

    def codes(self, ids: npt.ArrayLike) -> Codes:
        """Return the codes of some ids, in the order of the ids."""
        return self._core.codes(check_ids(ids))

    @overload
    def search(
        self,
        queries: Codes,
        k: int = 10,
        *,
        weights: None = None,
        radius: int | None = None,
        allowed: Allowed | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Distances]: ...
    @overload
    def search(
        self,
        queries: Codes,
        k: int = 10,
        *,
        weights: npt.ArrayLike,
        radius: int | None = None,
        allowed: Allowed | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, WeightedDistances]: ...
    def search(
        self,
        queries: Codes,
        k: int = 10,
        *,
        weights: npt.ArrayLike | None = None,
        radius: int | None = None,
        allowed: Allowed | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Distances | WeightedDistances]:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        queries : array of uint8, one row per query
        k : int, default=10
        weights : array of float32, shape (queries, n_bits), optional
            Cost of each bit that differs from the query's, not negative; usually the margins of the query,
            ``np.abs(hasher.decision_function(X))``. The distance of a code is then the sum of the weights of the bits
            that differ. The result is exact. Weighted searches always scan; they never use tables.
        radius : int, optional
            Only codes that differ in at most this many bits, also with weights.
        allowed : whole numbers or boolean mask, optional
            Only codes with these ids, or those that a mask in the order of `ids` selects. Ids that are not in the
            index are ignored. The time grows with their number.
        threads : int, optional
            Default: one per available core.

        Returns
        -------
        ids, distances : arrays of shape (queries, k)
            Ordered by distance, then id; -1 where there are fewer than k. Distances are int32; with weights they are
            float32, and the order of the additions is fixed, so that all machines give the same result.

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
        codes = packed.check(queries, self._n_bits)
        k = check_k(k)
        bound = None if radius is None else check_radius(radius, self._n_bits)
        ids, workers = check_allowed(allowed, self), resolve_threads(threads)
        if weights is None:
            return self._core.search(codes, k=k, radius=bound, allowed=ids, threads=workers)
        checked = check_weights(weights, (len(codes), self._n_bits))
        return self._core.weighted_search(codes, checked, k=k, radius=bound, allowed=ids, threads=workers)

    def radius_search(
        self, queries: Codes, radius: int, *, allowed: Allowed | None = None, threads: int | None = None
    ) -> tuple[Ids, Ids, Distances]:
        """Find all codes at most ``radius`` bits from each query.

        Returns
        -------
        lims, ids, distances : arrays
            Query j owns ``ids[lims[j]:lims[j + 1]]`` and the same part of ``distances``, ordered by distance,
            then id.
        """
        codes, radius = packed.check(queries, self._n_bits), check_radius(radius, self._n_bits)
        ids, workers = check_allowed(allowed, self), resolve_threads(threads)
        return self._core.radius_search(codes, radius=radius, allowed=ids, threads=workers)

    def count(
        self, queries: Codes, radius: int, *, allowed: Allowed | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Count the codes at most ``radius`` bits from each query."""
        codes, radius = packed.check(queries, self._n_bits), check_radius(radius, self._n_bits)
        ids, workers = check_allowed(allowed, self), resolve_threads(threads)
        return self._core.count(codes, radius=radius, allowed=ids, threads=workers)

    def pairs(self, radius: int, other: HammingIndex | None = None, *, threads: int | None = None) -> Iterator[Pairs]:
        """Yield all pairs of codes at most ``radius`` bits apart, in blocks of bounded size.

        Parameters
        ----------
        radius : int
        other : HammingIndex, optional
            Pairs of a code of this index, on the left, and a code of the other index. Default: pairs within this index,
            each pair once, the smaller id on the left. Both indexes are seen as they are at the call.
        threads : int, optional
            Default: one per available core.

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
        """Build the hash tables now instead of later, when they pay off."""
        self._core.build_tables(threads=resolve_threads(threads))

    @property
    def stats(self) -> HammingStats:
        """What the index holds, and how it has answered its queries."""
        parts = self._core.stats()
        return HammingStats(**parts, nbytes=parts["code_bytes"] + parts["id_bytes"] + parts["table_bytes"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file. After a crash the file is either the whole new one or the old one.

        Tables and removed codes are not written. A file that exists is replaced by renaming; processes that have the
        old file open, mapped or not, keep it.
        """
        with replacing(path) as temporary, temporary.open("r+b") as file:
            self._core.save(file.fileno())

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mmap: bool = True, strategy: Strategy = "auto") -> Self:
        """Open a file that ``save`` has written.

        Parameters
        ----------
        path : path
        mmap : bool, default=True
            Whether the codes stay in the file, memory-mapped: opening takes milliseconds for a file of any size, and
            its checksums are verified before the codes are first used. The file may be renamed, deleted, or replaced
            by ``save``. It must not be changed in place (``cp`` over it, ``truncate``, ``rsync --inplace``): each call
            compares its size and its time of change and raises ModelFileError, but a change in the middle of a call may
            end the process (SIGBUS) or give wrong answers. Use False for files that others may write, or on a network
            file system: the file is then read and verified at once.

            Changes to the index stay in memory until ``save``, either way.
        strategy : {"auto", "scan", "tables"}
            As in the class.

        Raises
        ------
        ModelFileError
            If the file is not an index, is damaged, or has a version that this release does not know. With ``mmap``,
            damage to the codes is raised at the first use, and a change of the file at the next one. It is a
            ValueError.
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
            core = _core.HammingCore.open(file.fileno(), mapped=bool(mmap), name=os.fspath(path), strategy=chosen)
        if not mmap:
            core.verify()
        index = cls.__new__(cls)
        index._n_bits, index._strategy = core.n_bits(), strategy
        index._core = core
        return index


def _blocks(join: _core.HammingJoin) -> Iterator[Pairs]:
    while True:
        block = Pairs(*join.next())
        if len(block.left) == 0:
            return
        yield block


def _core_strategy(strategy: str) -> _core.Strategy:
    return _core.Strategy[check_choice("strategy", strategy, get_args(Strategy))]
