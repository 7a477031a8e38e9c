"""The analyzer of words: stop words are dropped, other words are reduced to their stems, accents folded if wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import Stemmer

from sthash import _core
from sthash.text.folding import fold_accents
from sthash.text.languages import function_words, language_names, language_stemmer, language_stop_words

FUNCTION_WORDS = "function words"


@dataclass(frozen=True)
class WordAnalyzer:
    """Turns words into terms.

    Parameters
    ----------
    stop_words : frozenset of str
        Lower-cased words that are not counted.
    stemmer : str or None
        Name of a Snowball algorithm, such as ``english`` or ``german``; ``porter`` is the one of 1980. None keeps words
        unchanged.
    fold_accents : bool
        Whether accents are removed before stop words and stems are looked up.

    Examples
    --------
    >>> from sthash.text.analyzer import WordAnalyzer
    >>> stems, counted = WordAnalyzer(frozenset({"the"}), "porter").terms(["the", "cats"])
    >>> stems, counted.tolist()
    (['the', 'cat'], [False, True])
    """

    stop_words: frozenset[str]
    stemmer: str | None
    fold_accents: bool = False

    def __post_init__(self) -> None:
        check_stemmer(self.stemmer)

    def words(self, text: str) -> list[str]:
        """Return the different words of a text, in the order in which they are first found."""
        table = _core.WordTable()
        table.scan([text], threads=1)
        return table.words_from(0)

    def terms(self, words: list[str]) -> tuple[list[str], npt.NDArray[np.bool_]]:
        """Return the stem of each word, and whether the word is counted; stop words are not."""
        if self.fold_accents:
            words = list(map(fold_accents, words))
        stems = self._algorithm.stemWords(words) if self.stemmer else words
        is_stop_word = np.fromiter(map(self._dropped.__contains__, words), dtype=bool, count=len(words))
        return stems, ~is_stop_word

    @cached_property
    def _dropped(self) -> frozenset[str]:
        words = frozenset(word.replace("ς", "σ") for word in self.stop_words)  # as the scanner writes it
        return frozenset(map(fold_accents, words)) if self.fold_accents else words

    @cached_property
    def _algorithm(self) -> Any:
        # Each word is stemmed only once, so PyStemmer's own cache would only cost time.
        return Stemmer.Stemmer(self.stemmer, 0)


def check_stemmer(stemmer: object, language: str = "english") -> str | None:
    """Return the name of the stemmer if there is such an algorithm; ``"auto"`` is the one of the language."""
    if stemmer is None:
        return None
    if stemmer == "auto":
        return language_stemmer(language)
    if not isinstance(stemmer, str) or stemmer not in Stemmer.algorithms():
        known = ", ".join(Stemmer.algorithms())
        raise ValueError(f"stemmer={stemmer!r} is no Snowball algorithm. Use None, 'auto' or one of: {known}.")
    return stemmer


def resolve_stop_words(stop_words: str | Iterable[str] | None, language: str = "english") -> frozenset[str]:
    """Return the stop words for a setting.

    ``"auto"`` means those of the language, ``"function words"`` only those that do not tell what a text is about, and
    the name of a language its own. None means none. Otherwise they are the given words.
    """
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words == FUNCTION_WORDS:
            return function_words(language)
        name = language if stop_words == "auto" else stop_words
        if name not in language_names():
            raise ValueError(
                f"stop_words={stop_words!r} is not known. Use 'auto', 'function words', the name of a language such as "
                "'english', None, or your own collection of words."
            )
        return language_stop_words(name)
    words = frozenset(stop_words)
    if other := [word for word in words if not isinstance(word, str)]:
        raise TypeError(f"stop_words must hold str only, got {other[0]!r} ({type(other[0]).__name__}).")
    return frozenset(map(str.lower, words))
