"""`Codes`: the binary codes of all documents, and the hash functions that made them, in the file of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Ids, Positions
from sthash.checks import resolve_threads
from sthash.codes import Codes as PackedCodes
from sthash.codes import as_words, n_bytes, pack
from sthash.collection.file.records import Records
from sthash.collection.file.removals import note_all_changed
from sthash.collection.file.store import Store
from sthash.collection.indexes.content import Content
from sthash.collection.indexes.embedder import Embedder
from sthash.collection.indexes.stored_model import (
    SETTING,
    document_margins,
    load_model,
    query_margins,
    write_model,
)
from sthash.collection.indexes.words import Words
from sthash.index import HammingIndex
from sthash.model import Encoded, Margins, Model, TextModel
from sthash.progress import Progress, silent
from sthash.vectors.rows import Rows

# Up to this length a ball weighs bits by the query's margins; longer codes find as much in a larger plain ball, sooner.
MOST_WEIGHTED_BITS = 256


@dataclass(frozen=True)
class BallRanking:
    """For each query the best positions (-1 where there are fewer than k), their scores and their distances."""

    positions: Positions
    scores: npt.NDArray[np.float32]
    distances: npt.NDArray[np.int32]


@dataclass(frozen=True)
class CodeTable:
    """The codes of documents: ids ascending, codes as bytes and as 64-bit words."""

    n_bits: int
    ids: Ids
    codes: PackedCodes
    words: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, positions: Positions) -> CodeTable:
        """Return only the documents at some positions, which ascend."""
        return CodeTable(self.n_bits, self.ids[positions], self.codes[positions], self.words[positions])

    def ball(self, query: Encoded, radius: int | None, wanted: int) -> Positions:
        """Return the positions within the radius of a query, or the nearest: those wanted, and more if they tie."""
        weights = self._weights(query, radius)
        return _core.gather_ball(self.words, as_words(query.codes), margins=weights, radius=radius, wanted=wanted)

    def rank(
        self,
        vectors: Rows,
        queries: Encoded,
        k: int,
        radius: int | None,
        wanted: int,
        threads: int | None = None,
    ) -> BallRanking:
        """Rank the documents in the ball around each query by the products of their vectors; ties by id.

        Without a radius the ball holds as many as are wanted; if the codes are not too long, a bit then counts as much
        as the query is sure of it.
        """
        positions, scores, distances, _, _ = _core.search_balls(
            self.words,
            vectors.view(),
            as_words(queries.codes),
            queries.rows.view(),
            margins=self._weights(queries, radius),
            k=k,
            radius=radius,
            wanted=wanted,
            threads=resolve_threads(threads),
        )
        return BallRanking(positions, scores, distances)

    def _weights(self, queries: Encoded, radius: int | None) -> npt.NDArray[np.float32] | None:
        """Return how much each bit counts for the balls of queries, or None where all count alike."""
        return queries.margins if radius is None and self.n_bits <= MOST_WEIGHTED_BITS else None


def _fits(model: Model, content: Content) -> bool:
    """Whether a model is one for the rows of a content."""
    if isinstance(model, TextModel) or isinstance(content, Words):
        return isinstance(model, TextModel) and isinstance(content, Words)
    return (model.n_columns, model.metric) == (content.n_columns, content.metric)


# Settings of the hash functions that `Collection.info` shows.
SHOWN = ("n_bits", "n_neighbors", "recipe", "scatter", "learned_on", "n_terms")


class Codes:
    """The codes of the documents, within a transaction of the caller's.

    Parameters
    ----------
    store : Store
    content : Content
        What the codes are of.
    model : Model, optional
        The hash functions, if they are known already.
    threads : int or None
    words : Words, optional
        The words of the same documents, beside which codes stay in memory. Default: they are read for themselves.
    """

    segment_kinds = ("codes",)

    def __init__(
        self,
        store: Store,
        content: Content,
        model: Model | None = None,
        threads: int | None = None,
        words: Words | None = None,
    ) -> None:
        self._store = store
        self._words = Words(store, threads) if words is None else words
        self._content = content
        self._threads = resolve_threads(threads)
        self.model = load_model(store, threads) if model is None else model
        if not _fits(self.model, content):
            raise store.damaged("its hash functions are not for its documents")
        self._records = Records(store, "codes", n_bytes(self.model.n_bits))

    @staticmethod
    def are_in(store: Store) -> bool:
        """Whether a file has codes."""
        return store.has_setting(SETTING)

    @property
    def setting_names(self) -> set[str]:
        """Names of the settings that it has in the file."""
        return {SETTING}

    def facts(self) -> dict[str, Any]:
        """Return how the hash functions were learned."""
        settings = self.model.settings
        return {name: settings[name] for name in SHOWN if name in settings} | {"learned": self.learned}

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self.model.n_bits

    @property
    def learned(self) -> bool:
        """Whether hash functions have been learned; without them all codes are zero."""
        return self.model.learned

    # Writing

    def put(self, ids: Ids, raw: Rows) -> None:
        """Write the codes of documents, given by the raw rows of their content."""
        self._records.put(ids, self._codes_of(raw))

    def _codes_of(self, raw: Rows) -> PackedCodes:
        if not self.learned:
            return np.zeros((len(raw), n_bytes(self.n_bits)), dtype=np.uint8)
        return pack(document_margins(self.model, raw) > 0)

    def remove(self, ids: Ids) -> None:
        """Remove documents."""
        self._records.remove(ids)

    def clear(self) -> None:
        """Remove all codes."""
        self._records.clear()
        note_all_changed(self._store)

    def lay_out(self) -> None:
        """Write the hash functions in place of those that are there; codes are removed, to be put again."""
        self.clear()
        write_model(self._store, self.model)

    def settle(self, report: Progress = silent) -> None:
        """Bring the segments up to date; once at the end of each change."""
        self._records.settle()

    # Reading

    @cached_property
    def table(self) -> CodeTable:
        """All codes, as the ball search reads them."""
        roster = self._words.roster
        held = roster.held("codes")
        if held is None:
            ids, codes = self._records.all()
            if not np.array_equal(ids, self._content.ids):
                raise self._store.damaged("documents and codes are not of the same documents")
            held = roster.hold("codes", self._checked(codes))
        elif len(held) < len(roster):
            held.append(self._checked(self._records.at(roster.ids[len(held) :])))
        words: npt.NDArray[np.uint64] = held.values
        codes = words.astype("<u8", copy=False).view(np.uint8)[:, : n_bytes(self.n_bits)]
        return CodeTable(self.n_bits, roster.ids, codes, words)

    def _checked(self, codes: PackedCodes) -> npt.NDArray[np.uint64]:
        """Return codes as words; none may have a bit beyond the last one."""
        if self.n_bits % 8 and len(codes) and (codes[:, -1] >> self.n_bits % 8).any():
            raise self._store.damaged("a code has a bit beyond the last one")
        return as_words(codes)

    @cached_property
    def index(self) -> HammingIndex:
        """An index of all codes, by the positions of the documents."""
        index = HammingIndex(self.n_bits)
        index.add(np.ascontiguousarray(self.table.codes))
        return index

    def encode(self, queries: list[Any], embedder: Embedder | None = None) -> Encoded:
        """Return the rows, margins and codes of queries; words that are in no document are left out."""
        raw = self._content.of_queries(queries, embedder)
        return self._encoded(raw)

    def encode_stored(self, number: int) -> Encoded:
        """Return the row, the margins and the code of a document of the collection, as a query has them."""
        return self._encoded(next(self._content.of_stored(np.array([number], dtype=np.int64))))

    def _encoded(self, raw: Rows) -> Encoded:
        rows = Encoded(self._content.compared(raw), query_margins(self.model, raw))
        if not np.isfinite(rows.margins).all():
            raise self._store.damaged("its weights are too large")
        return rows

    def margins(self, ids: Ids) -> Margins:
        """Return the margins of documents, in the order of ``ids``."""
        order = np.argsort(ids, kind="stable")
        margins = np.empty((len(ids), self.n_bits), dtype=np.float32)
        if len(ids):
            parts = [document_margins(self.model, raw) for raw in self._content.of_stored(ids[order])]
            margins[order] = np.concatenate(parts)
        return margins

    def verify(self, ids: Ids) -> None:
        """Compare all codes with the documents."""
        self._records.verify(ids)
        if isinstance(self.model, TextModel) and self._store.value("SELECT count(*) FROM weights") != len(
            self.model.terms
        ):
            raise self._store.damaged("words and weights are not equally many")
        codes, position = self.table.codes, 0
        for raw in self._content.of_stored(ids):
            own = self._codes_of(raw)
            if not (own == codes[position : position + len(own)]).all():
                raise self._store.damaged("a code is not that of its document")
            position += len(own)
