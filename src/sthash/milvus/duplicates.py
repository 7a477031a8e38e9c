"""What the documents in Milvus are compared by: read whole, because Milvus has no self-join."""

from __future__ import annotations

import numpy as np

from sthash.batches import batched
from sthash.codes import n_bytes
from sthash.duplicates import DuplicateOptions
from sthash.duplicates.detection import Material
from sthash.milvus.entities import from_primary_key, unescape
from sthash.milvus.entity_table import PAGE, EntityTable
from sthash.milvus.local_model import LocalModel
from sthash.vectors.rows import Rows


def gathered(table: EntityTable, model: LocalModel, options: DuplicateOptions) -> tuple[list[str], Material]:
    """Return the keys of all documents, and what is compared of them."""
    keys, texts, codes = list[str](), list[str](), list[bytes]()
    rows = [model.encode([]).rows]
    for page in batched((entity["key"] for entity in table.scan()), PAGE):
        found = table.fetch(page, ["text"] if options.radius is None else ["text", "code"])
        entities = [found[key] for key in page if key in found]
        keys.extend(from_primary_key(entity["key"]) for entity in entities)
        own = [unescape(entity["text"]) for entity in entities]
        if options.measure == "cosine":
            rows.append(model.encode(own).rows)
        else:
            texts.extend(own)
        if options.radius is not None:
            codes.extend(entity["code"][0] for entity in entities)
    if options.measure != "cosine":
        return keys, Material(texts=texts)
    if options.radius is None:
        return keys, Material(Rows.stacked(rows))
    packed = np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(-1, n_bytes(model.n_bits))
    return keys, Material(Rows.stacked(rows), packed)
