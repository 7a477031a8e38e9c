"""The one way from queries to hits: parse, plan, candidates, rank, hits; then corrections."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from sthash.arrays import Ids
from sthash.codes import row_distances
from sthash.collection.search.by_content import Ranked, rank_by_content, rank_like, strategy_of
from sthash.collection.search.by_words import (
    AnalyzedQuery,
    analyze,
    matching_terms,
    prefer_phrases,
    rank_by_words,
    rank_with_passages,
    with_expansions,
)
from sthash.collection.search.collapsing import collapsed
from sthash.collection.search.corrections import replace_words, suggest
from sthash.collection.search.fields import FieldColumn, field_columns
from sthash.collection.search.filters import has_field, ids_where
from sthash.collection.search.fusion import CANDIDATES, fused
from sthash.collection.search.hit import Hit
from sthash.collection.search.hits import HitRanking, Hits, Reading, Strategy
from sthash.collection.search.matching import matches, matching
from sthash.collection.search.options import SearchOptions
from sthash.collection.search.query import ParsedQuery, Quoted, parse_query, plain_reading
from sthash.collection.search.ranking import DEFAULTS, Allowed
from sthash.collection.search.snippets import Highlighter
from sthash.collection.snapshot import Snapshot
from sthash.model import Encoded
from sthash.vectors.metric import METRICS

# A query with at most TYPED_TERMS different known words is answered from the posting lists at any cost: it was typed,
# and the exact answer is wanted. A longer one is answered from them if they have at most MOST_ENTRIES entries in all.
# Beyond that a ball of codes costs less, and a long text resembles documents enough for its code to find them.
TYPED_TERMS = 16
MOST_ENTRIES = 500_000
# Of a query that must be answered from the lists.
MOST_TERMS = 1024
# Queries of a batch that are answered together.
QUERIES_TOGETHER = 512

Source = Literal["words", "content", "both"]


@dataclass(slots=True)
class Query:
    """A query on its way.

    Attributes
    ----------
    given : str or array
        As the user passed it.
    text : str or None
        What is ranked by words: the text without signs and excluded words.
    parsed : ParsedQuery or None
        How the text was read, if it has operators or phrases.
    reading : {"plain", "strict", "relaxed"}
    error : str
        What is wrong with the text.
    words : AnalyzedQuery or None
    source : {"words", "content", "both"}
        Where candidates come from.
    matches : callable or None
        Says which documents match, as a byte per document; None unless all candidates come from words.
    """

    given: Any
    text: str | None = None
    parsed: ParsedQuery | None = None
    words: AnalyzedQuery | None = None
    source: Source = "content"
    reading: Reading = "plain"
    error: str = ""
    matches: Callable[[], Allowed] | None = None


def answer(snapshot: Snapshot, queries: list[Any], options: SearchOptions) -> list[Hits]:
    """Return the hits of each query: of texts, or of vectors."""
    _check(snapshot, options)
    allowed = None if options.where is None else ids_where(snapshot, options.where)
    answers = list[Hits]()
    for start in range(0, len(queries), QUERIES_TOGETHER):
        answers.extend(_answer_batch(snapshot, queries[start : start + QUERIES_TOGETHER], options, allowed))
    return answers


def answer_like(snapshot: Snapshot, number: int, options: SearchOptions) -> Hits:
    """Return the hits of a document of the collection, which is not among them."""
    _check(snapshot, options)
    if options.ranking not in ("auto", *METRICS):
        raise ValueError(f"ranking={options.ranking!r} is for texts, but this search is by key. Leave it out.")
    allowed = None if options.where is None else ids_where(snapshot, options.where)
    whole = options.whole
    ranked = _page(snapshot, None, lambda width: [rank_like(snapshot, number, width, whole, allowed)], options)[0]
    terms: list[tuple[str, ...]] = []
    if options.explain:
        _add_distances(snapshot, [ranked], lambda _: snapshot.codes.encode_stored(number))
        columns, values = snapshot.words.vectors(np.array([number], dtype=np.int64)).row(0)
        terms = matching_terms(snapshot.words, AnalyzedQuery(columns.tolist(), values.tolist(), 0), ranked.ids)
    hits = _hits(snapshot, [ranked], [terms])[0]
    _add_snippets(snapshot, hits, "", options)
    return Hits(
        hits,
        strategy=strategy_of(snapshot, options),
        ranking=_ranking_of(snapshot, "content", options),
        facets=_facets(snapshot, None, ranked, options),
    )


def _check(snapshot: Snapshot, options: SearchOptions) -> None:
    """Refuse a ranking that the collection does not have."""
    asked, own = options.ranking, snapshot.content.metric
    if asked in METRICS and asked != own:
        raise ValueError(
            f"ranking={asked!r} is for collections with metric={asked!r}, but this one has metric={own!r}. "
            f"Pass ranking={own!r}, or build a collection with metric={asked!r}."
        )
    if options.sets_effort and snapshot.content is snapshot.words:
        raise ValueError("recall and exact are for collections of vectors, but this one is of texts. Leave them out.")
    if asked == "hybrid" and snapshot.content is snapshot.words:
        raise ValueError("ranking='hybrid' is for collections of vectors. Leave it out.")


def _answer_batch(snapshot: Snapshot, given: list[Any], options: SearchOptions, allowed: Ids | None) -> list[Hits]:
    queries = _planned(snapshot, given, options)
    answers = _ranked_hits(snapshot, queries, options, allowed)
    if options.syntax == "auto":
        empty = [
            place
            for place, hits in enumerate(answers)
            if not hits and hits.reading == "strict" and not (options.offset and hits.total)
        ]
        if empty:
            relaxed = _planned(snapshot, [given[place] for place in empty], options, relaxed=True)
            for place, hits in zip(empty, _ranked_hits(snapshot, relaxed, options, allowed), strict=True):
                answers[place] = hits
    if options.correct is None:
        wrong = [_is_poor(snapshot, query, hits) for query, hits in zip(queries, answers, strict=True)]
    else:
        wrong = [options.correct] * len(answers)
    for hits, corrected in zip(answers, wrong, strict=True):
        if hits.unknown and (options.explain or corrected):
            hits.suggestions = suggest(snapshot, hits.unknown)
    places = [place for place, hits in enumerate(answers) if hits.suggestions and wrong[place]]
    if not places:
        return answers
    chosen = [{word: known[0] for word, known in answers[place].suggestions.items()} for place in places]
    texts = [replace_words(given[place], own) for place, own in zip(places, chosen, strict=True)]
    again = _planned(snapshot, texts, options)
    for place, own, hits in zip(places, chosen, _ranked_hits(snapshot, again, options, allowed), strict=True):
        first = answers[place]
        hits.unknown, hits.suggestions, hits.corrected = first.unknown, first.suggestions, own
        answers[place] = hits
    return answers


def _planned(snapshot: Snapshot, given: list[Any], options: SearchOptions, *, relaxed: bool = False) -> list[Query]:
    """Parse queries, and say where their candidates come from."""
    queries = _parsed(snapshot, given, options, relaxed=relaxed)
    for query in queries:
        query.source = "words" if query.error else _plan(snapshot, query, options)
    return queries


def _is_poor(snapshot: Snapshot, query: Query, hits: Hits) -> bool:
    """Whether words that no document has are so many of a query, or all of them, that they should be corrected.

    An embedder may know words that no document has, so they are not replaced where vectors take part in the answer.
    """
    if snapshot.content is not snapshot.words and (hits.ranking in METRICS or hits.ranking == "hybrid"):
        return False
    known = 0 if query.words is None else len(query.words.columns)
    return any(word.isalpha() for word in hits.unknown) and (not hits or len(hits.unknown) >= known)


# Parse


def _parsed(snapshot: Snapshot, given: list[Any], options: SearchOptions, *, relaxed: bool) -> list[Query]:
    queries = [Query(query) for query in given]
    by_words = options.ranking not in METRICS and not options.by_codes
    texts = [query for query in queries if isinstance(query.given, str)]
    for query in texts:
        query.text = query.given
        if not by_words:
            continue
        if relaxed:
            parsed, query.reading = plain_reading(query.given), "relaxed"
        else:
            try:
                parsed = parse_query(query.given, options.syntax, lambda name: has_field(snapshot, name))
            except ValueError as error:
                query.text, query.reading, query.error = "", "strict", str(error)
                continue
            query.reading = "plain" if parsed.demand is None and not parsed.prefixes else "strict"
        query.text = parsed.text
        if parsed.demand is not None or parsed.prefixes or parsed.phrases:
            query.parsed = parsed
    for query, words in zip(texts, analyze(snapshot.words, [query.text or "" for query in texts]), strict=True):
        query.words = words
        if query.parsed is not None and query.parsed.prefixes:
            with_expansions(snapshot, words, query.parsed.prefixes)
        if query.parsed is None and by_words and words.has_stop_words_only:
            query.parsed = ParsedQuery(query.text or "", None, (Quoted(query.text or ""),))
    return queries


# Plan


def _plan(snapshot: Snapshot, query: Query, options: SearchOptions) -> Source:
    """Return where the candidates of a query come from."""
    asked = options.ranking
    if asked in METRICS or options.by_codes:
        return "content"
    if query.words is None:
        if asked != "auto":
            raise ValueError(f"ranking={asked!r} is for texts, but a query is a vector. Leave it out.")
        return "content"
    if asked == "hybrid" or (asked == "auto" and snapshot.embedder is not None):
        return "both"
    count = len(query.words.columns)
    if asked != "auto" or query.reading == "strict" or snapshot.content is not snapshot.words:
        if count > MOST_TERMS:
            remedy = f", or search with ranking={snapshot.content.metric!r}" if snapshot.takes_texts else ""
            raise ValueError(
                f"The query has {count:,} different words, but ranking={asked!r} takes {MOST_TERMS:,} at most. "
                f"Shorten it{remedy}."
            )
        return "words"
    typed = count <= TYPED_TERMS or (count <= MOST_TERMS and query.words.entries <= MOST_ENTRIES)
    return "words" if typed else "content"


# Candidates and ranking


def _ranked_hits(snapshot: Snapshot, queries: list[Query], options: SearchOptions, allowed: Ids | None) -> list[Hits]:
    mask = None
    if allowed is not None and any(query.source != "content" for query in queries):
        mask = np.zeros(len(snapshot), dtype=np.uint8)
        mask[snapshot.positions(allowed)] = 1
    whole = options.whole

    def ranking(width: int) -> list[Ranked]:
        return _ranked(snapshot, queries, whole if width == whole.k else replace(whole, k=width), allowed, mask)

    ranked = _page(snapshot, queries, ranking, options)
    if options.explain:
        wanted = [query.given if query.text is None else query.text for query in queries]
        known = [
            own if snapshot.takes_texts or query.text is None else None
            for query, own in zip(queries, ranked, strict=True)
        ]
        _add_distances(snapshot, known, lambda places: snapshot.encode([wanted[place] for place in places]))
    terms = [_terms(snapshot, query, own, options) for query, own in zip(queries, ranked, strict=True)]
    answers = []
    for query, own, hits in zip(queries, ranked, _hits(snapshot, ranked, terms), strict=True):
        _add_snippets(snapshot, hits, query.text or "", options, query.parsed)
        answers.append(
            Hits(
                hits,
                ignored=_ignored(query),
                unknown=query.words.unknown if query.words else (),
                strategy=_strategy(snapshot, query, options),
                ranking=_ranking_of(snapshot, query.source, options, query.words),
                reading=query.reading,
                error=query.error,
                total=_total(query),
                facets=_facets(snapshot, query, own, options),
            )
        )
    return answers


def _ignored(query: Query) -> tuple[str, ...]:
    """Return the stop words of a query that nothing was searched by."""
    ignored = query.words.ignored if query.words else ()
    if not ignored or query.parsed is None:
        return ignored
    demanded = {word.lower() for text in query.parsed.phrases_and_words for word in text.split()}
    return tuple(word for word in ignored if word not in demanded)


def _ranked(
    snapshot: Snapshot, queries: list[Query], options: SearchOptions, allowed: Ids | None, mask: Allowed | None
) -> list[Ranked]:
    own_ids: dict[int, Ids] = {}
    by_words = _by_words(snapshot, queries, options, mask, own_ids)
    by_content: dict[int, Ranked] = {}
    groups: dict[Any, list[int]] = {}
    for place, query in enumerate(queries):
        if query.source != "words":
            groups.setdefault(place if place in own_ids else query.source, []).append(place)
    for group in groups.values():
        width = options.k if queries[group[0]].source == "content" else max(options.k, CANDIDATES)
        wanted = [queries[place].given if queries[place].text is None else queries[place].text for place in group]
        ids = own_ids.get(group[0], allowed)
        by_content.update(zip(group, rank_by_content(snapshot, wanted, width, options, ids), strict=True))
    ranked = []
    for place, query in enumerate(queries):
        if query.source == "both":
            best = fused([by_words[place].ids, by_content[place].ids], options.k)
            ranked.append(Ranked([number for number, _ in best], [score for _, score in best]))
        else:
            ranked.append((by_words if query.source == "words" else by_content)[place])
    return ranked


# Pages: sorted, collapsed and cut


def _page(
    snapshot: Snapshot,
    queries: list[Query] | None,
    ranking: Callable[[int], list[Ranked]],
    options: SearchOptions,
) -> list[Ranked]:
    """Return the hits of a page; ``ranking(width)`` gives the best documents of each query, or of a key."""
    width, sort, descending = options.whole.k, None, False
    if options.sort is not None:
        descending = options.sort.startswith("-")
        (sort,) = field_columns(snapshot, [options.sort.removeprefix("-")], "sort")

    def best(width: int) -> list[Ranked]:
        ranked = ranking(width)
        if sort is None or queries is None:
            return ranked
        return [
            own if query.matches is None else _by_field(snapshot, query, query.matches, sort, descending, width)
            for query, own in zip(queries, ranked, strict=True)
        ]

    ranked = collapsed(snapshot, best, width) if options.collapse else best(width)
    ranked = [own.after(options.offset) for own in ranked] if options.offset else ranked
    if sort is None:
        return ranked
    return [
        own
        if queries is not None and queries[place].matches is not None
        else _in_order(snapshot, own, sort, descending)
        for place, own in enumerate(ranked)
    ]


def _by_field(
    snapshot: Snapshot,
    query: Query,
    matches: Callable[[], Allowed],
    sort: FieldColumn,
    descending: bool,
    width: int,
) -> Ranked:
    """Return the first of all documents that match, by the values of a field, with their scores by BM25."""
    chosen = sort.sorted(np.flatnonzero(matches()), descending=descending)[:width]
    scores: dict[int, float] = {}
    if query.words is not None and query.words.columns and len(chosen):
        mask = np.zeros(len(snapshot), dtype=np.uint8)
        mask[chosen] = 1
        found = rank_with_passages(snapshot, [query.words], len(chosen), mask)
        scores = dict(zip(found.positions[0].tolist(), found.scores[0].tolist(), strict=True))
    positions = chosen.tolist()
    return Ranked(snapshot.ids[chosen].tolist(), [scores.get(position, 0.0) for position in positions])


def _in_order(snapshot: Snapshot, ranked: Ranked, sort: FieldColumn, descending: bool) -> Ranked:
    """Sort the hits of a search that has no number of matches."""
    positions = snapshot.positions(ranked.ids)
    place = {position: number for number, position in enumerate(positions.tolist())}
    return ranked.at([place[position] for position in sort.sorted(positions, descending=descending).tolist()])


def _facets(
    snapshot: Snapshot, query: Query | None, ranked: Ranked, options: SearchOptions
) -> dict[str, dict[Any, int]]:
    """Count the values of fields over the documents that match or, where all do, over the hits."""
    if not options.facets:
        return {}
    if query is not None and query.matches is not None:
        chosen = query.matches()
    else:
        chosen = np.zeros(len(snapshot), dtype=np.uint8)
        chosen[snapshot.positions(ranked.ids)] = 1
    columns = field_columns(snapshot, options.facets, "facets")
    return {name: column.counts(chosen) for name, column in zip(options.facets, columns, strict=True)}


def _total(query: Query) -> Callable[[], int] | int | None:
    matches = query.matches
    if matches is None:
        return 0 if query.source == "words" else None
    return lambda: int(np.count_nonzero(matches()))


def _by_words(
    snapshot: Snapshot, queries: list[Query], options: SearchOptions, mask: Allowed | None, own_ids: dict[int, Ids]
) -> dict[int, Ranked]:
    """Rank by words; note which documents the vectors of a query may find, if its words demand something."""
    found: dict[int, Ranked] = {}
    groups: dict[Any, list[int]] = {}
    for place, query in enumerate(queries):
        if query.source != "content" and query.words is not None:
            if len(query.words.columns) > MOST_TERMS:  # too many for the lists; its vector says more
                found[place] = Ranked([], [])
            else:
                groups.setdefault(place if query.parsed is not None else query.source, []).append(place)
    for group in groups.values():
        first, allowed = queries[group[0]], mask
        met: Allowed | None = None
        own = [query.words for place in group if (query := queries[place]).words is not None]
        width = options.k if first.source == "words" else max(options.k, CANDIDATES)
        if first.parsed is not None and first.parsed.demand is not None:
            try:
                met = matching(snapshot, first.parsed.demand, mask)
            except ValueError as error:  # a field that no document has
                first.error, found[group[0]] = str(error), Ranked([], [])
                own_ids[group[0]] = snapshot.ids[:0]
                continue
            own_ids[group[0]] = snapshot.ids[met > 0]
            if own[0].is_empty and first.source == "words":
                # Nothing to rank by, as in label:sport: the first documents.
                met = met if _has_fields(first) else np.zeros_like(met)
                first.matches = partial(np.copy, met)
                first_ids = snapshot.ids[met > 0][: options.k].tolist()
                found[group[0]] = Ranked(first_ids, [0.0] * len(first_ids))
                continue
            allowed, met = met, met if first.parsed.requires_words else None
        if first.source == "words":
            for place, words in zip(group, own, strict=True):
                found_by = matches(snapshot.words, words.found_by, allowed)
                queries[place].matches = found_by if met is None else partial(np.copy, met)
        phrases = first.parsed.phrases if first.parsed is not None else ()
        wide = max(width, DEFAULTS.n_candidates(width)) if phrases else width
        by_graph = [_is_by_graph(words, options) for words in own]
        ranking = rank_by_words(snapshot, own, wide, by_graph=by_graph, allowed=allowed)
        if phrases:
            ranking = prefer_phrases(snapshot, ranking, phrases, width)
        ids = snapshot.ids[ranking.positions].tolist() if len(snapshot) else [[] for _ in group]
        for place, numbers, positions, scores in zip(
            group, ids, ranking.positions.tolist(), ranking.scores.tolist(), strict=True
        ):
            size = len(positions)
            if size and positions[-1] < 0:
                size = positions.index(-1)
            found[place] = Ranked(numbers[:size], scores[:size])
        if met is not None and first.source == "words":
            found[group[0]] = _completed(snapshot, found[group[0]], met, options.k)
    return found


def _completed(snapshot: Snapshot, ranked: Ranked, met: Allowed, k: int) -> Ranked:
    """Add documents that meet a demand and have nothing that scores, such as a stop word, behind the others."""
    missing = k - len(ranked.ids)
    if missing <= 0:
        return ranked
    rest = met.copy()
    rest[snapshot.positions(ranked.ids)] = 0
    more = snapshot.ids[np.flatnonzero(rest)[:missing]].tolist()
    return Ranked(ranked.ids + more, ranked.scores + [0.0] * len(more))


def _is_by_graph(words: AnalyzedQuery | None, options: SearchOptions) -> bool:
    """Whether neighbors count: what resembles the hits of a command or a message does not answer it."""
    if options.ranking == "auto":
        return words is None or not words.is_a_command
    return options.ranking != "bm25"


def _has_fields(query: Query) -> bool:
    return query.parsed is not None and query.parsed.has_field


def _strategy(snapshot: Snapshot, query: Query, options: SearchOptions) -> Strategy:
    if query.source == "content":
        return strategy_of(snapshot, options)
    return "both" if query.source == "both" else "postings"


def _ranking_of(
    snapshot: Snapshot, source: Source, options: SearchOptions, words: AnalyzedQuery | None = None
) -> HitRanking:
    if source == "content":
        return snapshot.content.metric if options.rerank else "codes"
    # The scores of documents that are sorted by a field are those of BM25.
    return "hybrid" if source == "both" else "graph" if _is_by_graph(words, options) and not options.sort else "bm25"


# Explanations


def _add_distances(snapshot: Snapshot, ranked: list[Ranked | None], encoded: Callable[[list[int]], Encoded]) -> None:
    """Add the distances in bits where the collection has codes, and the query has one."""
    missing = {place: own for place, own in enumerate(ranked) if own is not None and own.distances is None}
    if not snapshot.has_codes or not missing:
        return
    codes, table = encoded([*missing]).codes, snapshot.codes.table
    for own, code in zip(missing.values(), codes, strict=True):
        held = table.codes[snapshot.positions(own.ids)]
        own.distances = row_distances(held, np.repeat(code[np.newaxis], len(held), axis=0)).tolist()


def _terms(snapshot: Snapshot, query: Query, ranked: Ranked, options: SearchOptions) -> list[tuple[str, ...]]:
    if not options.explain or query.words is None or not ranked.ids:
        return []
    return matching_terms(snapshot.words, query.words, ranked.ids)


# Hits


def _hits(snapshot: Snapshot, ranked: list[Ranked], terms: list[list[tuple[str, ...]]]) -> list[list[Hit]]:
    """Read the documents of all rankings, each once, and make hits of them."""
    if len(ranked) == 1:
        documents = snapshot.documents.read(ranked[0].ids)
    else:
        documents = snapshot.documents.read(dict.fromkeys(number for own in ranked for number in own.ids))
    answers = []
    for own, own_terms in zip(ranked, terms, strict=True):
        hits = []
        for number, score in zip(own.ids, own.scores, strict=True):
            key, text, label, metadata, is_nested, _, _ = documents[number]
            hits.append(Hit(key, text, label, deepcopy(metadata) if is_nested else metadata.copy(), score))
        if own.distances is not None:
            for hit, distance in zip(hits, own.distances, strict=True):
                hit.distance = distance
        for hit, shared in zip(hits, own_terms, strict=False):
            hit.terms = shared
        if own.copies is not None:
            names = snapshot.documents.names([number for some in own.copies for number in some])
            for hit, some in zip(hits, own.copies, strict=True):
                hit.copies = tuple(names[number][0] for number in some)
        answers.append(hits)
    return answers


def _add_snippets(
    snapshot: Snapshot, hits: list[Hit], text: str, options: SearchOptions, parsed: ParsedQuery | None = None
) -> None:
    if options.snippet and hits:
        prefixes, phrases = ((), []) if parsed is None else (parsed.prefixes, parsed.phrases_and_words)
        highlighter = Highlighter(text, snapshot.words.analyzer, prefixes, phrases)
        for hit in hits:
            hit.snippet = highlighter.snippet(hit.text, options.snippet)
