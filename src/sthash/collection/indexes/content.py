"""What documents are compared by in the end: their weighted words, or their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

from sthash.arrays import Ids
from sthash.collection.indexes.embedder import Embedder
from sthash.collection.indexes.entries import Entries
from sthash.progress import Progress, silent
from sthash.vectors.metric import Metric
from sthash.vectors.rows import Rows


class Index(Protocol):
    """One index of a file: `Words`, `Cells` or `Codes`."""

    @property
    def segment_kinds(self) -> tuple[str, ...]:
        """Kinds of the segments that it has in the file."""

    @property
    def setting_names(self) -> set[str]:
        """Names of the settings that it has in the file."""

    def facts(self) -> dict[str, Any]:
        """Return what `Collection.info` says about it."""

    def remove(self, ids: Ids) -> None:
        """Remove documents."""

    def settle(self, report: Progress = silent) -> None:
        """Bring the segments up to date; once at the end of each change."""

    def verify(self, ids: Ids) -> None:
        """Compare everything with the documents, whose ids are given."""


class Content(Index, Protocol):
    """An index whose rows rank documents exactly: `Words` or `Cells`.

    Its *raw* rows are what hash functions take: term counts, or vectors.

    Attributes
    ----------
    kind : {"text", "vectors"}
        What the documents of the collection are compared by.
    strategy : {"codes", "cells"}
        Where the nearest documents are looked for: by their codes, or by `Cells` itself.
    metric : {"cosine", "ip"}
    """

    kind: Literal["text", "vectors"]
    strategy: Literal["codes", "cells"]
    metric: Metric

    def put(self, entries: Entries) -> Rows:
        """Write what is kept of documents; return their raw rows, as they are read again."""

    @property
    def rewritten(self) -> bool:
        """Whether raw rows of documents that were stored before have changed."""

    def takes_texts(self, embedder: Embedder | None) -> bool:
        """Whether texts can be compared with the documents."""

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
