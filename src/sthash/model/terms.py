"""The vocabulary of a text model: for each term its column, its document frequency and its weight per bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Columns
from sthash.checksums import encode_text, row_checksum


@dataclass(frozen=True)
class TermRows:
    """Some terms: in how many documents each occurs, and its row in the weights.

    All terms without learned weights share row 0, which is zero. The weights are padded as the kernels want them.
    """

    frequency: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]


class Term(NamedTuple):
    """One term; ``weights`` are the bytes of its float32 weights per bit, empty if it has none."""

    column: int
    name: bytes
    frequency: int
    weights: bytes

    def checksum(self) -> int:
        """Return the checksum that identifies the term in a fingerprint."""
        return row_checksum(self)


class Terms(Protocol):
    """A vocabulary, in memory or in a file."""

    def __len__(self) -> int:
        """Return the number of terms."""

    def get(self, term: str, default: int = -1, /) -> int:
        """Return the column of a term."""

    def find(self, terms: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the column of each term, and −1 for those that are not in it."""

    def look_up(self, columns: Columns) -> tuple[TermRows, npt.NDArray[np.integer]]:
        """Return term rows, and for each entry of ``columns`` its position in them."""

    def names(self, columns: Sequence[int]) -> list[str]:
        """Return the terms of some columns."""

    def __iter__(self) -> Iterator[Term]:
        """Iterate over all terms in the order of their columns."""

    def checksums(self) -> Iterator[int]:
        """Iterate over the checksums of all terms in the order of their columns."""


class MemoryTerms:
    """A vocabulary in memory.

    Parameters
    ----------
    names : list of str
        In the order of the columns.
    frequency : array of int64
    row : array of int32
        Row of each term in ``weights``; 0 for a term without weights.
    weights : array of float32, shape (rows, n_bits)
        The first row is zero.
    """

    def __init__(
        self,
        names: list[str],
        frequency: npt.NDArray[np.int64],
        row: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float32],
    ) -> None:
        self._names = names
        self.rows = TermRows(frequency, row, padded(weights))
        self.n_bits = weights.shape[1]

    @cached_property
    def _column_of(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self._names)}

    def __len__(self) -> int:
        return len(self._names)

    def get(self, term: str, default: int = -1, /) -> int:
        """Return the column of a term."""
        return self._column_of.get(term, default)

    def find(self, terms: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the column of each term, and −1 for those that are not in it."""
        return np.fromiter((self._column_of.get(term, -1) for term in terms), dtype=np.int32, count=len(terms))

    def look_up(self, columns: Columns) -> tuple[TermRows, npt.NDArray[np.integer]]:
        """Return the rows of all terms; a column is its own position in them."""
        return self.rows, columns

    def names(self, columns: Sequence[int]) -> list[str]:
        """Return the terms of some columns."""
        return [self._names[column] for column in columns]

    def __iter__(self) -> Iterator[Term]:
        rows = self.rows
        frequency, row = rows.frequency.tolist(), rows.row.tolist()
        weights = np.ascontiguousarray(rows.weights[:, : self.n_bits])
        for column, name in enumerate(self._names):
            content = weights[row[column]].tobytes() if row[column] else b""
            yield Term(column, encode_text(name), frequency[column], content)

    def checksums(self) -> Iterator[int]:
        """Iterate over the checksums of all terms in the order of their columns."""
        return (term.checksum() for term in self)


def padded(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return weights with zero columns added, so that the kernels can take them in whole vectors."""
    missing = -weights.shape[1] % _core.lanes_in_group
    return np.pad(weights, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(weights)
