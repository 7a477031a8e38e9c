"""What documents are compared by in the end: their weighted words, or their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from sthash.arrays import Ids
from sthash.collection.indexes.embedder import Embedder
from sthash.vectors.metric import Metric
from sthash.vectors.rows import Rows


class Content(Protocol):
    """An index whose rows rank documents exactly: `Words` or `Cells`.

    Its *raw* rows are what hash functions take: term counts, or vectors.
    """

    metric: Metric

    @property
    def ids(self) -> Ids:
        """Ids of all documents, ascending."""

    @property
    def n_columns(self) -> int:
        """Number of columns of a row."""

    def of_queries(self, queries: list[Any], embedder: Embedder | None = None) -> Rows:
        """Return the raw rows of queries."""

    def of_stored(self, ids: Ids) -> Iterator[Rows]:
        """Iterate over the raw rows of documents, whose ids ascend, some at a time."""

    def compared(self, raw: Rows) -> Rows:
        """Return raw rows as they are compared: of unit length, unless lengths count."""

    def vectors(self, ids: Ids | None = None) -> Rows:
        """Return the rows of some documents, whose ids ascend, or of all."""

    def unit_vectors(self) -> Rows:
        """Return the rows of all documents, of unit length."""
