"""From pairs to groups: connected components, or groups in which every pair is similar enough."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from sthash.arrays import Positions
from sthash.duplicates.similarity_join import SimilarPairs

Grouping = Literal["connected", "complete"]
GROUPINGS: tuple[str, ...] = get_args(Grouping)


def connected_groups(left: Positions, right: Positions) -> list[Positions]:
    """Return the connected components of pairs, each ascending, ordered by their first member.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.duplicates.grouping import connected_groups
    >>> [group.tolist() for group in connected_groups(np.array([1, 5, 0]), np.array([2, 6, 5]))]
    [[0, 5, 6], [1, 2]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    members, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    if len(members) == 0:
        return []
    ends = places[: len(left)], places[len(left) :]
    edges = coo_array((np.ones(len(left), dtype=bool), ends), shape=(len(members), len(members)))
    component = connected_components(edges, directed=False)[1]
    order = np.argsort(component, kind="stable")
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    return sorted(np.split(members[order], cuts), key=lambda group: int(group[0]))


def complete_groups(pairs: SimilarPairs) -> list[Positions]:
    """Return groups in which every pair of members is among the pairs; each document is in one group at most.

    The most similar pairs are joined first (complete linkage). Copies of a document go where it goes.
    """
    count = len(pairs) - pairs.copies
    left, right = pairs.left[:count], pairs.right[:count]
    joined: dict[int, set[int]] = {}
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        joined.setdefault(a, set()).add(b)
        joined.setdefault(b, set()).add(a)
    group_of: dict[int, set[int]] = {}
    for place in np.lexsort((right, left, -pairs.scores[:count])).tolist():
        a, b = int(left[place]), int(right[place])
        ours, theirs = group_of.get(a, {a}), group_of.get(b, {b})
        if ours is theirs or not all(theirs <= joined[member] for member in ours):
            continue
        merged = ours | theirs
        group_of.update(dict.fromkeys(merged, merged))
    for first, copy in zip(pairs.left[count:].tolist(), pairs.right[count:].tolist(), strict=True):
        group = group_of.setdefault(first, {first})
        group.add(copy)
    groups = {id(group): group for group in group_of.values()}
    return sorted((np.array(sorted(group)) for group in groups.values()), key=lambda group: int(group[0]))


def groups_of(pairs: SimilarPairs, grouping: Grouping) -> list[Positions]:
    """Return the groups of pairs."""
    return complete_groups(pairs) if grouping == "complete" else connected_groups(pairs.left, pairs.right)
