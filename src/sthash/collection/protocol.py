"""The interface that collections in a file, behind a service and in Milvus share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self, TypeVar, Unpack, overload

from sthash.codes import Codes
from sthash.collection.search.hits import Hits
from sthash.collection.search.options import SearchKeywords
from sthash.collection.search.votes import Prediction, Voting
from sthash.duplicates import DuplicateKeywords, Duplicates
from sthash.progress import Progress
from sthash.sources import Document, FieldNames

D = TypeVar("D")


class DocumentCollection(Protocol):
    """A file (`Collection`), a service (`Client`), or Milvus (`MilvusCollection`): the same methods.

    They give the same answers, as far as an engine stores what a method needs; otherwise they raise a ValueError. Only
    `Collection` has what concerns the file as such, or folders beside it: ``relearn``, ``sync``, ``follow``, ``check``,
    ``compact``, ``copy_to`` and ``part_sizes``.
    """

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""

    def __len__(self) -> int:
        """Number of documents."""

    def __contains__(self, key: object) -> bool:
        """Whether there is a document with this key."""

    def __iter__(self) -> Iterator[Document]:
        """Iterate over all documents, as `export` does."""

    @overload
    def get(self, key: str) -> Document: ...

    @overload
    def get(self, key: str, default: D) -> Document | D: ...

    def __getitem__(self, key: str, /) -> Document:
        """Return the document with this key; raise KeyError if there is none."""

    def export(self) -> Iterator[Document]:
        """Iterate over all documents."""

    def info(self) -> dict[str, Any]:
        """Describe the collection: ``documents``, ``kind``, ``n_bits`` and more."""

    def add(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents; an existing key is an error. Return the number of added documents."""

    def upsert(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents, replacing documents with the same key. Return the number of documents."""

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by key, or none if one is missing. Return their number."""

    def encode(self, queries: Iterable[Any]) -> Codes:
        """Return the packed codes of texts, or of vectors."""

    def search(
        self, query: Any = None, k: int = 10, *, key: str | None = None, **options: Unpack[SearchKeywords]
    ) -> Hits:
        """Find the documents most similar to a query, or to the document with ``key``; see `SearchOptions`.

        The hits tell which words of the query were ignored or are unknown, and how documents were found and ranked.
        """

    def search_many(self, queries: Iterable[Any], k: int = 10, **options: Unpack[SearchKeywords]) -> list[Hits]:
        """Search for many queries at once; return the hits of each. See `search`."""

    def near_duplicates(self, threshold: float | None = None, **options: Unpack[DuplicateKeywords]) -> Duplicates:
        """Find near-duplicate documents; see `sthash.near_duplicates`."""

    def classify(
        self,
        query: Any,
        k: int | None = None,
        *,
        radius: int | None = None,
        voting: Voting = "auto",
        codes: bool = False,
    ) -> Prediction:
        """Return the label of a query, by the votes of the nearest documents; see `sthash.classify`."""

    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...
