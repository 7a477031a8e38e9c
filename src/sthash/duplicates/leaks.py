"""Which test items stand in training data, whole or in part: the containment of their shingles, exactly.

The test items are held in memory, and the training data streams by: of each text only the shingles that a test item has
are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.arrays import Positions
from sthash.batches import batched
from sthash.checks import check_whole
from sthash.duplicates.comparable_rows import Shingler, bounds_of
from sthash.duplicates.measures import check_measure
from sthash.duplicates.passages import Passage, shared_passages
from sthash.duplicates.spool import DocumentSpool, TemporaryFiles
from sthash.progress import Progress, silent
from sthash.sources import Document
from sthash.text.counters import text_batches

SHINGLE_WORDS = 8
THRESHOLD = 0.5
# Shorter items are found as whole texts only: everything has them.
LEAST_WORDS = 4
# Meetings of a shingle and an item that are counted at once.
AT_ONCE = 1 << 22
# Texts with shingles that an earlier one has had all together are skipped, as long as there are not more of these.
MOST_KNOWN = 1 << 18
_MIXED = np.uint64(0x9FB21C651E98DF25)


class Leak(NamedTuple):
    """A test item that stands in training data.

    Attributes
    ----------
    position : int
        Of the test item, among all.
    item, source : Document
        The test item, and the first training text that has most of it.
    score : float
        The share of the shingles of the item that this one text has.
    anywhere : float
        The share of them that any training text has.
    """

    position: int
    item: Document
    source: Document
    score: float
    anywhere: float

    def passages(self, *, min_words: int = LEAST_WORDS) -> list[Passage]:
        """Return what both have, in the order of the item."""
        return shared_passages(self.item.text, self.source.text, min_words=min_words)


@dataclass
class Overlap(TemporaryFiles):
    """The test items that stand in training data, in order; made by `overlap`.

    It holds temporary files; close it, or use it in a ``with`` block.

    Attributes
    ----------
    scores, anywhere : array of float64
        Of each test item, as in `Leak`; 0 for items without words.
    n_train : int
        Training texts that were read.
    """

    threshold: float
    scores: npt.NDArray[np.float64]
    anywhere: npt.NDArray[np.float64]
    n_train: int
    items: Sequence[Document] = field(repr=False)
    sources: DocumentSpool = field(repr=False)
    places: Positions = field(repr=False)
    closing: ExitStack = field(repr=False)

    def __len__(self) -> int:
        """Return the number of test items that stand in training data."""
        return len(self.leaked)

    @property
    def leaked(self) -> Positions:
        """Positions of the test items that stand in training data."""
        return np.flatnonzero(self.scores >= self.threshold)

    def __iter__(self) -> Iterator[Leak]:
        for position in self.leaked.tolist():
            source = self.sources[int(self.places[position])]
            item, scores = self.items[position], (float(self.scores[position]), float(self.anywhere[position]))
            yield Leak(position, item, source, *scores)


def overlap(
    train: Iterable[Document],
    test: Iterable[Document],
    threshold: float | None = None,
    *,
    shingle_words: int = SHINGLE_WORDS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Overlap:
    """Find the test items that stand in training data, whole or in part.

    Parameters
    ----------
    train : iterable of Document
        Any number of texts; they are read once.
    test : iterable of Document
        The items, which are kept in memory.
    threshold : float, optional
        Least share of the shingles of an item that one training text has. Default: 0.5.
    shingle_words : int, default=8
        Number of words of a shingle. An item of fewer words, but at least four, has one shingle, which may stand
        anywhere in a training text; shorter items are found only where they are the whole text.
    progress : callable, optional
        Called with the name of the step, how much is done, and of how much (None if not known).

    Examples
    --------
    >>> from sthash import Document
    >>> from sthash.duplicates import overlap
    >>> train = [Document("t1", "As the poet says: to be or not to be, that is the question.")]
    >>> test = [Document("a", "To be, or not to be"), Document("b", "to bee or not to bee that is a question")]
    >>> with overlap(train, test, shingle_words=3) as found:
    ...     [(leak.item.key, leak.source.key, leak.score) for leak in found]
    ...     [passage.text for passage in next(iter(found)).passages()]
    [('a', 't1', 1.0)]
    ['To be, or not to be']
    """
    _, least = check_measure("containment", THRESHOLD if threshold is None else threshold)
    check_whole("shingle_words", shingle_words, least=2)
    report = progress or silent
    items = list(test)
    with ExitStack() as stack:
        sources = stack.enter_context(DocumentSpool())
        search = _Search([item.text for item in items], shingle_words, threads)
        places = np.full(len(items), -1, dtype=np.int64)
        n_train = 0
        for batch in batched(train, length=lambda document: len(document.text)):
            better, texts = search.improve([document.text for document in batch], least)
            # Several items may have most in common with one text.
            chosen, which = np.unique(texts, return_inverse=True)
            places[better] = len(sources) + which
            sources.extend([Document(batch[place].key, batch[place].text) for place in chosen.tolist()])
            n_train += len(batch)
            report("reading the training data", n_train, None)
        return Overlap(least, search.best, search.anywhere(), n_train, items, sources, places, stack.pop_all())


class _Search:
    """The shingles of all test items, and which items have each."""

    def __init__(self, texts: Sequence[str], size: int, threads: int | None) -> None:
        self._shingler = Shingler(size, threads)
        words, sizes, items = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
        for batch in text_batches(texts):
            counts, ((indptr, own),) = self._shingler.of_sizes(batch, [size])
            words.append(counts)
            sizes.append(np.diff(indptr))
            items.append(own)
        # Short items are looked for as runs of all their words.
        short = {count for count in np.concatenate(words).tolist() if LEAST_WORDS <= count < size}
        self._lengths = [*sorted(short), size]
        self._sizes, every = np.concatenate(sizes), np.concatenate(items)
        self._bounds = bounds_of(self._sizes)
        self._shingles, self._numbers = np.unique(every, return_inverse=True)
        # Most shingles of a text are in no item, and one look at a small table is enough to see that.
        bits = len(self._shingles).bit_length() + 4
        self._shift = np.uint64(64 - bits)
        self._filter = np.zeros(1 << bits, dtype=bool)
        self._filter[self._shingles >> self._shift] = True
        order = np.argsort(self._numbers, kind="stable")
        self._owners = np.repeat(np.arange(len(texts)), self._sizes)[order]
        self._starts = bounds_of(np.bincount(self._numbers, minlength=len(self._shingles)))
        self._met = np.zeros(len(self._shingles), dtype=bool)
        self._known = np.zeros(0, np.uint64)
        self.best = np.zeros(len(texts))

    def anywhere(self) -> npt.NDArray[np.float64]:
        """Return the share of the shingles of each item that any text has had."""
        met = bounds_of(self._met[self._numbers])
        return np.diff(met[self._bounds]) / np.maximum(self._sizes, 1)

    def improve(self, texts: list[str], least: float) -> tuple[Positions, Positions]:
        """Compare some texts; return the items whose best score has risen to at least ``least``, and the texts."""
        rows, hits = self._hits(texts)
        found_owners, found_places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        counts = self._starts[hits + 1] - self._starts[hits]
        # As many rows at a time as fit.
        number = np.cumsum(counts) // AT_ONCE
        cuts = np.flatnonzero((np.diff(rows) > 0) & (number[:-1] != number[1:])) + 1
        for own in np.split(np.arange(len(rows)), cuts):
            owners, places, shared = self._shared(rows[own], hits[own], counts[own], len(texts))
            scores = shared / self._sizes[owners]
            # Of each item the best text, of equals the first.
            order = np.lexsort((places, -scores, owners))
            owners, first = np.unique(owners[order], return_index=True)
            places, scores = places[order][first], scores[order][first]
            better = scores > self.best[owners]
            self.best[owners[better]] = scores[better]
            enough = better & (scores >= least)
            found_owners.append(owners[enough])
            found_places.append(places[enough])
        owners, places = np.concatenate(found_owners[::-1]), np.concatenate(found_places[::-1])
        owners, first = np.unique(owners, return_index=True)  # the last and best of each
        return owners, places[first]

    def _hits(self, texts: list[str]) -> tuple[Positions, Positions]:
        """Return which text has which shingle of an item; of texts with the same ones, only the first."""
        none: Positions = np.zeros(0, np.int64)
        if len(self._shingles) == 0:
            return none, none
        width = len(self._shingles)
        found = [none]
        for indptr, items in self._shingler.of_sizes(texts, self._lengths)[1]:
            maybe = np.flatnonzero(self._filter[items >> self._shift])
            items = items[maybe]
            place = np.minimum(np.searchsorted(self._shingles, items), width - 1)
            met = self._shingles[place] == items
            row = np.searchsorted(indptr, maybe[met], side="right") - 1
            found.append(row * width + place[met])
        # A short text has the same shingle for several sizes.
        rows, hits = np.divmod(np.unique(np.concatenate(found)), width)
        self._met[hits] = True
        if len(rows) == 0:
            return rows, hits
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        sums = np.add.reduceat(self._shingles[hits] * _MIXED, starts)
        _, first = np.unique(sums, return_index=True)
        is_new = np.zeros(len(starts), dtype=bool)
        is_new[first] = True
        is_new &= ~np.isin(sums, self._known)
        if len(self._known) < MOST_KNOWN:
            self._known = np.concatenate([self._known, sums[is_new]])
        wanted = np.repeat(is_new, np.diff(starts, append=len(rows)))
        return rows[wanted], hits[wanted]

    def _shared(
        self, rows: Positions, hits: Positions, counts: Positions, n_texts: int
    ) -> tuple[Positions, Positions, Positions]:
        """Return pairs of items and texts, and how many shingles both have."""
        ends = np.cumsum(counts)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        owners = self._owners[np.repeat(self._starts[hits], counts) + within]
        pairs, shared = np.unique(owners * n_texts + np.repeat(rows, counts), return_counts=True)
        return pairs // max(n_texts, 1), pairs % max(n_texts, 1), shared
