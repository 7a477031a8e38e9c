"""Near-duplicates: documents whose codes are a few bits apart and whose vectors nearly agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.codes import Codes, pack
from sthash.collection.search import fields_at
from sthash.collection.shelf import Vectors, stacked
from sthash.index import HammingIndex
from sthash.index.hamming import MAX_BITS

if TYPE_CHECKING:
    from sthash.collection import Collection
    from sthash.sources import Document
    from sthash.text import TextVectorizer

Keep = Literal["first", "longest"]
Places = npt.NDArray[np.int64]
PAGE = 8192


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


def near_duplicates(
    texts: Iterable[str], min_cosine: float = 0.9, *, vectorizer: TextVectorizer | None = None
) -> list[list[int]]:
    """Find the texts that say nearly the same, all in memory.

    Parameters
    ----------
    texts : iterable of str
    min_cosine : float
        Cosine that the vectors of two texts must have to be joined.
    vectorizer : TextVectorizer, optional
        With settings of your own; it is fitted to the texts.

    Returns
    -------
    groups : list of lists of int
        Positions, two or more a group, ascending. Each text of a group is close to another one of it, but not always
        to all. Of the pairs that just reach ``min_cosine`` one in a hundred may be missed, of closer ones fewer.

    Examples
    --------
    >>> import sthash
    >>> sthash.near_duplicates(["a cat and a dog", "sails on the sea", "a dog and a cat"])
    [[0, 2]]
    """
    from sklearn.base import clone

    from sthash.hashing.vectors import as_rows
    from sthash.text import TextVectorizer

    check_cosine(min_cosine)
    X = (TextVectorizer() if vectorizer is None else clone(vectorizer)).fit_transform(texts)
    rows = as_rows(X)
    vectors = stacked(rows.indptr, rows.indices, rows.values, X.shape[1])
    left, right = close_pairs(vectors, *sketch(vectors, min_cosine), min_cosine)
    return [group.tolist() for group in joined(X.shape[0], left, right)]


def duplicates_in(collection: Collection, radius: int | None = None, min_cosine: float = 0.9) -> Duplicates:
    """Find the documents of a collection that say nearly the same, as `Collection.near_duplicates` describes it."""
    if radius is not None:
        check_whole("radius", radius, least=0)
    check_cosine(min_cosine)
    view = collection._view
    with view.reading():
        shelf = view.shelf()
        vectors = view.vectors(shelf.ids)
        codes, within = sketch(vectors, min_cosine) if radius is None else (shelf.codes, radius)
        groups = joined(len(shelf.ids), *close_pairs(vectors, codes, within, min_cosine))
        ids = [shelf.ids[group].tolist() for group in groups]
        documents = fields_at(view.store, list(itertools.chain.from_iterable(ids)))
    return Duplicates(collection, [[documents[number][0] for number in group] for group in ids])


def check_cosine(min_cosine: float) -> None:
    """Refuse what is no cosine of documents that share anything."""
    if not 0 < min_cosine <= 1:
        raise ValueError(f"min_cosine={min_cosine!r} must be above 0 and at most 1.")


def sketch(vectors: Vectors, min_cosine: float) -> tuple[Codes, int]:
    """Codes of random hyperplanes, and a radius within which 99 of 100 pairs with this cosine lie.

    Each bit of two codes differs with probability p = arccos(cosine) / π (Charikar, 2002): unlike a learnt code, such
    a one says how close two vectors are. There are so many bits that unrelated vectors, for which p = 1/2, lie five
    standard deviations farther out.
    """
    from scipy.special import bdtrik

    p = max(math.acos(min_cosine) / math.pi, 1e-9)
    n_bits = min(64 * math.ceil(((2.33 * math.sqrt(p * (1 - p)) + 2.5) / max(0.5 - p, 0.01)) ** 2 / 64), MAX_BITS)
    parts = [np.zeros((0, n_bits // 8), dtype=np.uint8)]
    for start in range(0, len(vectors.starts), PAGE):
        rows = _core.CsrView(*vectors.at(slice(start, start + PAGE)).parts())
        parts.append(pack(_core.scatter(rows, words=n_bits // 64, seed=0, threads=resolve_threads(None)) > 0))
    return np.concatenate(parts), max(math.ceil(bdtrik(0.99, n_bits, p)), 0)


def close_pairs(vectors: Vectors, codes: Codes, radius: int, min_cosine: float) -> tuple[Places, Places]:
    """Pairs of places, smaller first, that join all close documents; those without a known term are left out.

    Equal vectors are chained, and only the first of them is compared with others: a text that occurs a thousand times
    makes a thousand pairs, not half a million.
    """
    first_with: dict[bytes, int] = {}
    content = vectors.content.tobytes()
    bounds = zip((4 * vectors.starts).tolist(), (4 * vectors.ends).tolist(), strict=True)
    first_of = np.array([first_with.setdefault(content[a:b], i) for i, (a, b) in enumerate(bounds)], np.int64)
    every = np.arange(len(first_of), dtype=np.int64)
    known = vectors.cosines(every, every) > 0
    copies = np.flatnonzero((first_of != every) & known)
    firsts = np.flatnonzero((first_of == every) & known)
    left, right = [first_of[copies]], [copies]
    index = HammingIndex(8 * codes.shape[1])
    index.add(codes[firsts], firsts)
    for block in index.pairs(radius):
        close = vectors.cosines(block.left, block.right) >= min_cosine
        left.append(block.left[close])
        right.append(block.right[close])
    return np.concatenate(left), np.concatenate(right)


def joined(count: int, left: Places, right: Places) -> list[Places]:
    """Connected components of two or more members, each ascending, ordered by their first member."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(left), dtype=bool), (left, right)), shape=(count, count))
    component = connected_components(edges, directed=False)[1]
    members = np.unique(np.concatenate([left, right]))
    order = members[np.argsort(component[members], kind="stable")]
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    return sorted(np.split(order, cuts), key=lambda group: int(group[0])) if len(order) else []
