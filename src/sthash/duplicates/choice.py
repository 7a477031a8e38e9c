"""Which document of each group is kept: for streams, where groups may have millions of members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash.arrays import Positions
from sthash.duplicates.result import Rule
from sthash.duplicates.similarity_join import SimilarPairs


@dataclass(frozen=True)
class Choice:
    """What is left out of a stream.

    Attributes
    ----------
    dropped : array of int64
        Positions of the documents that are left out, ascending.
    kept : array of int64
        For each of them, the document of its group that is kept.
    scores : array of float64
        For each of them, how similar it is to its nearest.
    """

    dropped: Positions
    kept: Positions
    scores: npt.NDArray[np.float64]


def choose(pairs: SimilarPairs, nearest: npt.NDArray[np.float64], known: int, rule: Rule, lengths: Positions) -> Choice:
    """Choose by a rule; in a group with documents that are already known, the first of them is kept.

    Parameters
    ----------
    pairs : SimilarPairs
    nearest : array of float64
        How similar each document is to its nearest, which need not be among the pairs.
    known : int
        Number of documents, at the start, that are not part of the stream.
    rule : {"first", "longest", "newest"}
    lengths : array of int64
        Characters of each document.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.duplicates.choice import choose
    >>> from sthash.duplicates.similarity_join import SimilarPairs
    >>> pairs = SimilarPairs(np.array([0, 1]), np.array([2, 2]), np.array([0.8, 0.9]), 0, complete=True)
    >>> chosen = choose(pairs, np.array([0.8, 0.9, 0.9, 0]), 0, "longest", np.array([3, 5, 4, 9]))
    >>> chosen.dropped.tolist(), chosen.kept.tolist(), chosen.scores.tolist()
    ([0, 2], [1, 1], [0.8, 0.9])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    members, places = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    if len(members) == 0:
        return Choice(members, members, np.zeros(0))
    ends = places[: len(pairs)], places[len(pairs) :]
    edges = coo_array((np.ones(len(pairs), dtype=bool), ends), shape=(len(members), len(members)))
    n_groups, group = connected_components(edges, directed=False)
    # The member that is kept comes last in its group: what is written to a group last stays there.
    order: Positions = np.arange(len(members))[::-1]
    if rule == "longest":
        order = order[np.argsort(lengths[members[order]], kind="stable")]
    elif rule == "newest":
        order = order[::-1]
    # Of the documents that are already known, the first.
    order = np.concatenate([order, np.flatnonzero(members < known)[::-1]])
    kept_of = np.empty(n_groups, dtype=np.int64)
    kept_of[group[order]] = members[order]
    kept = kept_of[group]
    is_dropped = (members != kept) & (members >= known)
    return Choice(members[is_dropped], kept[is_dropped], nearest[members[is_dropped]])


def choose_later(pairs: SimilarPairs, known: int) -> Choice:
    """Leave out each document of a stream to which an earlier one is similar, known or not.

    What comes later changes nothing, so a stream can be chosen from in parts.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.duplicates.choice import choose_later
    >>> from sthash.duplicates.similarity_join import SimilarPairs
    >>> pairs = SimilarPairs(np.array([0, 1]), np.array([2, 2]), np.array([0.8, 0.9]), 0, complete=True)
    >>> chosen = choose_later(pairs, 0)
    >>> chosen.dropped.tolist(), chosen.kept.tolist(), chosen.scores.tolist()
    ([2], [1], [0.9])
    """
    earlier, later = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    order = np.lexsort((earlier, -pairs.scores, later))
    order = order[later[order] >= known]
    dropped, first = np.unique(later[order], return_index=True)
    return Choice(dropped, earlier[order][first], pairs.scores[order][first])
