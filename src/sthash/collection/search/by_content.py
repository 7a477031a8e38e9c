"""Candidates by what documents are compared by: from the cells of vectors, or from a ball of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sthash.arrays import Floats, Ids, Positions
from sthash.codes import row_distances
from sthash.collection.indexes.cells import Cells
from sthash.collection.indexes.codes import BallRanking, CodeTable
from sthash.collection.search.hits import Strategy
from sthash.collection.search.options import SearchOptions
from sthash.collection.snapshot import Snapshot
from sthash.model import Encoded
from sthash.vectors.rows import Rows


@dataclass(slots=True)
class Ranked:
    """The documents of one query, best first.

    Attributes
    ----------
    ids, scores : lists of int, float
    distances : list of int or None
        In bits, if codes had a part.
    copies : list of lists of int or None
        Ids of near-duplicates of each document, if hits are collapsed.
    """

    ids: list[int]
    scores: list[float]
    distances: list[int] | None = None
    copies: list[list[int]] | None = None

    def after(self, offset: int) -> Ranked:
        """Return the documents without the first ones."""
        return self.at(range(offset, len(self.ids))) if offset else self

    def at(self, places: Sequence[int]) -> Ranked:
        """Return only the documents at some places."""
        return Ranked(
            [self.ids[place] for place in places],
            [self.scores[place] for place in places],
            None if self.distances is None else [self.distances[place] for place in places],
            None if self.copies is None else [self.copies[place] for place in places],
        )


def strategy_of(snapshot: Snapshot, options: SearchOptions) -> Strategy:
    """Return where documents are looked for by their content."""
    return "codes" if options.by_codes else snapshot.content.strategy


def rank_by_content(
    snapshot: Snapshot, queries: list[Any], k: int, options: SearchOptions, allowed: Ids | None = None
) -> list[Ranked]:
    """Return the documents whose content is most like that of each query: of a text, or of a vector."""
    content = snapshot.content
    if isinstance(content, Cells) and not options.by_codes:
        return _rank_by_cells(content, content.of_queries(queries, snapshot.embedder), k, options, allowed)
    return _rank_by_codes(snapshot, snapshot.encode(queries), k, options, allowed)


def rank_like(snapshot: Snapshot, number: int, k: int, options: SearchOptions, allowed: Ids | None = None) -> Ranked:
    """Return the documents that are most like one of the collection, which is not among them."""
    content = snapshot.content
    # One more, because the document itself is mostly the nearest.
    if isinstance(content, Cells) and not options.by_codes:
        rows = next(content.of_stored(np.array([number], dtype=np.int64)))
        near = _rank_by_cells(content, rows, k + 1, options, allowed)[0]
    else:
        near = _rank_by_codes(snapshot, snapshot.codes.encode_stored(number), k + 1, options, allowed)[0]
    return near.at([place for place, own in enumerate(near.ids) if own != number][:k])


def _rank_by_cells(cells: Cells, rows: Rows, k: int, options: SearchOptions, allowed: Ids | None) -> list[Ranked]:
    found, scores = cells.search(rows.values, k, allowed=allowed, recall=options.recall, exact=options.exact)
    ranked = [Ranked(ids, rated) for ids, rated in zip(found, scores, strict=True)]
    if cells.metric == "cosine":
        for place, own in enumerate(ranked):
            if 0.0 in own.scores:
                ranked[place] = _nonzero(cells, rows.values[place : place + 1], own, k, options, allowed)
    return ranked


def _nonzero(
    cells: Cells, query: Floats, ranked: Ranked, k: int, options: SearchOptions, allowed: Ids | None
) -> Ranked:
    """Return k hits without zero vectors, such as those of blank texts: their cosines say nothing."""
    width, most = k, len(cells) if allowed is None else len(allowed)
    kept = _without_zeros(cells, ranked)
    while len(kept.ids) < k and width < most:
        width = min(4 * width, most)
        found, scores = cells.search(query, width, allowed=allowed, recall=options.recall, exact=options.exact)
        kept = _without_zeros(cells, Ranked(found[0], scores[0]))
    return kept.at(range(min(k, len(kept.ids))))


def _without_zeros(cells: Cells, ranked: Ranked) -> Ranked:
    zero = sorted(number for number, score in zip(ranked.ids, ranked.scores, strict=True) if score == 0)
    vectors = cells.vectors(np.array(zero, dtype=np.int64))
    empty = {number for place, number in enumerate(zero) if not vectors.row(place)[1].any()}
    return ranked.at([place for place, number in enumerate(ranked.ids) if number not in empty])


def _rank_by_codes(
    snapshot: Snapshot, queries: Encoded, k: int, options: SearchOptions, allowed: Ids | None
) -> list[Ranked]:
    table = snapshot.codes.table
    if allowed is not None:
        table = table.at(snapshot.positions(allowed))
    if len(table) == 0:
        return [Ranked([], [], []) for _ in range(len(queries))]
    k = min(k, len(table))
    if not options.rerank:
        return _nearest_codes(snapshot, table, queries, k, options)
    wanted, radius = k * options.factor, options.radius
    if len(queries) == 1:
        # For one query it pays to find the ball first, and then to read only its vectors.
        table = table.at(table.ball(queries, radius, wanted))
        radius = table.n_bits
    vectors = snapshot.content.vectors(table.ids)
    ranking = table.rank(vectors, queries, k, radius, wanted, snapshot.threads)
    return _ranked(snapshot, table, vectors, queries, ranking, by_code=False)


def _nearest_codes(
    snapshot: Snapshot, allowed: CodeTable, queries: Encoded, k: int, options: SearchOptions
) -> list[Ranked]:
    whole = snapshot.codes.table
    chosen = None if len(allowed) == len(whole) else snapshot.positions(allowed.ids)
    near, _ = snapshot.codes.index.search(
        queries.codes, k, weights=np.abs(queries.margins), radius=options.radius, allowed=chosen
    )
    used = np.unique(near[near >= 0])
    table = whole.at(used)
    vectors = snapshot.content.vectors(table.ids)
    positions = np.where(near < 0, -1, np.searchsorted(used, near))
    ranking = _scored(table, vectors, queries, positions)
    return _ranked(snapshot, table, vectors, queries, ranking, by_code=True)


def _scored(table: CodeTable, vectors: Rows, queries: Encoded, positions: Positions) -> BallRanking:
    """Add the cosines, or inner products, and the distances in bits to positions that are ranked."""
    distances = np.full(positions.shape, -1, dtype=np.int32)
    held = np.nonzero(positions >= 0)
    distances[held] = row_distances(table.codes[positions[held]], queries.codes[held[0]])
    scores = np.zeros(positions.shape, dtype=np.float32)
    spread = np.zeros(vectors.n_columns, dtype=np.float32)
    for query in range(len(queries)):
        own_columns, own_values = queries.rows.row(query)
        spread[own_columns] = own_values
        for rank in np.flatnonzero(positions[query] >= 0):
            columns, values = vectors.row(int(positions[query, rank]))
            scores[query, rank] = spread[columns] @ values
        spread[own_columns] = 0
    return BallRanking(positions, scores, distances)


def _ranked(
    snapshot: Snapshot,
    table: CodeTable,
    vectors: Rows,
    queries: Encoded,
    ranking: BallRanking,
    *,
    by_code: bool,
) -> list[Ranked]:
    held = ranking.positions >= 0
    if snapshot.content.metric == "cosine":
        # A query without a known term is like nothing: its code says nothing, and all cosines are zero.
        known = [queries.rows.row(query)[1].any() for query in range(len(queries))]
        held &= np.array(known, dtype=bool).reshape(-1, 1)
        if not by_code:
            # Nor is a document that has nothing in common with the query, unless its vector is orthogonal.
            for query, rank in np.argwhere(held & (ranking.scores == 0)).tolist():
                held[query, rank] = vectors.is_dense and vectors.row(int(ranking.positions[query, rank]))[1].any()
    answers = []
    for positions, scores, distances, kept in zip(
        ranking.positions, ranking.scores, ranking.distances, held, strict=True
    ):
        answers.append(Ranked(table.ids[positions[kept]].tolist(), scores[kept].tolist(), distances[kept].tolist()))
    return answers
