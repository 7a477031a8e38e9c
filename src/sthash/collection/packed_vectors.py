"""The vectors of documents in memory, as the re-ranking kernels read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import resolve_threads
from sthash.collection.store import Store
from sthash.model import EncodedRows
from sthash.rows import unit_rows

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PackedVectors:
    """The vectors of some documents, one after the other: document i has the words ``starts[i]`` to ``ends[i]``.

    A sparse vector is its columns, ascending, then as many float32 values; a dense one is just its values. ``checked``
    says that none leads out of bounds.
    """

    content: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    dense: bool
    n_columns: int
    checked: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, positions: npt.NDArray[np.int64] | slice) -> PackedVectors:
        """Return only the vectors at some positions."""
        starts, ends, checked = self.starts[positions], self.ends[positions], self.checked or "_view" in self.__dict__
        return PackedVectors(self.content, starts, ends, self.dense, self.n_columns, checked)

    def row(self, position: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the columns and values of a vector."""
        words = self.content[self.starts[position] : self.ends[position]]
        if self.dense:
            return np.arange(self.n_columns, dtype=np.int32), words.view(np.float32)
        return words[: len(words) // 2], words[len(words) // 2 :].view(np.float32)

    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return row bounds, columns and values of all vectors: the parts of a CSR matrix."""
        sizes = (self.ends - self.starts) // (1 if self.dense else 2)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        inside = np.arange(indptr[-1]) + np.repeat(self.starts - indptr[:-1], sizes)
        if self.dense:
            columns = np.tile(np.arange(self.n_columns, dtype=np.int32), len(sizes))
            return indptr, columns, self.content[inside].view(np.float32)
        return indptr, self.content[inside], self.content[inside + np.repeat(sizes, sizes)].view(np.float32)

    def encoded(self, n_bits: int) -> EncodedRows:
        """Return the rows as a model takes them, without margins."""
        return EncodedRows(*self.rows(), np.zeros((len(self), n_bits), dtype=np.float32))

    def unit(self) -> PackedVectors:
        """Return dense vectors of any length as unit vectors."""
        rows = unit_rows(self.rows()[2].reshape(len(self), self.n_columns))
        bounds = np.arange(len(self) + 1, dtype=np.int64) * self.n_columns
        return PackedVectors(rows.reshape(-1).view(np.int32), bounds[:-1], bounds[1:], self.dense, self.n_columns)

    def cosines(
        self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], threads: int | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the cosines of pairs of positions, for unit vectors."""
        return _core.pair_scores(self.view(), left, right, threads=resolve_threads(threads))

    def view(self) -> _core.PackedView:
        """Return the vectors as the kernels read them; they are checked when it is first called."""
        return self._view

    @cached_property
    def _view(self) -> _core.PackedView:
        columns, dense, checked = self.n_columns, self.dense, self.checked
        return _core.PackedView(self.content, self.starts, self.ends, n_columns=columns, dense=dense, checked=checked)


def packed(
    indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], values: npt.NDArray[np.float32], n_columns: int
) -> PackedVectors:
    """Return vectors from the parts of a CSR matrix."""
    sizes = np.diff(indptr)
    columns_at = np.arange(indptr[-1]) + np.repeat(indptr[:-1], sizes)
    content = np.empty(2 * indptr[-1], dtype=np.int32)
    content[columns_at] = indices
    content[columns_at + np.repeat(sizes, sizes)] = values.view(np.int32)
    return PackedVectors(content, 2 * indptr[:-1], 2 * indptr[1:], dense=False, n_columns=n_columns)


def joined_vectors(parts: list[PackedVectors], n_columns: int) -> PackedVectors:
    """Put sparse vectors one after the other."""
    ends = np.cumsum([0, *(len(part.content) for part in parts)])
    starts = [part.starts + start for part, start in zip(parts, ends[:-1], strict=True)]
    stops = [part.ends + start for part, start in zip(parts, ends[:-1], strict=True)]
    none = [np.zeros(0, np.int64)]
    return PackedVectors(
        np.concatenate([np.zeros(0, np.int32), *(part.content for part in parts)]),
        np.concatenate(none + starts),
        np.concatenate(none + stops),
        dense=False,
        n_columns=n_columns,
    )


def load_vectors(store: Store, ids: Ids, *, n_columns: int, whole: bool) -> PackedVectors:
    """Read the dense vectors of some ids, which ascend; ``whole`` says that these are all there are."""
    contents: list[bytes] = []
    if whole:
        contents.extend(content for _, content in store.rows("vectors", "ORDER BY id"))
    else:
        for wanted in ids.tolist():
            contents.extend(content for _, content in store.rows("vectors", "WHERE id = ?", (wanted,)))
    if len(contents) != len(ids):
        raise store.damaged(f"it has vectors for {len(contents)} of {len(ids)} documents")
    return dense_vectors(store, contents, n_columns)


def dense_vectors(store: Store, contents: list[bytes], n_columns: int) -> PackedVectors:
    """Put stored dense vectors, which must all have the width of the model, one after the other."""
    if any(len(content) != 4 * n_columns for content in contents):
        raise store.damaged("a vector has the wrong size")
    bounds = np.arange(len(contents) + 1, dtype=np.int64) * n_columns
    # A copy of its own, because NumPy asks for large pages of memory, over which a search jumps faster.
    content = np.frombuffer(b"".join(contents), dtype=np.int32).copy()
    if not np.isfinite(content.view(np.float32)).all():
        raise store.damaged("a vector is not finite")
    return PackedVectors(content, bounds[:-1], bounds[1:], dense=True, n_columns=n_columns)
