"""Data that may not fit into memory: kept there as long as it is small, then in a temporary file."""

from __future__ import annotations

import errno
import itertools
import json
import os
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from sthash.sources import Document

_WRITTEN_AT_ONCE = 1 << 20


class SpillError(OSError):
    """A disk is full while data is written to it. Existing data has not changed."""


@contextmanager
def naming_full_disk(place: str, remedy: str) -> Iterator[None]:
    """Raise `SpillError`, with what to do, where the system reports that a disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise SpillError(f"the disk of {place} is full. Free some space, or {remedy}.") from error


def spilling() -> AbstractContextManager[None]:
    """Name the folder for temporary files, and what to do, where its disk is full."""
    place = f"the folder for temporary files, {tempfile.gettempdir()},"
    return naming_full_disk(place, "set TMPDIR to a folder on a larger disk")


def _write(file: IO[bytes], content: Any) -> None:
    with spilling():
        file.write(content)
        file.flush()


class TemporaryFiles:
    """What holds temporary files until it is closed, as a ``with`` block does."""

    closing: ExitStack

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary files."""
        self.closing.close()


class Spool(TemporaryFiles):
    """A growing array of uint64, in memory up to a limit, then in a file that vanishes with it.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.duplicates.spool import Spool
    >>> with Spool(16) as spool:
    ...     for start in (0, 3):
    ...         spool.append(np.arange(start, start + 3, dtype=np.uint64))
    ...     spool.array().tolist()
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._parts: list[npt.NDArray[np.uint64]] = []
        self._held = 0
        self._file: IO[bytes] | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, items: npt.NDArray[np.uint64]) -> None:
        """Add items at the end."""
        self._parts.append(items)
        self._held += items.nbytes
        self._size += len(items)
        if self._held > self._most_bytes:
            self._spill()

    def _spill(self) -> None:
        self._file = self._file or tempfile.TemporaryFile(prefix="sthash-")  # noqa: SIM115
        for part in self._parts:
            _write(self._file, np.ascontiguousarray(part).view(np.uint8).data)
        self._parts, self._held = [], 0

    def array(self) -> npt.NDArray[np.uint64]:
        """Return all items; those in a file are memory-mapped."""
        if self._file is None:
            whole = np.concatenate([np.zeros(0, np.uint64), *self._parts])
            self._parts = [whole]
            return whole
        self._spill()
        return np.memmap(self._file, dtype=np.uint64, mode="r", shape=(self._size,))

    def close(self) -> None:
        """Release the memory and the file."""
        self._parts = []
        if self._file is not None:
            self._file.close()


class RecordSpool(TemporaryFiles):
    """Records as bytes in a temporary file, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.duplicates.spool import RecordSpool
    >>> with RecordSpool() as spool:
    ...     for record in (b"one", b"", b"three"):
    ...         spool.append(record)
    ...     list(spool.chosen(np.array([True, True, False])))
    [b'one', b'']
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="sthash-")  # noqa: SIM115
        self._sizes = array("q")
        self._held: list[bytes] = []
        self._held_bytes = 0

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._sizes)

    def append(self, record: bytes) -> None:
        """Add a record at the end."""
        self._sizes.append(len(record))
        self._held.append(record)
        self._held_bytes += len(record)
        if self._held_bytes >= _WRITTEN_AT_ONCE:
            self._spill()

    def _spill(self) -> None:
        _write(self._file, b"".join(self._held))
        self._held, self._held_bytes = [], 0

    def chosen(self, is_chosen: npt.NDArray[np.bool_]) -> Iterator[bytes]:
        """Read the records that are chosen, in their order."""
        self._spill()
        self._file.seek(0)
        for size, wanted in zip(self._sizes, is_chosen.data, strict=True):
            if wanted:
                yield self._file.read(size)
            else:
                self._file.seek(size, os.SEEK_CUR)


class DocumentSpool(Sequence[Document]):
    """Documents in a temporary file, one JSON line each; each can be read again."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="sthash-")  # noqa: SIM115
        self._starts: list[npt.NDArray[np.int64]] = []
        self._end = 0
        self._places: npt.NDArray[np.int64] | None = None
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def extend(self, documents: Sequence[Document]) -> None:
        """Add documents at the end."""
        lines = [_line(document) for document in documents]
        ends = np.cumsum([0, *map(len, lines)], dtype=np.int64) + self._end
        self._starts.append(ends[:-1])
        self._end = int(ends[-1])
        self._count += len(lines)
        _write(self._file, b"".join(lines))

    def __getitem__(self, position: Any) -> Any:
        """Read one document."""
        if self._places is None:
            self._places = np.concatenate([*self._starts, np.array([self._end])])
            self._starts = []
        start, end = self._places[position : position + 2].tolist()
        return _document(_read_at(self._file, end - start, start))

    def __iter__(self) -> Iterator[Document]:
        self._file.seek(0)
        return map(_document, self._file)

    def chosen(self, is_chosen: npt.NDArray[np.bool_]) -> Iterator[Document]:
        """Read the documents that are chosen, in their order."""
        self._file.seek(0)
        return map(_document, itertools.compress(self._file, is_chosen))


def _read_at(file: IO[bytes], size: int, start: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), size, start)
    file.seek(start)  # Windows
    return file.read(size)


_escaped = json.encoder.encode_basestring_ascii


def _line(document: Document) -> bytes:
    # Lone surrogates, which no UTF-8 holds, are escaped.
    if document.label is None and not document.metadata:  # many times as fast
        key = "null" if document.key is None else _escaped(document.key)
        return f"[{key}, {_escaped(document.text)}, null, {{}}]\n".encode("ascii")
    fields = [document.key, document.text, document.label, document.metadata]
    return json.dumps(fields, ensure_ascii=True).encode("ascii") + b"\n"


def _document(line: bytes) -> Document:
    return Document(*json.loads(line))
