"""What becomes of a word: stop words go, the rest is reduced to its stem."""

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
        Lower-cased words that count for no term.
    stemmer : str or None
        Name of a Snowball algorithm (``porter`` is the one of 1980; ``english``, ``german``, …); None keeps words
        as they are.
    """

    stop_words: frozenset[str]
    stemmer: str | None

    def terms(self, words: list[str]) -> tuple[list[str], npt.NDArray[np.bool_]]:
        """Return the stem of each word, and whether it counts: a stop word does not."""
        stems = self._algorithm.stemWords(words) if self.stemmer else words
        is_stop_word = np.fromiter(map(self.stop_words.__contains__, words), dtype=bool, count=len(words))
        return stems, ~is_stop_word

    @cached_property
    def _algorithm(self) -> Any:
        # Every word comes by once only, so PyStemmer's own cache would cost and never pay.
        return Stemmer.Stemmer(self.stemmer, 0)


def check_stemmer(stemmer: object) -> str | None:
    """Return the stemmer's name if there is such an algorithm."""
    if stemmer is None:
        return None
    if not isinstance(stemmer, str) or stemmer not in Stemmer.algorithms():
        known = ", ".join(Stemmer.algorithms())
        raise ValueError(f"stemmer={stemmer!r} is no Snowball algorithm; use None or one of: {known}.")
    return stemmer


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> frozenset[str]:
    """Return the set that ``stop_words`` names: ``"english"``, None (no stop words), or the words themselves."""
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(
                f"stop_words={stop_words!r} is not known; use 'english', None, or a collection of words of your own."
            )
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    words = frozenset(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words must hold str only, got {word!r} ({type(word).__name__}).")
    return frozenset(word.lower() for word in words)
