"""Documents that were read, kept for the next answers of the same state of the file."""

from __future__ import annotations

from collections.abc import Collection

from sthash.collection.document_table import DocumentFields, check_read_size, fields_of, read_rows, size_of
from sthash.collection.hit import ReadDocument
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
        self._kept: dict[int, ReadDocument] = {}
        self._size = 0

    def fields(self, ids: Collection[int]) -> dict[int, DocumentFields]:
        """Return key, text, label and metadata of some documents; `AnswerTooLargeError` beyond the limit."""
        return {number: (*read[:3], read.metadata()) for number, read in self.documents(ids).items()}

    def documents(self, ids: Collection[int]) -> dict[int, ReadDocument]:
        """Return some documents, with metadata that are not decoded yet."""
        kept = self._kept
        found = {number: kept[number] for number in ids if number in kept}
        size = sum([read.size for read in found.values()])
        check_read_size(self._store, size)
        missing = [number for number in ids if number not in found] if len(found) < len(ids) else []
        for row in read_rows(self._store, missing) if missing else ():
            own = size_of(row)
            size += own
            check_read_size(self._store, size)
            found[row[0]] = read = ReadDocument(*fields_of(self._store, row)[:3], row[3], own)
            self._keep(row[0], read)
        if len(found) != len(ids):
            raise self._store.damaged(f"document {min(set(ids) - set(found))} is missing")
        return found

    def _keep(self, number: int, read: ReadDocument) -> None:
        size = read.size + BYTES_BESIDE
        if size > CACHED_BYTES // 16:
            return
        self._size += size
        if self._size > CACHED_BYTES:
            self._kept.clear()
            self._size = size
        self._kept[number] = read
