"""The words of queries, looked up once for each state of the file."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.arrays import Columns
from sthash.collection.indexes.forms import FormKind, forms_of
from sthash.text.scanning import scan_words

# Gives the columns of words, -1 for those that no document has; their frequencies; which of them are counted; and the
# columns that their stems have in heads.
LookUp = Callable[
    [list[str]], tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.bool_], npt.NDArray[np.int32]]
]
# Gives the frequencies of forms by their columns.
FormFrequencies = Callable[[Columns], npt.NDArray[np.int32]]
# Gives the weights of terms or forms by their columns and frequencies.
Rarities = Callable[[Columns, npt.NDArray[np.int32]], npt.NDArray[np.float32]]

# Columns of words that have none.
UNKNOWN_WORD, STOP_WORD = -1, -2
# So many pieces of queries are remembered, if they are not longer than this.
REMEMBERED_PIECES = 1 << 16
MOST_CHARACTERS = 40


class QueryWord(NamedTuple):
    """A word of a query, or a form that is more than its words, such as ``os.path.join``.

    Attributes
    ----------
    word : str
        As it was typed, in lower case; empty for a form that is more than its words. In a head, the word is the same.
    column : int
        Of its term; `UNKNOWN_WORD` if no document has it, or `STOP_WORD`.
    frequency : int
        Number of documents that have the term.
    weight : float
        The inverse document frequency of the term.
    kind : FormKind
    form, form_frequency, form_weight : int, int, float
        The same of the form that was typed.
    """

    word: str
    column: int
    frequency: int = 0
    weight: float = 0.0
    kind: FormKind = "word"
    form: int = -1
    form_frequency: int = 0
    form_weight: float = 0.0

    @property
    def rarity(self) -> float:
        """The inverse document frequency of its term or, if it has none, of its form."""
        return self.weight if self.column >= 0 else self.form_weight

    @property
    def list_column(self) -> int:
        """The column of the list of documents that have the word: of its term, else of its form; -1 if none has it."""
        return self.column if self.column >= 0 else self.form if self.form_frequency else UNKNOWN_WORD


def unused(words: list[QueryWord]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of some words are stop words, and which no document has."""
    typed = [word for word in words if word.kind == "word"]
    ignored = tuple(dict.fromkeys(word.word for word in typed if word.column == STOP_WORD))
    unknown = (word.word for word in typed if word.column == UNKNOWN_WORD and not word.form_frequency)
    return ignored, tuple(dict.fromkeys(unknown))


class QueryWords:
    """Makes words of queries.

    Parameters
    ----------
    look_up : callable
        See `LookUp`.
    form_frequencies : callable
        See `FormFrequencies`.
    rarities : callable
        See `Rarities`.
    most : int
        Maximum number of remembered pieces of queries.
    """

    def __init__(
        self, look_up: LookUp, form_frequencies: FormFrequencies, rarities: Rarities, most: int = REMEMBERED_PIECES
    ) -> None:
        self._columns_of = look_up
        self._form_frequencies = form_frequencies
        self._rarities = rarities
        self._most = most
        self._known: dict[str, tuple[QueryWord, ...]] = {}

    def of(self, texts: list[str]) -> list[list[QueryWord]]:
        """Return the words of each text, in their order, and after those of each piece its other forms."""
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
        forms = [forms_of(piece) for piece in pieces]
        heads = [head for _, head in found]
        known = self._known_forms([*heads, *(column for own in forms for _, column in own)])
        return {
            piece: _with_forms([found[number] for number in numbers[start:end]], own, known)
            for piece, own, (start, end) in zip(pieces, forms, bounds, strict=True)
        }

    def _look_up(self, words: list[str]) -> list[tuple[QueryWord, int]]:
        columns, frequencies, counted, heads = self._columns_of(words)
        columns[~counted] = STOP_WORD
        weights = self._rarities(columns, frequencies)
        found = map(QueryWord, words, columns.tolist(), frequencies.tolist(), weights.tolist())
        return list(zip(found, heads.tolist(), strict=True))

    def _known_forms(self, columns: list[int]) -> dict[int, tuple[int, float]]:
        """Return the frequencies and weights of the forms that documents have."""
        different = np.array(list(dict.fromkeys(columns)), dtype=np.int32)
        frequencies = self._form_frequencies(different)
        weights = self._rarities(different, frequencies)
        return {
            column: (frequency, weight)
            for column, frequency, weight in zip(
                different.tolist(), frequencies.tolist(), weights.tolist(), strict=True
            )
            if frequency
        }


def _with_forms(
    words: list[tuple[QueryWord, int]], forms: list[tuple[FormKind, int]], known: dict[int, tuple[int, float]]
) -> tuple[QueryWord, ...]:
    """Return words with their forms, and behind them the other forms that documents have."""
    typed = iter(words)
    whole, others = list[QueryWord](), dict[int, QueryWord]()
    for kind, column in forms:
        frequency, weight = known.get(column, (0, 0.0))
        if kind == "word":
            word, head = next(typed)
            word = word._replace(form=column, form_frequency=frequency, form_weight=weight)
            whole.append(word)
            if head in known:
                # It weighs as the word does: a title says what a document is about, however rare the word is in titles.
                of = STOP_WORD if word.column == STOP_WORD else UNKNOWN_WORD
                others[head] = QueryWord(word.word, of, 0, 0.0, "head", head, known[head][0], word.rarity)
        elif frequency:
            others.setdefault(column, QueryWord("", UNKNOWN_WORD, 0, 0.0, kind, column, frequency, weight))
    return (*whole, *others.values())
