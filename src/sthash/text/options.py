"""How texts become words, as one value: for collections, models and indexes of words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sthash.text.analyzer import (
    FUNCTION_WORDS,
    WordAnalyzer,
    check_stemmer,
    resolve_stop_words,
)
from sthash.text.languages import check_language

if TYPE_CHECKING:
    from sthash.text.vectorizer import TextVectorizer


@dataclass(frozen=True)
class TextOptions:
    """How texts become words.

    Parameters
    ----------
    language : str, default="english"
        Picks stop words and stemmer, by name or ISO 639-1 code; `sthash.text.languages.language_names` lists all.
        "none" picks neither.
    fold_accents : bool, default=False
        Remove accents first, so that ``café`` and ``cafe`` are one word.
    stop_words : "function words", "auto", name of a language, None or collection of str, default="function words"
        Words that are not searched for. "function words" are those of the language that do not tell what a text is
        about; "auto" are all of its stop words, which for English include "system" and "fire".
    stemmer : str or None, default="auto"
        Name of a Snowball algorithm. "auto" is the one of the language, None keeps words unchanged.

    Examples
    --------
    >>> from sthash.text import TextOptions
    >>> options = TextOptions(language="french", fold_accents=True)
    >>> terms, counted = options.analyzer().terms(["les", "cafés"])
    >>> terms, counted.tolist()
    (['le', 'caf'], [False, True])
    """

    language: str = "english"
    fold_accents: bool = False
    stop_words: str | Iterable[str] | None = FUNCTION_WORDS
    stemmer: str | None = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "language", check_language(self.language))
        if not isinstance(self.fold_accents, bool | np.bool_):
            raise TypeError(f"fold_accents={self.fold_accents!r} must be True or False.")
        if self.stop_words is not None and not isinstance(self.stop_words, str):
            if not isinstance(self.stop_words, Iterable):
                raise TypeError(f"stop_words={self.stop_words!r} must be a name, None, or a collection of words.")
            object.__setattr__(self, "stop_words", resolve_stop_words(self.stop_words))
        self.analyzer()

    def analyzer(self) -> WordAnalyzer:
        """Return the analyzer, which turns words into terms."""
        return WordAnalyzer(
            resolve_stop_words(self.stop_words, self.language),
            check_stemmer(self.stemmer, self.language),
            bool(self.fold_accents),
        )

    def vectorizer(self, **settings: Any) -> TextVectorizer:
        """Return an unfitted vectorizer with these options, and with other settings of `sthash.TextVectorizer`.

        Examples
        --------
        >>> from sthash.text import TextOptions
        >>> TextOptions(language="german").vectorizer(max_features=1000).language
        'german'
        """
        from sthash.text.vectorizer import TextVectorizer  # which needs scikit-learn

        return TextVectorizer(
            language=self.language,
            stop_words=self.stop_words,
            stemmer=check_stemmer(self.stemmer, self.language),
            fold_accents=bool(self.fold_accents),
            **settings,
        )


def new_vectorizer(text_options: TextOptions | TextVectorizer | None, threads: int | None) -> TextVectorizer:
    """Return a vectorizer that is not fitted: a copy of the user's own, or one with the options."""
    if text_options is None or isinstance(text_options, TextOptions):
        return (text_options or TextOptions()).vectorizer(threads=threads)
    from sklearn.base import clone

    vectorizer: TextVectorizer = clone(_checked(text_options))
    return vectorizer


def resolve_text_options(text_options: TextOptions | TextVectorizer | None) -> TextOptions:
    """Return the options, or those that a vectorizer has."""
    if text_options is None or isinstance(text_options, TextOptions):
        return text_options or TextOptions()
    vectorizer = _checked(text_options)
    refuse_callable(vectorizer, "an index of words")
    return TextOptions(
        vectorizer.language, vectorizer.fold_accents, vectorizer.stop_words, vectorizer.resolved_stemmer()
    )


def refuse_callable(vectorizer: TextVectorizer, holder: str) -> None:
    """Refuse a vectorizer whose analyzer is a function, which no file can hold."""
    if callable(vectorizer.analyzer):
        raise TypeError(f"{holder} cannot store a vectorizer whose analyzer is a callable. Use analyzer='word'.")


def _checked(text_options: object) -> TextVectorizer:
    from sthash.text.vectorizer import TextVectorizer

    if not isinstance(text_options, TextVectorizer):
        raise TypeError(f"text_options is a {type(text_options).__name__}. Pass TextOptions or a TextVectorizer.")
    return text_options
