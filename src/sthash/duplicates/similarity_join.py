"""The engine: all pairs of documents that are similar enough, with their similarities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Positions
from sthash.checks import resolve_threads
from sthash.codes import Codes, pack
from sthash.duplicates.comparable_rows import ComparableRows
from sthash.duplicates.measures import KERNEL_MEASURES, Measure
from sthash.index import HammingIndex
from sthash.index.hamming import MAX_BITS
from sthash.progress import Progress, silent
from sthash.vectors.rows import Rows

Block = tuple[Positions, Positions, npt.NDArray[np.float64]]
Blocks = list[Block]
PAGE = 8192
# All pairs are listed, unless there are very many: then this many per document, the most similar ones, and further ones
# that join documents that are not joined yet.
PAIRS_PER_DOCUMENT = 100
MANY_PAIRS = 1 << 22


@dataclass(frozen=True)
class SimilarPairs:
    """Pairs of positions of documents, and how similar they are.

    Attributes
    ----------
    left, right : array of int64
        The earlier document is on the left; for containment, the contained one.
    scores : array of float64
    copies : int
        Number of pairs, at the end, that join a document with the first one that has the same row. Such documents
        are in no other pair.
    complete : bool
        Whether all pairs are listed. If not, those that are still join the same groups.
    """

    left: Positions
    right: Positions
    scores: npt.NDArray[np.float64]
    copies: int
    complete: bool

    def __len__(self) -> int:
        return len(self.left)

    def at(self, threshold: float) -> SimilarPairs:
        """Return the pairs that reach a higher threshold."""
        close = self.scores >= threshold
        return SimilarPairs(self.left[close], self.right[close], self.scores[close], self.copies, self.complete)


def similar_rows(
    rows: ComparableRows,
    measure: Measure,
    threshold: float,
    *,
    threads: int | None = None,
    progress: Progress = silent,
    keep_numbers: bool = False,
    first_query: int = 0,
    pairs_per_document: int = PAIRS_PER_DOCUMENT,
    most_pairs: int | None = None,
    nearest: npt.NDArray[np.float64] | None = None,
) -> SimilarPairs:
    """Find all pairs of sparse rows that are similar enough, exactly, by prefix filtering.

    With ``keep_numbers`` texts are kept apart if they differ in any number. Rows are looked for from the chosen one
    ``first_query`` on. If there are more than ``most_pairs``, not all are listed, but ``pairs_per_document`` and those
    that join further documents. ``nearest``, one value per document, is raised to the highest score of each.
    """
    plenty = MANY_PAIRS + PAIRS_PER_DOCUMENT // 10 * len(rows.chosen) if most_pairs is None else most_pairs
    marks_indptr, marks = (None, None) if rows.marks is None else rows.marks
    join = _core.SimilarityJoin(
        rows.rows.view(),
        chosen=rows.chosen,
        squares=rows.squares,
        measure=KERNEL_MEASURES[measure],
        threshold=threshold,
        first_query=first_query,
        most_per_row=pairs_per_document,
        most_pairs=plenty,
        marks_indptr=marks_indptr,
        marks=marks,
        keep_numbers=keep_numbers,
        threads=resolve_threads(threads),
    )
    blocks = []
    while not join.done:
        left, right, scores = join.next()
        blocks.append((left // rows.per_document, right // rows.per_document, scores))
        progress("comparing", join.position, len(rows.chosen))
    if nearest is not None:
        np.maximum.at(nearest, rows.chosen // rows.per_document, join.nearest())
    return _with_copies(blocks, rows.copies, rows.firsts, complete=join.complete)


def similar_vectors(
    vectors: Rows,
    threshold: float,
    *,
    codes: Codes | None = None,
    radius: int | None = None,
    threads: int | None = None,
) -> SimilarPairs:
    """Find pairs of vectors with at least this cosine: sketches within a radius are compared exactly.

    By default 99 in 100 of the pairs that just reach the cosine are found, and more of the closer ones. With ``codes``
    and ``radius``, the pairs are those whose codes differ in at most ``radius`` bits.
    """
    first_of = _core.first_equal_rows(vectors.view(), threads=resolve_threads(threads))
    every = np.arange(len(first_of), dtype=np.int64)
    known = vectors.cosines(every, every, threads) > 0
    documents = np.flatnonzero((first_of == every) & known)
    copies = np.flatnonzero((first_of != every) & known)
    if codes is None or radius is None:
        codes, radius = sketch(vectors, threshold, threads)
    index = HammingIndex.build(codes[documents], documents)
    blocks: Blocks = []
    listed, complete = 0, True
    for block in index.pairs(radius):
        scores = vectors.cosines(block.left, block.right, threads).astype(np.float64)
        close = scores >= threshold
        blocks.append((block.left[close], block.right[close], np.minimum(scores[close], 1)))
        listed += len(blocks[-1][0])
        if listed > MANY_PAIRS + PAIRS_PER_DOCUMENT * len(documents):
            blocks, complete = [_spanning(blocks, len(first_of))], False
            listed = len(blocks[0][0])
    return _with_copies(blocks, copies, first_of[copies], complete=complete)


def _spanning(blocks: Blocks, count: int) -> Block:
    """Return the fewest pairs, of the most similar ones, that join the same documents."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    left, right, scores = map(np.concatenate, zip(*blocks, strict=True))
    tree = minimum_spanning_tree(coo_array((2 - scores, (left, right)), shape=(count, count))).tocoo()
    return tree.row.astype(np.int64), tree.col.astype(np.int64), 2 - tree.data


def _with_copies(blocks: Blocks, copies: Positions, firsts: Positions, *, complete: bool) -> SimilarPairs:
    """Put blocks of pairs together, those of copies last."""
    none: Blocks = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float64))]
    left, right, scores = map(np.concatenate, zip(*none, *blocks, strict=True))
    order = np.lexsort((right, left))
    return SimilarPairs(
        np.concatenate([left[order], firsts]),
        np.concatenate([right[order], copies]),
        np.concatenate([scores[order], np.ones(len(copies))]),
        len(copies),
        complete,
    )


def sketch(vectors: Rows, threshold: float, threads: int | None = None) -> tuple[Codes, int]:
    """Codes of random hyperplanes, and a radius within which 99 of 100 pairs with this cosine lie.

    Each bit of two codes differs with probability p = arccos(cosine) / π (Charikar, 2002): unlike a learned code, such
    a code tells how close two vectors are. The number of bits is such that unrelated vectors, for which p = 1/2, lie
    five standard deviations farther out. The hyperplanes follow from the columns.
    """
    from scipy.special import bdtrik

    p = max(math.acos(threshold) / math.pi, 1e-9)
    n_bits = min(64 * math.ceil(((2.33 * math.sqrt(p * (1 - p)) + 2.5) / max(0.5 - p, 0.01)) ** 2 / 64), MAX_BITS)
    parts = [np.zeros((0, n_bits // 8), dtype=np.uint8)]
    for start in range(0, len(vectors), PAGE):
        rows = vectors.part(start, start + PAGE)
        parts.append(pack(_core.scatter(rows.view(), words=n_bits // 64, seed=0, threads=resolve_threads(threads)) > 0))
    return np.concatenate(parts), max(math.ceil(bdtrik(0.99, n_bits, p)), 0)
