"""Changes to a collection's documents, vectors and codes, within a transaction of the caller's."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from sthash.codes import Codes
from sthash.collection.encoder import Encoder, stored_row
from sthash.collection.store import CHUNK, Store, decode, encode
from sthash.sources import Document


def put_documents(store: Store, documents: list[Document], *, replace: bool) -> list[tuple[int, int]]:
    """Insert documents; with ``replace``, one with the same key goes out first.

    Returns
    -------
    places : list of pairs
        The place of each document that is now there in ``documents``, and its id.
    """
    rows = []
    for number, document in zip(itertools.count(next_id(store)), documents, strict=False):
        key = encode(str(number) if document.key is None else document.key)
        label = None if document.label is None else encode(document.label)
        rows.append((number, key, label, _metadata(document), encode(document.text)))
    place_of = {row[1]: place for place, row in enumerate(rows)}  # of several with one key the last
    present = {row[1]: found for row in rows if (found := find(store, row[1])) is not None}
    if replace:
        remove(store, list(present.values()))
    elif present or len(place_of) < len(rows):
        clash = next(row[1] for place, row in enumerate(rows) if row[1] in present or place_of[row[1]] != place)
        raise ValueError(
            f"key {decode(clash)!r} occurs more than once, but keys are unique: give one of the documents another key, "
            "or let the last one replace the others (upsert; replace=True; --replace)."
        )
    store.put_many("documents", [rows[place] for place in sorted(place_of.values())])
    return [(place, rows[place][0]) for place in sorted(place_of.values())]


def next_id(store: Store) -> int:
    """The id that the next document gets."""
    return int(store.connection.execute("SELECT coalesce(max(id), 0) + 1 FROM documents").fetchone()[0])


def find(store: Store, key: bytes) -> int | None:
    """The id of a key, if there is such a document."""
    row = next(store.rows("documents", "WHERE key = ?", (key,)), None)
    if row is None:
        return None
    if row[1] != key:  # SQLite trusts its index of the keys, which has no sums
        raise store.damaged("the index of the keys does not fit the documents")
    return int(row[0])


def put_encoded(store: Store, encoder: Encoder, ids: list[int], inputs: Any) -> None:
    """Encode the texts or vectors of documents, and put their vectors and codes."""
    encoded = encoder.encode(inputs)
    rows = [(number, stored_row(encoded, place, dense=encoder.dense)) for place, number in enumerate(ids)]
    store.put_many("vectors", rows)
    change_codes(store, ids, encoded.codes)


def remove(store: Store, ids: list[int]) -> None:
    """Take documents out, with their vectors and codes."""
    arguments = [(number,) for number in ids]
    store.connection.executemany("DELETE FROM documents WHERE id = ?", arguments)
    store.connection.executemany("DELETE FROM vectors WHERE id = ?", arguments)
    change_codes(store, ids, None)


def change_codes(store: Store, ids: Iterable[int], codes: Codes | None) -> None:
    """Put codes at some ids, or clear them where ``codes`` is None."""
    order = sorted((number, place) for place, number in enumerate(ids))
    for chunk, group in itertools.groupby(order, key=lambda pair: pair[0] // CHUNK):
        members = list(group)
        slots = np.array([number % CHUNK for number, _ in members])
        stored = next(store.rows("codes", "WHERE chunk = ?", (chunk,)), None)
        if stored is None and codes is None:
            continue  # while a collection is being built, documents come before their codes
        old_held, old_codes = (b"", b"") if stored is None else stored[1:]
        width = len(old_codes) // len(old_held) if codes is None else codes.shape[1]
        held = np.zeros(max(int(slots.max()) + 1, len(old_held)), dtype=np.uint8)
        held[: len(old_held)] = np.frombuffer(old_held, dtype=np.uint8)
        content = np.zeros((len(held), width), dtype=np.uint8)
        content[: len(old_held)] = np.frombuffer(old_codes, dtype=np.uint8).reshape(-1, width)
        held[slots] = codes is not None
        content[slots] = 0 if codes is None else codes[[place for _, place in members]]
        if held.any():
            store.put("codes", chunk, held.tobytes(), content.tobytes())
        else:
            store.connection.execute("DELETE FROM codes WHERE chunk = ?", (chunk,))


def _metadata(document: Document) -> bytes:
    try:
        return json.dumps(document.metadata, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"metadata of document {document.key!r} must be JSON values ({error}).") from error
