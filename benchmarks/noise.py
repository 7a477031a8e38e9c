"""Made duplicates of known truth: copies of texts, each changed in one way."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Change = Callable[[str, random.Random, list[str]], str]

# What scanners take for each other.
LOOKALIKES = {"l": "1", "o": "0", "e": "c", "m": "rn", "i": "j", "s": "5", "b": "6", "n": "u", "t": "f", "g": "q"}
SENTENCE = re.compile(r"(?<=[.!?])\s+")


def typos(text: str, rng: random.Random, _: list[str]) -> str:
    """Swap, drop or double a letter in one word of thirty, at least one."""
    words = text.split()
    for place in rng.sample(range(len(words)), max(1, len(words) // 30)):
        word = words[place]
        at = rng.randrange(max(len(word) - 1, 1))
        kind = rng.randrange(3)
        if kind == 0:
            words[place] = word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
        else:
            words[place] = word[:at] + (word[at] * 2 if kind == 1 and word else "") + word[at + 1 :]
    return " ".join(words)


def scanned(text: str, rng: random.Random, _: list[str]) -> str:
    """Confuse one letter of two hundred, at least one."""
    letters = list(text)
    places = [place for place, letter in enumerate(letters) if letter.lower() in LOOKALIKES]
    for place in rng.sample(places, min(len(places), max(1, len(text) // 200))):
        letters[place] = LOOKALIKES[letters[place].lower()]
    return "".join(letters)


def truncated(text: str, _: random.Random, __: list[str]) -> str:
    """Leave out the last tenth."""
    words = text.split()
    return " ".join(words[: max(1, round(0.9 * len(words)))])


def reordered(text: str, rng: random.Random, _: list[str]) -> str:
    """Put the sentences in another order."""
    sentences = SENTENCE.split(text)
    rng.shuffle(sentences)
    return " ".join(sentences)


def inserted(text: str, rng: random.Random, others: list[str]) -> str:
    """Put a part of another text, a fifth as long, between two words."""
    words, other = text.split(), rng.choice(others).split()
    at, length = rng.randrange(len(words) + 1), max(1, len(words) // 5)
    return " ".join([*words[:at], *other[:length], *words[at:]])


def replaced(text: str, rng: random.Random, others: list[str]) -> str:
    """Put other words in place of one word of fifteen, at least of one."""
    words = text.split()
    for place in rng.sample(range(len(words)), max(1, len(words) // 15)):
        words[place] = rng.choice(rng.choice(others).split() or ["word"])
    return " ".join(words)


CHANGES: dict[str, Change] = {
    "typos": typos,
    "scanned": scanned,
    "truncated": truncated,
    "sentences reordered": reordered,
    "paragraph inserted": inserted,
    "words replaced": replaced,
}


def copies_of(texts: list[str], change: Change, seed: int = 0) -> list[str]:
    """Change each text in one way."""
    rng = random.Random(seed)
    return [change(text, rng, texts) for text in texts]
