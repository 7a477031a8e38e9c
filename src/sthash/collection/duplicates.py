"""Near-duplicates of a collection, in three steps: gather, compare, name.

Only the first and the last step read the file, so a service lets others change it in between.
"""

from __future__ import annotations

import numpy as np

from sthash.arrays import Ids
from sthash.collection.indexes.cells import Cells
from sthash.collection.snapshot import Snapshot
from sthash.duplicates import DuplicateOptions
from sthash.duplicates.detection import Material
from sthash.duplicates.similarity_join import SimilarPairs


def settled(snapshot: Snapshot, options: DuplicateOptions) -> DuplicateOptions:
    """Return the options with the measure that the documents of this collection are compared by."""
    return options.settled(of_vectors=isinstance(snapshot.content, Cells))


def gathered(snapshot: Snapshot, options: DuplicateOptions) -> Material:
    """Read what the documents are compared by, to be kept; the measure of the options is settled."""
    if options.measure == "cosine":
        codes = None if options.radius is None else snapshot.codes.table.codes.copy()
        return Material(snapshot.content.unit_vectors(), codes)
    return Material(texts=snapshot.texts())


def named(snapshot: Snapshot, ids: Ids, found: SimilarPairs) -> tuple[list[str], SimilarPairs]:
    """Return the keys of the documents in pairs, and the pairs as positions in these keys.

    Documents that no longer exist are left out.

    Parameters
    ----------
    snapshot : Snapshot
        The present state.
    ids : array of int64
        Of all documents that were compared.
    found : SimilarPairs
        As positions in ``ids``.
    """
    members = np.unique(np.concatenate([found.left, found.right]))
    names = snapshot.documents.names(ids[members].tolist())
    exists = np.array([number in names for number in ids[members].tolist()], dtype=bool)
    place = np.full(len(ids), -1, dtype=np.int64)
    place[members[exists]] = np.arange(int(exists.sum()))
    left, right = place[found.left], place[found.right]
    held = (left >= 0) & (right >= 0)
    copies = int(held[len(held) - found.copies :].sum())
    keys = [names[number][0] for number in ids[members[exists]].tolist()]
    return keys, SimilarPairs(left[held], right[held], found.scores[held], copies, found.complete)
