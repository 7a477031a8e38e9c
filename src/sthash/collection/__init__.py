"""A collection of documents in one file: model, codes, texts, and what re-ranking needs."""

from __future__ import annotations

from sthash.collection.collection import Collection
from sthash.collection.document_table import StoredDocument
from sthash.collection.hits import Hit, Hits
from sthash.collection.packed_vectors import PackedVectors, packed
from sthash.collection.protocol import DocumentCollection
from sthash.collection.search_options import SearchKeywords, SearchOptions, Where, meets
from sthash.collection.snapshot import Snapshot
from sthash.collection.store import CollectionBusyError, CollectionError
from sthash.collection.verification import Verification

__all__ = [
    "Collection",
    "CollectionBusyError",
    "CollectionError",
    "DocumentCollection",
    "Hit",
    "Hits",
    "PackedVectors",
    "SearchKeywords",
    "SearchOptions",
    "Snapshot",
    "StoredDocument",
    "Verification",
    "Where",
    "meets",
    "packed",
]
