"""What a collection holds, for scripts that measure it or compare it with another search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash import Collection, near_duplicates
from sthash.vectors.rows import Rows


@dataclass(frozen=True)
class Stored:
    """What a collection holds: ids, codes, and vectors."""

    ids: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint8]
    vectors: Rows

    def matrix(self) -> sp.csr_array:
        """Give the vectors as a SciPy matrix."""
        return self.vectors.to_scipy()


def stored(collection: Collection) -> Stored:
    """Read ids, codes and vectors of all documents."""
    with collection.snapshot() as now:
        return Stored(now.ids, now.codes.table.codes, now.content.vectors())


def query_rows(collection: Collection, texts: list[str]) -> sp.csr_array:
    """Give the vectors that a collection makes of queries."""
    with collection.snapshot() as now:
        return now.encode(texts).rows.to_scipy()


def duplicate_groups(collection: Collection, min_cosine: float) -> list[list[str]]:
    """Give the keys of near-duplicates in a collection, group by group."""
    return near_duplicates(collection, min_cosine).groups


def model_bytes(collection: Collection) -> int:
    """Bytes of the weights in a collection's file. Terms outside the learning sample have none, so it must be read."""
    with collection.snapshot() as now:
        return sum(len(term.weights) for term in now.codes.model.terms)
