"""Known words that are spelled like an unknown one, to suggest where a query has a typing error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import check_whole, resolve_threads

LONGEST_WORD = 64


def closest(
    word: str,
    vocabulary: Sequence[str],
    n: int = 3,
    *,
    frequencies: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> list[str]:
    """Return the words of a vocabulary that are spelled most like the given one, the closest first.

    A word of 3 to 5 letters may differ by one edit, a longer one by two; a shorter one has no similar words. An edit is
    a letter too many, one that is missing, another letter, or two neighbors swapped. One letter of an unspaced script
    (東) is a part of words: those that contain it are returned. A million words take some tens of milliseconds.

    Parameters
    ----------
    word : str
        In lower case, as the vocabulary is; a stem if the vocabulary has stems. Words of more than 64 letters have no
        similar ones.
    vocabulary : sequence of str
        A list is used directly; anything else is copied.
    n : int
        Largest number of words to return.
    frequencies : array of int, optional
        In how many documents each word occurs. Of equally close words, the most frequent comes first.
    threads : int or None

    Examples
    --------
    >>> from sthash.text.spelling import closest
    >>> closest("fotball", ["ball", "basketball", "football", "footfall"])
    ['football', 'footfall']
    """
    check_whole("n", n)
    words = vocabulary if isinstance(vocabulary, list) else list(vocabulary)
    counts = np.zeros(len(words), np.int64) if frequencies is None else np.ascontiguousarray(frequencies, np.int64)
    if counts.shape != (len(words),):
        raise ValueError(f"frequencies must be one number per word, got shape {counts.shape} for {len(words)} words.")
    if _is_part_of_words(word):
        places = np.array([place for place, other in enumerate(words) if word in other], dtype=np.int64)
        places = places[np.argsort(-counts[places], kind="stable")[:n]]
    elif 3 <= len(word) <= LONGEST_WORD:
        distance = 1 if len(word) <= 5 else 2
        places, _ = _core.closest_words(
            word, words, counts, distance=distance, count=n, threads=resolve_threads(threads)
        )
    else:
        return []
    return [words[place] for place in places.tolist()]


def _is_part_of_words(word: str) -> bool:
    """Whether it is one letter of an unspaced script, with its marks: two of them are one pair to the scanner."""
    if word.isascii():
        return False
    table = _core.WordTable()
    table.scan([f"a{word}{word}a"], threads=1)
    return table.words_from(0) == ["a", word + word]
