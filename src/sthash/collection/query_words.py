"""The words of queries, looked up once for each state of the file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.collection.phrases import scan_words
from sthash.text.analyzer import WordAnalyzer

# Columns of words that have none.
UNKNOWN_WORD, STOP_WORD = -1, -2
# So many pieces of queries are remembered, if they are not longer than this; fewer if the model has long codes.
REMEMBERED_PIECES = 1 << 16
MOST_CHARACTERS = 40


class ModelTerm(NamedTuple):
    """What the model knows of a term: in how many documents it was when it was learned, and its weight per bit."""

    frequency: int
    weights: npt.NDArray[np.float32]


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
    term : ModelTerm or None
        What the model knows of it.
    """

    word: str
    column: int
    frequency: int = 0
    weight: float = 0.0
    term: ModelTerm | None = None


class QueryWords:
    """Makes words of queries.

    Parameters
    ----------
    analyzer : WordAnalyzer
    look_up : callable
        Looks words up that are not known yet.
    most : int
        So many pieces of queries are remembered.
    """

    def __init__(
        self,
        analyzer: WordAnalyzer,
        look_up: Callable[[list[str]], Sequence[QueryWord]],
        most: int = REMEMBERED_PIECES,
    ) -> None:
        self._analyzer = analyzer
        self._look_up = look_up
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
        scanned = scan_words(pieces, self._analyzer)
        found, numbers = self._look_up(scanned.words), scanned.numbers.tolist()
        bounds = itertools.pairwise(scanned.starts.tolist())
        return {
            piece: tuple(found[number] for number in numbers[start:end])
            for piece, (start, end) in zip(pieces, bounds, strict=True)
        }
