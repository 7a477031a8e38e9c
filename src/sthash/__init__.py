"""Self-Taught Hashing: short binary codes for documents, and exact search over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash._core import simd_path
from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.applications import KNNHashClassifier, near_duplicates
    from sthash.client import Client, ServiceError
    from sthash.collection import Collection, CollectionError, Hit
    from sthash.hashing import LinearSVMBank, SelfTaughtHashing, knn_graph, laplacian_eigenmap, median_bits
    from sthash.index import HammingIndex
    from sthash.model_file import ModelFileError, load
    from sthash.sources import Document
    from sthash.text import TextVectorizer

__version__ = "0.2.0"

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
    "SelfTaughtHashing",
    "ServiceError",
    "TextVectorizer",
    "__version__",
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
        "SelfTaughtHashing": "sthash.hashing",
        "ServiceError": "sthash.client",
        "TextVectorizer": "sthash.text",
        "knn_graph": "sthash.hashing",
        "laplacian_eigenmap": "sthash.hashing",
        "load": "sthash.model_file",
        "median_bits": "sthash.hashing",
        "near_duplicates": "sthash.applications",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
