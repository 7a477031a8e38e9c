"""Pushing the file of a collection to Milvus: whatever is there already, in the end Milvus holds what the file holds.

Each entity in Milvus has the id and the checksum of its document in the file. So there is no mark of progress that
could be wrong, and one function continues after an interruption and transfers later changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sthash.codes import Codes
from sthash.collection import Collection
from sthash.milvus import entities
from sthash.milvus.entities import (
    FIRST_OWN_ID,
    OutgoingDocument,
    as_primary_key,
    entity_batches,
    from_primary_key,
    make_entity,
)
from sthash.milvus.entity_table import EntityTable
from sthash.milvus.local_model import LocalModel
from sthash.progress import Progress


def check_documents(collection: Collection, cut_long_texts: bool, report: Progress) -> None:
    """Raise ValueError if there is a document that Milvus cannot hold."""
    done, last, total = 0, -1, len(collection)
    while page := collection.page(last, entities.BATCH_ENTITIES):
        for stored in page:
            outgoing = OutgoingDocument(stored.id, stored.checksum, stored.document.key or "", stored.document)
            make_entity(outgoing, cut_long_texts=cut_long_texts)
        done, last = done + len(page), page[-1].id
        report("checking", done, total)


def push_documents(
    collection: Collection, table: EntityTable, model: LocalModel, cut_long_texts: bool, report: Progress
) -> None:
    """Send what is not there yet, and delete what the file no longer has."""
    total, done, size = len(collection), 0, entities.BATCH_ENTITIES
    gaps, next_id = list[tuple[int, int]](), 0
    for number, group in itertools.groupby(_outgoing(collection, model), key=lambda pair: pair[0].id // size):
        here = {as_primary_key(outgoing.key): (outgoing, code) for outgoing, code in group}
        first, after = number * size, (number + 1) * size
        there = {entity["key"]: entity for entity in table.scan(first, after - 1)}
        new = (
            make_entity(outgoing, cut_long_texts=cut_long_texts) | {"code": code.tobytes()}
            for key, (outgoing, code) in here.items()
            if key not in there or (there[key]["id"], there[key]["stamp"]) != (outgoing.id, outgoing.stamp)
        )
        for batch in entity_batches(new):
            table.upsert(batch)
        # A key that the file has under another id gets its place with the documents around that id.
        table.delete(key for key in there.keys() - here.keys() if from_primary_key(key) not in collection)
        gaps.append((next_id, first))
        done, next_id = done + len(here), after
        report("pushing", done, total)
    # By now each document of the file has its place, so what is left in between is none of them.
    for first, after in [*gaps, (next_id, FIRST_OWN_ID)]:
        if first < after:
            table.delete(entity["key"] for entity in table.scan(first, after - 1))


def _outgoing(collection: Collection, model: LocalModel) -> Iterator[tuple[OutgoingDocument, Codes]]:
    """Iterate over the documents of a file in the order of their ids, with their checksums and codes."""
    last = -1
    while True:
        with model.current(), collection.snapshot() as now:
            page = now.documents.page(last, entities.BATCH_ENTITIES)
            codes = now.codes.table.codes[now.positions([stored.id for stored in page])]
        if not page:
            return
        for stored, code in zip(page, codes, strict=True):
            yield OutgoingDocument(stored.id, stored.checksum, stored.document.key or "", stored.document), code
        last = page[-1].id
