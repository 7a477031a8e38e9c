"""What every collection of documents can do, wherever the documents are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self, Unpack

from sthash.codes import Codes
from sthash.collection.hits import Hits
from sthash.collection.search_options import SearchKeywords
from sthash.sources import Document, FieldNames


class DocumentCollection(Protocol):
    """A file (`Collection`), a service (`Client`), or Milvus (`MilvusCollection`): same methods, same answers."""

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""

    def __len__(self) -> int:
        """Number of documents."""

    def __contains__(self, key: object) -> bool:
        """Whether there is a document with this key."""

    def __iter__(self) -> Iterator[Document]:
        """Iterate over all documents, as `export` does."""

    def get(self, key: str) -> Document:
        """Return a document; KeyError if there is none with this key."""

    def export(self) -> Iterator[Document]:
        """Iterate over all documents."""

    def add(self, documents: Any, **fields: Unpack[FieldNames]) -> int:
        """Add documents; a key that is already there is an error. Return how many were added."""

    def upsert(self, documents: Any, **fields: Unpack[FieldNames]) -> int:
        """Add documents, each in place of the one with the same key. Return how many there were."""

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by key, none if one is missing. Return how many were deleted."""

    def encode(self, queries: Iterable[Any]) -> Codes:
        """Return the packed codes of texts, or of vectors."""

    def search(
        self, query: Any = None, k: int = 10, *, key: str | None = None, **options: Unpack[SearchKeywords]
    ) -> Hits:
        """Find the documents most like a query, or like the document with ``key``; see `SearchOptions`.

        The hits say which words of the query were ignored or are unknown, and how the documents were found and ranked.
        """

    def search_many(self, queries: Iterable[Any], k: int = 10, **options: Unpack[SearchKeywords]) -> list[Hits]:
        """Like `search`, for many queries: the hits of each."""

    def close(self) -> None:
        """Free what is held."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...
