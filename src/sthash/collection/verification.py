"""A full check of a collection's file."""

from __future__ import annotations

from dataclasses import dataclass

from sthash.collection.build import sync
from sthash.collection.file import field_weights, phrases, removals
from sthash.collection.file.records import KINDS, Records
from sthash.collection.file.schema import TABLES
from sthash.collection.file.segments import Segments
from sthash.collection.file.store import Store
from sthash.collection.indexes import embedder
from sthash.collection.snapshot import Snapshot


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
    for index in snapshot.indexes.all:
        index.verify(ids)
    removals.verify(store, ids)
    _verify_nothing_else(store, snapshot, counts)
    return Verification(count, snapshot.words.n_columns, counts["segments"])


def _verify_nothing_else(store: Store, snapshot: Snapshot, counts: dict[str, int]) -> None:
    """Check that every row belongs to an index that the file has."""
    if not snapshot.has_codes and (snapshot.content.strategy == "codes" or counts["weights"]):
        raise store.damaged("its hash functions are missing")
    kinds = [kind for index in snapshot.indexes.all for kind in index.segment_kinds]
    segments = [Segments(store, kind) for kind in kinds]
    if sum(len(own.all()) for own in segments) != counts["segments"]:
        raise store.damaged("segments are of no index")
    if sum(own.verify() for own in segments) != counts["parts"]:
        raise store.damaged("parts are of no segment")
    if store.value("SELECT count(*) FROM deletions WHERE place >> 32 NOT IN (SELECT segment FROM segments)"):
        raise store.damaged("deletions are of no segment")
    if sum(Records(store, kind, 0).n_pending() for kind in kinds if kind in KINDS) != counts["pending"]:
        raise store.damaged("pending records are of no index")
    names = {"next", field_weights.SETTING, embedder.SETTING, sync.SETTING} | phrases.verify(store)
    names = names.union(*(index.setting_names for index in snapshot.indexes.all))
    if any(name not in names for name, _ in store.rows("settings")):
        raise store.damaged("it has a setting that is not known")
