"""Languages by name: which stems and which stop words belong to each."""

from __future__ import annotations

from functools import cache

import Stemmer

from sthash.text.stop_words import CONTENT_WORDS, STOP_WORDS

# Written without spaces between words, or with many endings: the scanner cuts them into pairs of letters.
UNSPACED_LANGUAGES = ("burmese", "chinese", "japanese", "khmer", "korean", "lao", "thai")
# Names in Snowball that are algorithms, not languages.
_VARIANTS = {"dutch_porter", "porter"}
# ISO 639-1 codes.
_BY_CODE = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "ja": "japanese",
    "km": "khmer",
    "ko": "korean",
    "lo": "lao",
    "lt": "lithuanian",
    "my": "burmese",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "th": "thai",
    "tr": "turkish",
    "yi": "yiddish",
    "zh": "chinese",
}


@cache
def language_names() -> tuple[str, ...]:
    """Return the languages that can be chosen; "none" means neither stems nor stop words.

    Examples
    --------
    >>> from sthash.text.languages import language_names
    >>> {"english", "german", "japanese", "none"} <= set(language_names())
    True
    """
    return (*sorted({*Stemmer.algorithms(), *UNSPACED_LANGUAGES} - _VARIANTS), "none")


def check_language(language: object) -> str:
    """Return the name of a language, which may be given by its ISO 639-1 code.

    Examples
    --------
    >>> from sthash.text.languages import check_language
    >>> check_language("german"), check_language("de")
    ('german', 'german')
    """
    name = _BY_CODE.get(language.lower(), language.lower()) if isinstance(language, str) else ""
    if name not in language_names():
        known = ", ".join(language_names())
        raise ValueError(f"language={language!r} is not known. Use a code such as 'de', or one of: {known}.")
    return name


def language_stemmer(language: str) -> str | None:
    """Return the Snowball algorithm of a language.

    Examples
    --------
    >>> from sthash.text.languages import language_stemmer
    >>> language_stemmer("english"), language_stemmer("german"), language_stemmer("thai")
    ('english', 'german', None)
    """
    return language if language in Stemmer.algorithms() else None


@cache
def language_stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language; none where no list is known.

    Examples
    --------
    >>> from sthash.text.languages import language_stop_words
    >>> {"und", "der"} <= language_stop_words("german")
    True
    """
    return frozenset(STOP_WORDS.get(language, "").split())


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the stop words of a language that do not tell what a text is about; a search ignores them.

    They are the stop words. Only English differs: the list of scikit-learn has words such as "system" and "fire".

    Examples
    --------
    >>> from sthash.text.languages import function_words
    >>> "the" in function_words("english"), "system" in function_words("english")
    (True, False)
    """
    words = language_stop_words(language)
    return words - frozenset(CONTENT_WORDS.split()) if language == "english" else words
