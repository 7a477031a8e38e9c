"""Every kind of collection, of the same documents: what is promised of collections is promised of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sthash import Collection, Learning, VectorOptions
from support.corpus import make_documents
from support.embedders import embed

CODES = Learning(n_bits=16, n_neighbors=8)
KINDS: dict[str, dict[str, Any]] = {
    "texts": {"learning": CODES},
    "vectors": {"embedder": embed},
    "vectors with codes": {"embedder": embed, "learning": CODES},
    "products": {"embedder": embed, "vector_options": VectorOptions(metric="ip")},
    "half precision": {"embedder": embed, "vector_options": VectorOptions(precision="float16")},
    "bytes": {"embedder": embed, "vector_options": VectorOptions(precision="int8"), "learning": CODES},
}
# Below and above the number of vectors from which cells are learned.
COUNTS = {"few": 120, "many": 1200}
BLANK = {"key": "blank", "text": ""}


def create_kind(kind: str, path: Path, count: int) -> Collection:
    """Create a collection of `make_documents`, and of a blank text; leave it open."""
    return Collection.create(path, [*make_documents(count), BLANK], **KINDS[kind])


def open_kind(kind: str, path: Path) -> Collection:
    """Open a collection of a kind, with its embedder if it has one."""
    return Collection.open(path, embedder=KINDS[kind].get("embedder"))
