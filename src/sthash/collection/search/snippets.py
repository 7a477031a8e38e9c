"""Snippets: the passage of a text that shows best why it was found, with the words of the query marked."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sthash.text.analyzer import WordAnalyzer
from sthash.text.folding import fold_accents
from sthash.text.scanning import scan_words

# Letters, digits and the marks that combine with them. Languages that write without spaces are taken by character.
_MARKS = "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u200c\u200d"
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
_WORDS = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_][{_MARKS}]*)+")

# Words joined by signs, such as os.path.join, and C++; the words inside RunUntilComplete.
_NAMES = re.compile(r"\b\w{1,3}(?:\+\+|#)(?!\w)|\w+(?:[-.:/@=?&#%~+\\']{1,3}\w+)+|\w*_\w+")
_CAPITALS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Of a query, what is looked for as a whole.
MOST_CHARACTERS, MOST_PHRASES = 1000, 8


class Snippet(NamedTuple):
    """A passage of a text.

    Attributes
    ----------
    text : str
        The passage, as it stands in the text.
    spans : tuple of (int, int)
        Start and end, in the passage, of each word that the query has too, in any form.
    start : int
        Where the passage begins in the text.
    """

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    start: int = 0


Found = tuple[int, int, tuple[str, ...]]


class Highlighter:
    """Finds the words of a query in texts.

    Parameters
    ----------
    query : str
    analyzer : WordAnalyzer
        Words are the same if their terms are, whatever their accents. Stop words are marked only in phrases, and in a
        query that has nothing else. A name, such as ``os.path.join``, is marked as a whole.
    prefixes : sequence of str
        Words with these beginnings are marked, too.
    phrases : sequence of str
        Where one of them stands, all of its words are marked.

    Examples
    --------
    >>> from sthash.collection.search.snippets import Highlighter
    >>> from sthash.text.analyzer import WordAnalyzer
    >>> highlighter = Highlighter("the cats", WordAnalyzer(frozenset({"the"}), "porter"))
    >>> highlighter.snippet("Once the dog met a Cat.", 12)
    Snippet(text='met a Cat.', spans=((6, 9),), start=13)
    """

    def __init__(
        self, query: str, analyzer: WordAnalyzer, prefixes: Sequence[str] = (), phrases: Sequence[str] = ()
    ) -> None:
        self._analyzer = replace(analyzer, fold_accents=True)
        words = list(dict.fromkeys(_WORDS.findall(query)))
        terms = self._terms(words)
        counted = {term for own, counts in terms for term in own if counts}
        self._wanted = counted or {term for own, _ in terms for term in own}
        self._prefixes = tuple(fold_accents(prefix.lower()) for prefix in prefixes)
        self._phrases = [
            [term for own, _ in self._terms(_WORDS.findall(phrase)) for term in own]
            for phrase in dict.fromkeys(phrases[:MOST_PHRASES])
        ]
        names = sorted({match[0] for match in _NAMES.finditer(query[:MOST_CHARACTERS])}, key=len, reverse=True)
        self._names = None
        if names:
            self._names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.IGNORECASE)

    def _terms(self, words: list[str]) -> list[tuple[tuple[str, ...], bool]]:
        """Return the terms of each word, and whether one of them is no stop word."""
        scanned = scan_words(words)
        stems, counted = self._analyzer.terms(scanned.words)
        numbers = scanned.numbers.tolist()
        return [
            (
                tuple(stems[number] for number in numbers[start:end]),
                any(counted[number] for number in numbers[start:end]),
            )
            for start, end in itertools.pairwise(scanned.starts.tolist())
        ]

    def snippet(self, text: str, size: int) -> Snippet:
        """Return the passage of about ``size`` characters that has most of the words of the query."""
        found = self._matches(text, size)
        start = max(0, min(self._best_start(found, size), len(text) - size))
        start, end = _whole_words(text, start, start + size)
        spans = tuple((left - start, right - start) for left, right, _ in found if start <= left and right <= end)
        return Snippet(text[start:end], spans, start)

    def _matches(self, text: str, size: int) -> list[Found]:
        """Return where words of the query stand, and their terms."""
        if not (self._wanted or self._prefixes):
            return []
        places = [(match.start(), match.end(), match[0]) for match in _WORDS.finditer(text)]
        words = list(dict.fromkeys(word for _, _, word in places))
        terms = {word: own for word, (own, _) in zip(words, self._terms(words), strict=True)}
        meant = {word for word in words if self._is_meant(word, terms[word])}
        marked = [word in meant for _, _, word in places]
        self._mark_phrases([terms[word] for _, _, word in places], marked)
        found = [(start, end, terms[word]) for (start, end, word), mark in zip(places, marked, strict=True) if mark]
        return self._with_names(text, found, size)

    def _is_meant(self, word: str, terms: tuple[str, ...]) -> bool:
        if terms and self._wanted.issuperset(terms):
            return True
        if self._prefixes and fold_accents(word.lower()).startswith(self._prefixes):
            return True
        parts = _CAPITALS.findall(word) if word.isascii() and not word.islower() else []
        return len(parts) > 1 and any(
            own and self._wanted.issuperset(own) and counts for own, counts in self._terms(parts)
        )

    def _mark_phrases(self, terms: list[tuple[str, ...]], marked: list[bool]) -> None:
        """Mark the words of phrases, where all of them stand side by side."""
        if not self._phrases:
            return
        flat = [(term, place) for place, own in enumerate(terms) for term in own]
        for phrase in self._phrases:
            for first in range(len(flat) - len(phrase) + 1 if phrase else 0):
                if all(flat[first + step][0] == term for step, term in enumerate(phrase)):
                    for _, place in flat[first : first + len(phrase)]:
                        marked[place] = True

    def _with_names(self, text: str, found: list[Found], size: int) -> list[Found]:
        """Mark names as a whole in place of the words inside of them."""
        names = [] if self._names is None else list(self._names.finditer(text))
        for name in names:
            if name.end() - name.start() <= size:
                found = [one for one in found if one[1] <= name.start() or one[0] >= name.end()]
                found.append((name.start(), name.end(), (name[0].lower(),)))
        return sorted(found)

    def _best_start(self, found: list[Found], size: int) -> int:
        """Return where the passage with most different words begins; of equal ones that with most words, the first."""
        best, chosen = (0, 0), 0
        counts = dict[tuple[str, ...], int]()
        last = 0
        for first, (start, _, terms) in enumerate(found):
            while last < len(found) and found[last][1] <= start + size:
                counts[found[last][2]] = counts.get(found[last][2], 0) + 1
                last += 1
            value = (len(counts), last - first)
            if value > best:
                # Some of what comes before the first word is shown too.
                room = max(0, start + size - found[last - 1][1])
                best, chosen = value, max(0, start - min(room // 2, size // 4))
            if terms in counts:
                counts[terms] -= 1
                if not counts[terms]:
                    del counts[terms]
            last = max(last, first + 1)
        return chosen


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a passage that begins and ends between words, if there is a space in reach."""
    end = min(end, len(text))
    if 0 < start < len(text) and not text[start - 1].isspace():
        space = next((place for place in range(start, min(start + 40, end)) if text[place].isspace()), None)
        start = start if space is None else space
    if end < len(text) and not text[end].isspace():
        space = next((place for place in range(end, max(end - 40, start), -1) if text[place - 1].isspace()), None)
        end = end if space is None else space
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
