"""Near-duplicates: documents whose codes are a few bits apart and whose vectors nearly agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, overload

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.codes import Codes, pack
from sthash.collection import Collection, PackedVectors, Snapshot, packed
from sthash.index import HammingIndex
from sthash.index.hamming import MAX_BITS
from sthash.tables import texts_of

if TYPE_CHECKING:
    from sthash.sources import Document
    from sthash.text import TextVectorizer

Keep = Literal["first", "longest"]
Positions = npt.NDArray[np.int64]
PAGE = 8192
MANY_PAIRS = 1 << 20


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


@overload
def near_duplicates(
    source: Collection, min_cosine: float = ..., *, radius: int | None = ..., threads: int | None = ...
) -> Duplicates: ...
@overload
def near_duplicates(
    source: Any,
    min_cosine: float = ...,
    *,
    text: str | None = ...,
    vectorizer: TextVectorizer | None = ...,
    threads: int | None = ...,
) -> list[list[int]]: ...
def near_duplicates(
    source: Any,
    min_cosine: float = 0.9,
    *,
    text: str | None = None,
    radius: int | None = None,
    vectorizer: TextVectorizer | None = None,
    threads: int | None = None,
) -> Duplicates | list[list[int]]:
    """Find the documents that say nearly the same: of a collection, or of texts in memory.

    Pairs whose vectors have at least the cosine are joined to groups. Documents without a known term are left out.

    Parameters
    ----------
    source : Collection, iterable of str, Series or DataFrame
    min_cosine : float
        Cosine that the vectors of two documents must have to be joined.
    text : str, optional
        For a DataFrame: the column that holds the texts; ``text`` by default.
    radius : int, optional
        For a collection: compare only documents whose codes differ in at most so many bits. By default other codes,
        made for this alone, find 99 in 100 of the pairs that just reach the cosine, and more of the closer ones.
    vectorizer : TextVectorizer, optional
        For texts: with settings of your own; it is fitted to the texts.
    threads : int or None
        None takes one thread per available core.

    Returns
    -------
    Duplicates, or groups : list of lists of int
        For texts: positions, two or more per group, ascending. Each text of a group is close to another one of it, but
        not always to all.

    Examples
    --------
    >>> import sthash
    >>> sthash.near_duplicates(["a cat and a dog", "sails on the sea", "a dog and a cat"])
    [[0, 2]]
    """
    check_cosine(min_cosine)
    if radius is not None:
        check_whole("radius", radius, least=0)
    if isinstance(source, Collection):
        if vectorizer is not None:
            raise TypeError("a collection has a vectorizer of its own. Leave vectorizer= out.")
        if text is not None:
            raise TypeError("a collection knows its texts. Leave text= out.")
        return _in_collection(source, min_cosine, radius, threads)
    if radius is not None:
        raise TypeError("texts have no codes that a radius could apply to. Leave radius= out, or pass a Collection.")
    return _in_texts(texts_of(source, text), min_cosine, vectorizer, threads)


def _in_texts(
    texts: Iterable[str], min_cosine: float, vectorizer: TextVectorizer | None, threads: int | None
) -> list[list[int]]:
    from sklearn.base import clone

    from sthash.rows import row_parts
    from sthash.text import TextVectorizer

    X = (TextVectorizer(threads=threads) if vectorizer is None else clone(vectorizer)).fit_transform(texts)
    rows = row_parts(X)
    vectors = packed(rows.indptr, rows.indices, rows.values, X.shape[1])
    left, right = close_pairs(vectors, *sketch(vectors, min_cosine, threads), min_cosine, threads)
    return [group.tolist() for group in joined(X.shape[0], left, right)]


def _in_collection(collection: Collection, min_cosine: float, radius: int | None, threads: int | None) -> Duplicates:
    with collection.snapshot() as now:
        groups = compared(gathered(now), min_cosine, radius, threads)
        return Duplicates(collection, named(now, groups))


# The three steps of a comparison. Only the first and the last read the file, so a service can let others change it
# meanwhile.


@dataclass(frozen=True)
class Material:
    """What is compared: ids, vectors and codes of all documents; of texts, also a hash of the word of each column."""

    ids: Positions
    vectors: PackedVectors
    codes: Codes
    hashes: npt.NDArray[np.int32] | None


def gathered(snapshot: Snapshot) -> Material:
    """Read what is compared."""
    hashes = None if snapshot.model.dense else snapshot.term_hashes
    return Material(snapshot.ids, snapshot.vectors(), snapshot.codes, hashes)


def compared(material: Material, min_cosine: float, radius: int | None, threads: int | None = None) -> list[list[int]]:
    """Return groups of ids; see `near_duplicates`."""
    vectors = material.vectors
    codes, most = material.codes, radius
    if most is None:
        codes, most = sketch(vectors, min_cosine, threads, material.hashes)
    groups = joined(len(material.ids), *close_pairs(vectors, codes, most, min_cosine, threads))
    return [material.ids[group].tolist() for group in groups]


def named(snapshot: Snapshot, groups: list[list[int]]) -> list[list[str]]:
    """Return the keys of groups, without documents that no longer exist."""
    names = snapshot.names(list(itertools.chain.from_iterable(groups)))
    keys = ([names[number][0] for number in group if number in names] for group in groups)
    return [group for group in keys if len(group) > 1]


def check_cosine(min_cosine: float) -> None:
    """Refuse what is no cosine of documents that share anything."""
    if not 0 < min_cosine <= 1:
        raise ValueError(f"min_cosine={min_cosine!r} must be above 0 and at most 1.")


def sketch(
    vectors: PackedVectors,
    min_cosine: float,
    threads: int | None = None,
    numbers: npt.NDArray[np.int32] | None = None,
) -> tuple[Codes, int]:
    """Codes of random hyperplanes, and a radius within which 99 of 100 pairs with this cosine lie.

    Each bit of two codes differs with probability p = arccos(cosine) / π (Charikar, 2002): unlike a learned code, such
    a one says how close two vectors are. There are so many bits that unrelated vectors, for which p = 1/2, lie five
    standard deviations farther out. The hyperplanes follow from the columns, or from ``numbers``, one per column.
    """
    from scipy.special import bdtrik

    p = max(math.acos(min_cosine) / math.pi, 1e-9)
    n_bits = min(64 * math.ceil(((2.33 * math.sqrt(p * (1 - p)) + 2.5) / max(0.5 - p, 0.01)) ** 2 / 64), MAX_BITS)
    parts = [np.zeros((0, n_bits // 8), dtype=np.uint8)]
    for start in range(0, len(vectors.starts), PAGE):
        indptr, columns, values = vectors.at(slice(start, start + PAGE)).rows()
        rows = _core.CsrView(indptr, columns if numbers is None else numbers[columns], values)
        parts.append(pack(_core.scatter(rows, words=n_bits // 64, seed=0, threads=resolve_threads(threads)) > 0))
    return np.concatenate(parts), max(math.ceil(bdtrik(0.99, n_bits, p)), 0)


def close_pairs(
    vectors: PackedVectors, codes: Codes, radius: int, min_cosine: float, threads: int | None = None
) -> tuple[Positions, Positions]:
    """Pairs of places, smaller first, that join all close documents; those without a known term are left out.

    Equal vectors are chained, and only the first of them is compared with others: a text that occurs a thousand times
    makes a thousand pairs, not half a million. Whenever there are many pairs, those that join nothing new are dropped:
    the memory does not grow with their number.
    """
    first_with: dict[bytes, int] = {}
    content = vectors.content.tobytes()
    bounds = zip((4 * vectors.starts).tolist(), (4 * vectors.ends).tolist(), strict=True)
    first_of = np.array([first_with.setdefault(content[a:b], i) for i, (a, b) in enumerate(bounds)], np.int64)
    every = np.arange(len(first_of), dtype=np.int64)
    known = vectors.cosines(every, every, threads) > 0
    copies = np.flatnonzero((first_of != every) & known)
    firsts = np.flatnonzero((first_of == every) & known)
    left, right = [first_of[copies]], [copies]
    index = HammingIndex(8 * codes.shape[1])
    index.add(codes[firsts], firsts)
    kept, most = 0, MANY_PAIRS + 2 * len(every)
    for block in index.pairs(radius):
        close = vectors.cosines(block.left, block.right, threads) >= min_cosine
        left.append(block.left[close])
        right.append(block.right[close])
        kept += len(left[-1])
        if kept > most:
            left, right = ([part] for part in _chained(joined(len(every), np.concatenate(left), np.concatenate(right))))
            kept = len(left[0])
    return np.concatenate(left), np.concatenate(right)


def _chained(groups: list[Positions]) -> tuple[Positions, Positions]:
    """Return the fewest pairs that join the same groups."""
    nothing = np.zeros(0, dtype=np.int64)
    return np.concatenate([nothing, *(group[:-1] for group in groups)]), np.concatenate(
        [nothing, *(group[1:] for group in groups)]
    )


def joined(count: int, left: Positions, right: Positions) -> list[Positions]:
    """Connected components of two or more members, each ascending, ordered by their first member."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(left), dtype=bool), (left, right)), shape=(count, count))
    component = connected_components(edges, directed=False)[1]
    members = np.unique(np.concatenate([left, right]))
    order = members[np.argsort(component[members], kind="stable")]
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    return sorted(np.split(order, cuts), key=lambda group: int(group[0])) if len(order) else []
