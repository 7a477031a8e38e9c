"""Rows and margins: what a model makes of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sthash.codes import Codes, pack

Margins = npt.NDArray[np.float32]
Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]  # columns and values


@dataclass(frozen=True)
class EncodedRows:
    """Unit rows of documents as the parts of a CSR matrix, and the margins of their bits.

    Attributes
    ----------
    indptr, indices, values : arrays of int64, int32, float32
        Row bounds, columns and values.
    margins : array of float32, shape (n, n_bits)
        A bit is on where its margin is positive.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    margins: Margins

    @cached_property
    def codes(self) -> Codes:
        """Packed codes, one row per document."""
        return pack(self.margins > 0)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def part(self, first: int, last: int) -> EncodedRows:
        """Return the rows from ``first`` to before ``last``."""
        bounds = self.indptr[first : last + 1]
        own = slice(bounds[0], bounds[-1])
        return EncodedRows(bounds - bounds[0], self.indices[own], self.values[own], self.margins[first:last])

    def row(self, position: int) -> Row:
        """Return the columns and values of one row."""
        own = slice(self.indptr[position], self.indptr[position + 1])
        return self.indices[own], self.values[own]


def shared_columns(query: Row, document: Row) -> list[int]:
    """Return the columns in which two rows agree, the one with the greatest part in their cosine first.

    Columns with less than a thousandth of the greatest part are left out.
    """
    shared, left, right = np.intersect1d(query[0], document[0], assume_unique=True, return_indices=True)
    parts = query[1][left] * document[1][right]
    order = np.argsort(-parts, kind="stable")
    columns: list[int] = shared[order][parts[order] > 1e-3 * max(parts.max(initial=0), 0)].tolist()
    return columns


def stacked(parts: Sequence[EncodedRows]) -> EncodedRows:
    """Put rows under each other."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    bounds = [part.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    return EncodedRows(
        np.concatenate([np.zeros(1, np.int64), *bounds]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.margins for part in parts]),
    )
