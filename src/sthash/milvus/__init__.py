"""Documents in Milvus, searched there by text through a local model (extra ``milvus``)."""

from __future__ import annotations

try:
    import pymilvus  # noqa: F401
except ImportError as error:
    raise ImportError("sthash.milvus needs pymilvus. Install it: pip install 'sthash[milvus]'") from error

from sthash.milvus.milvus_collection import MilvusCollection
from sthash.milvus.milvus_server import MilvusError

__all__ = ["MilvusCollection", "MilvusError"]
