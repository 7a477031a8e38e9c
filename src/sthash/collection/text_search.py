"""The answers to typed queries: from the posting lists, exactly; what is too long for them goes to the codes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.collection.code_distances import QueryTerms
from sthash.collection.hit import deferred_hit
from sthash.collection.hits import Hit, HitRanking, Hits
from sthash.collection.phrases import Phrase, holds_phrases
from sthash.collection.query import ParsedQuery, has_signs, parse_query
from sthash.collection.query_words import STOP_WORD, UNKNOWN_WORD, QueryWord
from sthash.collection.ranking import (
    DEFAULTS,
    Allowed,
    QueryRows,
    RankedPositions,
    rank_by_bm25,
    rank_by_graph,
)
from sthash.collection.search import answer
from sthash.collection.search_options import SearchOptions
from sthash.collection.snapshot import Snapshot

# A query with so many different known words or fewer is answered from the lists, whatever it costs: it was typed, and
# the exact answer is wanted. A longer one is answered from them if they have so many entries or fewer in all. Beyond
# that a ball of codes costs less, and a long text resembles documents enough for its code to find them.
TYPED_TERMS = 16
MOST_ENTRIES = 500_000
# Of a query that must be answered from the lists.
MOST_TERMS = 1024
# Queries of a batch that are answered together.
QUERIES_TOGETHER = 512


@dataclass(slots=True)
class AnalyzedQueries:
    """Queries as words: the terms that are in documents, and those words that are not searched for."""

    rows: QueryRows
    terms: list[QueryTerms]
    entries: list[int]  # of the posting lists of all terms of a query
    ignored: list[tuple[str, ...]]
    unknown: list[tuple[str, ...]]

    def part(self, queries: Sequence[int]) -> AnalyzedQueries:
        """Return some of the queries."""
        rows = self.rows
        if len(queries) == len(rows):
            return self
        inside = np.concatenate(
            [np.zeros(0, np.int64), *(np.arange(rows.indptr[query], rows.indptr[query + 1]) for query in queries)]
        )
        bounds = np.cumsum([0, *(len(self.terms[query]) for query in queries)])
        return AnalyzedQueries(
            QueryRows(bounds, rows.columns[inside], rows.weights[inside]),
            [self.terms[query] for query in queries],
            [self.entries[query] for query in queries],
            [self.ignored[query] for query in queries],
            [self.unknown[query] for query in queries],
        )


def answer_queries(snapshot: Snapshot, queries: list[Any], options: SearchOptions) -> list[Hits]:
    """Return the hits of each query: of texts, or of vectors, whichever the collection is of."""
    if not snapshot.model.dense:
        return answer_texts(snapshot, snapshot.check_texts(queries), options)
    return answer(snapshot, snapshot.encode(queries), options)


def answer_texts(snapshot: Snapshot, texts: list[str], options: SearchOptions) -> list[Hits]:
    """Return the hits of each text."""
    if options.ranking == "hybrid":
        raise ValueError("ranking='hybrid' is for collections of vectors with text_search. Leave it out.")
    answers = list[Hits]()
    for start in range(0, len(texts), QUERIES_TOGETHER):
        answers.extend(_answer_batch(snapshot, texts[start : start + QUERIES_TOGETHER], options))
    return answers


def _answer_batch(snapshot: Snapshot, texts: list[str], options: SearchOptions) -> list[Hits]:
    by_codes = options.ranking == "cosine" or options.by_codes
    parsed = dict[int, ParsedQuery]()
    if not by_codes:
        parsed = {at: parse_query(text) for at, text in enumerate(texts) if has_signs(text)}
    words = analyze(snapshot, [parsed[at].text if at in parsed else text for at, text in enumerate(texts)])
    special = {at: query for at, query in parsed.items() if not query.plain}
    found = dict[int, Hits]()
    plain, left = list[int](), list[int]()
    for at in range(len(texts)):
        if by_codes or not _by_postings(words, at, at in special, options):
            left.append(at)
        elif at in special:
            own = words.part([at])
            allowed = allowed_by(snapshot, special[at], own.rows, options)
            found[at] = _ranked_hits(snapshot, own, options, allowed)[0]
        else:
            plain.append(at)
    if plain:
        allowed_here = None if options.where is None else allowed_where(snapshot, options)
        hits = _ranked_hits(snapshot, words.part(plain), options, allowed_here)
        if len(plain) == len(texts):
            return hits
        found.update(zip(plain, hits, strict=True))
    if left:
        near = answer(snapshot, snapshot.encode([texts[at] for at in left]), replace(options, ranking="cosine"))
        for at, by_code in zip(left, near, strict=True):
            by_code.ignored, by_code.unknown = words.ignored[at], words.unknown[at]
            found[at] = by_code
    return [found[at] for at in range(len(texts))]


def _by_postings(words: AnalyzedQueries, query: int, special: bool, options: SearchOptions) -> bool:
    count = len(words.terms[query])
    if options.ranking != "auto" or special:
        if count > MOST_TERMS:
            raise ValueError(
                f"The query has {count:,} different words, but ranking={options.ranking!r} takes {MOST_TERMS:,} at "
                "most. Shorten it, or search with ranking='cosine'."
            )
        return True
    return count <= TYPED_TERMS or (count <= MOST_TERMS and words.entries[query] <= MOST_ENTRIES)


def analyze(snapshot: Snapshot, texts: list[str]) -> AnalyzedQueries:
    """Return the words of texts: those that documents have as columns, the others by name."""
    ignored, unknown = list[tuple[str, ...]](), list[tuple[str, ...]]()
    columns, weights, indptr = list[int](), list[float](), [0]
    terms, entries = list[QueryTerms](), list[int]()
    for words in snapshot.query_words.of(texts):
        found, counts, others = dict[int, QueryWord](), dict[int, int](), list[QueryWord]()
        for word in words:
            column = word.column
            if column < 0:
                others.append(word)
            else:
                found[column] = word
                counts[column] = counts.get(column, 0) + 1
        own, size = QueryTerms(), 0
        for column in sorted(found):
            _, _, frequency, weight, term = found[column]
            count = counts[column]
            columns.append(column)
            weights.append(count * weight)
            own.append((column, count, term))
            size += frequency
        indptr.append(len(columns))
        terms.append(own)
        entries.append(size)
        ignored.append(_names(others, STOP_WORD) if others else ())
        unknown.append(_names(others, UNKNOWN_WORD) if others else ())
    rows = QueryRows(
        np.array(indptr, dtype=np.int64), np.array(columns, dtype=np.int32), np.array(weights, dtype=np.float32)
    )
    return AnalyzedQueries(rows, terms, entries, ignored, unknown)


def _names(words: list[QueryWord], column: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.word for word in words if word.column == column))


def _ranked_hits(
    snapshot: Snapshot,
    words: AnalyzedQueries,
    options: SearchOptions,
    allowed: Allowed | None,
) -> list[Hits]:
    rows = words.rows
    k = min(options.k, len(snapshot))
    ranking: HitRanking = "bm25" if options.ranking == "bm25" else "graph"
    if k == 0:
        return [
            Hits(ignored=ignored, unknown=unknown, strategy="postings", ranking=ranking)
            for ignored, unknown in zip(words.ignored, words.unknown, strict=True)
        ]
    width = min(k if ranking == "bm25" else DEFAULTS.n_candidates(k), len(snapshot))
    lists, threads = snapshot.posting_lists(rows.columns), snapshot.threads
    ranked = rank_by_bm25(lists, rows, snapshot.mean_length, width, allowed=allowed, threads=threads)
    if ranking == "graph":
        ranked = rank_by_graph(ranked, snapshot.vectors_by_position(), k=k, threads=threads)
    return [
        Hits(hits, ignored=ignored, unknown=unknown, strategy="postings", ranking=ranking)
        for hits, ignored, unknown in zip(
            _hits(snapshot, words, ranked, options.explain), words.ignored, words.unknown, strict=True
        )
    ]


def _hits(snapshot: Snapshot, words: AnalyzedQueries, ranked: RankedPositions, explain: bool) -> list[list[Hit]]:
    positions, ids = ranked.positions.tolist(), snapshot.ids[ranked.positions].tolist()
    for place, own in enumerate(positions):
        if own[-1] < 0:
            size = own.index(-1)
            del own[size:], ids[place][size:]
    documents = snapshot.read(ids[0] if len(ids) == 1 else dict.fromkeys(itertools.chain.from_iterable(ids)))
    distances = snapshot.distances(words.terms, positions)
    answers, places = list[list[Hit]](), itertools.count()
    for query, (numbers, scores) in enumerate(zip(ids, ranked.scores.tolist(), strict=True)):
        found = zip(numbers, scores, places, strict=False)  # there may be more scores than hits
        answers.append([deferred_hit(documents[number], score, distances, at) for number, score, at in found])
        if explain:
            for hit, terms in zip(answers[-1], matching_terms(snapshot, words.rows, query, numbers), strict=True):
                hit.__dict__["terms"] = terms
    return answers


def matching_terms(snapshot: Snapshot, rows: QueryRows, query: int, ids: list[int]) -> list[tuple[str, ...]]:
    """Return, for each of some documents, the words that it shares with a query."""
    own = slice(rows.indptr[query], rows.indptr[query + 1])
    ones = np.ones(int(rows.indptr[query + 1] - rows.indptr[query]), dtype=np.float32)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    vectors = snapshot.word_vectors(np.array([ids[place] for place in order], dtype=np.int64))
    terms: list[tuple[str, ...]] = [()] * len(ids)
    for row, place in enumerate(order):
        terms[place] = snapshot.matching_terms((rows.columns[own], ones), vectors.row(row))
    return terms


# Which documents a query allows


def allowed_where(snapshot: Snapshot, options: SearchOptions) -> Allowed | None:
    """Return which documents meet the conditions; None if there are none."""
    if options.where is None:
        return None
    allowed = np.zeros(len(snapshot), dtype=np.uint8)
    allowed[snapshot.positions(snapshot.ids_where(options.where))] = 1
    return allowed


def allowed_by(snapshot: Snapshot, parsed: ParsedQuery, rows: QueryRows, options: SearchOptions) -> Allowed:
    """Return which documents have what the query requires, and nothing that it excludes."""
    allowed = allowed_where(snapshot, options)
    if allowed is None:
        allowed = np.ones(len(snapshot), dtype=np.uint8)
    for words in (*parsed.required, *parsed.phrases):
        for column in _columns(snapshot, words):
            having = np.zeros(len(snapshot), dtype=np.uint8)
            if column >= 0:
                having[snapshot.posting_lists([column]).positions(column)] = 1
            allowed &= having
    for words in parsed.excluded:
        columns = _columns(snapshot, words)
        # Several terms in one word, such as x-ray: documents with all of them are left out.
        having = np.full(len(snapshot), bool(columns), dtype=np.uint8)
        for column in columns:
            own = np.zeros(len(snapshot), dtype=np.uint8)
            if column >= 0:
                own[snapshot.posting_lists([column]).positions(column)] = 1
            having &= own
        allowed &= 1 - having
    if (parsed.phrases or parsed.excluded_phrases) and len(snapshot):
        _keep_phrases(snapshot, parsed, rows, options, allowed)
    return allowed


def _columns(snapshot: Snapshot, text: str) -> list[int]:
    """Return the columns of the words of a text without its stop words; -1 for a word that no document has."""
    return [word.column for word in snapshot.query_words.of([text])[0] if word.column != STOP_WORD]


def _keep_phrases(
    snapshot: Snapshot, parsed: ParsedQuery, rows: QueryRows, options: SearchOptions, allowed: Allowed
) -> None:
    """Take out documents without the phrases, as far as they could be among the candidates."""
    phrases = [Phrase(text, snapshot.analyzer) for text in parsed.phrases]
    excluded = [phrase for text in parsed.excluded_phrases if (phrase := Phrase(text, snapshot.analyzer)).terms]
    checked: npt.NDArray[np.bool_] = np.zeros(len(snapshot), dtype=bool)
    width = DEFAULTS.n_candidates(options.k)
    lists, threads, mean_length = snapshot.posting_lists(rows.columns), snapshot.threads, snapshot.mean_length
    while True:
        width = min(width, len(snapshot))
        best = rank_by_bm25(lists, rows, mean_length, width, allowed=allowed, threads=threads).positions[0]
        new = best[best >= 0]
        new = np.sort(new[~checked[new]])
        if len(new) == 0:
            return
        documents = snapshot.fields(snapshot.ids[new].tolist())
        texts = [documents[number][1] for number in snapshot.ids[new].tolist()]
        keep = holds_phrases(texts, phrases, snapshot.analyzer).all(axis=1)
        keep &= ~holds_phrases(texts, excluded, snapshot.analyzer).any(axis=1)
        allowed[new[~keep]] = 0
        checked[new] = True
        if keep.all():
            return
        width *= 2
