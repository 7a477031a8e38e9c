"""Candidates from posting lists: the words of queries, and what the queries demand of documents."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash.collection.indexes.query_words import STOP_WORD, QueryWord, unused
from sthash.collection.indexes.words import Words
from sthash.collection.search.phrases import Phrase, holds_phrases
from sthash.collection.search.query import ParsedQuery
from sthash.collection.search.ranking import DEFAULTS, Allowed, RankedPositions, rank_by_graph
from sthash.collection.snapshot import Snapshot
from sthash.index.bm25 import Bm25
from sthash.model.encoded import shared_columns

BM25 = Bm25()


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


# What a query demands of documents


@dataclass(frozen=True)
class Demands:
    """Which documents have what a query requires, and nothing that it excludes.

    Attributes
    ----------
    allowed : array of uint8
        A byte per document. With phrases, documents that are far from the first hits are not looked at, and allowed.
    verified : array of uint8
        Documents that are allowed, and of which every phrase is known.
    """

    allowed: Allowed
    verified: Allowed


def demands(snapshot: Snapshot, parsed: ParsedQuery, query: AnalyzedQuery, k: int, allowed: Allowed | None) -> Demands:
    """Return which of the allowed documents have what a query requires, and nothing that it excludes."""
    words = snapshot.words
    allowed = np.ones(len(snapshot), dtype=np.uint8) if allowed is None else allowed.copy()
    for required in (*parsed.required, *parsed.phrases):
        for column in _columns(words, required):
            allowed &= _having(words, column)
    for excluded in parsed.excluded:
        columns = _columns(words, excluded)
        # Several terms in one word, such as x-ray: documents with all of them are left out.
        having = np.full(len(snapshot), bool(columns), dtype=np.uint8)
        for column in columns:
            having &= _having(words, column)
        allowed &= 1 - having
    if not (parsed.phrases or parsed.excluded_phrases) or not len(snapshot):
        return Demands(allowed, allowed)
    return _with_phrases(snapshot, parsed, query, k, allowed)


def _columns(words: Words, text: str) -> list[int]:
    """Return the columns of the words of a text without its stop words; -1 for a word that no document has."""
    return [word.column for word in words.query_words.of([text])[0] if word.column != STOP_WORD]


def _having(words: Words, column: int) -> Allowed:
    having = np.zeros(len(words), dtype=np.uint8)
    if column >= 0:
        having[words.posting_lists([column]).positions(column)] = 1
    return having


def _with_phrases(snapshot: Snapshot, parsed: ParsedQuery, query: AnalyzedQuery, k: int, allowed: Allowed) -> Demands:
    """Take out documents without the phrases, as far as they could be among the candidates."""
    analyzer = snapshot.words.analyzer
    phrases = [Phrase(text, analyzer) for text in parsed.phrases]
    excluded = [phrase for text in parsed.excluded_phrases if (phrase := Phrase(text, analyzer)).terms]
    checked: npt.NDArray[np.bool_] = np.zeros(len(snapshot), dtype=bool)
    width = DEFAULTS.n_candidates(k)
    while True:
        width = min(width, len(snapshot))
        best = rank_by_bm25(snapshot, [query], width, allowed).positions[0]
        new = best[best >= 0]
        new = np.sort(new[~checked[new]])
        if len(new) == 0:
            break
        ids = snapshot.ids[new].tolist()
        documents = snapshot.documents.read(ids)
        texts = [documents[number].text for number in ids]
        keep = holds_phrases(texts, phrases, analyzer).all(axis=1)
        keep &= ~holds_phrases(texts, excluded, analyzer).any(axis=1)
        allowed[new[~keep]] = 0
        checked[new] = True
        if keep.all():
            break
        width *= 2
    if not phrases:  # a document without all words of an excluded phrase need not be read
        suspect = np.zeros(len(snapshot), dtype=np.uint8)
        for text in parsed.excluded_phrases:
            having = np.ones(len(snapshot), dtype=np.uint8)
            for column in _columns(snapshot.words, text):
                having &= _having(snapshot.words, column)
            suspect |= having
        checked |= suspect == 0
    return Demands(allowed, allowed & checked)
