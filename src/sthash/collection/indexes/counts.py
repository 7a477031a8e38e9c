"""The term counts of texts: in the file, and as unit rows weighted by the documents that are there now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Ids
from sthash.batches import batched
from sthash.checks import resolve_threads
from sthash.collection.file.store import Store
from sthash.collection.indexes.terms import Frequencies
from sthash.text.weighting import CorpusStatistics, Weighting, term_weights
from sthash.vectors.rows import Rows

MOST_WORDS = (1 << 31) - 1
# Rows that are unpacked and weighted together: few enough for the caches of the processor.
ROWS_TOGETHER = 4096


@dataclass(frozen=True)
class CurrentWeights:
    """Weights of terms by the documents that are in the file now.

    They are those of `sthash.TextVectorizer`, with one exception: a term in all N documents weighs as if it were in a
    share of 1 / (1 + 1 / 2N) of them, which is nearly nothing, but enough to find one document, or two equal ones.
    """

    frequencies: Frequencies
    n_documents: int
    mean_length: float
    weighting: Weighting

    def known(self, rows: Rows) -> Rows:
        """Return the rows without words that are in no document now."""
        return rows.kept(self.frequencies.at(rows.columns) > 0)

    def values(self, rows: Rows) -> npt.NDArray[np.float32]:
        """Return the weights of rows, each of unit length."""
        position: npt.NDArray[np.integer] = rows.columns
        if 4 * len(rows.columns) > self.frequencies.size:
            frequency = self.frequencies.all()
        else:
            position = np.arange(len(rows.columns))
            frequency = self.frequencies.at(rows.columns)
        n_documents = max(self.n_documents, 1)
        at_most: Any = np.clip(frequency, 1, n_documents / (1 + 0.5 / n_documents))
        statistics = CorpusStatistics(n_documents, at_most, self.mean_length or 1.0)
        return term_weights(rows.indptr, position, rows.values, self.weighting, statistics)


@dataclass(frozen=True)
class PackedRows:
    """Rows of counts as bytes: row i is ``content[offsets[i] : offsets[i + 1]]``."""

    content: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows, threads: int | None = None) -> PackedRows:
        """Pack rows."""
        return cls(*_core.pack_counts(rows.indptr, rows.columns, rows.values, threads=resolve_threads(threads)))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.content.nbytes + self.offsets.nbytes

    def rows(self, n_columns: int, threads: int | None = None) -> Rows:
        """Unpack them."""
        workers = resolve_threads(threads)
        return Rows.sparse(
            *_core.unpack_counts(self.content, self.offsets, n_columns=n_columns, threads=workers), n_columns
        )


def put_counts(store: Store, ids: Iterable[int], rows: Rows, threads: int | None = None) -> npt.NDArray[np.int64]:
    """Write the counts of documents; return where each ends among the bytes of all, after a 0."""
    packed = PackedRows.of(rows, threads)
    content, bounds = packed.content.tobytes(), packed.offsets.tolist()
    store.put_many("counts", [(number, content[bounds[i] : bounds[i + 1]]) for i, number in enumerate(ids)])
    return packed.offsets


def unpacked(store: Store, contents: list[bytes], n_columns: int, threads: int | None = None) -> Rows:
    """Return the counts of stored rows, checked."""
    offsets = np.zeros(len(contents) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, contents), dtype=np.int64, count=len(contents)), out=offsets[1:])
    content = np.frombuffer(b"".join(contents), dtype=np.uint8)
    try:
        parts = _core.unpack_counts(content, offsets, n_columns=n_columns, threads=resolve_threads(threads))
    except ValueError as error:
        raise store.damaged(f"term counts cannot be read ({error})") from error
    rows = Rows.sparse(*parts, n_columns)
    if len(rows) and rows.sums().max() > MOST_WORDS:
        raise store.damaged("a document has more words than are possible")
    return rows


def stored_counts(store: Store, ids: Ids) -> Iterator[tuple[int, bytes]]:
    """Iterate over the ids and packed counts of some documents; documents without counts are skipped."""
    for part in batched(ids.tolist(), ROWS_TOGETHER):
        yield from store.rows_at("counts", part)


def counts_between(store: Store, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """Iterate over the ids and packed counts from one id to another one."""
    return store.rows("counts", "WHERE id BETWEEN ? AND ? ORDER BY id", (first, last))


def load_counts(
    store: Store, ids: Ids, n_columns: int, rows: Iterable[tuple[int, bytes]], threads: int | None = None
) -> Iterator[Rows]:
    """Unpack the stored rows of some ids, which must be these, some at a time."""
    contents = (content for _, content in rows)
    count = 0
    for part in batched(contents, ROWS_TOGETHER):
        count += len(part)
        yield unpacked(store, part, n_columns, threads)
    if count != len(ids):
        raise store.damaged(f"it has term counts for {count} of {len(ids)} documents")


def weighted_rows(parts: Iterable[Rows], weights: CurrentWeights, n_columns: int) -> Rows:
    """Return term counts as weighted unit rows."""
    rows = [Rows.sparse(part.indptr, part.columns, weights.values(part), n_columns) for part in parts]
    return Rows.stacked(rows or [Rows.empty(n_columns)])
