"""Ids that the caller chooses, for an engine that numbers its rows by position."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sthash.arrays import Ids
from sthash.index.arguments import GREATEST_ID, check_ids

Mask = npt.NDArray[np.bool_]


class IdTable:
    """Which id has which position. A table never changes: each change gives a new one.

    Rows are appended at the next positions. A removed row keeps its position until `compacted`. As long as ids ascend
    with the positions, which is the usual case, appending takes time for the new ids only.

    Attributes
    ----------
    last : int
        The greatest id ever given; -1 if there was none.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.index.id_table import IdTable
    >>> table = IdTable().appended(np.array([7, 3, 5]))
    >>> table.ascending.tolist(), table.positions(np.array([5, 4])).tolist()
    ([3, 5, 7], [2, -1])
    >>> table.without(np.array([0])).ascending.tolist()
    [3, 5]
    """

    def __init__(self) -> None:
        self.last = -1
        self._ids: Ids = np.empty(0, dtype=np.int64)  # by position; there may be space for more
        self._live: Mask = np.empty(0, dtype=bool)
        self._size = self._n_live = 0
        self._sorted: tuple[Ids, Ids] | None = None  # once ids do not ascend: those of live rows, and their positions

    def __len__(self) -> int:
        return self._n_live

    @property
    def n_positions(self) -> int:
        """Number of positions, including those of removed rows."""
        return self._size

    @property
    def by_position(self) -> Ids:
        """The ids of live rows, in the order of their positions."""
        return self._ids[: self._size][self._live[: self._size]]

    @cached_property
    def ascending(self) -> Ids:
        """The ids of live rows, ascending."""
        return self.by_position if self._sorted is None else self._sorted[0]

    @cached_property
    def ranks(self) -> npt.NDArray[np.uint32] | None:
        """The place among `ascending` of the row at each position; None if ids ascend with the positions."""
        if self._sorted is None:
            return None
        ranks = np.zeros(self._size, dtype=np.uint32)
        ranks[self._sorted[1]] = np.arange(self._n_live, dtype=np.uint32)
        return ranks

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(array.nbytes for array in (self._ids, self._live, *(self._sorted or ())))

    def found(self, places: Ids) -> Ids:
        """Return the ids of rows that a search with these `ranks` has found; -1 where it has found none."""
        known = self._ids[: self._size] if self._sorted is None else self._sorted[0]
        return np.where(places < 0, -1, known[places]) if len(known) else places

    def positions(self, ids: Ids) -> Ids:
        """Return the position of each id; -1 where it is not there."""
        known, order = (self._ids[: self._size], None) if self._sorted is None else self._sorted
        if not len(known):
            return np.full(len(ids), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        there = known[places] == ids
        if order is None:
            return np.where(there & self._live[places], places, -1)
        return np.where(there, order[places], -1)

    def held(self, ids: Ids) -> Ids:
        """Return the positions of ids, all of which must be there, each given once."""
        positions = self.positions(ids)
        if (positions < 0).any():
            missing = int(ids[np.argmax(positions < 0)])
            raise KeyError(f"Id {missing} is not in the index. Ask for ids that it holds.")
        if (twice := _first_repeated(ids)) is not None:
            raise ValueError(f"Id {twice} is given twice. Give each id once.")
        return positions

    def new(self, ids: Ids | None, count: int) -> Ids:
        """Return the ids of new rows: those that are given, none of which may be there, or the next ones."""
        if ids is None:
            if count > GREATEST_ID - self.last:
                raise ValueError(f"No ids are left after {self.last}. Give ids yourself.")
            return np.arange(count, dtype=np.int64) + (self.last + 1)
        known = self.positions(ids) >= 0
        twice = int(ids[np.argmax(known)]) if known.any() else _first_repeated(ids)
        if twice is not None:
            raise ValueError(
                f"Id {twice} is in the index already or given twice. Remove it first, or choose another id."
            )
        return ids

    def appended(self, ids: Ids) -> IdTable:
        """Return a table with new rows at the next positions."""
        table, first, size = self._copy(), self._size, self._size + len(ids)
        if len(self._ids) < size:
            capacity = max(size, 2 * len(self._ids))
            table._ids, table._live = np.zeros(capacity, dtype=np.int64), np.zeros(capacity, dtype=bool)
            table._ids[:first], table._live[:first] = self._ids[:first], self._live[:first]
        # The space is shared with this table, which does not read beyond its size.
        table._ids[first:size], table._live[first:size] = ids, True
        table._size, table._n_live = size, self._n_live + len(ids)
        table.last = max(self.last, int(ids.max(initial=-1)))
        ascends = bool((np.diff(table._ids[max(first - 1, 0) : size]) > 0).all())
        if self._sorted is not None or not ascends:
            known, order = self._by_id()
            new = np.argsort(ids, kind="stable")
            places = np.searchsorted(known, ids[new])
            table._sorted = np.insert(known, places, ids[new]), np.insert(order, places, first + new)
        return table

    def without(self, positions: Ids) -> IdTable:
        """Return a table in which the rows at some positions are removed."""
        table = self._copy()
        table._live = self._live.copy()
        table._live[positions] = False
        table._n_live = self._n_live - len(positions)
        if self._sorted is not None:
            known, order = self._sorted
            kept = table._live[order]
            table._sorted = known[kept], order[kept]
        return table

    def compacted(self) -> IdTable:
        """Return a table without the positions of removed rows; the other rows move up."""
        table = IdTable()
        table.last = self.last
        return table.appended(self.by_position)

    def mask(self, allowed: npt.ArrayLike | Set[int]) -> npt.NDArray[np.uint8]:
        """Return one byte per position: whether ids, or a mask in the order of `ascending`, allow its row."""
        mask = np.zeros(self._size, dtype=np.uint8)
        given = None if isinstance(allowed, Set) else np.asarray(allowed)
        if given is None or given.dtype != np.bool_:
            positions = self.positions(check_ids(allowed, "allowed"))
            mask[positions[positions >= 0]] = 1
            return mask
        if given.shape != (self._n_live,):
            raise ValueError(
                f"a mask must have one value per id of the index, shape {(self._n_live,)}, got shape {given.shape}. "
                "Make it in the order of index.ids."
            )
        mask[self._by_id()[1][given]] = 1
        return mask

    def _by_id(self) -> tuple[Ids, Ids]:
        """Return the ids of live rows, ascending, and their positions."""
        if self._sorted is not None:
            return self._sorted
        order = np.flatnonzero(self._live[: self._size])
        return self._ids[order], order

    def _copy(self) -> IdTable:
        table = IdTable()
        table.last, table._sorted = self.last, self._sorted
        table._ids, table._live, table._size, table._n_live = self._ids, self._live, self._size, self._n_live
        return table


def _first_repeated(ids: Ids) -> int | None:
    ascending = np.sort(ids)
    repeated = ascending[1:][np.diff(ascending) == 0]
    return int(repeated[0]) if len(repeated) else None
