"""Rows, margins and codes: what a model makes of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sthash.codes import Codes, pack
from sthash.vectors.rows import Row, Rows

Margins = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Encoded:
    """Rows of documents, and the margins of their bits.

    Attributes
    ----------
    rows : Rows
        Of unit length if they are compared by cosine.
    margins : array of float32, shape (n, n_bits)
        A bit is on where its margin is positive.
    """

    rows: Rows
    margins: Margins

    @classmethod
    def stacked(cls, parts: Sequence[Encoded]) -> Encoded:
        """Put encodings under each other; there must be at least one."""
        if len(parts) == 1:
            return parts[0]
        margins = np.concatenate([part.margins for part in parts])
        return cls(Rows.stacked([part.rows for part in parts]), margins)

    @cached_property
    def codes(self) -> Codes:
        """Packed codes, one row per document."""
        return pack(self.margins > 0)

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, first: int, last: int) -> Encoded:
        """Return the documents from ``first`` to before ``last``."""
        return Encoded(self.rows.part(first, last), self.margins[first:last])


def shared_columns(query: Row, document: Row) -> list[int]:
    """Return the columns in which two rows agree, the one with the greatest part in their cosine first.

    Columns with less than a thousandth of the greatest part are left out.
    """
    shared, left, right = np.intersect1d(query[0], document[0], assume_unique=True, return_indices=True)
    parts = query[1][left] * document[1][right]
    order = np.argsort(-parts, kind="stable")
    columns: list[int] = shared[order][parts[order] > 1e-3 * max(parts.max(initial=0), 0)].tolist()
    return columns
