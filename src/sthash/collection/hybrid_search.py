"""Search by words and by vectors at once: two rankings of one collection become one, by their ranks.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): in each ranking that has it, a document scores the
weight of the ranking / (5 + rank). Ranks need no common scale, and BM25 and cosines, or inner products, have none.
docs/ranking.md says how weights and offset were chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from sthash.codes import row_distances
from sthash.collection.hits import Hit, HitRanking, Hits, Strategy
from sthash.collection.query import has_signs, parse_query
from sthash.collection.ranking import DEFAULTS, Allowed, QueryRows, RankedPositions, rank_by_bm25, rank_by_graph
from sthash.collection.search import answer
from sthash.collection.search_options import SearchOptions
from sthash.collection.snapshot import Snapshot
from sthash.collection.text_search import MOST_TERMS, allowed_by, allowed_where, analyze, matching_terms
from sthash.index.stored_vectors import METRICS
from sthash.model import EncodedRows

# How far down the two rankings are read; and how much less a rank counts than the one before it.
CANDIDATES = 100
RANK_OFFSET = 5
WEIGHTS = (0.7, 0.3)  # of words, and of vectors
NO_CODE = -1  # the distance of hits of a query that has no vector


def answer_by_words(snapshot: Snapshot, queries: list[Any], options: SearchOptions) -> list[Hits] | None:
    """Return the hits of queries in a collection of vectors, if words have a say in them; None if they have not."""
    chosen = options.ranking
    if chosen in METRICS or options.by_codes or (chosen == "auto" and not snapshot.has_words):
        return None
    places = [place for place, query in enumerate(queries) if isinstance(query, str)]
    if chosen == "auto" and not places:
        return None
    if not snapshot.has_words:
        remedy = "Build it with text_search=True (--text-search)."
        raise ValueError(f"ranking={chosen!r} is for texts, but this is a collection of vectors. {remedy}")
    if chosen != "auto" and len(places) < len(queries):
        raise ValueError(f"ranking={chosen!r} is for texts, but a query is a vector. Leave it out.")
    found = dict(zip(places, _answer_texts(snapshot, [queries[place] for place in places], options), strict=True))
    rest = [place for place in range(len(queries)) if place not in found]
    if rest:
        near = answer(snapshot, snapshot.encode([queries[place] for place in rest]), options)
        found.update(zip(rest, near, strict=True))
    return [found[place] for place in range(len(queries))]


def _answer_texts(snapshot: Snapshot, texts: list[str], options: SearchOptions) -> list[Hits]:
    parsed = [parse_query(text) if has_signs(text) else None for text in texts]
    plain = [text if own is None else own.text for text, own in zip(texts, parsed, strict=True)]
    by_vector = options.ranking not in ("bm25", "graph")
    encoded = snapshot.encode(plain) if by_vector else None
    answers = list[Hits]()
    for at, text in enumerate(plain):
        words = analyze(snapshot, [text])
        own = parsed[at]
        if own is None or own.plain:
            allowed = allowed_where(snapshot, options)
        else:
            allowed = allowed_by(snapshot, own, words.rows, options)
        k = min(options.k, len(snapshot))
        width = min(max(k, CANDIDATES), len(snapshot)) if by_vector else k
        ranked, scores = list[int](), list[float]()
        # A whole document has too many words for the lists, and its vector says more.
        if width and len(words.terms[0]) <= MOST_TERMS:
            found = _by_words(snapshot, words.rows, width, allowed, graph=options.ranking != "bm25")
            held = found.positions[0] >= 0
            ranked, scores = found.positions[0][held].tolist(), found.scores[0][held].tolist()
        query = None
        if encoded is not None:
            query = encoded.part(at, at + 1)
            best = fused([ranked, _nearest(snapshot, query, width, options, allowed)], k)
            ranked, scores = [position for position, _ in best], [score for _, score in best]
        terms: Iterable[tuple[str, ...]] = repeat(())
        if options.explain:
            terms = matching_terms(snapshot, words.rows, 0, snapshot.ids[ranked].tolist())
        hits = _hits(snapshot, ranked, scores, query, terms)
        strategy: Strategy = "both" if by_vector else "postings"
        ranking: HitRanking = "hybrid" if by_vector else "bm25" if options.ranking == "bm25" else "graph"
        answers.append(
            Hits(hits, ignored=words.ignored[0], unknown=words.unknown[0], strategy=strategy, ranking=ranking)
        )
    return answers


def _by_words(
    snapshot: Snapshot, rows: QueryRows, width: int, allowed: Allowed | None, *, graph: bool
) -> RankedPositions:
    """Rank by the words of a query, as in a collection of texts."""
    wide = min(max(width, DEFAULTS.candidates), len(snapshot)) if graph else width
    lists, threads = snapshot.posting_lists(rows.columns), snapshot.threads
    found = rank_by_bm25(lists, rows, snapshot.mean_length, wide, allowed=allowed, threads=threads)
    if not graph:
        return found
    return rank_by_graph(found, lambda used: snapshot.word_vectors(snapshot.ids[used]), k=width, threads=threads)


def fused(rankings: Sequence[Sequence[int]], k: int) -> list[tuple[int, float]]:
    """Return the k best of all that are in the ranking by words or in that by vectors, with scores; ties by number.

    Examples
    --------
    >>> from sthash.collection.hybrid_search import fused
    >>> [number for number, _ in fused([[5, 7, 9], [7, 2]], k=3)]
    [7, 5, 9]
    """
    scores = dict[int, float]()
    for ranking, weight in zip(rankings, WEIGHTS, strict=True):
        for rank, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + weight / (RANK_OFFSET + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def _nearest(
    snapshot: Snapshot, query: EncodedRows, width: int, options: SearchOptions, allowed: Allowed | None
) -> list[int]:
    """Return the positions of the documents whose vectors are most like that of a query."""
    table = snapshot.table if allowed is None else snapshot.table.at(np.flatnonzero(allowed))
    if not len(table) or not query.values.any():
        return []
    wanted = max(width, options.k * options.factor)
    table = table.at(table.ball(query, None, wanted))
    vectors = snapshot.vectors(table.ids)
    ranking = table.rank(vectors, query, min(width, len(table)), table.n_bits, wanted, snapshot.threads)
    # A negative inner product may still be among the largest.
    fits = snapshot.model.metric == "ip" or ranking.scores[0] > 0
    held = ranking.positions[0][(ranking.positions[0] >= 0) & fits]
    positions: list[int] = snapshot.positions(table.ids[held]).tolist()
    return positions


def _hits(
    snapshot: Snapshot,
    positions: list[int],
    scores: list[float],
    query: EncodedRows | None,
    terms: Iterable[tuple[str, ...]],
) -> list[Hit]:
    ids = snapshot.ids[positions].tolist()
    documents = snapshot.fields(ids)
    distances = [NO_CODE] * len(ids)
    if query is not None and ids:
        distances = row_distances(snapshot.codes[positions], np.repeat(query.codes, len(ids), axis=0)).tolist()
    rows = zip(ids, distances, scores, terms, strict=False)
    return [Hit(*documents[number], distance, score, own) for number, distance, score, own in rows]
