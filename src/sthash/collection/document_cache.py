"""Documents that were read, kept for the next answers of the same state of the file."""

from __future__ import annotations

import json
from collections.abc import Collection

from sthash.collection.document_table import DocumentFields, check_read_size, fields_of, read_rows, size_of
from sthash.collection.store import Store

# Bytes of documents that are kept.
CACHED_BYTES = 1 << 24
# What a document takes in memory beside its strings.
BYTES_BESIDE = 400


class DocumentCache:
    """Reads documents, each once as a rule.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # Key, text, label, the JSON of the metadata, and the size in the file. The one who asks owns the metadata.
        self._kept: dict[int, tuple[str, str, str | None, bytes, int]] = {}
        self._size = 0

    def fields(self, ids: Collection[int]) -> dict[int, DocumentFields]:
        """Return key, text, label and metadata of some documents; `AnswerTooLargeError` beyond the limit."""
        found, size, missing = dict[int, DocumentFields](), 0, list[int]()
        for number in ids:
            kept = self._kept.get(number)
            if kept is None:
                missing.append(number)
                continue
            key, text, label, metadata, own = kept
            found[number] = (key, text, label, {} if metadata == b"{}" else json.loads(metadata))
            size += own
        check_read_size(self._store, size)
        for row in read_rows(self._store, missing) if missing else ():
            own = size_of(row)
            size += own
            check_read_size(self._store, size)
            found[row[0]] = fields = fields_of(self._store, row)
            self._keep(row[0], (*fields[:3], row[3], own))
        if len(found) != len(ids):
            raise self._store.damaged(f"document {min(set(ids) - set(found))} is missing")
        return found

    def _keep(self, number: int, entry: tuple[str, str, str | None, bytes, int]) -> None:
        size = entry[-1] + BYTES_BESIDE
        if size > CACHED_BYTES // 16:
            return
        self._size += size
        if self._size > CACHED_BYTES:
            self._kept.clear()
            self._size = size
        self._kept[number] = entry
