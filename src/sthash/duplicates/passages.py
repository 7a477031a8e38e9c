"""Passages that two texts share: quotations and plagiarism, with their places."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sthash import _core
from sthash.checks import check_whole

# Most places that are compared if a run of words occurs many times in a text.
MOST_PLACES = 64


@dataclass(frozen=True)
class Passage:
    """Words that two texts share.

    Attributes
    ----------
    text : str
        As written in the left text.
    left, right : (int, int)
        Where it is: ``text[start:end]``.
    words : int
    """

    text: str
    left: tuple[int, int]
    right: tuple[int, int]
    words: int


def shared_passages(left: str, right: str, *, min_words: int = 5) -> list[Passage]:
    """Find passages of the left text that are also in the right one, ignoring case and what separates words.

    Parameters
    ----------
    left, right : str
    min_words : int, default=5
        Shortest passage, in words. Of unspaced scripts, pairs of letters count as words.

    Returns
    -------
    passages : list of Passage
        In the order of the left text; none overlaps another one there.

    Examples
    --------
    >>> from sthash.duplicates import shared_passages
    >>> first = "He wrote: to be, or not to be, that is the question."
    >>> (passage,) = shared_passages(first, "TO BE OR NOT TO BE that was it", min_words=4)
    >>> passage.text, passage.right
    ('to be, or not to be, that', (0, 23))
    """
    size = check_whole("min_words", min_words)
    ours, theirs = _placed_words(left), _placed_words(right)
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at in range(len(theirs) - size + 1):
        places[tuple(word for word, _, _ in theirs[at : at + size])].append(at)
    passages = []
    at = 0
    while at + size <= len(ours):
        run = tuple(word for word, _, _ in ours[at : at + size])
        found = [(_length(ours, at, theirs, other), -other) for other in places.get(run, [])[:MOST_PLACES]]
        if not found:
            at += 1
            continue
        length, other = max(found)
        other = -other
        own_place = ours[at][1], ours[at + length - 1][2]
        other_place = theirs[other][1], theirs[other + length - 1][2]
        passages.append(Passage(left[slice(*own_place)], own_place, other_place, length))
        at += length
    return passages


PlacedWord = tuple[str, int, int]


def _length(ours: list[PlacedWord], at: int, theirs: list[PlacedWord], other: int) -> int:
    """Return how many words agree from two places on."""
    most = min(len(ours) - at, len(theirs) - other)
    return next((step for step in range(most) if ours[at + step][0] != theirs[other + step][0]), most)


def _placed_words(text: str) -> list[PlacedWord]:
    """Return the words of a text, in reading order, and where they start and end."""
    table = _core.WordTable()
    _, numbers = table.scan([text], threads=1)
    words = table.words_from(0)
    lowered = "".join(lower if len(lower := letter.lower()) == 1 else letter for letter in text)
    placed: list[PlacedWord] = []
    start = end = 0
    for number in numbers.tolist():
        word = words[number]
        # Pairs of unspaced letters overlap.
        shared = 0 if word.isascii() else _overlap(placed[-1][0] if placed else "", word)
        start = lowered.find(word, end - shared) if shared else -1
        if start != end - shared or start < 0:
            start = lowered.find(word, end)
        if start < 0:  # a letter whose lower case is another one here
            start = end
        end = start + len(word)
        placed.append((word, start, end))
    return placed


def _overlap(before: str, word: str) -> int:
    """Return how many letters at the end of one word, not all, are those at the start of the next."""
    most = min(len(before), len(word)) - 1
    return next((size for size in range(most, 0, -1) if before[-size:] == word[:size]), 0)
