"""The codes of all documents: in memory, and in the file in chunks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import resolve_threads
from sthash.codes import Codes, as_words, n_bytes
from sthash.collection.packed_vectors import Ids, PackedVectors
from sthash.collection.store import CHUNK, MOST_IDS, Store
from sthash.model import EncodedRows

Positions = npt.NDArray[np.int64]
# Up to this length a ball weighs bits by the query's margins; longer codes find as much in a larger plain ball, sooner.
MOST_WEIGHTED_BITS = 256


@dataclass(frozen=True)
class Ranking:
    """For each query the best positions (-1 where there are fewer than k), their cosines and their distances."""

    positions: Positions
    scores: npt.NDArray[np.float32]
    distances: npt.NDArray[np.int32]


@dataclass(frozen=True)
class CodeTable:
    """The codes of documents: ids ascending, codes as bytes and as 64-bit words, and the numbers of their words."""

    n_bits: int
    ids: Ids
    codes: Codes
    words: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: npt.ArrayLike) -> Positions:
        """Return where some ids, which must be there, stand."""
        return np.searchsorted(self.ids, np.asarray(ids, dtype=np.int64)).astype(np.int64)

    def at(self, positions: Positions) -> CodeTable:
        """Return only the documents at some positions, which ascend."""
        return CodeTable(
            self.n_bits, self.ids[positions], self.codes[positions], self.words[positions], self.lengths[positions]
        )

    def ball(self, query: EncodedRows, radius: int | None, wanted: int) -> Positions:
        """Return the positions within the radius of a query, or the nearest: those wanted, and more if they tie."""
        weights = self._weights(query, radius)
        return _core.gather_ball(self.words, as_words(query.codes), margins=weights, radius=radius, wanted=wanted)

    def rank(
        self,
        vectors: PackedVectors,
        queries: EncodedRows,
        k: int,
        radius: int | None,
        wanted: int,
        threads: int | None = None,
    ) -> Ranking:
        """Rank the documents in the ball around each query by the cosine of their vectors; ties by id.

        Without a radius the ball holds as many as are wanted; if the codes are not too long, a bit then counts as much
        as the query is sure of it.
        """
        positions, scores, distances, _, _ = _core.search_balls(
            self.words,
            vectors.view(),
            as_words(queries.codes),
            _core.CsrView(queries.indptr, queries.indices, queries.values),
            margins=self._weights(queries, radius),
            k=k,
            radius=radius,
            wanted=wanted,
            threads=resolve_threads(threads),
        )
        return Ranking(positions, scores, distances)

    def _weights(self, queries: EncodedRows, radius: int | None) -> npt.NDArray[np.float32] | None:
        """Return how much each bit counts for the balls of queries, or None where all count alike."""
        return queries.margins if radius is None and self.n_bits <= MOST_WEIGHTED_BITS else None


def load_codes(store: Store, n_bits: int) -> CodeTable:
    """Read all codes and lengths."""
    width = n_bytes(n_bits)
    ids, parts, lengths = [np.zeros(0, np.int64)], [np.zeros((0, width), np.uint8)], [np.zeros(0, np.int32)]
    for row in store.rows("codes", "ORDER BY chunk"):
        held, codes, own = _parts(store, row, width)
        slots = np.flatnonzero(held)
        ids.append(row[0] * CHUNK + slots)
        parts.append(codes[slots])
        lengths.append(own[slots])
    codes = np.concatenate(parts)
    if n_bits % 8 and (codes[:, -1] >> n_bits % 8).any():
        raise store.damaged("a code has a bit beyond the last one")
    return CodeTable(n_bits, np.concatenate(ids), codes, as_words(codes), np.concatenate(lengths))


def put_codes(
    store: Store, ids: Sequence[int], codes: Codes | None, lengths: npt.NDArray[np.integer] | None = None
) -> None:
    """Put codes and lengths at some ids, or clear them where ``codes`` is None; dense vectors have no lengths."""
    order = sorted((number, position) for position, number in enumerate(ids))
    for chunk, group in itertools.groupby(order, key=lambda pair: pair[0] // CHUNK):
        members = list(group)
        slots = np.array([number % CHUNK for number, _ in members])
        places = [position for _, position in members]
        stored = next(store.rows("codes", "WHERE chunk = ?", (chunk,)), None)
        if stored is None and codes is None:
            continue  # while a collection is being built, documents come before their codes
        width = len(stored[2]) // max(len(stored[1]), 1) if codes is None and stored is not None else 0
        width = width if codes is None else codes.shape[1]
        old_held, old_codes, old_lengths = _parts(store, stored or (chunk, b"", b"", b""), width)
        old = len(old_held)
        size = max(int(slots.max()) + 1, old)
        held, content = np.zeros(size, dtype=np.uint8), np.zeros((size, width), dtype=np.uint8)
        counted = np.zeros(size, dtype=np.int32)
        held[:old], content[:old], counted[:old] = old_held, old_codes, old_lengths
        held[slots] = codes is not None
        content[slots] = 0 if codes is None else codes[places]
        counted[slots] = 0 if lengths is None else lengths[places]
        if held.any():
            store.put("codes", chunk, held.tobytes(), content.tobytes(), counted.tobytes())
        else:
            store.execute("DELETE FROM codes WHERE chunk = ?", (chunk,))


def put_lengths(store: Store, ids: Sequence[int], lengths: npt.NDArray[np.integer]) -> None:
    """Put the numbers of words of documents whose codes are there."""
    order = sorted((number, int(length)) for number, length in zip(ids, lengths, strict=True))
    for chunk, group in itertools.groupby(order, key=lambda pair: pair[0] // CHUNK):
        row = next(store.rows("codes", "WHERE chunk = ?", (chunk,)), None)
        if row is None or len(row[3]) != 4 * len(row[1]):
            raise store.damaged(f"chunk {chunk} has no codes, or some of the wrong size")
        counted = np.frombuffer(row[3], dtype=np.int32).copy()
        for number, length in group:
            counted[number % CHUNK] = length
        store.put("codes", chunk, row[1], row[2], counted.tobytes())


def _parts(
    store: Store, row: tuple[int, bytes, bytes, bytes], width: int
) -> tuple[npt.NDArray[np.uint8], Codes, npt.NDArray[np.int32]]:
    """Return what a chunk holds: which ids are there, their codes, their lengths."""
    chunk, held, content, lengths = row
    size = len(held)
    if size > CHUNK or len(content) != width * size or len(lengths) != 4 * size or not 0 <= chunk < MOST_IDS // CHUNK:
        raise store.damaged(f"chunk {chunk} has codes of the wrong size")
    own = np.frombuffer(lengths, dtype=np.int32)
    if size and own.min() < 0:
        raise store.damaged(f"chunk {chunk} has a document of negative length")
    return np.frombuffer(held, dtype=np.uint8), np.frombuffer(content, dtype=np.uint8).reshape(size, width), own
