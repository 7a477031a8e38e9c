"""A full check of a collection's file."""

from __future__ import annotations

from dataclasses import dataclass

from sthash.batches import batched
from sthash.codes import pack
from sthash.collection.code_table import load_codes
from sthash.collection.document_table import all_ids, fields_of
from sthash.collection.packed_vectors import join_vectors
from sthash.collection.store import TABLES, Store
from sthash.model import Model


@dataclass(frozen=True)
class Verification:
    """What was read and found right."""

    documents: int
    terms: int
    chunks: int


def verify(store: Store, model: Model) -> Verification:
    """Check SQLite's own structure, every checksum, and that documents, vectors and codes belong together."""
    for (finding,) in store.execute("PRAGMA integrity_check(1)"):
        if finding != "ok":
            raise store.damaged(" ".join(str(finding).split()))
    counts = {table: sum(1 for _ in store.rows(table)) for table in TABLES}
    ids = all_ids(store)
    table = load_codes(store, model.n_bits)
    position = 0
    for page in batched(store.rows("vectors", "ORDER BY id")):
        own = slice(position, position + len(page))
        if ids[own] != [number for number, _ in page] or ids[own] != table.ids[own].tolist():
            raise store.damaged("documents, vectors and codes are not of the same documents")
        vectors = join_vectors([content for _, content in page], dense=model.dense, n_columns=model.n_columns)
        if not (pack(model.margins(vectors.encoded(model.n_bits)) > 0) == table.codes[own]).all():
            raise store.damaged("a code is not that of its vector")
        position += len(page)
    if position != len(ids) or position != len(table):
        raise store.damaged("documents, vectors and codes are not equally many")
    for row in store.rows("documents"):
        fields_of(store, row)
    return Verification(counts["documents"], counts["terms"], counts["codes"])
