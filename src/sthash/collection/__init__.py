"""A collection of documents in one file: model, codes, texts, and what re-ranking needs."""

from __future__ import annotations

from sthash.collection.collection import Collection
from sthash.collection.conditions import Condition, FieldKinds, Filter, Where
from sthash.collection.display import facts_html, hits_frame, hits_html, matched_words
from sthash.collection.document_table import AnswerTooLargeError, StoredDocument
from sthash.collection.embedder import EmbedderError
from sthash.collection.hits import Hit, Hits
from sthash.collection.learning_plan import LearningPlan
from sthash.collection.packed_vectors import PackedVectors, packed
from sthash.collection.protocol import DocumentCollection
from sthash.collection.search_options import SearchKeywords, SearchOptions
from sthash.collection.snapshot import Snapshot
from sthash.collection.store import CollectionBusyError, CollectionError
from sthash.collection.verification import Verification

__all__ = [
    "AnswerTooLargeError",
    "Collection",
    "CollectionBusyError",
    "CollectionError",
    "Condition",
    "DocumentCollection",
    "EmbedderError",
    "FieldKinds",
    "Filter",
    "Hit",
    "Hits",
    "LearningPlan",
    "PackedVectors",
    "SearchKeywords",
    "SearchOptions",
    "Snapshot",
    "StoredDocument",
    "Verification",
    "Where",
    "facts_html",
    "hits_frame",
    "hits_html",
    "matched_words",
    "packed",
]
