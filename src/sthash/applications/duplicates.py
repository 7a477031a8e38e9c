"""Near-duplicates: documents whose codes are a few bits apart and whose vectors nearly agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice, check_whole
from sthash.collection.search import documents_at
from sthash.collection.shelf import Vectors
from sthash.index import HammingIndex

if TYPE_CHECKING:
    from sthash.collection import Collection
    from sthash.documents import Document

Keep = Literal["first", "longest"]
Places = npt.NDArray[np.int64]


class Source(Protocol):
    """Where the documents are: a collection, or a client of one."""

    def get(self, key: str) -> Document:
        """Give a document."""

    def export(self) -> Iterator[Document]:
        """Give all documents."""


@dataclass(frozen=True)
class Duplicates:
    """Groups of documents that say nearly the same.

    Attributes
    ----------
    groups : list of lists of str
        Keys, two or more a group, in the order in which the documents came. Each document of a group is close to
        another one of it, but not always to all.
    """

    collection: Source
    groups: list[list[str]]

    def dropped(self, keep: Keep = "first") -> set[str]:
        """Keys of all documents but one of each group: the first, or the first of the longest."""
        check_choice("keep", keep, get_args(Keep))
        rest: set[str] = set()
        for group in self.groups:
            kept = group[0]
            if keep == "longest":
                kept = max(group, key=lambda key: len(self.collection.get(key).text))
            rest.update(key for key in group if key != kept)
        return rest

    def deduplicated(self, keep: Keep = "first") -> Iterator[Document]:
        """Give the documents of the collection, of each group only one."""
        dropped = self.dropped(keep)
        return (document for document in self.collection.export() if document.key not in dropped)


def near_duplicates(collection: Collection, radius: int = 3, min_cosine: float = 0.9) -> Duplicates:
    """Find the documents that say nearly the same.

    Pairs with equal vectors, and pairs within ``radius`` bits whose vectors have at least this cosine, are joined to
    groups. A larger radius misses fewer pairs and takes longer. Documents without a known term are left out.

    Parameters
    ----------
    collection : Collection
    radius : int
    min_cosine : float
    """
    check_whole("radius", radius, least=0)
    if not 0 < min_cosine <= 1:
        raise ValueError(f"min_cosine={min_cosine!r} must be above 0 and at most 1.")
    view = collection._view
    with view.reading():
        shelf = view.shelf()
        left, right = close_pairs(shelf.codes, view.vectors(shelf.ids), shelf.n_bits, radius, min_cosine)
        groups = joined(len(shelf.ids), left, right)
        keyed = []
        for group in groups:
            documents = documents_at(view.store, shelf.ids[group].tolist())
            keyed.append([document.key or "" for document in documents.values()])
    return Duplicates(collection, keyed)


def close_pairs(
    codes: npt.NDArray[np.uint8], vectors: Vectors, n_bits: int, radius: int, min_cosine: float
) -> tuple[Places, Places]:
    """Pairs of places, smaller first, that join all close documents.

    Equal vectors are chained, and only the first of them is compared with others: a text that occurs a thousand times
    makes a thousand pairs, not half a million.
    """
    first_with: dict[bytes, int] = {}
    content = vectors.content.tobytes()
    bounds = zip((4 * vectors.starts).tolist(), (4 * vectors.ends).tolist(), strict=True)
    first_of = np.array([first_with.setdefault(content[a:b], i) for i, (a, b) in enumerate(bounds)], np.int64)
    blank = np.array([not vectors.row(place)[1].any() for place in first_with.values()], dtype=bool)
    firsts = np.array(list(first_with.values()), dtype=np.int64)
    copies = np.flatnonzero((first_of != np.arange(len(first_of))) & ~np.isin(first_of, firsts[blank]))
    left, right = [first_of[copies]], [copies]
    index = HammingIndex(n_bits)
    index.add(codes[firsts[~blank]], firsts[~blank])
    for block in index.pairs(radius):
        close = vectors.cosines(block.left, block.right) >= min_cosine
        left.append(block.left[close])
        right.append(block.right[close])
    return np.concatenate(left), np.concatenate(right)


def joined(count: int, left: Places, right: Places) -> list[Places]:
    """Connected components of two or more members, each ascending, ordered by their first member."""
    parent = list(range(count))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        first, second = sorted((root(a), root(b)))
        parent[second] = first
    members: dict[int, list[int]] = {}
    for node in sorted(set(left.tolist()) | set(right.tolist())):
        members.setdefault(root(node), []).append(node)
    return [np.array(group, dtype=np.int64) for group in members.values()]
