"""The words of queries, looked up once for each state of the file."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.index.bm25 import inverse_frequencies
from sthash.text.scanning import scan_words

# Gives the columns of words, -1 for those that no document has; their frequencies; and which of them are counted.
LookUp = Callable[[list[str]], tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.bool_]]]

# Columns of words that have none.
UNKNOWN_WORD, STOP_WORD = -1, -2
# So many pieces of queries are remembered, if they are not longer than this.
REMEMBERED_PIECES = 1 << 16
MOST_CHARACTERS = 40


class QueryWord(NamedTuple):
    """A word of a query.

    Attributes
    ----------
    word : str
        As it was typed, in lower case.
    column : int
        Of its term; `UNKNOWN_WORD` if no document has it, or `STOP_WORD`.
    frequency : int
        Number of documents that have it.
    weight : float
        Its inverse document frequency.
    """

    word: str
    column: int
    frequency: int = 0
    weight: float = 0.0


def unused(words: list[QueryWord]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of some words are stop words, and which no document has."""
    ignored = tuple(dict.fromkeys(word.word for word in words if word.column == STOP_WORD))
    return ignored, tuple(dict.fromkeys(word.word for word in words if word.column == UNKNOWN_WORD))


class QueryWords:
    """Makes words of queries.

    Parameters
    ----------
    look_up : callable
        See `LookUp`.
    n_documents : int
    most : int
        Maximum number of remembered pieces of queries.
    """

    def __init__(self, look_up: LookUp, n_documents: int, most: int = REMEMBERED_PIECES) -> None:
        self._columns_of = look_up
        self._n_documents = n_documents
        self._most = most
        self._known: dict[str, tuple[QueryWord, ...]] = {}

    def of(self, texts: list[str]) -> list[list[QueryWord]]:
        """Return the words of each text, in their order."""
        # No word reaches over a space. A text that is not ASCII may have other spaces, and stays whole.
        pieces = [text.split() if text.isascii() else [text] for text in texts]
        known = self._known
        new = dict.fromkeys(piece for row in pieces for piece in row if piece not in known)
        if not new:
            return [[word for piece in row for word in known[piece]] for row in pieces]
        scanned = self._scanned(list(new))
        words = [
            [word for piece in row for word in (known[piece] if piece in known else scanned[piece])] for row in pieces
        ]
        if len(known) + len(new) > self._most:
            known.clear()
        short = ((piece, own) for piece, own in scanned.items() if len(piece) <= MOST_CHARACTERS)
        known.update(itertools.islice(short, self._most))
        return words

    def _scanned(self, pieces: list[str]) -> dict[str, tuple[QueryWord, ...]]:
        scanned = scan_words(pieces)
        found, numbers = self._look_up(scanned.words), scanned.numbers.tolist()
        bounds = itertools.pairwise(scanned.starts.tolist())
        return {
            piece: tuple(found[number] for number in numbers[start:end])
            for piece, (start, end) in zip(pieces, bounds, strict=True)
        }

    def _look_up(self, words: list[str]) -> list[QueryWord]:
        columns, frequencies, counted = self._columns_of(words)
        columns[~counted] = STOP_WORD
        weights = inverse_frequencies(frequencies, self._n_documents)
        return list(map(QueryWord, words, columns.tolist(), frequencies.tolist(), weights.tolist()))
