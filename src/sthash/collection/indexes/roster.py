"""`Roster`: which documents there are, in memory, and what is known of each; brought from one state to the next.

Positions of documents are those in the roster. A change costs what it changes: new documents are appended, and those
that are gone are taken out by moving what follows.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Ids, Positions

# Space for new documents, as a share of those that are there.
SPARE = 8
LEAST_SPARE = 64


class GrowingArray:
    """An array with space at its end.

    Parameters
    ----------
    values : array

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.collection.indexes.roster import GrowingArray
    >>> numbers = GrowingArray(np.array([3, 5, 7]))
    >>> numbers.append(np.array([9]))
    >>> numbers.remove(np.array([1]))
    >>> numbers.values
    array([3, 7, 9])
    """

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._size = 0
        self._space = values[:0]
        self.append(values)

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> npt.NDArray[Any]:
        """What is in it now. It is valid until something is removed."""
        return self._space[: self._size]

    def append(self, values: npt.NDArray[Any]) -> None:
        """Put values to the end."""
        end = self._size + len(values)
        if end > len(self._space):
            grown = np.empty((end + end // SPARE + LEAST_SPARE, *values.shape[1:]), dtype=self._space.dtype)
            grown[: self._size] = self.values
            self._space = grown
        self._space[self._size : end] = values
        self._size = end

    def remove(self, places: Positions) -> None:
        """Take out what is at some places, which ascend; what follows moves up."""
        if not len(places):
            return
        to = int(places[0])
        for place, following in itertools.pairwise([*places.tolist(), self._size]):
            count = following - place - 1
            self._space[to : to + count] = self._space[place + 1 : following]
            to += count
        self._size = to


class Roster:
    """The documents of one state: their ids, ascending, and aligned with these whatever else is kept of each.

    Parameters
    ----------
    ids : array of int64
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = GrowingArray(ids)
        self._aligned: dict[str, GrowingArray] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> Ids:
        """Ids of all documents, ascending."""
        return self._ids.values

    def held(self, name: str) -> GrowingArray | None:
        """Return what is kept under a name. It may end before the last documents, which came later."""
        return self._aligned.get(name)

    def hold(self, name: str, values: npt.NDArray[Any]) -> GrowingArray:
        """Keep values, one per document from the first on."""
        self._aligned[name] = GrowingArray(values)
        return self._aligned[name]

    def positions(self, ids: Ids) -> Positions:
        """Return the positions of those of some ids that are there, ascending."""
        ordered = np.sort(ids)
        places = np.searchsorted(self.ids, ordered)
        inside = places < len(self)
        places, ordered = places[inside], ordered[inside]
        found: Positions = places[self.ids[places] == ordered]
        return found

    def remove(self, positions: Positions) -> None:
        """Take out the documents at some positions, which ascend."""
        for values in self._aligned.values():
            values.remove(positions[positions < len(values)])
        self._ids.remove(positions)

    def append(self, ids: Ids) -> None:
        """Append documents, whose ids ascend and are greater than all before."""
        self._ids.append(ids)
