"""Comparing more texts than memory holds: in parts in which any two similar ones meet.

A text goes to the part of each of its rarest items, because two similar texts share one of those. So every part is
compared by itself, and reads and work grow with the texts, not with their pairs of parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Positions
from sthash.checks import resolve_threads
from sthash.duplicates.comparable_rows import ComparableRows, bounds_of, member_rows
from sthash.duplicates.spool import Spool
from sthash.progress import Progress, silent

Items = npt.NDArray[np.uint64]
# Texts that are read, or written, at once.
AT_ONCE = 1 << 16
# Texts by which the size of all parts is estimated.
SAMPLED = 1 << 14
# Items that share a counter only seem to be frequent, and are looked for in vain.
COUNTERS_PER_ITEM = 2
# A part is a file; more of them than this may be more than a process can have open.
MOST_PARTS = 400


class Texts(NamedTuple):
    """Some texts as they are compared: the bounds of their sets and of their marks, and both."""

    indptr: Positions
    items: Items
    marks_indptr: Positions
    marks: Items


class Members(NamedTuple):
    """The texts of a part: ascending positions, the sizes of all sets, which of these are here, and their content."""

    positions: Positions
    sizes: Positions
    is_here: npt.NDArray[np.bool_]
    items: Items
    mark_sizes: Positions
    marks: Items

    def rows(self, threads: int | None) -> ComparableRows:
        """Return the texts as they are compared."""
        return member_rows(self.sizes, self.is_here, self.items, (bounds_of(self.mark_sizes), self.marks), threads)

    def pieces(self, most_items: int) -> Iterator[Members]:
        """Cut the texts into pieces of about so many items."""
        sizes = (self.sizes * self.is_here).sum(axis=1)
        number = np.cumsum(sizes) // max(most_items, 1)
        starts = np.flatnonzero(np.diff(number, prepend=-1) > 0).tolist()
        bounds, mark_bounds = bounds_of(sizes), bounds_of(self.mark_sizes)
        for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True):
            yield Members(
                self.positions[start:end],
                self.sizes[start:end],
                self.is_here[start:end],
                self.items[bounds[start] : bounds[end]],
                self.mark_sizes[start:end],
                self.marks[mark_bounds[start] : mark_bounds[end]],
            )


def joined(portions: Sequence[Members]) -> Members:
    """Return the texts of portions that come one after the other."""
    positions, sizes, is_here, items, mark_sizes, marks = zip(*portions, strict=True)
    return Members(
        np.concatenate(positions),
        np.concatenate(sizes),
        np.concatenate(is_here),
        np.concatenate(items),
        np.concatenate(mark_sizes),
        np.concatenate(marks),
    )


class Partition:
    """Texts in parts, each in a temporary file.

    Parameters
    ----------
    stack : ExitStack
        Closes the files.
    chosen : array of int64
        Positions of the texts that are compared.
    read : callable
        Takes some of these and returns the `Texts`.
    per_text : int
        Sets of a text: two for wording, else one.
    threshold : float
    n_items : int
        Items of all texts.
    most_items : int
        Items that a part should have at most.
    key : int
        By which the texts are distributed. The same key gives the same parts.
    memory : int
    threads : int or None
    least_parts : int
    progress : callable
    """

    def __init__(
        self,
        stack: ExitStack,
        chosen: Positions,
        read: Callable[[Positions], Texts],
        *,
        per_text: int,
        threshold: float,
        n_items: int,
        most_items: int,
        key: int,
        memory: int,
        threads: int | None,
        least_parts: int = 1,
        progress: Progress = silent,
    ) -> None:
        self._per_text = per_text
        n_counters = max(min(memory // 16, COUNTERS_PER_ITEM * n_items), 1)
        partition = _core.Partition(threshold=threshold, n_counters=n_counters, per_text=per_text, key=key)
        portions = np.split(chosen, np.arange(AT_ONCE, len(chosen), AT_ONCE))
        rounds = (False, True)[:per_text]
        done, total = 0, len(chosen) * (len(rounds) + 1)
        for second_round in rounds:
            for positions in portions:
                texts = read(positions)
                partition.count(texts.indptr, texts.items, second_round=second_round)
                done += len(positions)
                progress("distributing", done, total)
        workers = resolve_threads(threads)
        sample = read(chosen[:: max(len(chosen) // SAMPLED, 1)])
        found = partition.place(sample.indptr, sample.items, n_parts=1 << 20, threads=workers)
        placed = _placed(found, np.diff(sample.indptr).reshape(-1, per_text))
        copied = int((placed.sizes * placed.is_here).sum()) / max(len(sample.indptr) // per_text, 1) * len(chosen)
        self.n_parts = max(least_parts, min(int(copied // max(most_items, 1)) + 1, MOST_PARTS))
        self._spools = [stack.enter_context(Spool(memory // 8 // self.n_parts)) for _ in range(self.n_parts)]
        self.n_members = np.zeros(self.n_parts, dtype=np.int64)
        for positions in portions:
            texts = read(positions)
            found = partition.place(texts.indptr, texts.items, n_parts=self.n_parts, threads=workers)
            self._write(positions, texts, found)
            done += len(positions)
            progress("distributing", done, total)

    def _write(
        self, positions: Positions, texts: Texts, found: tuple[Positions, npt.NDArray[np.int32], npt.NDArray[np.uint8]]
    ) -> None:
        """Write the texts of a portion to their parts."""
        order = np.argsort(found[1], kind="stable")
        placed = _placed(
            (found[0][order], found[1][order], found[2][order]), np.diff(texts.indptr).reshape(-1, self._per_text)
        )
        own, parts = placed.texts, placed.parts
        sets = self._per_text * own[:, None] + np.arange(self._per_text)
        items = _core.gathered(texts.indptr, texts.items, sets[placed.is_here])
        marks = _core.gathered(texts.marks_indptr, texts.marks, own)
        mark_sizes = np.diff(texts.marks_indptr)[own]
        cuts = np.searchsorted(parts, np.arange(self.n_parts + 1))
        self.n_members += np.diff(cuts)
        bounds, mark_bounds = bounds_of((placed.sizes * placed.is_here).sum(axis=1)), bounds_of(mark_sizes)
        heads = np.concatenate([positions[own][:, None], placed.sizes, placed.is_here, mark_sizes[:, None]], axis=1)
        for part in np.flatnonzero(np.diff(cuts)).tolist():
            start, end = cuts[part], cuts[part + 1]
            about = np.array([end - start, bounds[end] - bounds[start], mark_bounds[end] - mark_bounds[start]])
            self._spools[part].append(
                np.concatenate(
                    [
                        about.astype(np.uint64),
                        heads[start:end].ravel().astype(np.uint64),
                        items[bounds[start] : bounds[end]],
                        marks[mark_bounds[start] : mark_bounds[end]],
                    ]
                )
            )

    def members(self, part: int) -> Members | None:
        """Return the texts of a part, and close its file."""
        content, start = self._spools[part].array(), 0
        width = 2 + 2 * self._per_text
        portions = []
        while start < len(content):
            count, n_items, n_marks = content[start : start + 3].astype(np.int64).tolist()
            ends = np.cumsum([start + 3, count * width, n_items, n_marks]).tolist()
            own, items, marks = (content[a:b] for a, b in itertools.pairwise(ends))
            heads: Positions = own.reshape(count, width).astype(np.int64)
            sizes, is_here = heads[:, 1 : 1 + self._per_text], heads[:, 1 + self._per_text : -1] > 0
            portions.append(Members(heads[:, 0], sizes, is_here, items, heads[:, -1], marks))
            start = ends[-1]
        found = joined(portions) if portions else None
        self._spools[part].close()
        return found


class _Placed(NamedTuple):
    texts: Positions
    parts: npt.NDArray[np.int32]
    sizes: Positions
    is_here: npt.NDArray[np.bool_]


def _placed(found: tuple[Positions, npt.NDArray[np.int32], npt.NDArray[np.uint8]], sizes: Positions) -> _Placed:
    texts, parts, sets = found
    return _Placed(texts, parts, sizes[texts], (sets[:, None] >> np.arange(sizes.shape[1]) & 1) > 0)
