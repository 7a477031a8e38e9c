"""Codes and vectors in memory, and the search of a Hamming ball over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import resolve_threads
from sthash.codes import Codes, n_bytes
from sthash.collection.encoder import Encoded
from sthash.collection.store import CHUNK, Store

Ids = npt.NDArray[np.int64]
# Up to this length a ball weighs bits by the query's margins; longer codes find as much in a larger plain ball, sooner.
MOST_WEIGHED_BITS = 256


@dataclass(frozen=True)
class Shelf:
    """The codes of all documents: ids ascending, codes as bytes and as 64-bit words."""

    n_bits: int
    ids: Ids
    codes: Codes
    words: npt.NDArray[np.uint64]

    def places(self, ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Where some ids, which must be there, stand."""
        return np.searchsorted(self.ids, np.asarray(ids, dtype=np.int64)).astype(np.int64)

    def at(self, places: npt.NDArray[np.int64]) -> Shelf:
        """Only the documents at some places, which ascend."""
        return Shelf(self.n_bits, self.ids[places], self.codes[places], self.words[places])

    def weights(self, queries: Encoded, radius: int | None) -> npt.NDArray[np.float32] | None:
        """How much each bit counts for the balls of queries, or None where all count alike."""
        return queries.margins if radius is None and self.n_bits <= MOST_WEIGHED_BITS else None

    def ball_of(self, query: Encoded, radius: int | None, wanted: int) -> npt.NDArray[np.int64]:
        """Places within the radius of a query, or the nearest ones: those wanted, and more if they tie."""
        weights = self.weights(query, radius)
        return _core.gather_ball(self.words, as_words(query.codes), margins=weights, radius=radius, wanted=wanted)

    def ball(self, code: npt.NDArray[np.uint64], radius: int | None, wanted: int) -> npt.NDArray[np.int64]:
        """Places within the radius of a code, or within the least radius that holds so many as are wanted."""
        return _core.gather_ball(self.words, code[None, :], margins=None, radius=radius, wanted=wanted)


@dataclass(frozen=True)
class Vectors:
    """The vectors of some documents, one after the other: document i has the words starts[i] to ends[i]."""

    content: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    dense: bool
    n_columns: int

    def at(self, places: npt.NDArray[np.int64] | slice) -> Vectors:
        """Only the vectors at some places."""
        return Vectors(self.content, self.starts[places], self.ends[places], self.dense, self.n_columns)

    def row(self, place: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Columns and values of a vector."""
        words = self.content[self.starts[place] : self.ends[place]]
        if self.dense:
            return np.arange(self.n_columns, dtype=np.int32), words.view(np.float32)
        return words[: len(words) // 2], words[len(words) // 2 :].view(np.float32)

    def parts(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Row bounds, columns and values of all vectors: the parts of a CSR matrix."""
        sizes = (self.ends - self.starts) // (1 if self.dense else 2)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        within = np.arange(indptr[-1]) + np.repeat(self.starts - indptr[:-1], sizes)
        if self.dense:
            columns = np.tile(np.arange(self.n_columns, dtype=np.int32), len(sizes))
            return indptr, columns, self.content[within].view(np.float32)
        return indptr, self.content[within], self.content[within + np.repeat(sizes, sizes)].view(np.float32)

    def cosines(self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Cosines of pairs of places."""
        return _core.pair_scores(self.view(), left, right, threads=resolve_threads(None))

    def view(self) -> _core.PackedView:
        """The vectors as the C++ kernels read them."""
        return _core.PackedView(self.content, self.starts, self.ends, n_columns=self.n_columns, dense=self.dense)


def stacked(
    indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], values: npt.NDArray[np.float32], n_columns: int
) -> Vectors:
    """Vectors from the parts of a CSR matrix."""
    sizes = np.diff(indptr)
    columns_at = np.arange(indptr[-1]) + np.repeat(indptr[:-1], sizes)
    content = np.empty(2 * indptr[-1], dtype=np.int32)
    content[columns_at] = indices
    content[columns_at + np.repeat(sizes, sizes)] = values.view(np.int32)
    return Vectors(content, 2 * indptr[:-1], 2 * indptr[1:], dense=False, n_columns=n_columns)


@dataclass(frozen=True)
class Found:
    """For each query the best places, -1 where there are fewer than k, their cosines and their distances."""

    places: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    distances: npt.NDArray[np.int32]


def as_words(codes: Codes) -> npt.NDArray[np.uint64]:
    """Packed codes as 64-bit words, filled up with zeros."""
    missing = -codes.shape[1] % 8
    padded = np.pad(codes, ((0, 0), (0, missing))) if missing else codes
    return np.ascontiguousarray(padded).view("<u8").astype(np.uint64, copy=False)


def load_shelf(store: Store, n_bits: int) -> Shelf:
    """Read all codes."""
    width = n_bytes(n_bits)
    ids, parts = [np.zeros(0, np.int64)], [np.zeros((0, width), np.uint8)]
    for chunk, held, content in store.rows("codes", "ORDER BY chunk"):
        if len(content) != width * len(held):
            raise store.damaged(f"chunk {chunk} has codes of the wrong size")
        places = np.flatnonzero(np.frombuffer(held, dtype=np.uint8))
        ids.append(chunk * CHUNK + places)
        parts.append(np.frombuffer(content, dtype=np.uint8).reshape(-1, width)[places])
    codes = np.concatenate(parts)
    return Shelf(n_bits, np.concatenate(ids), codes, as_words(codes))


def load_vectors(store: Store, ids: Ids, *, dense: bool, n_columns: int, whole: bool) -> Vectors:
    """Read the vectors of some ids, which ascend; ``whole`` says that these are all there are."""
    contents: list[bytes] = []
    if whole:
        contents.extend(content for _, content in store.rows("vectors", "ORDER BY id"))
    else:
        for wanted in ids.tolist():
            contents.extend(content for _, content in store.rows("vectors", "WHERE id = ?", (wanted,)))
    if len(contents) != len(ids):
        raise store.damaged(f"it has vectors for {len(contents)} of {len(ids)} documents")
    ends = np.cumsum(np.fromiter(map(len, contents), dtype=np.int64, count=len(contents))) // 4
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(ends) else ends
    # A copy of its own, because NumPy asks for large pages of memory, over which a search jumps faster.
    content = np.frombuffer(b"".join(contents), dtype=np.int32).copy()
    return Vectors(content, starts, ends, dense, n_columns)


def search_balls(shelf: Shelf, vectors: Vectors, queries: Encoded, k: int, radius: int | None, wanted: int) -> Found:
    """Rank the documents in the ball around each query by the cosine of their vectors; ties by id.

    Without a radius the ball holds as many as are wanted; of codes that are not too long, a bit then counts as much as
    the query is sure of it.
    """
    places, scores, distances, _, _ = _core.search_balls(
        shelf.words,
        vectors.view(),
        as_words(queries.codes),
        _core.CsrView(queries.indptr, queries.indices, queries.values),
        margins=shelf.weights(queries, radius),
        k=k,
        radius=radius,
        wanted=wanted,
        threads=resolve_threads(None),
    )
    return Found(places, scores, distances)
