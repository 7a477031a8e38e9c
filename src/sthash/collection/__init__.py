"""A collection of documents in one file: model, codes, texts, and what re-ranking needs."""

from __future__ import annotations

from sthash.collection.collection import Collection
from sthash.collection.hits import Hit
from sthash.collection.options import SearchOptions
from sthash.collection.store import CollectionError

__all__ = ["Collection", "CollectionError", "Hit", "SearchOptions"]
