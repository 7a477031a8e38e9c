"""A full check of a collection's file."""

from __future__ import annotations

from dataclasses import dataclass

from sthash.collection.file.records import Records
from sthash.collection.file.schema import TABLES
from sthash.collection.file.segments import Segments
from sthash.collection.file.store import Store
from sthash.collection.indexes import cells, embedder, postings, stored_model, words
from sthash.collection.snapshot import Snapshot

SETTINGS = {"next", words.SETTING, stored_model.SETTING, cells.SETTING, embedder.SETTING}


@dataclass(frozen=True)
class Verification:
    """What was read and found right."""

    documents: int
    terms: int
    segments: int


def verify(store: Store, snapshot: Snapshot) -> Verification:
    """Check SQLite's own structure, every checksum, and that all that is in the file belongs together."""
    for (finding,) in store.execute("PRAGMA integrity_check(1)"):
        if finding != "ok":
            raise store.damaged(" ".join(str(finding).split()))
    counts = {table: sum(1 for _ in store.rows(table)) for table in TABLES}
    count, ids = snapshot.documents.verify(), snapshot.documents.ids()
    terms = snapshot.words.verify(ids)
    if snapshot.cells is not None:
        snapshot.cells.verify(ids)
    if snapshot.has_codes:
        snapshot.codes.verify(ids)
    _verify_nothing_else(store, snapshot, counts)
    return Verification(count, terms, counts["segments"])


def _verify_nothing_else(store: Store, snapshot: Snapshot, counts: dict[str, int]) -> None:
    """Check that every row belongs to an index that the file has."""
    records = ["lengths"]
    if snapshot.cells is not None:
        records += ["vectors", "cells"] if snapshot.cells.learned else ["vectors"]
    if snapshot.has_codes:
        records.append("codes")
    elif snapshot.cells is None or counts["weights"]:
        raise store.damaged("its hash functions are missing")
    segments = [Segments(store, kind) for kind in (postings.KIND, *records)]
    if sum(len(own.all()) for own in segments) != counts["segments"]:
        raise store.damaged("segments are of no index")
    if sum(own.verify() for own in segments) != counts["parts"]:
        raise store.damaged("parts are of no segment")
    if store.value("SELECT count(*) FROM deletions WHERE segment NOT IN (SELECT segment FROM segments)"):
        raise store.damaged("deletions are of no segment")
    if sum(Records(store, kind, 0).n_pending() for kind in records) != counts["pending"]:
        raise store.damaged("pending records are of no index")
    names = SETTINGS if snapshot.cells is None else SETTINGS | snapshot.cells.array_names
    if any(name not in names for name, _ in store.rows("settings")):
        raise store.damaged("it has a setting that is not known")
