"""A full check of a collection's file."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sthash.codes import pack
from sthash.collection.encoder import Encoder
from sthash.collection.search import read_document
from sthash.collection.shelf import load_shelf
from sthash.collection.store import TABLES, Store


@dataclass(frozen=True)
class Report:
    """What was read and found right."""

    documents: int
    terms: int
    chunks: int


def verify(store: Store, encoder: Encoder) -> Report:
    """Check SQLite's own structure, every checksum, and that documents, vectors and codes belong together."""
    for (finding,) in store.connection.execute("PRAGMA integrity_check(1)"):
        if finding != "ok":
            raise store.damaged(" ".join(str(finding).split()))
    counts = {table: sum(1 for _ in store.rows(table)) for table in TABLES}
    ids = [row[0] for row in store.connection.execute("SELECT id FROM documents ORDER BY id")]
    shelf = load_shelf(store, encoder.n_bits)
    vectors = store.rows("vectors", "ORDER BY id")
    place = 0
    while page := list(itertools.islice(vectors, 4096)):
        own = slice(place, place + len(page))
        if ids[own] != [number for number, _ in page] or ids[own] != shelf.ids[own].tolist():
            raise store.damaged("documents, vectors and codes are not of the same documents")
        if not (pack(encoder.margins_of([content for _, content in page]) > 0) == shelf.codes[own]).all():
            raise store.damaged("a code is not that of its vector")
        place += len(page)
    if place != len(ids) or place != len(shelf.ids):
        raise store.damaged("documents, vectors and codes are not equally many")
    for row in store.rows("documents"):
        read_document(store, row)
    return Report(counts["documents"], counts["terms"], counts["codes"])
