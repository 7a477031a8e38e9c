"""Candidates from posting lists: the words of queries, ranked."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sthash import _core
from sthash.arrays import Columns, Positions
from sthash.collection.indexes.forms import FIRST_FORM, FormKind
from sthash.collection.indexes.postings import Lists
from sthash.collection.indexes.query_words import STOP_WORD, QueryWord, unused
from sthash.collection.indexes.words import Words
from sthash.collection.search.matching import expansions, with_phrase
from sthash.collection.search.query import Quoted, is_command
from sthash.collection.search.ranking import DEFAULTS, Allowed, RankedPositions, Scores, rank_by_graph
from sthash.collection.snapshot import Snapshot
from sthash.index.bm25 import Bm25
from sthash.model.encoded import shared_columns

BM25 = Bm25()
# Words with a common beginning that documents are ranked by.
MOST_RANKED_EXPANSIONS = 64
# A phrase that is not required raises the score of a document that has it; of many phrases, the first ones do.
PREFERENCE = 1.5
MOST_PREFERRED = 8
# What a document gets for a stem, and beside it for the form that was typed.
STEM, FORM = 0.8, 0.2
# For a word that stands in the title or in the first sentence; more for the name of a program, with which commands and
# messages begin: its page is wanted.
HEAD, HEAD_OF_PROGRAM = 0.2, 2.0
WORD = re.compile(r"[^\W_]+")
PROGRAM = re.compile(r"(?:^|[|;&]|\bsudo\s)\s*([\w.+-]+)")
# For a name such as os.path.join as a whole, for the words inside RunUntilComplete, for a word without its accents, for
# words with hyphens, and for a stop word beside other words.
SHARES: dict[FormKind, float] = {"word": 1.0, "name": 0.5, "part": 0.5, "plain": 0.1, "compound": FORM, "head": HEAD}
STOP = 0.1
PUNCTUATION = ".,;:?!\"'()"
# A query that is a name and nothing else: documents that have all of it come first, then those that have a name in it.
SHARES_ALONE: dict[FormKind, float] = SHARES | {"name": 2.0, "compound": 2.0}
WHOLE = 10.0
WHOLE_KINDS = ("name", "compound")
# A query of more words is prose: its stop words count for nothing, and its names for less.
FEW_WORDS = 6
SHARES_IN_PROSE: dict[FormKind, float] = SHARES | {"name": 0.2, "part": 0.2}
# Of longer queries, the terms say enough.
MOST_WORDS_WITH_FORMS = 64
# Passages that are looked at for each hit, at first: several may be of one document.
PASSAGES_PER_HIT = 4


@dataclass(slots=True)
class AnalyzedQuery:
    """A query as words: the terms that are in documents, and the words that are not searched for.

    Attributes
    ----------
    columns, weights : lists of int, float
        Of the terms, by ascending column; a term weighs its inverse frequency times its count in the query.
    forms, form_weights : lists of int, float
        The same of forms: words exactly as they were typed, names, and stop words.
    n_optional : int
        So many of the forms, the last ones, are words in heads, and stop words that stand beside other words. A
        document that has nothing else of the query is not found by them.
    is_a_command : bool
        Whether it looks like a command or a message.
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
    forms: list[int] = field(default_factory=list)
    form_weights: list[float] = field(default_factory=list)
    n_optional: int = 0
    is_a_command: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no document has a word of it."""
        return not self.columns and not self.forms

    @property
    def found_by(self) -> list[int]:
        """The columns of the lists whose documents are found; others do not have what a hit needs."""
        return self.columns + self.forms[: len(self.forms) - self.n_optional]

    @property
    def has_stop_words_only(self) -> bool:
        """Whether it is made of several stop words, such as "to be or not to be"."""
        return not self.columns and not self.unknown and len(self.found_by) > 1


def analyze(words: Words, texts: list[str]) -> list[AnalyzedQuery]:
    """Return the words of each text."""
    found = words.query_words.of(texts)
    return [_weighted(text, own) for text, own in zip(texts, found, strict=True)]


def _weighted(text: str, words: list[QueryWord]) -> AnalyzedQuery:
    """Return a query with the weights of its terms and forms."""
    n_words, is_a_command = sum([word.kind == "word" for word in words]), is_command(text)
    whole, shares = -1, SHARES if n_words <= FEW_WORDS else SHARES_IN_PROSE
    if any(word.kind in WHOLE_KINDS for word in words):
        whole = _form_alone(text, words)
        shares = SHARES_ALONE if whole >= 0 else shares
    programs = _programs(text) if is_a_command else set[str]()
    has_content = any(word.column != STOP_WORD for word in words)
    with_forms = n_words <= MOST_WORDS_WITH_FORMS or not has_content
    stop = 1.0 if not has_content else STOP if n_words <= FEW_WORDS else 0.0
    terms, forms, optional = dict[int, float](), dict[int, float](), dict[int, float]()
    entries, others = 0, list[QueryWord]()
    for word in words:
        if word.column >= 0:
            if word.column not in terms:
                entries += word.frequency
            is_number = word.word[0].isdigit()
            terms[word.column] = terms.get(word.column, 0.0) + (1.0 if is_number else STEM) * word.weight
            share = FORM
        else:
            others.append(word)
            if word.form == whole:
                share = WHOLE
            elif word.kind == "head" and word.word in programs:
                share = HEAD_OF_PROGRAM
            elif word.column != STOP_WORD:
                share = shares[word.kind]
            else:
                share = stop if word.kind == "word" else 0.0 if has_content else HEAD
        if share and with_forms and word.form_frequency:
            own = optional if word.kind == "head" or (has_content and word.column == STOP_WORD) else forms
            own[word.form] = own.get(word.form, 0.0) + share * word.form_weight
    columns = sorted(terms)
    query = AnalyzedQuery(columns, [terms[column] for column in columns], entries)
    query.forms, query.form_weights = [*forms, *optional], [*forms.values(), *optional.values()]
    query.n_optional, query.is_a_command = len(optional), is_a_command
    if others:
        query.ignored, query.unknown = unused(others)
        if not has_content:
            query.ignored = ()
    return query


def _programs(text: str) -> set[str]:
    """Return the words that begin the commands and messages of a text."""
    return {name for match in PROGRAM.finditer(text) for name in WORD.findall(match[1].lower())}


def _form_alone(text: str, words: list[QueryWord]) -> int:
    """Return the form of a name that has nothing but stop words beside it, or of a compound without spaces; -1 if none.

    Of longer queries, such as commands, names are less: in "tar -xf some.tar.gz" the name is not what is looked for.
    """
    pieces = [piece.strip(PUNCTUATION).lower() for piece in text.split()]
    kinds = WHOLE_KINDS if len(pieces) == 1 else ("name",)
    stops = {word.word for word in words if word.column == STOP_WORD}
    if len(pieces) > 1 and any(piece.isalnum() and piece not in stops for piece in pieces):
        return -1
    return next((word.form for word in words if word.kind in kinds), -1)


def rank_by_words(
    snapshot: Snapshot, queries: list[AnalyzedQuery], k: int, *, by_graph: list[bool], allowed: Allowed | None = None
) -> RankedPositions:
    """Return the k best documents of each query: by BM25, exactly, or by BM25 and their neighbors."""
    words, k = snapshot.words, min(k, len(snapshot))
    if k == 0:
        return RankedPositions(np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0), np.float32))
    width = min(DEFAULTS.n_candidates(k), len(snapshot)) if any(by_graph) else k
    found = rank_with_passages(snapshot, queries, width, allowed)
    if not any(by_graph):
        return found
    ranked = rank_by_graph(found, words.vectors_by_position(), k=k, threads=snapshot.threads)
    for row, wanted in enumerate(by_graph):
        if not wanted:
            ranked.positions[row, :k], ranked.scores[row, :k] = found.positions[row, :k], found.scores[row, :k]
    return ranked


def rank_by_bm25(
    snapshot: Snapshot, queries: list[AnalyzedQuery], k: int, allowed: Allowed | None = None, bm25: Bm25 = BM25
) -> RankedPositions:
    """Return the k best documents of each query by BM25, exactly; only those whose byte in ``allowed`` is set."""
    words, packed = snapshot.words, _packed(queries)
    lists = words.posting_lists(packed.columns)
    return _best(lists, packed, k, allowed, bm25, words.typical_length, snapshot.threads)


def rank_with_passages(
    snapshot: Snapshot, queries: list[AnalyzedQuery], k: int, allowed: Allowed | None = None, bm25: Bm25 = BM25
) -> RankedPositions:
    """Return the k best documents of each query by BM25, where the score of a long one is that of its best passage.

    Documents and passages are scored alike: frequencies and lengths are those of all of them together.
    """
    words, passages, threads = snapshot.words, snapshot.words.passages, snapshot.threads
    packed, mean = _packed(queries), words.mean_length_of_parts
    own = _best(words.posting_lists(packed.columns), packed, k, allowed, bm25, mean, threads)
    if passages is None or k == 0:
        return own
    owners, lists = words.passage_documents, words.passage_lists(packed.columns)
    within = None if allowed is None else np.ascontiguousarray(allowed[owners])
    wanted, width = min(k, words.n_long), PASSAGES_PER_HIT * k
    # What a passage must have for its document to be among the best.
    least = own.scores[:, -1]
    while True:
        width = min(width, len(passages))
        found = _best(lists, packed, width, within, bm25, mean, threads)
        good = (found.positions >= 0) & (found.scores >= least[:, np.newaxis])
        several = np.flatnonzero(good[:, 0]).tolist()
        ranked = {
            row: dict(
                zip(
                    owners[found.positions[row, good[row]]][::-1].tolist(),
                    found.scores[row, good[row]][::-1].tolist(),
                    strict=True,
                )
            )
            for row in several
        }
        if width == len(passages) or all(len(ranked[row]) >= wanted or not good[row, -1] for row in several):
            break
        width *= 4
    for row, best in ranked.items():
        for place, score in zip(own.positions[row].tolist(), own.scores[row].tolist(), strict=True):
            if place >= 0:
                best[place] = max(best.get(place, 0.0), score)
        first = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        own.positions[row, : len(first)] = [place for place, _ in first]
        own.scores[row, : len(first)] = [score for _, score in first]
    return own


class _Packed(NamedTuple):
    """Queries as the search in posting lists takes them."""

    bounds: Positions
    columns: Columns
    weights: Scores
    optional: Positions | None


def _packed(queries: list[AnalyzedQuery]) -> _Packed:
    bounds = [0, *itertools.accumulate([len(query.columns) + len(query.forms) for query in queries])]
    columns = np.array([column for query in queries for column in query.columns + query.forms], dtype=np.int32)
    weights = np.array([weight for query in queries for weight in query.weights + query.form_weights], np.float32)
    optional = [query.n_optional for query in queries]
    given = np.array(optional, dtype=np.int64) if any(optional) else None
    return _Packed(np.array(bounds, dtype=np.int64), columns, weights, given)


def _best(
    lists: Lists | _core.PostingLists,
    queries: _Packed,
    k: int,
    allowed: Allowed | None,
    bm25: Bm25,
    mean_length: float,
    threads: int,
) -> RankedPositions:
    """Return the k best documents, or passages, of each query."""
    positions, scores = lists.search(
        queries.bounds,
        queries.columns,
        queries.weights,
        k=k,
        k1=bm25.k1,
        b=bm25.b,
        mean_length=mean_length or 1.0,
        allowed=allowed,
        threads=threads,
        optional=queries.optional,
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


def with_expansions(snapshot: Snapshot, query: AnalyzedQuery, prefixes: tuple[str, ...]) -> None:
    """Add the words that begin with some prefixes to a query; of many, the most common ones."""
    known = {*query.columns, *query.forms}
    columns = [column for prefix in prefixes for column in expansions(snapshot, prefix)[:MOST_RANKED_EXPANSIONS]]
    new = np.array([column for column in dict.fromkeys(columns) if column not in known], dtype=np.int32)
    if not len(new):
        return
    frequencies = snapshot.words.posting_lists(new).document_frequencies(new)
    weights = snapshot.words.rarities(new, frequencies)
    are_forms = new >= FIRST_FORM
    both = sorted(
        zip(query.columns + new[~are_forms].tolist(), query.weights + weights[~are_forms].tolist(), strict=True)
    )
    query.columns, query.weights = [column for column, _ in both], [weight for _, weight in both]
    # The last forms are optional.
    query.forms = new[are_forms].tolist() + query.forms
    query.form_weights = weights[are_forms].tolist() + query.form_weights
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
