"""Words of a query that no document has: known words that are spelled almost like them, to suggest or to search for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from sthash.collection.file.documents import AnswerTooLargeError, ReadDocument
from sthash.collection.snapshot import Snapshot
from sthash.text.scanning import scan_words
from sthash.text.spelling import Spellings

# What is looked at, so that a query full of unknown words is answered in bounded time.
MOST_UNKNOWN = 8
MOST_SUGGESTIONS = 3
# Documents that are read to see which word a stem stands for, the shortest ones, and characters of each.
MOST_READ = 4
MOST_CHARACTERS = 20_000


def suggest(snapshot: Snapshot, unknown: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each of the first unknown words that has some, the known words that are spelled most like it."""
    suggestions = dict[str, tuple[str, ...]]()
    if not unknown:
        return suggestions
    spellings = snapshot.words.spellings
    words = list(unknown[:MOST_UNKNOWN])
    for word, stem in zip(words, snapshot.words.analyzer.terms(words)[0], strict=True):
        terms = spellings.closest(stem, MOST_SUGGESTIONS, threads=snapshot.threads)
        spelled = [spelling for term in terms if (spelling := _spelling(snapshot, term, word)) is not None]
        if spelled:
            suggestions[word] = tuple(dict.fromkeys(spelled))
    return suggestions


def _spelling(snapshot: Snapshot, term: str, typed: str) -> str | None:
    """Return the word with a stem that is spelled most like a typed one, or is most common, in some documents."""
    words = snapshot.words
    column = words.terms.get(term)
    if column < 0:  # its name is no text
        return None
    positions = words.posting_lists([column]).positions(column)
    shortest = positions[np.argsort(words.lengths[positions], kind="stable")[:MOST_READ]]
    found: dict[int, ReadDocument] = {}
    with suppress(AnswerTooLargeError):
        found = snapshot.documents.read(np.sort(snapshot.ids[shortest]).tolist())
    scanned = scan_words([read.text[:MOST_CHARACTERS] for read in found.values()])
    stems, counted = words.analyzer.terms(scanned.words)
    spellings = [place for place, stem in enumerate(stems) if stem == term and counted[place]]
    if spellings:
        counts = np.bincount(scanned.numbers, minlength=len(scanned.words))
        spellings.sort(key=lambda place: (-counts[place], scanned.words[place]))
        known = [scanned.words[place] for place in spellings]
        return next(iter(Spellings(known, counts[spellings]).closest(typed, 1)), known[0])
    # The documents are too long to read. The stem itself serves if a search for it finds them.
    own, counted = words.analyzer.terms([term])
    return term if own == [term] and counted[0] else None


def replace_words(text: str, by: dict[str, str]) -> str:
    """Return a text with other words in place of some, wherever these are whole words.

    Examples
    --------
    >>> from sthash.collection.search.corrections import replace_words
    >>> replace_words('the "Dgo food" of dgos', {"dgo": "dog"})
    'the "dog food" of dgos'
    """
    if not by:
        return text
    wanted = "|".join(map(re.escape, sorted(by, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{wanted})(?!\w)", lambda match: by.get(match[0].lower(), match[0]), text, flags=re.I)
