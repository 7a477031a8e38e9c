"""Known words that are spelled like an unknown one, to suggest where a query has a typing error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.checks import check_whole, resolve_threads

LONGEST_WORD = 64


class Spellings:
    """A vocabulary whose words are looked up by their spelling.

    Parameters
    ----------
    vocabulary : sequence of str
        In lower case; stems, if the words that are looked up are stems.
    frequencies : array of int, optional
        In how many documents each word occurs. Of equally close words, the most frequent comes first.

    Examples
    --------
    >>> from sthash.text.spelling import Spellings
    >>> Spellings(["ball", "basketball", "football", "footfall"]).closest("fotball")
    ['football', 'footfall']
    """

    def __init__(self, vocabulary: Sequence[str], frequencies: npt.ArrayLike | None = None) -> None:
        self._words = list(vocabulary)
        count = len(self._words)
        self._counts = np.zeros(count, np.int64) if frequencies is None else np.ascontiguousarray(frequencies, np.int64)
        if self._counts.shape != (count,):
            raise ValueError(
                f"frequencies must be one number per word, got shape {self._counts.shape} for {count} words."
            )
        self._spelled = _core.SpelledWords(self._words, self._counts)

    def closest(self, word: str, n: int = 3, *, threads: int | None = None) -> list[str]:
        """Return the words that are spelled most like the given one, the closest first.

        A word of 3 to 5 letters may differ by one edit, a longer one by two; a shorter one has no similar words. An
        edit is a letter too many, one that is missing, another letter, or two neighbors swapped. One letter of an
        unspaced script (東) is a part of words: those that contain it are returned.

        Parameters
        ----------
        word : str
            Words of more than 64 letters have no similar ones.
        n : int
            Largest number of words to return.
        threads : int or None
        """
        check_whole("n", n)
        if _is_part_of_words(word):
            places = np.array([place for place, other in enumerate(self._words) if word in other], dtype=np.int64)
            places = places[np.argsort(-self._counts[places], kind="stable")[:n]]
        elif 3 <= len(word) <= LONGEST_WORD:
            distance = 1 if len(word) <= 5 else 2
            places, _ = self._spelled.closest(word, distance=distance, count=n, threads=resolve_threads(threads))
        else:
            return []
        return [self._words[place] for place in places.tolist()]


def _is_part_of_words(word: str) -> bool:
    """Whether it is one letter of an unspaced script, with its marks: two of them are one pair to the scanner."""
    if word.isascii():
        return False
    table = _core.WordTable()
    table.scan([f"a{word}{word}a"], threads=1)
    return table.words_from(0) == ["a", word + word]
