"""Documents in Milvus, searched there by text through a local model (extra ``milvus``)."""

from __future__ import annotations

from sthash.extras import install_command

try:
    import pymilvus  # noqa: F401
except ImportError as error:
    raise ImportError(f"sthash.milvus needs pymilvus. Install it: {install_command('milvus')}") from error

from sthash.milvus.milvus_collection import MilvusCollection
from sthash.milvus.milvus_server import MilvusError

__all__ = ["MilvusCollection", "MilvusError"]
