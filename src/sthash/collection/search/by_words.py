"""Candidates from posting lists: the words of queries, ranked."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from sthash.collection.indexes.query_words import QueryWord, unused
from sthash.collection.indexes.words import Words
from sthash.collection.search.matching import expansions, with_phrase
from sthash.collection.search.query import Quoted
from sthash.collection.search.ranking import DEFAULTS, Allowed, RankedPositions, rank_by_graph
from sthash.collection.snapshot import Snapshot
from sthash.index.bm25 import Bm25, inverse_frequencies
from sthash.model.encoded import shared_columns

BM25 = Bm25()
# Words with a common beginning that documents are ranked by.
MOST_RANKED_EXPANSIONS = 64
# A phrase that is not required raises the score of a document that has it; of many phrases, the first ones do.
PREFERENCE = 1.5
MOST_PREFERRED = 8


@dataclass(slots=True)
class AnalyzedQuery:
    """A query as words: the terms that are in documents, and the words that are not searched for.

    Attributes
    ----------
    columns, weights : lists of int, float
        Of the terms, by ascending column; a term weighs its inverse frequency times its count in the query.
    entries : int
        Entries of the posting lists of all terms.
    ignored, unknown : tuple of str
        Stop words, and words that no document has.
    """

    columns: list[int]
    weights: list[float]
    entries: int
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def analyze(words: Words, texts: list[str]) -> list[AnalyzedQuery]:
    """Return the words of each text."""
    analyzed = []
    for own in words.query_words.of(texts):
        found, counts, others = dict[int, QueryWord](), dict[int, int](), list[QueryWord]()
        for word in own:
            column = word.column
            if column < 0:
                others.append(word)
            else:
                found[column] = word
                counts[column] = counts.get(column, 0) + 1
        columns = sorted(found)
        query = AnalyzedQuery(
            columns,
            [counts[column] * found[column].weight for column in columns],
            sum([found[column].frequency for column in columns]),
        )
        if others:
            query.ignored, query.unknown = unused(others)
        analyzed.append(query)
    return analyzed


def rank_by_words(
    snapshot: Snapshot, queries: list[AnalyzedQuery], k: int, *, graph: bool, allowed: Allowed | None = None
) -> RankedPositions:
    """Return the k best documents of each query: by BM25, exactly, or with ``graph`` by BM25 and their neighbors."""
    words, k = snapshot.words, min(k, len(snapshot))
    if k == 0:
        return RankedPositions(np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0), np.float32))
    width = min(DEFAULTS.n_candidates(k), len(snapshot)) if graph else k
    found = rank_by_bm25(snapshot, queries, width, allowed)
    return rank_by_graph(found, words.vectors_by_position(), k=k, threads=snapshot.threads) if graph else found


def rank_by_bm25(
    snapshot: Snapshot, queries: list[AnalyzedQuery], k: int, allowed: Allowed | None = None, bm25: Bm25 = BM25
) -> RankedPositions:
    """Return the k best documents of each query by BM25, exactly; only those whose byte in ``allowed`` is set."""
    words = snapshot.words
    bounds = [0, *itertools.accumulate([len(query.columns) for query in queries])]
    columns = np.array([column for query in queries for column in query.columns], dtype=np.int32)
    weights = np.array([weight for query in queries for weight in query.weights], dtype=np.float32)
    positions, scores = words.posting_lists(columns).search(
        np.array(bounds, dtype=np.int64),
        columns,
        weights,
        k=k,
        k1=bm25.k1,
        b=bm25.b,
        mean_length=words.mean_length or 1.0,
        allowed=allowed,
        threads=snapshot.threads,
    )
    return RankedPositions(positions, scores)


def matching_terms(words: Words, query: AnalyzedQuery, ids: list[int], most: int = 5) -> list[tuple[str, ...]]:
    """Return, for each of some documents, the words that it shares with a query, the most important first."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    vectors = words.vectors(np.array([ids[place] for place in order], dtype=np.int64))
    terms: list[tuple[str, ...]] = [()] * len(ids)
    wanted = np.array(query.columns, dtype=np.int32), np.array(query.weights, dtype=np.float32)
    for row, place in enumerate(order):
        terms[place] = tuple(words.terms.names(shared_columns(wanted, vectors.row(row))[:most]))
    return terms


def with_expansions(words: Words, query: AnalyzedQuery, prefixes: tuple[str, ...]) -> None:
    """Add the words that begin with some prefixes to a query; of many, the most common ones."""
    known = set(query.columns)
    columns = [column for prefix in prefixes for column in expansions(words, prefix)[:MOST_RANKED_EXPANSIONS]]
    new = [column for column in dict.fromkeys(columns) if column not in known]
    if not new:
        return
    frequencies = words.frequencies(np.array(new, dtype=np.int32))
    weights = inverse_frequencies(frequencies, len(words)).tolist()
    both = sorted(zip(query.columns + new, query.weights + weights, strict=True))
    query.columns, query.weights = [column for column, _ in both], [weight for _, weight in both]
    query.entries += int(frequencies.sum())


def prefer_phrases(snapshot: Snapshot, ranked: RankedPositions, phrases: tuple[Quoted, ...], k: int) -> RankedPositions:
    """Raise the scores of the documents of one query that have its phrases, and keep the k best."""
    positions, scores = ranked.positions[0], ranked.scores[0].copy()
    within = np.zeros(len(snapshot), dtype=np.uint8)
    within[positions[positions >= 0]] = 1
    for phrase in phrases[:MOST_PREFERRED]:
        held = with_phrase(snapshot, phrase, within)
        if held is not None:
            scores[(positions >= 0) & (held[positions] > 0)] *= PREFERENCE
    order = np.lexsort((np.arange(len(positions)), -scores, positions < 0))[:k]
    return RankedPositions(positions[order][np.newaxis], scores[order][np.newaxis])
