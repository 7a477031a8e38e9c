"""The documents of a collection in its file: put, found, read and removed, within a transaction of the caller's."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sthash.checksums import decode_text, encode_text, row_checksum
from sthash.collection.code_table import put_codes
from sthash.collection.count_table import stored_contents, unpacked
from sthash.collection.posting_table import indexed_end, note_removed
from sthash.collection.store import MOST_IDS, CollectionError, Store
from sthash.collection.term_table import change_frequencies, next_column
from sthash.sources import Document

MOST_DIGITS = 18
MOST_NESTED = 100
DocumentFields = tuple[str, str, str | None, dict[str, Any]]


class AnswerTooLargeError(ValueError):
    """The documents of one answer have more bytes than `Collection.open` allows."""


@dataclass(frozen=True)
class StoredDocument:
    """A document with its place in the file.

    Attributes
    ----------
    id : int
        Ids ascend in the order in which the documents came.
    checksum : int
        Changes with every change of the document.
    document : Document
    """

    id: int
    checksum: int
    document: Document


def put_documents(store: Store, documents: list[Document], *, replace: bool) -> list[tuple[int, int]]:
    """Insert documents; with ``replace``, one with the same key goes out first.

    A document without a key gets a number that is greater than any number that has been a key here.

    Returns
    -------
    kept : list of pairs
        For each document that is now there: its position in ``documents``, and its id.
    """
    first, automatic, counted = _next(store)
    given = [number for document in documents if (number := _as_number(document.key)) is not None]
    automatic = max([automatic, *(number + 1 for number in given)])
    rows = []
    for number, document in enumerate(documents, first):
        if document.key is None:
            if not counted or automatic >= 10**MOST_DIGITS:
                while find(store, encode_text(str(automatic))) is not None:
                    automatic += 1
            key, automatic = encode_text(str(automatic)), automatic + 1
        else:
            key = encode_text(document.key)
        label = None if document.label is None else encode_text(document.label)
        rows.append((number, key, label, _metadata(document), encode_text(document.text)))
    store.put(
        "settings",
        "next",
        json.dumps({"id": first + len(documents), "key": automatic, "counted": int(counted)}).encode(),
    )
    position_of = {row[1]: position for position, row in enumerate(rows)}  # of several with one key the last
    present = {row[1]: found for row in rows if (found := find(store, row[1])) is not None}
    if replace:
        remove(store, list(present.values()))
    elif present or len(position_of) < len(rows):
        clash = next(row[1] for place, row in enumerate(rows) if row[1] in present or position_of[row[1]] != place)
        raise ValueError(
            f"key {decode_text(clash)!r} occurs more than once, but keys are unique. Give one of the documents another "
            "key, or let the last one replace the others (upsert; replace=True; --replace)."
        )
    kept = sorted(position_of.values())
    store.put_many("documents", [rows[position] for position in kept])
    return [(position, rows[position][0]) for position in kept]


def next_id(store: Store) -> int:
    """Return the id that the next document gets; none is given twice, also when documents are deleted."""
    return _next(store)[0]


def _next(store: Store) -> tuple[int, int, bool]:
    """Return the next id, the next automatic key, and whether all keys were counted, which older versions did not."""
    after = max(int(store.value("SELECT coalesce(max(id), -1) FROM documents")) + 1, indexed_end(store))
    if not 0 <= after <= MOST_IDS:
        raise store.damaged("a document has an id that cannot be")
    if next(store.rows("settings", "WHERE name = 'next'"), None) is None:
        return after, after, after == 0
    noted = store.setting("next")
    if not isinstance(noted, dict) or not all(type(noted.get(name)) is int for name in ("id", "key", "counted")):
        raise store.damaged("the setting next cannot be read")
    if not 0 <= noted["id"] <= MOST_IDS or not 0 <= noted["key"] <= 2 * 10**MOST_DIGITS:
        raise store.damaged("the setting next is out of range")
    return max(after, noted["id"]), max(after, noted["key"]), noted["counted"] == 1 and noted["id"] >= after


def _as_number(key: str | None) -> int | None:
    """Return the number that a key is written as, if an automatic key could be the same."""
    plain = key is not None and len(key) <= MOST_DIGITS and key.isascii() and key.isdigit() and str(int(key)) == key
    return int(key) if plain and key is not None else None


def count_documents(store: Store) -> int:
    """Return the number of documents."""
    return int(store.value("SELECT count(*) FROM documents"))


def all_ids(store: Store) -> list[int]:
    """Return the ids of all documents, ascending."""
    return [row[0] for row in store.execute("SELECT id FROM documents ORDER BY id")]


def find(store: Store, key: bytes) -> int | None:
    """Return the id of a key, if there is such a document."""
    row = next(store.rows("documents", "WHERE key = ?", (key,)), None)
    if row is None:
        return None
    if row[1] != key:  # SQLite trusts its index of the keys, which has no checksums
        raise store.damaged("the index of the keys does not fit the documents")
    return int(row[0])


def remove(store: Store, ids: list[int]) -> None:
    """Delete documents with all that follows from them."""
    if not ids:
        return
    contents = list(stored_contents(store, np.array(ids, dtype=np.int64)))
    change_frequencies(store, unpacked(store, contents, next_column(store)).columns, -1)
    note_removed(store, ids)
    arguments = [(number,) for number in ids]
    for table in ("documents", "counts", "vectors"):
        store.execute_many(f"DELETE FROM {table} WHERE id = ?", arguments)  # noqa: S608
    put_codes(store, ids, None)


def read_texts(store: Store) -> Iterator[tuple[int, str]]:
    """Iterate over the ids and texts of all documents."""
    for row in store.rows("documents", "ORDER BY id"):
        yield row[0], _text(store, row[4])


def read_page(store: Store, after: int, limit: int) -> list[StoredDocument]:
    """Read the documents that come after an id; fewer than ``limit`` where more would be too large."""
    rows = store.rows("documents", "WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    page, size = list[StoredDocument](), 0
    for row in rows:
        size += size_of(row)
        if store.max_read_bytes is not None and size > store.max_read_bytes and page:
            break
        check_read_size(store, size)
        page.append(StoredDocument(row[0], row_checksum(row), Document(*fields_of(store, row))))
    return page


def read_names(store: Store, ids: Collection[int]) -> dict[int, tuple[str, str | None]]:
    """Read key and label of those of some documents that exist. Their texts are not kept in memory."""
    return {
        row[0]: (_text(store, row[1]), None if row[2] is None else _text(store, row[2]))
        for row in read_rows(store, ids)
    }


def _text(store: Store, content: bytes) -> str:
    try:
        return decode_text(content)
    except UnicodeDecodeError as error:
        raise store.damaged(f"a document cannot be read ({error})") from error


def read_rows(store: Store, ids: Collection[int]) -> Iterator[tuple[Any, ...]]:
    """Read the checked rows of those of some documents that exist, by ascending id."""
    wanted = json.dumps(list(ids))
    return store.rows("documents", "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id", (wanted,))


def size_of(row: tuple[Any, ...]) -> int:
    """Return how many bytes a document has."""
    _, key, label, metadata, text = row
    return len(key) + len(label or b"") + len(metadata) + len(text)


def check_read_size(store: Store, size: int) -> None:
    """Refuse to read more than the limit of the store."""
    if store.max_read_bytes is not None and size > store.max_read_bytes:
        raise AnswerTooLargeError(
            f"the documents of this answer have more than {store.max_read_bytes:,} bytes. Ask for fewer of them."
        )


def fields_of(store: Store, row: tuple[Any, ...]) -> DocumentFields:
    """Return key, text, label and metadata of a checked row of the table."""
    _, key, label, metadata, text = row
    try:
        more = json.loads(metadata) if metadata != b"{}" else {}
        return decode_text(key), decode_text(text), None if label is None else decode_text(label), more
    except RecursionError as error:
        raise CollectionError(
            f"{store.path} has a document whose metadata is nested too deep to be read here. Read it with Python 3.12 "
            "or newer, and put it in again with less."
        ) from error
    except (ValueError, AttributeError, TypeError) as error:
        raise store.damaged(f"a document cannot be read ({error})") from error


def _metadata(document: Document) -> bytes:
    if _is_nested_deeper(document.metadata, MOST_NESTED):
        raise ValueError(f"metadata of document {document.key!r} is nested more than {MOST_NESTED} deep. Flatten it.")
    try:
        return json.dumps(document.metadata, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"metadata of document {document.key!r} must be JSON values ({error}). Convert or leave out the others."
        ) from error


def _is_nested_deeper(value: Any, most: int) -> bool:
    level = [value]
    while level:
        if most < 0:
            return True
        most -= 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list | tuple)
        ]
    return False
