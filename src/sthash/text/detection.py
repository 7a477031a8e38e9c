"""A guess whether a corpus is in the language that was chosen, from a sample of its words."""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Mapping

from sthash.text.languages import language_names, language_stop_words
from sthash.text.stop_words import STOP_WORDS

# Fewer words than this are not enough.
_ENOUGH = 100
# A language is recognized by its stop words if they make up this share, and twice the share of the chosen language's.
_TELLING_SHARE = 0.15
# The share that is enough in a script that the chosen language does not have. Arabic joins short words to the next one.
_SHARE_IN_OTHER_SCRIPT = 0.05
# Letters of neighbors that share stop words: a text with them is not in the language that the stop words suggest.
_FOREIGN_LETTERS = {"russian": set("іїєґўјљњћђџ"), "arabic": set("پچژگکیٹڈڑے")}
_SCRIPTS = {
    "CJK": "chinese",
    "HIRAGANA": "japanese",
    "KATAKANA": "japanese",
    "HANGUL": "korean",
    "THAI": "thai",
    "LAO": "lao",
    "KHMER": "khmer",
    "MYANMAR": "burmese",
}


def guess_language(words: Mapping[str, int], chosen: str) -> str | None:
    """Return the language that the words seem to be in if it is not the chosen one: "none" if it is not known.

    Parameters
    ----------
    words : mapping of str to int
        How often each word occurs in a sample.
    chosen : str

    Examples
    --------
    >>> from collections import Counter
    >>> from sthash.text.detection import guess_language
    >>> guess_language(Counter("der hund und die katze sind in dem haus".split() * 20), "english")
    'german'
    """
    total = sum(words.values())
    if total < _ENOUGH or chosen == "none":
        return None
    shares = {
        language: sum(words[word] for word in language_stop_words(language) if word in words) / total
        for language in set(STOP_WORDS).intersection(language_names())
    }
    best = max(sorted(shares), key=shares.__getitem__)
    if best != chosen and shares[best] >= max(_TELLING_SHARE, 2 * shares.get(chosen, 0)):
        return _unless_foreign(best, words)
    scripts: Counter[str] = Counter()
    for word, count in words.items():
        scripts[unicodedata.name(word[0], "").partition(" ")[0]] += count
    unspaced = Counter[str]()
    for script, language in _SCRIPTS.items():
        unspaced[language] += scripts[script]
    if unspaced["japanese"] > 0.1 * unspaced["chinese"]:
        unspaced["japanese"] += unspaced.pop("chinese", 0)
    language, count = unspaced.most_common(1)[0]
    if 2 * count > total:
        return None if language == chosen else language
    # A chosen language that has stop words has them in its own script. None of its words, and most letters of another
    # one than Latin: it is some other language.
    latin = scripts["LATIN"] + scripts["DIGIT"]
    is_other = 2 * latin < total and shares.get(chosen, 0) < 0.02
    if not is_other:
        return None
    return _unless_foreign(best, words) if shares[best] >= _SHARE_IN_OTHER_SCRIPT else "none"


def _unless_foreign(language: str, words: Mapping[str, int]) -> str:
    """Return the language, or "none" if the words have letters that it does not have."""
    foreign = _FOREIGN_LETTERS.get(language, set())
    return (
        "none" if sum(words[word] for word in words if foreign & set(word)) > 0.05 * sum(words.values()) else language
    )


class LanguageWarning(UserWarning):
    """A corpus seems to be in another language than the chosen one.

    Attributes
    ----------
    guess, chosen : str
        Names of languages; the guess is "none" if it is not known which.
    seems : str
        The guess, in words.
    """

    def __init__(self, guess: str, chosen: str) -> None:
        self.guess, self.chosen = guess, chosen
        self.seems = "in another language" if guess == "none" else guess.capitalize()
        super().__init__(
            f"most of the text seems to be {self.seems}, but language={chosen!r} picks the stems and stop words. "
            f"Pass language={guess!r}, or say what to use by stop_words= and stemmer=."
        )


def warn_of_language(words: Mapping[str, int], chosen: str) -> None:
    """Warn if the words seem to be of another language than the chosen one."""
    guess = guess_language(words, chosen)
    if guess is None:
        return
    warnings.warn(LanguageWarning(guess, chosen), stacklevel=2)
