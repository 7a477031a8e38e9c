"""The analyzer of words: stop words are dropped, other words are reduced to their stems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import Stemmer


@dataclass(frozen=True)
class WordAnalyzer:
    """Turns words into terms.

    Parameters
    ----------
    stop_words : frozenset of str
        Lower-cased words that are not counted.
    stemmer : str or None
        Name of a Snowball algorithm, such as ``english`` or ``german``; ``porter`` is the one of 1980. None keeps
        words as they are.

    Examples
    --------
    >>> from sthash.text.analyzer import WordAnalyzer
    >>> stems, counted = WordAnalyzer(frozenset({"the"}), "porter").terms(["the", "cats"])
    >>> stems, counted.tolist()
    (['the', 'cat'], [False, True])
    """

    stop_words: frozenset[str]
    stemmer: str | None

    def terms(self, words: list[str]) -> tuple[list[str], npt.NDArray[np.bool_]]:
        """Return the stem of each word, and whether the word is counted; stop words are not."""
        stems = self._algorithm.stemWords(words) if self.stemmer else words
        is_stop_word = np.fromiter(map(self.stop_words.__contains__, words), dtype=bool, count=len(words))
        return stems, ~is_stop_word

    @cached_property
    def _algorithm(self) -> Any:
        # Each word is stemmed only once, so PyStemmer's own cache would only cost time.
        return Stemmer.Stemmer(self.stemmer, 0)


def check_stemmer(stemmer: object) -> str | None:
    """Return the name of the stemmer if there is such an algorithm."""
    if stemmer is None:
        return None
    if not isinstance(stemmer, str) or stemmer not in Stemmer.algorithms():
        known = ", ".join(Stemmer.algorithms())
        raise ValueError(f"stemmer={stemmer!r} is no Snowball algorithm. Use None or one of: {known}.")
    return stemmer


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> frozenset[str]:
    """Return the stop words that are meant: ``"english"``, None (no stop words), or the words themselves."""
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(
                f"stop_words={stop_words!r} is not known. Use 'english', None, or your own collection of words."
            )
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    words = frozenset(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words must hold str only, got {word!r} ({type(word).__name__}).")
    return frozenset(word.lower() for word in words)
