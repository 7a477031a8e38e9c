"""Deduplication of a stream of documents in bounded memory, optionally against a collection."""

from __future__ import annotations

import heapq
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Positions
from sthash.batches import batched
from sthash.checks import check_choice, resolve_threads
from sthash.duplicates.checkpoint import NOTHING, Checkpoint, Compared
from sthash.duplicates.choice import Choice, choose, choose_later
from sthash.duplicates.comparable_rows import (
    SETS_PER_TEXT,
    ComparableRows,
    Shingler,
    bounds_of,
    folded,
    worded_rows,
    wording_sets,
)
from sthash.duplicates.doubts import doubts
from sthash.duplicates.meaning import Embeddings, Meanings, similar_meanings
from sthash.duplicates.measures import Measure, check_measure, refuse_most_pairs
from sthash.duplicates.options import SHINGLE_WORDS, DuplicateOptions, Protect
from sthash.duplicates.partitioning import Members, Partition, Texts, joined
from sthash.duplicates.result import RULES, Documents, Pair, Rule
from sthash.duplicates.seen import Fingerprints, SeenIndex, halved
from sthash.duplicates.similarity_join import SimilarPairs, similar_rows
from sthash.duplicates.spool import DocumentSpool, Spool, TemporaryFiles
from sthash.progress import Progress, silent
from sthash.sizes import parse_size
from sthash.sources import Document
from sthash.text import CorpusCounter, TextOptions
from sthash.text.weighting import term_weights
from sthash.vectors.lengths import row_sums
from sthash.vectors.rows import Rows

MEMORY = 4 << 30
LEAST_MEMORY = 64 << 20
# Bytes that a comparison takes per term or shingle of the documents compared.
BYTES_PER_ENTRY = 40
# What a document takes besides: places, lengths, scores, groups.
BYTES_PER_DOCUMENT = 100
PAIRS_PER_DOCUMENT = 8
# The same in parts, of which each document is in several: the most similar one, and those that join groups.
PAIRS_IN_PARTS = 1
# Texts that have the same meaning by their embeddings are kept apart by single words if the others are so much alike.
LEAST_ALIKE = 0.5
# What is compared part by part if it does not fit into memory, in parts in which similar documents meet.
PARTITIONED = ("wording", "jaccard")
# With a checkpoint, there are parts to continue from.
LEAST_PARTS = 32
# Pairs that are held before those found again are removed.
MOST_HELD = 1 << 22
# Texts that are written to an index in one portion.
AT_ONCE = 1 << 14


class Dropped(NamedTuple):
    """A dropped document, the document kept in its place, and the similarity to its nearest neighbor.

    Of what an earlier run has seen, only fingerprints are left: ``of`` is then None.
    """

    document: Document
    of: Document | None
    score: float

    @property
    def by_meaning(self) -> bool:
        """Whether the score is a cosine of embeddings, because no text is similar enough."""
        return False


class DroppedByMeaning(Dropped):
    """A document that was dropped because of its embedding."""

    __slots__ = ()

    @property
    def by_meaning(self) -> bool:
        """Whether the score is a cosine of embeddings: it is."""
        return True


class Doubtful(NamedTuple):
    """A drop, and what speaks against it; see `sthash.duplicates.doubts`."""

    dropped: Dropped
    reasons: tuple[str, ...]


class Review(NamedTuple):
    """How many drops are sure, and those that are least sure.

    Attributes
    ----------
    exact : int
        Drops with a score of 1.
    near : int
        Near-duplicates that nothing speaks against.
    doubtful : int
        Near-duplicates that something speaks against.
    first : list of Doubtful
        The most doubtful drops first.
    """

    exact: int
    near: int
    doubtful: int
    first: list[Doubtful]


@dataclass(frozen=True)
class _Settings:
    measure: Measure
    threshold: float
    shingle_words: int
    memory: int
    threads: int | None
    progress: Progress
    keep_numbers: bool


@dataclass
class Deduplicated(TemporaryFiles):
    """A stream of documents without its near-duplicates; made by `deduplicate`.

    It holds temporary files; close it, or use it in a ``with`` block.

    Attributes
    ----------
    n_documents : int
        Documents that were read.
    n_dropped : int
        Documents that are left out.
    meanings : Meanings or None
        With an embedder: what was found by meaning.
    """

    documents: DocumentSpool
    known: int
    pairs: SimilarPairs
    threshold: float
    choice: Choice = field(repr=False)
    closing: ExitStack = field(repr=False)
    rows: _SpooledRows = field(repr=False)
    seen: SeenIndex | None = field(default=None, repr=False)
    n_seen: int = 0
    meanings: Meanings | None = field(default=None, repr=False)
    nearest_text: npt.NDArray[np.float64] | None = field(default=None, repr=False)

    def remember(self) -> None:
        """Add what was read to the index of what has been seen: all of it, or nothing if this fails."""
        if self.seen is None:
            raise ValueError("there is no index to remember in. Pass seen= to deduplicate.")
        self.seen.append(self.rows.fingerprints(self.n_seen))

    @property
    def n_documents(self) -> int:
        """Documents that were read."""
        return len(self.documents) + self.n_seen - self.known

    @property
    def n_dropped(self) -> int:
        """Documents that are left out."""
        return len(self.choice.dropped)

    def kept(self) -> Iterator[Document]:
        """Give the documents that are kept, in their order."""
        others = np.zeros(self.known - self.n_seen, dtype=bool)  # of a collection
        yield from self.documents.chosen(np.concatenate([others, self.is_kept()]))

    def is_kept(self) -> npt.NDArray[np.bool_]:
        """Return for each document that was read whether it is kept."""
        is_kept = np.ones(self.n_documents, dtype=bool)
        is_kept[self.choice.dropped - self.known] = False
        return is_kept

    def dropped(self) -> Iterator[Dropped]:
        """Give the documents that are left out, each with the one that is kept in its place."""
        yield from map(self._dropped, range(self.n_dropped))

    def _dropped(self, place: int) -> Dropped:
        position, kept = (int(array[place]) - self.n_seen for array in (self.choice.dropped, self.choice.kept))
        of = self.documents[kept] if kept >= 0 else None
        only_meaning = self.nearest_text is not None and self.nearest_text[position] == 0
        kind = DroppedByMeaning if only_meaning else Dropped
        return kind(self.documents[position], of, float(self.choice.scores[place]))

    def review(self, most: int = 100) -> Review:
        """Count the drops that are sure and those that are not; return the least sure ones, up to ``most``.

        Drops come first that most speaks against, of these the ones with the lowest score, then the shortest texts.
        """
        doubtful = 0

        def reviewed() -> Iterator[tuple[tuple[float, ...], Doubtful]]:
            nonlocal doubtful
            for place in np.flatnonzero(self.choice.scores < 1).tolist():
                dropped = self._dropped(place)
                of = None if dropped.of is None else dropped.of.text
                least = self.meanings.cosine if dropped.by_meaning and self.meanings is not None else self.threshold
                reasons = doubts(dropped.document.text, of, dropped.score, least)
                if dropped.by_meaning:
                    reasons = ("other words", *reasons)
                doubtful += bool(reasons)
                order = (-len(reasons), dropped.score, len(dropped.document.text), place)
                yield order, Doubtful(dropped, reasons)

        first = [found for _, found in heapq.nsmallest(max(most, 1), reviewed())][:most]
        copies = np.flatnonzero(self.choice.scores == 1)
        first += [Doubtful(self._dropped(place), ()) for place in copies[: most - len(first)].tolist()]
        return Review(len(copies), self.n_dropped - len(copies) - doubtful, doubtful, first)

    def closest_pairs(self, most: int = 100) -> list[tuple[Pair, Document, Document]]:
        """Return the most similar pairs, with their documents; keys are positions in the stream if there are none."""
        found = []
        for place in np.argsort(-self.pairs.scores, kind="stable")[:most].tolist():
            ends = int(self.pairs.left[place]), int(self.pairs.right[place])
            if min(ends) < self.n_seen:
                continue
            left, right = (self.documents[end - self.n_seen] for end in ends)
            pair = Pair(self._name(left, ends[0]), self._name(right, ends[1]), float(self.pairs.scores[place]))
            found.append((pair, left, right))
        return found

    def _name(self, document: Document, position: int) -> str:
        return document.key if document.key is not None else str(position - self.known)


def deduplicate(
    documents: Iterable[Document],
    threshold: float | None = None,
    *,
    measure: Measure = "wording",
    protect: Protect | None = None,
    keep: Rule | None = None,
    against: Documents | None = None,
    seen: SeenIndex | None = None,
    embedder: Callable[[list[str]], Any] | None = None,
    cosine: float | None = None,
    shingle_words: int = SHINGLE_WORDS,
    memory: int | str = MEMORY,
    checkpoint: Checkpoint | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Deduplicated:
    """Read documents once, and find the near-duplicates among them.

    The documents go to a temporary file, as does what is compared if it does not fit into memory.

    Parameters
    ----------
    documents : iterable of Document
    threshold, measure, protect, shingle_words, threads
        See `near_duplicates`.
    keep : {"first", "longest", "newest"}, optional
        Which document of a group is kept. Default: the first; with containment, the longest.
    against : Collection, Client or MilvusCollection, optional
        Also leave out near-duplicates of documents in this collection.
    seen : SeenIndex, optional
        Also leave out near-duplicates of what earlier runs have seen; `Deduplicated.remember` then adds this run. A
        document is dropped if an earlier one is similar to it, whether that was kept or not, so several runs drop the
        same as one. In groups, which join documents through later ones too, some more would be dropped.
    embedder : callable, optional
        A function from a list of str to an array with one row per text. Documents are then also dropped whose meaning
        is that of another one, by the cosine of their embeddings; texts that differ in what decides are kept apart, as
        by wording.
    cosine : float, optional
        Least cosine of two documents with the same meaning. Default: chosen from the data, see `cosine_curve`.
    memory : int or str
        Approximate memory to use: bytes, or a str such as "4GB"; at least 64 MiB. What does not fit is compared in
        parts.
    checkpoint : Checkpoint, optional
        For wording and jaccard: keep what has been compared, and continue a run that was killed. The documents are read
        again, and must be the same.
    progress : callable, optional
        Called with the name of the step, how much is done, and of how much (None if not known).

    Examples
    --------
    >>> from sthash import Document
    >>> from sthash.duplicates import deduplicate
    >>> texts = ["a cat and a dog", "sails on the sea", "A cat, and a dog!"]
    >>> with deduplicate(Document(str(place), text) for place, text in enumerate(texts)) as found:
    ...     [document.key for document in found.kept()]
    ...     [(dropped.document.key, dropped.of.key, dropped.score) for dropped in found.dropped()]
    ['0', '1']
    [('2', '0', 1.0)]
    """
    DuplicateOptions(threshold, measure, shingle_words=shingle_words, protect=protect)  # checked
    measure, threshold = check_measure(measure, threshold)
    rule = keep or ("longest" if measure == "containment" else "first")
    check_choice("keep", rule, RULES)
    if embedder is not None and seen is not None:
        raise ValueError("an index keeps fingerprints of texts, and no embeddings. Leave embedder or the index out.")
    if cosine is not None:
        if embedder is None:
            raise TypeError(f"cosine={cosine} is about embeddings. Set embedder too, or leave cosine out.")
        check_measure("cosine", cosine)
    if checkpoint is not None and measure not in PARTITIONED:
        raise ValueError(
            f"measure={measure!r} is not compared in parts that could be continued. Leave checkpoint= (--resume) out."
        )
    if seen is not None:
        seen.check_measure(measure, shingle_words)
        if rule != "first" or against is not None:
            given = "against" if against is not None else f"keep={rule!r}"
            raise ValueError(f"with an index of what has been seen, the first document is kept. Leave {given} out.")
    most_bytes = parse_size("memory", memory)
    if most_bytes < LEAST_MEMORY:
        raise ValueError(f"memory={memory} is too little to compare anything. Allow at least {LEAST_MEMORY} bytes.")
    settings = _Settings(
        measure, threshold, shingle_words, most_bytes, threads, progress or silent, protect == "numbers"
    )
    with ExitStack() as stack:
        spool = stack.enter_context(DocumentSpool())
        rows = _KINDS[measure](stack, settings)
        lengths: list[Positions] = []
        embeddings = None if embedder is None else Embeddings(stack, embedder, settings.memory // 8)
        known = n_seen = 0
        if seen is not None:
            n_seen = known = rows.take(seen, lengths)
        if against is not None:
            known = _read(against.export(), spool, rows, lengths, "reading the collection", settings, embeddings)
        _read(documents, spool, rows, lengths, "reading", settings, embeddings)
        pairs, nearest = _all_pairs(rows, known, settings, checkpoint)
        meanings = nearest_text = None
        if embeddings is not None:
            meanings = similar_meanings(
                embeddings.rows(), known, cosine, lambda found: rows.apart(found.left, found.right), threads
            )
            nearest_text = nearest
            pairs, nearest = meanings.added_to(pairs, nearest)
        if seen is not None:
            choice = choose_later(pairs, known)
        else:
            choice = choose(pairs, nearest, known, rule, np.concatenate([np.zeros(0, np.int64), *lengths]))
        return Deduplicated(
            spool, known, pairs, threshold, choice, stack.pop_all(), rows, seen, n_seen, meanings, nearest_text
        )


def _read(
    documents: Iterable[Document],
    spool: DocumentSpool,
    rows: _SpooledRows,
    lengths: list[Positions],
    step: str,
    settings: _Settings,
    embeddings: Embeddings | None,
) -> int:
    before = len(spool)
    for batch in batched(documents, length=lambda document: len(document.text)):
        texts = [document.text for document in batch]
        spool.extend(batch)
        rows.add(texts)
        if embeddings is not None:
            embeddings.add(texts)
        lengths.append(np.array([len(text) for text in texts], dtype=np.int64))
        settings.progress(step, len(spool) - before, None)
    return len(spool) - before


class _SpooledRows:
    """Rows of all documents in a spool, one 64-bit entry per term or shingle."""

    per_text = 1

    def __init__(self, stack: ExitStack, settings: _Settings) -> None:
        self.entries = stack.enter_context(Spool(settings.memory // 4))
        self.settings = settings
        self.sizes: list[Positions] = []
        self.halved = False

    def take(self, seen: SeenIndex, lengths: list[Positions]) -> int:
        """Take the fingerprints of an index, and compare by fingerprints from now on; return how many texts it has."""
        self.halved = True
        count = 0
        for portion in seen.fingerprints():
            self.add_fingerprints(portion)
            lengths.append(np.zeros(len(portion.mark_sizes), dtype=np.int64))
            count += len(portion.mark_sizes)
            self.settings.progress("reading the index", count, len(seen))
        return count

    def add_fingerprints(self, texts: Fingerprints) -> None:
        """Take texts as an index keeps them."""
        raise NotImplementedError

    def apart(self, left: Positions, right: Positions) -> npt.NDArray[np.bool_]:
        """Return which pairs of documents differ in what decides."""
        return np.zeros(len(left), dtype=bool)

    def fingerprints(self, first: int) -> Iterator[Fingerprints]:
        """Give the texts from one on as an index keeps them, each once."""
        sizes = np.concatenate([np.zeros(0, np.int64), *self.sizes])
        bounds, entries = bounds_of(sizes), self.entries.array()
        first_of = _core.first_equal_sets(bounds, entries, threads=resolve_threads(self.settings.threads))
        own = np.flatnonzero((first_of == np.arange(len(sizes))) & (sizes > 0))
        own = own[own >= first]
        for documents in np.split(own, np.arange(AT_ONCE, len(own), AT_ONCE)) if len(own) else ():
            yield self.fingerprints_of(*_content(bounds, entries, documents), documents)

    def fingerprints_of(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> Fingerprints:
        """Return some texts as an index keeps them: their bounds, entries and positions."""
        raise NotImplementedError

    def add(self, texts: list[str]) -> None:
        """Take the rows of more texts."""
        raise NotImplementedError

    def rows(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> ComparableRows:
        """Return some documents as they are compared: their bounds, entries and positions."""
        raise NotImplementedError

    def texts(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> Texts:
        """Return the sets and marks of some documents."""
        return Texts(bounds, entries, np.zeros(len(bounds), dtype=np.int64), np.zeros(0, np.uint64))


class _WeightedRows(_SpooledRows):
    """Term counts; they become weights when all documents have been counted."""

    def __init__(self, stack: ExitStack, settings: _Settings) -> None:
        super().__init__(stack, settings)
        self._counter = CorpusCounter(TextOptions().vectorizer(threads=settings.threads))

    def add(self, texts: list[str]) -> None:
        counts = self._counter.add(texts)
        self.sizes.append(np.diff(counts.indptr).astype(np.int64))
        self.entries.append(counts.indices.astype(np.uint64) << np.uint64(32) | counts.data.astype(np.uint64))

    def rows(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> ComparableRows:
        statistics = self._counter.statistics
        columns, counts = (entries >> np.uint64(32)).astype(np.int32), entries.astype(np.int32)
        values = term_weights(bounds, columns, counts, "tfidf", statistics)
        squares = row_sums(bounds, np.square(values, dtype=np.float64)).astype(np.float32)
        none = np.zeros(0, dtype=np.int64)
        chosen, n_columns = np.flatnonzero(squares > 0), len(statistics.document_frequency)
        return ComparableRows(Rows.sparse(bounds, columns, values, n_columns), squares, chosen, none, none)


class _SetRows(_SpooledRows):
    """Sets of shingles."""

    def __init__(self, stack: ExitStack, settings: _Settings) -> None:
        super().__init__(stack, settings)
        self._shingler = Shingler(settings.shingle_words, settings.threads)

    def add(self, texts: list[str]) -> None:
        indptr, items = self._shingler(texts)
        self._add(np.diff(indptr), items)

    def _add(self, sizes: Positions, items: npt.NDArray[np.uint64]) -> None:
        if self.halved:
            sizes, items = halved(sizes, items)
        self.sizes.append(sizes)
        self.entries.append(items)

    def add_fingerprints(self, texts: Fingerprints) -> None:
        self._add(texts.sizes, texts.items)

    def fingerprints_of(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> Fingerprints:
        none = np.zeros(len(documents), np.int64)
        return Fingerprints(np.diff(bounds), entries, none, np.zeros(0, np.uint64))

    def rows(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> ComparableRows:
        threads = resolve_threads(self.settings.threads)
        shared, columns, n_columns = _core.shared_columns(bounds, entries, threads=threads)
        sizes, none = np.diff(bounds), np.zeros(0, dtype=np.int64)
        ones = np.ones(len(columns), dtype=np.float32)
        own = Rows.sparse(shared, columns, ones, n_columns)
        return ComparableRows(own, sizes.astype(np.float32), np.arange(len(sizes)), none, none)


class _WordingRows(_SpooledRows):
    """Two sets per text, after an entry that says how large they are; the marks, which copies may not share, apart."""

    per_text = SETS_PER_TEXT

    def __init__(self, stack: ExitStack, settings: _Settings) -> None:
        super().__init__(stack, settings)
        self._marks = stack.enter_context(Spool(settings.memory // 8))
        self._mark_sizes: list[Positions] = []
        self._mark_bounds: Positions | None = None

    def add(self, texts: list[str]) -> None:
        indptr, items, marks_indptr, marks = wording_sets(texts, self.settings.threads)
        sizes = np.diff(indptr)
        if self.halved:
            sizes, items = halved(sizes, items)
        self.add_fingerprints(Fingerprints(sizes, items, np.diff(marks_indptr), marks))

    def add_fingerprints(self, texts: Fingerprints) -> None:
        starts = bounds_of(texts.sizes)[:-1:SETS_PER_TEXT]
        sizes = texts.sizes.reshape(-1, SETS_PER_TEXT)
        blank = sizes.sum(axis=1) == 0
        heads = (sizes[:, 0] << 32 | sizes[:, 1]).astype(np.uint64)
        self.entries.append(np.insert(texts.items, starts[~blank], heads[~blank]))
        self.sizes.append(sizes.sum(axis=1) + ~blank)
        self._marks.append(texts.marks)
        self._mark_sizes.append(texts.mark_sizes)

    def fingerprints_of(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> Fingerprints:
        sizes, items = _without_heads(bounds, entries)
        mark_bounds, marks = self._marks_of(documents)
        return Fingerprints(sizes, items, np.diff(mark_bounds), marks)

    def apart(self, left: Positions, right: Positions) -> npt.NDArray[np.bool_]:
        sizes = np.concatenate([np.zeros(0, np.int64), *self.sizes])
        bounds, entries = bounds_of(sizes), self.entries.array()
        parts = [np.zeros(0, dtype=bool)]
        for start in range(0, len(left), AT_ONCE):
            documents = np.stack([left[start : start + AT_ONCE], right[start : start + AT_ONCE]], axis=1).ravel()
            own_bounds, own_entries = _content(bounds, entries, documents)
            is_blank = np.diff(own_bounds) == 0
            sizes = np.zeros((len(documents), SETS_PER_TEXT), dtype=np.int64)
            own_sizes, items = _without_heads(np.unique(own_bounds), own_entries)
            sizes[~is_blank] = own_sizes.reshape(-1, SETS_PER_TEXT)
            scores = _core.wording_scores(
                bounds_of(sizes.ravel()), items, *self._marks_of(documents), keep_numbers=self.settings.keep_numbers
            )
            parts.append(scores < (0 if self.settings.keep_numbers else -LEAST_ALIKE))
        return np.concatenate(parts)

    def _marks_of(self, documents: Positions) -> tuple[Positions, npt.NDArray[np.uint64]]:
        if self._mark_bounds is None:
            self._mark_bounds = bounds_of(np.concatenate(self._mark_sizes))
        return _content(self._mark_bounds, self._marks.array(), documents)

    def rows(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> ComparableRows:
        return worded_rows(self.texts(bounds, entries, documents), self.settings.threads)

    def texts(self, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions) -> Texts:
        sizes, items = _without_heads(bounds, entries)
        return Texts(bounds_of(sizes), items, *self._marks_of(documents))


def _without_heads(bounds: Positions, entries: npt.NDArray[np.uint64]) -> tuple[Positions, npt.NDArray[np.uint64]]:
    """Return the sizes of the sets of texts, and their items."""
    heads = entries[bounds[:-1]]
    sizes = np.stack([heads >> np.uint64(32), heads & np.uint64(0xFFFFFFFF)], axis=1).astype(np.int64)
    return sizes.ravel(), np.delete(entries, bounds[:-1])


_KINDS: dict[str, type[_SpooledRows]] = {
    "wording": _WordingRows,
    "cosine": _WeightedRows,
    "jaccard": _SetRows,
    "containment": _SetRows,
}


def _all_pairs(
    rows: _SpooledRows, known: int, settings: _Settings, checkpoint: Checkpoint | None
) -> tuple[SimilarPairs, npt.NDArray[np.float64]]:
    """Compare all documents, in parts if need be; also return how similar each is to its nearest."""
    sizes = np.concatenate([np.zeros(0, np.int64), *rows.sizes])
    bounds, entries = bounds_of(sizes), rows.entries.array()
    first_of = _core.first_equal_sets(bounds, entries, threads=resolve_threads(settings.threads))
    chosen, copies, firsts = folded(first_of, sizes > 0)
    refuse_most_pairs(
        len(chosen), settings.threshold, lambda sample: _scores(rows, bounds, entries, chosen[sample], settings.measure)
    )
    new = copies >= known
    copies, firsts = copies[new], firsts[new]
    nearest = np.zeros(len(sizes))
    nearest[copies] = nearest[firsts] = 1
    blocks = [SimilarPairs(firsts, copies, np.ones(len(copies)), len(copies), complete=True)]
    room = _room(len(sizes), settings.memory)
    if checkpoint is not None:
        checkpoint.start(_about(bounds, entries, known, settings))
    if len(chosen) == 0:
        pass
    elif int(sizes[chosen].sum()) <= room and checkpoint is None:
        blocks.append(_pairs_of_parts(rows, bounds, entries, chosen, None, known, settings, nearest))
    elif settings.measure in PARTITIONED:
        blocks += _pairs_by_items(rows, bounds, entries, chosen, known, settings, nearest, checkpoint)
    else:
        blocks += _pairs_of_all_parts(rows, bounds, entries, chosen, known, settings, nearest)
    pairs = SimilarPairs(
        np.concatenate([block.left for block in reversed(blocks)]),
        np.concatenate([block.right for block in reversed(blocks)]),
        np.concatenate([block.scores for block in reversed(blocks)]),
        len(copies),
        all(block.complete for block in blocks),
    )
    return pairs, nearest


def _content(
    bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions
) -> tuple[Positions, npt.NDArray[np.uint64]]:
    """Read the rows of some documents: their bounds and entries."""
    return bounds_of(bounds[documents + 1] - bounds[documents]), _core.gathered(bounds, entries, documents)


def _scores(
    rows: _SpooledRows, bounds: Positions, entries: npt.NDArray[np.uint64], documents: Positions, measure: Measure
) -> npt.NDArray[Any]:
    """Return the similarities of some documents, all with all."""
    compared = rows.rows(*_content(bounds, entries, documents), documents)
    return compared.scores(compared.firsts_of_documents, measure)


def _room(count: int, memory: int) -> int:
    """Return how many entries are compared at once: what memory is left for by so many documents."""
    return max(memory // 2 - BYTES_PER_DOCUMENT * count, memory // 8) // BYTES_PER_ENTRY


def _about(bounds: Positions, entries: npt.NDArray[np.uint64], known: int, settings: _Settings) -> dict[str, Any]:
    """Say what is compared, and how: for a checkpoint, which is of one run."""
    checksum = zlib.crc32(bounds.view(np.uint8))  # type: ignore[arg-type]
    for start in range(0, len(entries), 1 << 20):
        checksum = zlib.crc32(np.ascontiguousarray(entries[start : start + (1 << 20)]).view(np.uint8), checksum)  # type: ignore[arg-type]
    own = {
        name: getattr(settings, name) for name in ("measure", "threshold", "shingle_words", "keep_numbers", "memory")
    }
    return own | {"documents": len(bounds) - 1, "known": known, "checksum": checksum}


def _pairs_by_items(
    rows: _SpooledRows,
    bounds: Positions,
    entries: npt.NDArray[np.uint64],
    chosen: Positions,
    known: int,
    settings: _Settings,
    nearest: npt.NDArray[np.float64],
    checkpoint: Checkpoint | None,
) -> list[SimilarPairs]:
    """Compare documents in parts in which any two similar ones meet; continue from a checkpoint."""
    room = _room(len(bounds) - 1, settings.memory)
    with ExitStack() as stack:
        partition = Partition(
            stack,
            chosen,
            lambda documents: rows.texts(*_content(bounds, entries, documents), documents),
            per_text=rows.per_text,
            threshold=settings.threshold,
            n_items=len(entries),
            most_items=room // 2,
            key=secrets.randbits(63) if checkpoint is None else checkpoint.key,
            memory=settings.memory,
            threads=settings.threads,
            least_parts=1 if checkpoint is None else min(LEAST_PARTS, len(chosen) // AT_ONCE + 1),
            progress=settings.progress,
        )
        found = _Found(nearest)
        if checkpoint is not None:
            for compared in checkpoint.parts():
                found.add(compared)
        total, done = int(partition.n_members.sum()), 0
        for part in range(partition.n_parts):
            count = int(partition.n_members[part])
            if checkpoint is None or part >= checkpoint.n_parts:

                def progress(step: str, looked_at: int, of: int | None, done: int = done, count: int = count) -> None:
                    settings.progress(step, done + count * looked_at // max(of or 1, 1), total)

                members = partition.members(part)
                own = replace(settings, progress=progress)
                compared = NOTHING if members is None else _pairs_of_members(members, known, room, own, nearest)
                if checkpoint is not None:
                    checkpoint.append(compared)
                found.add(compared)
            done += count
            settings.progress("comparing", done, total)
        return [found.pairs()]


def _pairs_of_members(
    members: Members, known: int, room: int, settings: _Settings, nearest: npt.NDArray[np.float64]
) -> Compared:
    """Compare the documents of a part, piece by piece if it is too large: many texts can have one item."""
    pieces = [members] if len(members.items) <= room else list(members.pieces(room // 2))
    pairs, raised = [], []
    for j, second in enumerate(pieces):
        if second.positions[-1] < known:
            continue
        for i in range(j + 1):
            own = second if i == j else joined([pieces[i], second])
            rows = own.rows(settings.threads)
            looked_for = max(known, 0 if i == j else int(second.positions[0]))
            own_nearest = np.zeros(len(own.positions))
            found = similar_rows(
                rows,
                settings.measure,
                settings.threshold,
                threads=settings.threads,
                progress=settings.progress,
                keep_numbers=settings.keep_numbers,
                first_query=int(np.searchsorted(own.positions[rows.chosen // rows.per_document], looked_for)),
                pairs_per_document=PAIRS_IN_PARTS,
                most_pairs=0,
                nearest=own_nearest,
            )
            pairs.append((own.positions[found.left], own.positions[found.right], found.scores))
            closer = own_nearest > nearest[own.positions]
            raised.append((own.positions[closer], own_nearest[closer]))
    none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    left, right, scores = map(np.concatenate, zip(none, *pairs, strict=True))
    documents, values = map(np.concatenate, zip(none[1:], *raised, strict=True))
    return Compared(left, right, scores, documents, values)


class _Found:
    """Pairs of all parts, each once."""

    def __init__(self, nearest: npt.NDArray[np.float64]) -> None:
        self._nearest = nearest
        self._blocks: list[tuple[Positions, Positions, npt.NDArray[np.float64]]] = []
        self._held = self._different = 0

    def add(self, compared: Compared) -> None:
        self._blocks.append(compared[:3])
        self._held += len(compared.left)
        np.maximum.at(self._nearest, compared.documents, compared.nearest)
        if self._held > 2 * self._different + MOST_HELD:
            self._blocks = [self._once()]
            self._held = self._different = len(self._blocks[0][0])

    def _once(self) -> tuple[Positions, Positions, npt.NDArray[np.float64]]:
        none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        left, right, scores = map(np.concatenate, zip(none, *self._blocks, strict=True))
        self._blocks = []
        _, first = np.unique(left * len(self._nearest) + right, return_index=True)
        return left[first], right[first], scores[first]

    def pairs(self) -> SimilarPairs:
        return SimilarPairs(*self._once(), 0, complete=False)


def _pairs_of_all_parts(
    rows: _SpooledRows,
    bounds: Positions,
    entries: npt.NDArray[np.uint64],
    chosen: Positions,
    known: int,
    settings: _Settings,
    nearest: npt.NDArray[np.float64],
) -> list[SimilarPairs]:
    """Compare documents in parts of which two fit into memory, each part with each."""
    sizes = np.diff(bounds)[chosen]
    number = np.cumsum(sizes) // max(_room(len(bounds) - 1, settings.memory) // 2, 1)
    parts = np.split(chosen, np.flatnonzero((np.diff(number) > 0) | (np.diff(chosen >= known))) + 1)
    work = [(i, j) for j in range(len(parts)) for i in range(j + 1) if parts[j][-1] >= known]
    blocks = []
    for done, (i, j) in enumerate(work):
        settings.progress("comparing", done, len(work))
        second = parts[j] if j > i else None
        quiet = replace(settings, progress=silent)
        blocks.append(_pairs_of_parts(rows, bounds, entries, parts[i], second, known, quiet, nearest))
    settings.progress("comparing", len(work), len(work))
    return blocks


def _pairs_of_parts(
    rows: _SpooledRows,
    bounds: Positions,
    entries: npt.NDArray[np.uint64],
    first: Positions,
    second: Positions | None,
    known: int,
    settings: _Settings,
    nearest: npt.NDArray[np.float64],
) -> SimilarPairs:
    """Compare the documents of one part with each other, or with those of a second part."""
    documents = first if second is None else np.concatenate([first, second])
    compared = rows.rows(*_content(bounds, entries, documents), documents)
    among = second is None
    # A document is looked for among those before it; one that is contained, among all.
    looked_for = known if among or settings.measure == "containment" else int(second[0])  # type: ignore[index]
    first_query = int(np.searchsorted(documents[compared.chosen // compared.per_document], looked_for))
    own_nearest = np.zeros(len(documents))
    found = similar_rows(
        compared,
        settings.measure,
        settings.threshold,
        threads=settings.threads,
        progress=settings.progress,
        keep_numbers=settings.keep_numbers,
        first_query=first_query,
        pairs_per_document=PAIRS_PER_DOCUMENT,
        most_pairs=len(documents),
        nearest=own_nearest,
    )
    nearest[documents] = np.maximum(nearest[documents], own_nearest)
    left, right = documents[found.left], documents[found.right]
    wanted = np.ones(len(left), dtype=bool) if among else (left < second[0]) != (right < second[0])  # type: ignore[index]
    return SimilarPairs(left[wanted], right[wanted], found.scores[wanted], 0, found.complete)
