"""The log of removals: what those who have an earlier state of the file in memory need to forget.

Documents never change, and their ids ascend: one that is replaced gets a new id. So a reader that knows a state, which
is the next id and the number of removals, is brought to the present one by the documents that came later and by the
removals that came later. Only the last `MOST_KEPT` are kept; whoever is further behind reads everything again, and so
does everyone after a change of all documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sthash.arrays import Ids
from sthash.collection.file.store import MOST_IDS, Store

MOST_KEPT = 4096


@dataclass(frozen=True)
class State:
    """What tells two states of a file apart: the id of the next document, and the number of the next removal."""

    next_id: int
    removal: int


def state_of(store: Store) -> State:
    """Return the state that the file is in."""
    noted = store.setting("next")
    numbers: list[Any] = [noted.get(name) if isinstance(noted, dict) else None for name in ("id", "removal")]
    if not all(type(number) is int and 0 <= number <= MOST_IDS for number in numbers):
        raise store.damaged("the setting next cannot be read")
    return State(*numbers)


def note_removed(store: Store, removed: Sequence[tuple[int, bytes]]) -> None:
    """Log the ids and the packed term counts of documents that are removed."""
    end = state_of(store).removal + len(removed)
    new = removed[-MOST_KEPT:]
    store.put_many("removals", [(end - len(new) + place, *row) for place, row in enumerate(new)])
    _go_on(store, end, min(_logged(store) + len(new), MOST_KEPT))


def note_all_changed(store: Store) -> None:
    """Make all readers read everything again."""
    # A removal that is not in the log.
    _go_on(store, state_of(store).removal + 1, 0)


def _go_on(store: Store, removal: int, logged: int) -> None:
    store.put_setting("next", store.setting("next") | {"removal": removal, "logged": logged})
    store.execute("DELETE FROM removals WHERE number < ?", (removal - logged,))


def _logged(store: Store) -> int:
    """Return how many removals the log has."""
    logged = store.setting("next").get("logged")
    if type(logged) is not int or not 0 <= logged <= MOST_KEPT:
        raise store.damaged("the setting next cannot be read")
    return logged


def removed_since(store: Store, known: State) -> list[tuple[int, bytes]] | None:
    """Return the ids and the packed counts of what was removed since a state; None if the log does not tell."""
    now = state_of(store)
    if now.removal == known.removal and now.next_id >= known.next_id:
        return []
    if now.removal - known.removal > MOST_KEPT or now.removal < known.removal or now.next_id < known.next_id:
        return None
    rows = list(store.rows("removals", "WHERE number >= ? ORDER BY number", (known.removal,)))
    if [number for number, _, _ in rows] != list(range(known.removal, now.removal)):
        return None
    return [(number, content) for _, number, content in rows]


def verify(store: Store, present: Ids) -> None:
    """Check that the log is in order, and that no document in it is still there."""
    now, rows = state_of(store), list(store.rows("removals", "ORDER BY number"))
    numbers = [number for number, _, _ in rows]
    if numbers != list(range(now.removal - _logged(store), now.removal)):
        raise store.damaged("the log of removals has gaps")
    ids = np.array([number for _, number, _ in rows], dtype=np.int64)
    if np.isin(ids, present).any() or ((ids < 0) | (ids >= now.next_id)).any():
        raise store.damaged("the log of removals has a document that is still there")
