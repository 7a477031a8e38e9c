"""The documents of a collection in its file: put, found, read and removed, within a transaction of the caller's."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sthash.checksums import decode_text, encode_text, row_checksum
from sthash.collection.code_table import put_codes
from sthash.collection.packed_vectors import stored_vector
from sthash.collection.store import Store
from sthash.model import EncodedRows
from sthash.sources import Document

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

    Returns
    -------
    kept : list of pairs
        For each document that is now there: its position in ``documents``, and its id.
    """
    rows = []
    for number, document in zip(itertools.count(next_id(store)), documents, strict=False):
        key = encode_text(str(number) if document.key is None else document.key)
        label = None if document.label is None else encode_text(document.label)
        rows.append((number, key, label, _metadata(document), encode_text(document.text)))
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
    """Return the id that the next document gets."""
    return int(store.value("SELECT coalesce(max(id), -1) + 1 FROM documents"))


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


def put_encoded(store: Store, ids: list[int], rows: EncodedRows, *, dense: bool) -> None:
    """Put the vectors and codes of documents."""
    vectors = [(number, stored_vector(rows, position, dense=dense)) for position, number in enumerate(ids)]
    store.put_many("vectors", vectors)
    put_codes(store, ids, rows.codes)


def remove(store: Store, ids: list[int]) -> None:
    """Delete documents with their vectors and codes."""
    arguments = [(number,) for number in ids]
    store.execute_many("DELETE FROM documents WHERE id = ?", arguments)
    store.execute_many("DELETE FROM vectors WHERE id = ?", arguments)
    put_codes(store, ids, None)


def read_texts(store: Store) -> Iterator[tuple[int, str]]:
    """Iterate over the ids and texts of all documents."""
    for row in store.rows("documents", "ORDER BY id"):
        yield row[0], decode_text(row[4])


def read_page(store: Store, after: int, limit: int) -> list[StoredDocument]:
    """Read the documents that come after an id; fewer than ``limit`` where more would be too large."""
    rows = store.rows("documents", "WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    page, size = list[StoredDocument](), 0
    for row in rows:
        size += _size(row)
        if store.max_read_bytes is not None and size > store.max_read_bytes and page:
            break
        _check_size(store, size)
        page.append(StoredDocument(row[0], row_checksum(row), Document(*fields_of(store, row))))
    return page


def read_fields(store: Store, ids: Collection[int]) -> dict[int, DocumentFields]:
    """Read key, text, label and metadata of some documents; `AnswerTooLargeError` beyond the limit of the store."""
    found, size = dict[int, DocumentFields](), 0
    for row in _rows_of(store, ids):
        size += _size(row)
        _check_size(store, size)
        found[row[0]] = fields_of(store, row)
    if len(found) != len(ids):
        raise store.damaged(f"document {min(set(ids) - set(found))} is missing")
    return found


def read_names(store: Store, ids: Collection[int]) -> dict[int, tuple[str, str | None]]:
    """Read key and label of those of some documents that exist. Their texts are not kept in memory."""
    return {
        row[0]: (decode_text(row[1]), None if row[2] is None else decode_text(row[2])) for row in _rows_of(store, ids)
    }


def _rows_of(store: Store, ids: Collection[int]) -> Iterator[tuple[Any, ...]]:
    wanted = json.dumps(list(ids))
    return store.rows("documents", "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id", (wanted,))


def _size(row: tuple[Any, ...]) -> int:
    return sum(len(part) for part in row[1:] if isinstance(part, bytes | str))


def _check_size(store: Store, size: int) -> None:
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
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise store.damaged(f"a document cannot be read ({error})") from error


def _metadata(document: Document) -> bytes:
    try:
        return json.dumps(document.metadata, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"metadata of document {document.key!r} must be JSON values ({error}). Convert or leave out the others."
        ) from error
