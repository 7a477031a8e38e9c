"""The values of a field in all documents: to sort by, and to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Positions
from sthash.collection.file.documents import ReadDocument
from sthash.collection.search.conditions import OWN_FIELDS, PREFIX, FieldKinds, field_value, values_of
from sthash.collection.snapshot import Snapshot

# Fields whose values are kept in memory, per state of a collection.
MOST_KEPT = 16
# Values of a field that are counted, the most common ones.
MOST_COUNTED = 100


@dataclass(frozen=True)
class FieldColumn:
    """The values of one field: strings and numbers, as they are or in lists.

    Attributes
    ----------
    values : list
        All different values.
    starts : array of int64
        The document at position i has the values ``numbers[starts[i]:starts[i + 1]]``.
    numbers : array of int64
        Places in ``values``.
    """

    values: list[Any]
    starts: Positions
    numbers: Positions

    @cached_property
    def _ranks(self) -> Positions:
        """Rank of each value: numbers before strings, each ascending."""
        order = sorted(range(len(self.values)), key=lambda place: _sort_key(self.values[place]))
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks

    def sorted(self, positions: Positions, *, descending: bool) -> Positions:
        """Return positions by the values of their documents; those without a value come last, in their order.

        Of a list the least value counts, or the greatest if the order is descending.
        """
        held = np.diff(self.starts) > 0
        keys = np.full(len(held), len(self.values), dtype=np.int64)
        ranks = -self._ranks if descending else self._ranks
        if held.any():
            keys[held] = np.minimum.reduceat(ranks[self.numbers], self.starts[:-1][held])
        return positions[np.argsort(keys[positions], kind="stable")]

    def counts(self, chosen: npt.NDArray[np.uint8]) -> dict[Any, int]:
        """Return in how many of the chosen documents each value is, the most common first; a byte per document."""
        documents = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        counts = np.bincount(self.numbers[chosen[documents] > 0], minlength=len(self.values))
        order = np.lexsort((self._ranks, -counts))[:MOST_COUNTED]
        return {self.values[place]: int(counts[place]) for place in order.tolist() if counts[place]}


def field_columns(snapshot: Snapshot, names: Sequence[str], option: str) -> list[FieldColumn]:
    """Return the values of fields; ValueError, beginning with the name of an option, if no document has one."""
    kept: dict[str, FieldColumn] = snapshot.kept.setdefault("fields", {})
    known = {name: kept[name] for name in names if name in kept}
    missing = [name for name in names if name not in known]
    if missing:
        read = _read(snapshot, missing, option)
        known |= read
        for name in [*kept][: max(0, len(kept) + len(read) - MOST_KEPT)]:
            del kept[name]
        kept |= dict([*read.items()][:MOST_KEPT])
    return [known[name] for name in names]


class _Values:
    """The values of one field, as documents come."""

    def __init__(self, name: str) -> None:
        self.own = name if name in OWN_FIELDS else None
        self.name = name.removeprefix(PREFIX)
        self.exists = False
        self.index: dict[Any, int] = {}
        self.numbers: list[int] = []
        self.starts = [0]

    def add(self, read: ReadDocument) -> None:
        if self.own is not None:
            there, value = True, read.key if self.own == "key" else read.label
        else:
            there, value = field_value(read.shared_metadata, self.name)
        self.exists = self.exists or there
        for one in dict.fromkeys(one for one in values_of(value) if isinstance(one, str | int | float)):
            self.numbers.append(self.index.setdefault(one, len(self.index)))
        self.starts.append(len(self.numbers))

    def column(self) -> FieldColumn:
        starts, numbers = np.array(self.starts, dtype=np.int64), np.array(self.numbers, dtype=np.int64)
        return FieldColumn([*self.index], starts, numbers)


def _read(snapshot: Snapshot, names: list[str], option: str) -> dict[str, FieldColumn]:
    """Read all documents once."""
    fields = {name: _Values(name) for name in names}
    for _, read in snapshot.documents.where("1", ()):
        for field in fields.values():
            field.add(read)
    for name, field in fields.items():
        if len(snapshot) and not field.index:
            _check(snapshot, field, f"{option} has the field {name!r}")
    return {name: field.column() for name, field in fields.items()}


def _check(snapshot: Snapshot, field: _Values, said: str) -> None:
    """Refuse a field that no document has, and one of objects."""
    known = FieldKinds()
    for _, read in snapshot.documents.where("1", ()):
        known.add(read.shared_metadata)
    if not field.exists:
        raise ValueError(f"{said}, which no document has. The documents have: {known.listed()}.")
    if "object" in known.get(field.name, ()):
        raise TypeError(f"{said}, which holds objects. Name a field inside of them, as in author.name.")


def _sort_key(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value
