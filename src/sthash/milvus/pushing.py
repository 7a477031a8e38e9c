"""Pushing a collection's file to Milvus: whatever is there already, in the end there is what the file holds.

Document by document, the row in Milvus has the id and the checksum of the file's row, so there is no mark of progress
that could be wrong: to go on after an interruption, and to bring later changes over, is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sthash.codes import Codes
from sthash.collection import Collection
from sthash.collection.building import Progress
from sthash.collection.search import read_document
from sthash.collection.store import row_sum
from sthash.milvus.models import Encoding
from sthash.milvus.nearest import LIMIT
from sthash.milvus.rows import BATCH_ROWS, Entry, Row, as_key, batches, from_key, make_row
from sthash.milvus.server import Server

# Ids of a file are below; documents that are put into Milvus directly have greater ones.
FIRST_OWN_ID = 1 << 60


def check_documents(collection: Collection, cut_long_texts: bool, report: Progress) -> None:
    """Raise ValueError if there is a document that Milvus cannot hold."""
    total = len(collection)
    for done, (entry, _) in enumerate(_entries(collection), 1):
        make_row(entry, cut_long_texts=cut_long_texts)
        if done % BATCH_ROWS == 0:
            report("checking", done, total)


def push_documents(
    collection: Collection, server: Server, name: str, model: Encoding, cut_long_texts: bool, report: Progress
) -> None:
    """Send what is not there yet, and delete what the file no longer has."""
    total, done, covered = len(collection), 0, list[range]()
    for number, page in itertools.groupby(_entries(collection), key=lambda pair: pair[0].id // BATCH_ROWS):
        model.encode([])  # raises if the file has learnt a new model meanwhile
        span = range(number * BATCH_ROWS, (number + 1) * BATCH_ROWS)
        here = {as_key(entry.key): (entry, code) for entry, code in page}
        there = {row["key"]: row for row in _rows(server, name, span)}
        new = (
            make_row(entry, cut_long_texts=cut_long_texts) | {"code": code.tobytes()}
            for key, (entry, code) in here.items()
            if key not in there or (there[key]["id"], there[key]["stamp"]) != (entry.id, entry.stamp)
        )
        for batch in batches(new):
            server.call("upsert", name, data=batch)
        # A key that the file has under another id moves there with the page of that id.
        _delete(server, name, [key for key in there.keys() - here.keys() if from_key(key) not in collection])
        covered.append(span)
        done += len(here)
        report("pushing", done, total)
    starts = [0, *(span.stop for span in covered)]
    stops = [*(span.start for span in covered), FIRST_OWN_ID]
    for start, stop in zip(starts, stops, strict=True):
        # By now each document of the file is in its place: what lies between the pages is of none.
        while start < stop and (rows := _rows(server, name, range(start, stop))):
            _delete(server, name, [row["key"] for row in rows])


def _entries(collection: Collection) -> Iterator[tuple[Entry, Codes]]:
    """Give the documents of a file in the order of their ids, with their checksums and codes."""
    view, last = collection._view, -1
    while True:
        with view.reading():
            rows = list(view.store.rows("documents", "WHERE id > ? ORDER BY id LIMIT ?", (last, BATCH_ROWS)))
            shelf = view.shelf()
            codes = shelf.codes[shelf.places([row[0] for row in rows])]
            documents = [read_document(view.store, row) for row in rows]
        if not rows:
            return
        for row, document, code in zip(rows, documents, codes, strict=True):
            yield Entry(row[0], row_sum(row), document.key or "", document), code
        last = rows[-1][0]


def _rows(server: Server, name: str, ids: range) -> list[Row]:
    rows: list[Row] = server.call(
        "query",
        name,
        filter=f"id >= {ids.start} and id < {ids.stop}",
        output_fields=["key", "id", "stamp"],
        limit=LIMIT,
        consistency_level="Strong",
    )
    return rows


def _delete(server: Server, name: str, keys: list[str]) -> None:
    for start in range(0, len(keys), BATCH_ROWS):
        server.call("delete", name, ids=keys[start : start + BATCH_ROWS])
