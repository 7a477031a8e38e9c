"""Words of a query that no document has: known words that are spelled almost like them, to suggest or to search for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from sthash.collection.document_table import AnswerTooLargeError
from sthash.collection.hits import Hits
from sthash.collection.hybrid_search import answer_by_words
from sthash.collection.phrases import scan_words
from sthash.collection.search import check_ranking
from sthash.collection.search_options import SearchOptions
from sthash.collection.snapshot import Snapshot
from sthash.collection.text_search import answer_queries
from sthash.text.spelling import closest

# What is looked at, so that a query full of unknown words is answered in bounded time.
MOST_UNKNOWN = 8
MOST_SUGGESTIONS = 3
# Documents that are read to see which word a stem stands for, the shortest ones, and characters of each.
MOST_READ = 4
MOST_CHARACTERS = 20_000


def answer_corrected(snapshot: Snapshot, queries: list[Any], options: SearchOptions) -> list[Hits]:
    """Return the hits of each query, with suggestions for unknown words, or by these, if the options say so."""
    check_ranking(snapshot, options)
    if snapshot.model.dense and (found := answer_by_words(snapshot, queries, options)) is not None:
        return found
    answers = answer_queries(snapshot, queries, options)
    if snapshot.model.dense or not (options.explain or options.correct):
        return answers
    for hits in answers:
        hits.suggestions = suggest(snapshot, hits.unknown)
    if not options.correct:
        return answers
    places = [place for place, hits in enumerate(answers) if hits.suggestions]
    chosen = {place: {word: known[0] for word, known in answers[place].suggestions.items()} for place in places}
    texts = [replace_words(queries[place], chosen[place]) for place in places]
    for place, hits in zip(places, answer_queries(snapshot, texts, options), strict=True):
        first = answers[place]
        hits.unknown, hits.suggestions, hits.corrected = first.unknown, first.suggestions, chosen[place]
        answers[place] = hits
    return answers


def suggest(snapshot: Snapshot, unknown: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each of the first unknown words that has some, the known words that are spelled most like it."""
    suggestions = dict[str, tuple[str, ...]]()
    if not unknown:
        return suggestions
    names, frequencies = snapshot.spellings
    words = list(unknown[:MOST_UNKNOWN])
    for word, stem in zip(words, snapshot.analyzer.terms(words)[0], strict=True):
        terms = closest(stem, names, MOST_SUGGESTIONS, frequencies=frequencies, threads=snapshot.threads)
        spelled = [spelling for term in terms if (spelling := _spelling(snapshot, term)) is not None]
        if spelled:
            suggestions[word] = tuple(dict.fromkeys(spelled))
    return suggestions


def _spelling(snapshot: Snapshot, term: str) -> str | None:
    """Return the word that a stem stands for most often in some documents that have it."""
    column = snapshot.terms.get(term)
    if column < 0:  # its name is no text
        return None
    positions = snapshot.posting_lists([column]).positions(column)
    shortest = positions[np.argsort(snapshot.lengths[positions], kind="stable")[:MOST_READ]]
    try:
        found = snapshot.fields(np.sort(snapshot.ids[shortest]).tolist())
    except AnswerTooLargeError:
        found = {}
    scanned = scan_words([fields[1][:MOST_CHARACTERS] for fields in found.values()], snapshot.analyzer)
    stems, counted = snapshot.analyzer.terms(scanned.words)
    spellings = [place for place, stem in enumerate(stems) if stem == term and counted[place]]
    if spellings:
        counts = np.bincount(scanned.numbers, minlength=len(scanned.words))
        return scanned.words[min(spellings, key=lambda place: (-counts[place], scanned.words[place]))]
    # The documents are too long to read. The stem itself serves if a search for it finds them.
    own, counted = snapshot.analyzer.terms([term])
    return term if own == [term] and counted[0] else None


def replace_words(text: str, by: dict[str, str]) -> str:
    """Return a text with other words in place of some, wherever these are whole words.

    Examples
    --------
    >>> from sthash.collection.corrections import replace_words
    >>> replace_words('the "Dgo food" of dgos', {"dgo": "dog"})
    'the "dog food" of dgos'
    """
    if not by:
        return text
    wanted = "|".join(map(re.escape, sorted(by, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{wanted})(?!\w)", lambda match: by.get(match[0].lower(), match[0]), text, flags=re.I)
