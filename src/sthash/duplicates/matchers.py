"""What a `Deduplicator` asks: which of all that it has seen is the most similar? Matchers for texts and for vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.arrays import Floats, Positions
from sthash.duplicates.comparable_rows import Shingler, wording_sets
from sthash.duplicates.measures import KERNEL_MEASURES
from sthash.duplicates.similarity_join import sketch
from sthash.index import HammingIndex
from sthash.text.counters import text_batches
from sthash.vectors.checks import check_rows
from sthash.vectors.lengths import unit_rows
from sthash.vectors.rows import Rows

Scores = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]
VECTORS_AT_ONCE = 2048
PAIRS_AT_ONCE = 1 << 14
ROUNDING = 1e-6  # of unit vectors in single precision


Found = tuple[Positions, Scores, Positions]


class Matcher(Protocol):
    """Compares documents with all it has held, which are numbered in the order in which they were added."""

    def matches(self, documents: Any, *, keep: bool) -> Iterator[Found]:
        """Give, in portions, the most similar one for each document, −1 if none is, the score, and its own number.

        If ``keep``, documents are held, but for those that are equal to one that is: they have its number.
        """

    def truncate(self, count: int) -> None:
        """Hold only the first documents."""

    def firsts(self) -> Positions:
        """Return for each document the first one of its group."""

    def links(self) -> Positions:
        """Return links of documents that make the groups: two ends each."""

    def arrays(self) -> Arrays:
        """Return what it holds, for a file."""

    def restore(self, arrays: Arrays, count: int) -> None:
        """Read ``count`` documents, and their ``links``, from a file into a new matcher; refuse what does not fit."""


class _IndexMatcher:
    """Compares by an index of the core, which also groups."""

    _index: _core.SetIndex | _core.TextIndex

    def truncate(self, count: int) -> None:
        """Forget the latest."""
        self._index.truncate(count)

    def firsts(self) -> Positions:
        """Return for each one the first one of its group."""
        return self._index.firsts()

    def links(self) -> Positions:
        """Return links that make the groups."""
        return self._index.links()


class WordingMatcher(_IndexMatcher):
    """Compares how texts are worded."""

    _index: _core.TextIndex

    def __init__(self, threshold: float, keep_numbers: bool, threads: int | None) -> None:
        self._threads = threads
        self._index = _core.TextIndex(threshold=threshold, keep_numbers=keep_numbers)

    def matches(self, documents: Any, *, keep: bool) -> Iterator[Found]:
        """Compare texts."""
        match = self._index.find_or_add if keep else self._index.find
        for batch in text_batches(documents):
            yield match(*wording_sets(batch, self._threads))

    def arrays(self) -> Arrays:
        """Return the sets and marks of the texts."""
        return dict(zip(("indptr", "items", "marks_indptr", "marks"), self._index.texts(), strict=True))

    def restore(self, arrays: Arrays, count: int) -> None:
        """Take the sets and marks of texts."""
        model_file.check_array(arrays, "indptr", np.int64, (2 * count + 1,))
        model_file.check_array(arrays, "items", np.uint64, (None,))
        model_file.check_array(arrays, "marks_indptr", np.int64, (count + 1,))
        model_file.check_array(arrays, "marks", np.uint64, (None,))
        self._index.add(arrays["indptr"], arrays["items"], arrays["marks_indptr"], arrays["marks"])
        self._index.join(arrays["links"])


class SetMatcher(_IndexMatcher):
    """Compares the shingles of texts."""

    _index: _core.SetIndex

    def __init__(self, measure: str, threshold: float, shingle_words: int, threads: int | None) -> None:
        self._shingler = Shingler(shingle_words, threads)
        self._index = _core.SetIndex(measure=KERNEL_MEASURES[measure], threshold=threshold)

    def matches(self, documents: Any, *, keep: bool) -> Iterator[Found]:
        """Compare texts."""
        match = self._index.find_or_add if keep else self._index.find
        for batch in text_batches(documents):
            yield match(*self._shingler(batch))

    def arrays(self) -> Arrays:
        """Return the sets."""
        indptr, items = self._index.sets()
        return {"indptr": indptr, "shingles": items}

    def restore(self, arrays: Arrays, count: int) -> None:
        """Take sets."""
        model_file.check_array(arrays, "indptr", np.int64, (count + 1,))
        model_file.check_array(arrays, "shingles", np.uint64, (None,))
        self._index.add(arrays["indptr"], arrays["shingles"])
        self._index.join(arrays["links"])


class VectorMatcher:
    """Compares embeddings: those whose sketches are close, by their cosine. It holds those that are new."""

    def __init__(self, threshold: float, threads: int | None) -> None:
        self._threshold = threshold
        self._threads = threads
        self._vectors: Floats = np.zeros((0, 0), dtype=np.float32)  # with space for more
        self._count = 0
        self._index: HammingIndex | None = None
        self._groups = _core.Groups()

    def matches(self, documents: Any, *, keep: bool) -> Iterator[Found]:
        """Compare vectors."""
        if not len(documents):
            return
        vectors = check_rows(documents, width=self._vectors.shape[1] if self._count else None)
        for start in range(0, len(vectors), VECTORS_AT_ONCE):
            # Each row is brought to unit length on its own, so portions change nothing.
            yield self._match(np.ascontiguousarray(unit_rows(vectors[start : start + VECTORS_AT_ONCE])), keep=keep)

    def _match(self, own: Floats, *, keep: bool) -> Found:
        place, best = np.full(len(own), -1, dtype=np.int64), np.zeros(len(own))
        codes, radius = self._sketch(own)
        known = np.flatnonzero(own.any(axis=1))  # a zero vector is similar to none
        new = HammingIndex.build(codes[known], known)
        links: list[tuple[Positions, Positions]] = []  # rows, and those held that each is similar to
        if self._index is not None:
            left, right, scores = self._close(self._index, self._vectors, new, own, radius)
            _take_best(place, best, left, right, scores)
            links.append((right, left))
        if not keep:
            return place, best, place
        # Only a vector without a similar one before this portion can be held.
        candidates = known[place[known] < 0]
        first = HammingIndex.build(codes[candidates], candidates, n_bits=new.n_bits)
        left, right, scores = self._close(first, own, new, own, radius)
        earlier = left < right
        left, right, scores = left[earlier], right[earlier], scores[earlier]
        order = np.lexsort((left, right))
        left, right, scores = left[order], right[order], scores[order]
        cuts = np.searchsorted(right, np.arange(len(own) + 1))
        number = np.full(len(own), -1, dtype=np.int64)  # of those that are held
        count = self._count
        for row in range(len(own)):
            similar = slice(cuts[row], cuts[row + 1])
            if similar.start < similar.stop:
                others = number[left[similar]]
                held = others >= 0
                rows = np.full(int(held.sum()), row)
                _take_best(place, best, others[held], rows, scores[similar][held])
                links.append((rows, others[held]))
            if place[row] < 0:
                number[row] = count
                count += 1
        kept = np.flatnonzero(number >= 0)
        self._keep(own[kept], codes[kept])
        for rows, others in links:
            self._groups.join(np.stack([place[rows], others], axis=1).ravel())
        return place, best, np.where(number >= 0, number, place)

    def _sketch(self, rows: Floats) -> tuple[npt.NDArray[np.uint8], int]:
        return sketch(Rows.dense(rows), self._threshold, self._threads)

    def _close(
        self, left: HammingIndex, left_rows: Floats, right: HammingIndex, right_rows: Floats, radius: int
    ) -> tuple[Positions, Positions, Scores]:
        """Return the pairs of two indexes that reach the threshold."""
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for block in left.pairs(radius, right, threads=self._threads):
            for start in range(0, len(block.left), PAIRS_AT_ONCE):
                a, b = block.left[start : start + PAIRS_AT_ONCE], block.right[start : start + PAIRS_AT_ONCE]
                cosines = np.einsum("ij,ij->i", left_rows[a], right_rows[b], dtype=np.float64)
                cosines[cosines > 1 - ROUNDING] = 1.0
                close = cosines >= self._threshold
                found.append((a[close], b[close], cosines[close]))
        a, b, scores = map(np.concatenate, zip(*found, strict=True))
        return a, b, scores

    def _keep(self, rows: Floats, codes: npt.NDArray[np.uint8]) -> None:
        end = self._count + len(rows)
        if end > len(self._vectors):
            grown = np.zeros((max(end, 2 * len(self._vectors)), rows.shape[1]), dtype=np.float32)
            if self._count:
                grown[: self._count] = self._vectors[: self._count]
            self._vectors = grown
        self._vectors[self._count : end] = rows
        if self._index is None:
            self._index = HammingIndex(8 * codes.shape[1])
        known = np.flatnonzero(rows.any(axis=1))
        self._index.add(codes[known], self._count + known)
        self._groups.grow(end)
        self._count = end

    def truncate(self, count: int) -> None:
        """Forget the latest vectors."""
        if self._index is not None:
            # An interrupted `_keep` may have indexed vectors that are not counted yet.
            self._index.remove(self._index.ids[self._index.ids >= count])
        self._groups.truncate(count)
        self._count = count

    def firsts(self) -> Positions:
        """Return for each vector the first one of its group."""
        return self._groups.firsts()

    def links(self) -> Positions:
        """Return links that make the groups."""
        return self._groups.links()

    def arrays(self) -> Arrays:
        """Return the vectors."""
        return {"vectors": self._vectors[: self._count]}

    def restore(self, arrays: Arrays, count: int) -> None:
        """Take vectors."""
        model_file.check_array(arrays, "vectors", np.float32, (count, None))
        vectors = check_rows(arrays["vectors"]) if count else arrays["vectors"]
        for start in range(0, count, VECTORS_AT_ONCE):
            rows = np.ascontiguousarray(vectors[start : start + VECTORS_AT_ONCE])
            self._keep(rows, self._sketch(rows)[0])
        self._groups.join(arrays["links"])


def _take_best(place: Positions, best: Scores, others: Positions, rows: Positions, scores: Scores) -> None:
    """Note the most similar of the others, per row; of equally similar ones, the first."""
    order = np.lexsort((others, -scores, rows))
    rows, first = np.unique(rows[order], return_index=True)
    others, scores = others[order][first], scores[order][first]
    better = scores > best[rows]
    place[rows[better]], best[rows[better]] = others[better], scores[better]
