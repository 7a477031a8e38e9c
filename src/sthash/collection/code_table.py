"""The codes of all documents: in memory, and in the file in chunks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import resolve_threads
from sthash.codes import Codes, as_words, n_bytes
from sthash.collection.packed_vectors import Ids, PackedVectors
from sthash.collection.store import CHUNK, Store
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
    """The codes of documents: ids ascending, codes as bytes and as 64-bit words."""

    n_bits: int
    ids: Ids
    codes: Codes
    words: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: npt.ArrayLike) -> Positions:
        """Return where some ids, which must be there, stand."""
        return np.searchsorted(self.ids, np.asarray(ids, dtype=np.int64)).astype(np.int64)

    def at(self, positions: Positions) -> CodeTable:
        """Return only the documents at some positions, which ascend."""
        return CodeTable(self.n_bits, self.ids[positions], self.codes[positions], self.words[positions])

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
    """Read all codes."""
    width = n_bytes(n_bits)
    ids, parts = [np.zeros(0, np.int64)], [np.zeros((0, width), np.uint8)]
    for chunk, held, content in store.rows("codes", "ORDER BY chunk"):
        if len(content) != width * len(held):
            raise store.damaged(f"chunk {chunk} has codes of the wrong size")
        slots = np.flatnonzero(np.frombuffer(held, dtype=np.uint8))
        ids.append(chunk * CHUNK + slots)
        parts.append(np.frombuffer(content, dtype=np.uint8).reshape(-1, width)[slots])
    codes = np.concatenate(parts)
    return CodeTable(n_bits, np.concatenate(ids), codes, as_words(codes))


def put_codes(store: Store, ids: Iterable[int], codes: Codes | None) -> None:
    """Put codes at some ids, or clear them where ``codes`` is None."""
    order = sorted((number, position) for position, number in enumerate(ids))
    for chunk, group in itertools.groupby(order, key=lambda pair: pair[0] // CHUNK):
        members = list(group)
        slots = np.array([number % CHUNK for number, _ in members])
        stored = next(store.rows("codes", "WHERE chunk = ?", (chunk,)), None)
        if stored is None and codes is None:
            continue  # while a collection is being built, documents come before their codes
        old_held, old_codes = (b"", b"") if stored is None else stored[1:]
        width = len(old_codes) // len(old_held) if codes is None else codes.shape[1]
        held = np.zeros(max(int(slots.max()) + 1, len(old_held)), dtype=np.uint8)
        held[: len(old_held)] = np.frombuffer(old_held, dtype=np.uint8)
        content = np.zeros((len(held), width), dtype=np.uint8)
        content[: len(old_held)] = np.frombuffer(old_codes, dtype=np.uint8).reshape(-1, width)
        held[slots] = codes is not None
        content[slots] = 0 if codes is None else codes[[position for _, position in members]]
        if held.any():
            store.put("codes", chunk, held.tobytes(), content.tobytes())
        else:
            store.execute("DELETE FROM codes WHERE chunk = ?", (chunk,))
