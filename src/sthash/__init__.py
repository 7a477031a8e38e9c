"""Self-Taught Hashing: short binary codes for documents, and exact search over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash._core import simd_path
from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.applications import KNNHashClassifier, classify, near_duplicates
    from sthash.client import Client, ServiceError
    from sthash.collection import Collection, CollectionError, Hit, SearchOptions, Snapshot
    from sthash.hashing import LinearSVMBank, SelfTaughtHashing, knn_graph, laplacian_eigenmap, median_bits
    from sthash.index import HammingIndex
    from sthash.model import TextModel, VectorModel
    from sthash.model_file import ModelFileError, load
    from sthash.sources import Document
    from sthash.text import TextVectorizer

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Collection",
    "CollectionError",
    "Document",
    "HammingIndex",
    "Hit",
    "KNNHashClassifier",
    "LinearSVMBank",
    "ModelFileError",
    "SearchOptions",
    "SelfTaughtHashing",
    "ServiceError",
    "Snapshot",
    "TextModel",
    "TextVectorizer",
    "VectorModel",
    "__version__",
    "classify",
    "knn_graph",
    "laplacian_eigenmap",
    "load",
    "median_bits",
    "near_duplicates",
    "simd_path",
]

# Where each public name lives.
__getattr__ = lazy_names(
    __name__,
    {
        "Client": "sthash.client",
        "Collection": "sthash.collection",
        "CollectionError": "sthash.collection",
        "Document": "sthash.sources",
        "HammingIndex": "sthash.index",
        "Hit": "sthash.collection",
        "KNNHashClassifier": "sthash.applications",
        "LinearSVMBank": "sthash.hashing",
        "ModelFileError": "sthash.model_file",
        "SearchOptions": "sthash.collection",
        "SelfTaughtHashing": "sthash.hashing",
        "ServiceError": "sthash.client",
        "Snapshot": "sthash.collection",
        "TextModel": "sthash.model",
        "TextVectorizer": "sthash.text",
        "VectorModel": "sthash.model",
        "classify": "sthash.applications",
        "knn_graph": "sthash.hashing",
        "laplacian_eigenmap": "sthash.hashing",
        "load": "sthash.model_file",
        "median_bits": "sthash.hashing",
        "near_duplicates": "sthash.applications",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
