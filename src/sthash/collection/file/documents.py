"""The documents of a collection in its file: put, found, read and removed, within a transaction of the caller's."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sthash.arrays import Ids
from sthash.checks import check_key
from sthash.checksums import decode_text, encode_text, row_checksum
from sthash.collection.file import phrases
from sthash.collection.file.connection import CollectionError
from sthash.collection.file.field_weights import counted_text, put_weights, read_weights
from sthash.collection.file.store import MOST_IDS, Store
from sthash.sources import Document

MOST_DIGITS = 18
MOST_NESTED = 100
# Size of the cache of documents in bytes; memory that a document takes in addition to its strings; and the maximum size
# of decoded metadata relative to its size in the file.
CACHED_BYTES = 1 << 24
PACKED_TOGETHER = 1024
# Keys that are looked for in one query.
KEYS_TOGETHER = 500
BYTES_BESIDE = 400
BYTES_PER_METADATA_BYTE = 16
_JSON = json.JSONEncoder(allow_nan=False)


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


class ReadDocument(NamedTuple):
    """A document that was read and found in order; ``size`` is that in the file.

    Metadata are shared by all answers: `metadata` returns a copy.
    """

    key: str
    text: str
    label: str | None
    shared_metadata: dict[str, Any]
    is_nested: bool
    size: int
    bytes_in_memory: int

    def metadata(self) -> dict[str, Any]:
        """Return the metadata; the caller owns them."""
        return copy.deepcopy(self.shared_metadata) if self.is_nested else self.shared_metadata.copy()

    def document(self) -> Document:
        """Return the document itself."""
        return Document(self.key, self.text, self.label, self.metadata())


def lay_out(store: Store, weights: Mapping[str, int]) -> None:
    """Prepare a new file for documents, whose texts are made of some fields with weights."""
    put_weights(store, weights)
    store.put_setting("next", {"id": 0, "key": 0, "segment": 0, "removal": 0, "logged": 0})


class KeptDocuments:
    """Documents that were read, by their ids. They stay from one state to the next, because documents never change."""

    def __init__(self) -> None:
        self.documents: dict[int, ReadDocument] = {}
        self.phrases: phrases.Known = {}
        self._size = 0

    def keep(self, number: int, read: ReadDocument) -> None:
        """Keep a document, unless it is large."""
        size = read.bytes_in_memory
        if size > CACHED_BYTES // 16:
            return
        self._size += size
        if self._size > CACHED_BYTES:
            self.documents.clear()
            self._size = size
        self.documents[number] = read


class Documents:
    """The documents of one state of a file.

    Parameters
    ----------
    store : Store
    kept : KeptDocuments, optional
        What was read for other answers.
    """

    def __init__(self, store: Store, kept: KeptDocuments | None = None) -> None:
        self._store = store
        self._kept = KeptDocuments() if kept is None else kept
        self._packer: phrases.Packer | None = None

    # Writing

    def put(self, documents: list[Document], since: int, *, replace: bool) -> tuple[list[int], list[int], list[int]]:
        """Insert documents.

        A document without a key gets a number that is greater than any number that has been a key here. Documents with
        an id of at least ``since`` came with the same call of the user, which matters to the error for a key that is
        there already.

        Returns
        -------
        positions, ids : lists of int
            Of the documents that are now there: of several with one key, the last.
        replaced : list of int
            Ids of documents with the same keys, which are still there: with ``replace`` the caller removes them first.
        """
        noted = self._next()
        first, automatic = noted["id"], noted["key"]
        given = [number for document in documents if (number := _as_number(document.key)) is not None]
        automatic = max([automatic, *(number + 1 for number in given)])
        rows = []
        for number, document in enumerate(documents, first):
            if document.key is None:
                if automatic >= 10**MOST_DIGITS:
                    while self._find(encode_text(str(automatic))) is not None:
                        automatic += 1
                key, automatic = encode_text(str(automatic)), automatic + 1
            else:
                key = encode_text(document.key)
            label = None if document.label is None else encode_text(document.label)
            rows.append((number, key, label, _metadata(document), encode_text(document.text)))
        self._store.put_setting("next", noted | {"id": first + len(documents), "key": automatic})
        position_of = {row[1]: position for position, row in enumerate(rows)}
        # An automatic key is greater than any that has been a number.
        given_keys = [row[1] for row, document in zip(rows, documents, strict=True) if document.key is not None]
        present = self._find_many(given_keys)
        if not replace and (present or len(position_of) < len(rows)):
            clash = next(row[1] for place, row in enumerate(rows) if row[1] in present or position_of[row[1]] != place)
            if present.get(clash, since) < since:
                raise ValueError(
                    f"key {decode_text(clash)!r} is in the collection already. Give the new document another key, or "
                    "let it replace the old one: use upsert (--replace)."
                )
            raise ValueError(
                f"key {decode_text(clash)!r} occurs more than once, but keys are unique. Give one of the documents "
                "another key, or let the last one replace the others: use upsert or replace=True (--replace)."
            )
        self.remove(list(present.values()))
        kept = sorted(position_of.values())
        if self._packer is None:
            self._packer = phrases.Packer(self._store, self._kept.phrases)
        packed = self._packer.pack([rows[position][-1] for position in kept])
        self._store.put_many(
            "documents", [(*rows[position][:-1], text) for position, text in zip(kept, packed, strict=True)]
        )
        return kept, [rows[position][0] for position in kept], list(present.values())

    def pack(self) -> None:
        """Pack the texts that are not packed yet: those that came with few others."""
        packer, last = phrases.Packer(self._store, self._kept.phrases), -1
        condition = "WHERE id > ? AND substr(text, 1, 1) < ? ORDER BY id LIMIT ?"
        mark = bytes([phrases.FIRST_MARK])
        while page := list(self._store.rows("documents", condition, (last, mark, PACKED_TOGETHER))):
            last = page[-1][0]
            for row, text in zip(page, packer.pack([row[-1] for row in page]), strict=True):
                if text is not row[-1]:
                    self._store.put("documents", *row[:-1], text)

    def remove(self, ids: list[int]) -> None:
        """Delete documents; what indexes keep of them is theirs to remove."""
        self._store.execute_many("DELETE FROM documents WHERE id = ?", [(number,) for number in ids])

    def _next(self) -> dict[str, int]:
        noted = self._store.setting("next")
        if not isinstance(noted, dict) or not all(type(noted.get(name)) is int for name in ("id", "key", "segment")):
            raise self._store.damaged("the setting next cannot be read")
        last = int(self._store.value("SELECT coalesce(max(id), -1) FROM documents"))
        if not last < noted["id"] <= MOST_IDS or not 0 <= noted["key"] <= 2 * 10**MOST_DIGITS:
            raise self._store.damaged("the setting next is out of range")
        return noted

    def next_id(self) -> int:
        """Return the id that the next document gets; none is given twice, even when documents are deleted."""
        return self._next()["id"]

    # Reading

    def count(self) -> int:
        """Return the number of documents, counted."""
        return int(self._store.value("SELECT count(*) FROM documents"))

    def ids(self) -> Ids:
        """Return the ids of all documents, ascending, from the documents themselves."""
        rows = self._store.execute("SELECT id FROM documents ORDER BY id")
        return np.array([number for (number,) in rows], dtype=np.int64)

    def find(self, key: str) -> int | None:
        """Return the id of a key, if there is such a document. Its text is not read."""
        return self._find(encode_text(check_key(key)))

    def _find(self, key: bytes) -> int | None:
        row = self._store.execute("SELECT id FROM documents WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        # SQLite trusts its index of the keys, which has no checksums.
        if self._store.execute("SELECT key FROM documents WHERE id = ?", row).fetchone() != (key,):
            raise self._store.damaged("the index of the keys does not fit the documents")
        return int(row[0])

    def _find_many(self, keys: list[bytes]) -> dict[bytes, int]:
        """Return the ids of those of some keys that are there."""
        found = dict[bytes, int]()
        for start in range(0, len(keys), KEYS_TOGETHER):
            some = keys[start : start + KEYS_TOGETHER]
            among = ", ".join("?" * len(some))
            rows = self._store.execute(f"SELECT key FROM documents WHERE key IN ({among})", tuple(some))  # noqa: S608
            for (key,) in rows.fetchall():
                number = self._find(key)
                if number is not None:
                    found[key] = number
        return {key: found[key] for key in keys if key in found}

    def get(self, number: int) -> Document:
        """Return a document by its id."""
        return self.read([number])[number].document()

    def read(self, ids: Collection[int]) -> dict[int, ReadDocument]:
        """Return some documents by their ids; `AnswerTooLargeError` beyond the limit."""
        kept = self._kept.documents
        found = {number: kept[number] for number in ids if number in kept}
        size = sum([read.size for read in found.values()])
        self._check_size(size)
        missing = [number for number in ids if number not in found] if len(found) < len(ids) else []
        for row in self._rows(missing) if missing else ():
            own = _size_of(row)
            size += own
            self._check_size(size)
            found[row[0]] = read = self._read(row)
            self._kept.keep(row[0], read)
        if len(found) != len(ids):
            raise self._store.damaged(f"document {min(set(ids) - set(found))} is missing")
        return found

    def names(self, ids: Collection[int]) -> dict[int, tuple[str, str | None]]:
        """Return key and label of those of some documents that exist. Their texts are not kept in memory."""
        return {row[0]: (self._text(row[1]), None if row[2] is None else self._text(row[2])) for row in self._rows(ids)}

    def labels(self, ids: list[int]) -> list[str | None]:
        """Return the label of each of some documents, which must be there."""
        names = self.names(ids)
        if missing := set(ids) - set(names):
            raise self._store.damaged(f"document {min(missing)} is missing")
        return [names[number][1] for number in ids]

    def page(self, after: int = -1, limit: int = 1000) -> list[StoredDocument]:
        """Return the documents that come after an id; fewer than ``limit`` where more would be too large."""
        rows = self._unpacked(self._store.rows("documents", "WHERE id > ? ORDER BY id LIMIT ?", (after, limit)))
        page, size = list[StoredDocument](), 0
        for row in rows:
            size += _size_of(row)
            if self._store.max_read_bytes is not None and size > self._store.max_read_bytes and page:
                break
            self._check_size(size)
            page.append(StoredDocument(row[0], row_checksum(row), self._read(row).document()))
        return page

    def texts(self, ids: Collection[int] | None = None) -> Iterator[tuple[int, str]]:
        """Iterate over the ids and texts of some documents, or of all, by ascending id; they may be of any size."""
        rows = self._unpacked(self._store.rows("documents", "ORDER BY id")) if ids is None else self._rows(ids)
        for row in rows:
            yield row[0], self._text(row[4])

    @cached_property
    def weights(self) -> dict[str, int]:
        """The fields that texts are made of, each with its weight; empty if there is only one."""
        return read_weights(self._store)

    def counted_text(self, document: Document | ReadDocument) -> str:
        """Return the text of a document as its words are counted; see `field_weights`."""
        if not self.weights:
            return document.text
        metadata = document.metadata if isinstance(document, Document) else document.shared_metadata
        return counted_text(document.text, metadata, self.weights)

    def counted_texts(self, ids: Collection[int] | None = None) -> Iterator[tuple[int, str]]:
        """Iterate like `texts`, over texts as their words are counted."""
        if not self.weights:
            yield from self.texts(ids)
            return
        for row in self._store.rows("documents", "ORDER BY id") if ids is None else self._rows(ids):
            yield row[0], self.counted_text(self._read(row))

    def where(self, condition: str, arguments: tuple[Any, ...]) -> Iterator[tuple[int, ReadDocument]]:
        """Iterate over the documents that meet a condition in SQL, by ascending id."""
        for row in self._unpacked(self._store.rows("documents", f"WHERE {condition} ORDER BY id", arguments)):
            yield row[0], self._read(row)

    def any(self, condition: str, arguments: tuple[Any, ...]) -> bool:
        """Whether a document meets a condition in SQL."""
        found = self._store.execute(f"SELECT 1 FROM documents WHERE {condition} LIMIT 1", arguments)  # noqa: S608
        return found.fetchone() is not None

    def verify(self) -> int:
        """Read all documents; return how many there are."""
        self._next()
        return sum(1 for _ in self.where("1", ()))

    def _rows(self, ids: Collection[int]) -> Iterator[tuple[Any, ...]]:
        return self._unpacked(self._store.rows_at("documents", ids))

    def _unpacked(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Return checked rows with their texts as they came."""
        return (phrases.unpacked(self._store, row, self._kept.phrases) for row in rows)

    def _check_size(self, size: int) -> None:
        most = self._store.max_read_bytes
        if most is not None and size > most:
            raise AnswerTooLargeError(f"the documents of this answer have more than {most:,} bytes. Ask for fewer.")

    def _text(self, content: bytes) -> str:
        try:
            return decode_text(content)
        except UnicodeDecodeError as error:
            raise self._store.damaged(f"a document cannot be read ({error})") from error

    def _read(self, row: tuple[Any, ...]) -> ReadDocument:
        return read_document(self._store, row)


def read_document(store: Store, row: tuple[Any, ...]) -> ReadDocument:
    """Return the document of a checked row of the table; metadata that cannot be decoded are an error here."""
    _, key, label, content, text = row
    try:
        metadata = {} if content == b"{}" else json.loads(content)
        if not isinstance(metadata, dict):
            raise store.damaged("metadata are not an object")
        return ReadDocument(
            key=decode_text(key),
            text=decode_text(text),
            label=None if label is None else decode_text(label),
            shared_metadata=metadata,
            is_nested=any(isinstance(value, dict | list) for value in metadata.values()),
            size=(size := _size_of(row)),
            bytes_in_memory=size + BYTES_BESIDE + BYTES_PER_METADATA_BYTE * len(content),
        )
    except RecursionError as error:
        raise CollectionError(
            f"{store.path} has a document whose metadata is nested too deep to be read here. Read it with Python 3.12 "
            "or newer, and store it again with less nesting."
        ) from error
    except (ValueError, AttributeError, TypeError) as error:
        raise store.damaged(f"a document cannot be read ({error})") from error


def _as_number(key: str | None) -> int | None:
    """Return the number that a key is written as, if an automatic key could be the same."""
    plain = key is not None and len(key) <= MOST_DIGITS and key.isascii() and key.isdigit() and str(int(key)) == key
    return int(key) if plain and key is not None else None


def _size_of(row: tuple[Any, ...]) -> int:
    _, key, label, metadata, text = row
    return len(key) + len(label or b"") + len(metadata) + len(text)


def _metadata(document: Document) -> bytes:
    if not document.metadata:
        return b"{}"
    if _is_nested_deeper(document.metadata, MOST_NESTED):
        raise ValueError(f"metadata of document {document.key!r} is nested more than {MOST_NESTED} deep. Flatten it.")
    try:
        return _JSON.encode(document.metadata).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        what = "a document" if document.key is None else f"document {document.key!r}"
        field = next((name for name, value in document.metadata.items() if not _is_json(value)), None)
        raise ValueError(
            f"metadata of {what} must be JSON values ({'' if field is None else f'{field!r}: '}{error}). "
            "Convert or leave out the others."
        ) from error


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


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
