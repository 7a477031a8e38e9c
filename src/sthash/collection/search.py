"""The answers of a collection: balls, re-ranking, and what made a hit match."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from sthash.codes import row_distances
from sthash.collection.code_table import CodeTable, Positions, Ranking
from sthash.collection.hits import Hit, Hits
from sthash.collection.packed_vectors import PackedVectors
from sthash.collection.search_options import SearchOptions
from sthash.collection.snapshot import Snapshot
from sthash.index.stored_vectors import METRICS
from sthash.model import EncodedRows

# Queries of a batch that are answered together.
QUERIES_TOGETHER = 512


def check_ranking(snapshot: Snapshot, options: SearchOptions) -> None:
    """Refuse a ranking by another metric than the one that the collection has."""
    asked, own = options.ranking, snapshot.model.metric
    if asked in METRICS and asked != own:
        raise ValueError(
            f"ranking={asked!r} is for collections with metric={asked!r}, but this one has metric={own!r}. "
            f"Pass ranking={own!r}, or build a collection with metric={asked!r}."
        )


def answer(snapshot: Snapshot, queries: EncodedRows, options: SearchOptions) -> list[Hits]:
    """Return the hits of each query."""
    table, radius = snapshot.table, options.radius
    if options.where is not None:
        table = table.at(snapshot.positions(snapshot.ids_where(options.where)))
    if len(table) == 0:
        return [Hits() for _ in range(len(queries))]
    k = min(options.k, len(table))
    wanted = k * options.factor
    if not options.rerank:
        return _nearest_codes(snapshot, table, queries, k, options)
    if len(queries) == 1:
        # For one query it pays to find the ball first, and then to read only its vectors.
        table = table.at(table.ball(queries, radius, wanted))
        radius = table.n_bits
    vectors = snapshot.vectors(table.ids)
    parts = [
        queries.part(start, min(start + QUERIES_TOGETHER, len(queries)))
        for start in range(0, len(queries), QUERIES_TOGETHER)
    ]
    if len(parts) == 1:
        ranking = table.rank(vectors, queries, k, radius, wanted, snapshot.threads)
        return _hits(snapshot, table, vectors, queries, ranking, options.explain)
    from concurrent.futures import ThreadPoolExecutor  # a single query has no use for it

    # The kernels release the GIL: while they search the balls of one part, the documents of the last part are read.
    answers, reading = list[Hits](), None
    with ThreadPoolExecutor(1) as reader:
        for part in parts:
            ranking = table.rank(vectors, part, k, radius, wanted, snapshot.threads)
            answers.extend(reading.result() if reading is not None else ())
            reading = reader.submit(_hits, snapshot, table, vectors, part, ranking, options.explain)
        answers.extend(reading.result() if reading is not None else ())
    return answers


def answer_by_key(snapshot: Snapshot, number: int, options: SearchOptions) -> Hits:
    """Return the hits of a document of the collection, which is not among them."""
    check_ranking(snapshot, options)
    if options.ranking not in ("auto", *METRICS):
        raise ValueError(f"ranking={options.ranking!r} is for texts, but this search is by key. Leave it out.")
    own = snapshot.names([number])[number][0]
    # One more, because the document itself is mostly the nearest.
    hits = answer(snapshot, snapshot.encode_stored(number), replace(options, k=options.k + 1))[0]
    return hits.like([hit for hit in hits if hit.key != own][: options.k])


def _nearest_codes(
    snapshot: Snapshot, allowed: CodeTable, queries: EncodedRows, k: int, options: SearchOptions
) -> list[Hits]:
    whole = snapshot.table
    chosen = None if options.where is None else whole.positions(allowed.ids)
    near, _ = snapshot.index.search(
        queries.codes, k, weights=np.abs(queries.margins), radius=options.radius, allowed=chosen
    )
    used = np.unique(near[near >= 0])
    table = whole.at(used)
    vectors = snapshot.vectors(table.ids)
    positions = np.where(near < 0, -1, np.searchsorted(used, near))
    ranking = _scored(table, vectors, queries, positions)
    return _hits(snapshot, table, vectors, queries, ranking, options.explain, by_code=True)


def _scored(table: CodeTable, vectors: PackedVectors, queries: EncodedRows, positions: Positions) -> Ranking:
    """Add the cosines, or inner products, and the distances in bits to positions that are ranked."""
    distances = np.full(positions.shape, -1, dtype=np.int32)
    held = np.nonzero(positions >= 0)
    distances[held] = row_distances(table.codes[positions[held]], queries.codes[held[0]])
    scores = np.zeros(positions.shape, dtype=np.float32)
    spread = np.zeros(vectors.n_columns, dtype=np.float32)
    for query in range(len(queries)):
        own_columns, own_values = queries.row(query)
        spread[own_columns] = own_values
        for rank in np.flatnonzero(positions[query] >= 0):
            columns, values = vectors.row(int(positions[query, rank]))
            scores[query, rank] = spread[columns] @ values
        spread[own_columns] = 0
    return Ranking(positions, scores, distances)


def _hits(
    snapshot: Snapshot,
    table: CodeTable,
    vectors: PackedVectors,
    queries: EncodedRows,
    ranking: Ranking,
    explain: bool,
    *,
    by_code: bool = False,
) -> list[Hits]:
    held = ranking.positions >= 0
    if snapshot.model.metric == "cosine":
        # A query without a known term is like nothing: its code says nothing, and all cosines are zero.
        bounds = itertools.pairwise(queries.indptr)
        held &= np.array([queries.values[start:end].any() for start, end in bounds], dtype=bool).reshape(-1, 1)
    if not snapshot.model.dense and not by_code:
        held &= ranking.scores > 0  # a text without a word of the query is no hit
    elif snapshot.model.metric == "cosine" and not by_code:
        # Nor is a document whose vector is zero, such as that of a blank text.
        for query, rank in np.argwhere(held & (ranking.scores == 0)).tolist():
            held[query, rank] = vectors.row(int(ranking.positions[query, rank]))[1].any()
    ids = np.full_like(ranking.positions, -1)
    ids[held] = table.ids[ranking.positions[held]]
    documents = snapshot.fields(set(ids[held].tolist()))
    distances, scores = ranking.distances.tolist(), ranking.scores.tolist()
    answers = []
    for query, row in enumerate(ids.tolist()):
        hits = []
        for rank, number in enumerate(row):
            if number < 0:
                continue
            terms = tuple[str, ...]()
            if explain and not snapshot.model.dense:
                terms = snapshot.matching_terms(queries.row(query), vectors.row(int(ranking.positions[query, rank])))
            hits.append(Hit(*documents[number], distances[query][rank], scores[query][rank], terms))
        answers.append(Hits(hits, ranking="codes" if by_code else snapshot.model.metric))
    return answers
