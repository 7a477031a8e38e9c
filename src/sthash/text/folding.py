"""Accent folding, for people who type without accents: ``café`` and ``cafe`` become one word."""

from __future__ import annotations

import unicodedata

# Letters with a stroke or joined letters, which Unicode does not take apart.
_SPELLED_OUT = str.maketrans("øłđðħıŋŧё", "olddhintе") | str.maketrans({"æ": "ae", "œ": "oe", "ß": "ss", "þ": "th"})
# A mark on a letter of these scripts is an accent or a vowel point. Elsewhere (kana, Thai, Devanagari, the Cyrillic й)
# it makes another letter.
ACCENTED = ("LATIN", "GREEK", "ARABIC", "HEBREW")


def fold_accents(word: str) -> str:
    """Return a lower-case word without accents, and with compatibility forms, such as wide letters, made plain.

    Examples
    --------
    >>> from sthash.text.folding import fold_accents
    >>> [fold_accents(word) for word in ("café", "straße", "ｗｉｄｅ", "が", "й")]
    ['cafe', 'strasse', 'wide', 'が', 'й']
    """
    if word.isascii():
        return word
    kept: list[str] = []
    accented = False
    for character in unicodedata.normalize("NFKD", word.translate(_SPELLED_OUT)):
        if unicodedata.combining(character):
            if accented:
                continue
        else:
            accented = unicodedata.name(character, "").startswith(ACCENTED)
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)) or word
