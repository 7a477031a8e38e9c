"""The words of texts in their order, as the scanner finds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash import _core


@dataclass(frozen=True)
class ScannedWords:
    """Words of texts: text i has the words ``words[number]`` for ``numbers[starts[i]:starts[i + 1]]``."""

    words: list[str]
    starts: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]


def scan_words(texts: list[str]) -> ScannedWords:
    """Return the words of texts, in lower case, before they become terms.

    Examples
    --------
    >>> from sthash.text.scanning import scan_words
    >>> scanned = scan_words(["The cat", "a cat"])
    >>> [scanned.words[number] for number in scanned.numbers]
    ['the', 'cat', 'a', 'cat']
    """
    table = _core.WordTable()
    starts, numbers = table.scan(texts, threads=1)
    return ScannedWords(table.words_from(0), starts, numbers)
