"""An index of what has been seen: fingerprints of texts in a file that grows from run to run, and no texts.

A file begins with a line of JSON, which says what the fingerprints are of. Each run appends blocks, and a last one that
says how many texts there are now; until that one is on the disk, the run does not count, and the next writer overwrites
it. What counts is never changed, so readers need no lock. A fingerprint is the upper half of each hash that texts are
compared by.
"""

from __future__ import annotations

import errno
import io
import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sthash.arrays import Positions
from sthash.duplicates.measures import Measure
from sthash.duplicates.options import SHINGLE_WORDS
from sthash.duplicates.spool import naming_full_disk
from sthash.files import locked, sync

FORMAT = 1
MEASURES = ("wording", "jaccard")
MOST_HEADER = 1 << 10
# Type, checksum of the rest, and bytes.
_BLOCK = struct.Struct("<4sIQ")
_DATA, _END = b"text", b"done"
_COUNT = struct.Struct("<Q")
# Of an array: bytes of a value, and values; then the same of the table that they are places in, or 0.
_ARRAY = struct.Struct("<BQBQ")
_WIDTHS = (1, 2, 3, 4, 6, 8)
MOST_BLOCK = 1 << 28
MOST_EXPANDED = 1 << 32
_HALF = np.uint64(32)


class SeenError(ValueError):
    """A file is no index of what has been seen, is damaged, or is one of other fingerprints."""


class Fingerprints(NamedTuple):
    """What texts are compared by: ``sizes`` of their sets, one or two per text, items, and the same for their marks."""

    sizes: Positions
    items: npt.NDArray[np.uint64]
    mark_sizes: Positions
    marks: npt.NDArray[np.uint64]


class SeenIndex:
    """An index of texts that were seen, open for one run; `close` it, or use it in a ``with`` block.

    Parameters
    ----------
    path : path
        A file that does not exist yet is an empty index.
    measure : {"wording", "jaccard"}
    shingle_words : int
        For ``jaccard``.
    writable : bool
        Whether `append` is going to be called. There is one writer at a time, and any number of readers.

    Examples
    --------
    >>> import tempfile
    >>> from sthash import Document
    >>> from sthash.duplicates import deduplicate
    >>> from sthash.duplicates.seen import SeenIndex
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for texts in (["a cat and a dog", "sails on the sea"], ["A cat, and a dog!", "a bird in the hand"]):
    ...         documents = (Document(None, text) for text in texts)
    ...         with SeenIndex(f"{folder}/seen.idx", writable=True) as seen, deduplicate(documents, seen=seen) as found:
    ...             print([document.text for document in found.kept()])
    ...             found.remember()
    ['a cat and a dog', 'sails on the sea']
    ['a bird in the hand']
    """

    def __init__(
        self,
        path: str | PathLike[str],
        measure: Measure = "wording",
        shingle_words: int = SHINGLE_WORDS,
        *,
        writable: bool = False,
    ) -> None:
        if measure not in MEASURES:
            remedy = f"Take one of: {', '.join(MEASURES)}."
            raise ValueError(f"an index keeps no fingerprints for measure={measure!r}. {remedy}")
        self.path = Path(path)
        self.measure = measure
        self._settings = {"sthash": "seen", "format": FORMAT, "measure": measure}
        if measure == "jaccard":
            self._settings["shingle_words"] = shingle_words
        self._writable = writable
        self._file: IO[bytes] = io.BytesIO()
        self._lock: Any = None
        if writable:
            self._lock = locked(self.path, "another run adds to it")
            self._file = self._lock.__enter__()
        elif self.path.exists():
            self._file = self.path.open("rb")
        try:
            self._start, self._end, self._count = self._read_end()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_measure(self, measure: Measure, shingle_words: int) -> None:
        """Refuse another measure than that of the fingerprints."""
        if self._settings["measure"] != measure or self._settings.get("shingle_words", shingle_words) != shingle_words:
            raise ValueError(
                f"{self.path} was opened for {_described(self._settings)}, and the texts are compared by {measure}. "
                "Pass the same measure and shingle_words to both."
            )

    def __len__(self) -> int:
        """Return the number of texts that count."""
        return self._count

    def close(self) -> None:
        """Let others write; a file that has never held anything is removed."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.__exit__(None, None, None)
        self._file.close()

    def _read_end(self) -> tuple[int, int, int]:
        """Check the header and the blocks; return where they start and end, and how many texts there are."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        line = self._file.readline(MOST_HEADER)
        if not line:
            return 0, 0, 0
        if not line.endswith(b"\n"):
            # The header of a run that was killed; it is part of the first run.
            if self._header().startswith(line):
                return 0, 0, 0
            raise self._foreign()
        self._check_header(line)
        start = end = self._file.tell()
        count = 0
        for kind, place, length, _ in self._blocks(start, size):
            if kind == _END:
                self._file.seek(place)
                (count,) = _COUNT.unpack(self._file.read(_COUNT.size))
                end = place + length
        if end < size and self._has_end(end):
            raise self._damaged()
        return start, end, count

    def _has_end(self, start: int) -> bool:
        """Whether a run has ended behind a place from which on nothing can be read."""
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            place = content.find(_END, start)
            while 0 <= place <= len(content) - _BLOCK.size - _COUNT.size:
                _, checksum, length = _BLOCK.unpack_from(content, place)
                after = place + _BLOCK.size
                if length == _COUNT.size and zlib.crc32(content[after : after + length]) == checksum:
                    return True
                place = content.find(_END, place + 1)
        return False

    def _header(self) -> bytes:
        return json.dumps(self._settings).encode() + b"\n"

    def _foreign(self) -> SeenError:
        return SeenError(f"{self.path} is no index of sth dedup. Name another file; a new one is made.")

    def _check_header(self, line: bytes) -> None:
        try:
            settings = json.loads(line)
        except ValueError:
            raise self._foreign() from None
        if not isinstance(settings, dict) or settings.get("sthash") != "seen":
            raise self._foreign()
        if settings.get("format") != FORMAT:
            raise SeenError(
                f"{self.path} has format {settings.get('format')!r}, and this version of sthash writes {FORMAT}. Start "
                "a new index, or use the version that wrote it."
            )
        if settings != self._settings:
            was, now = (_described(each) for each in (settings, self._settings))
            raise SeenError(
                f"{self.path} has fingerprints for {was}, which cannot be compared by {now}. Take the measure of the "
                "index, or start a new one."
            )

    def _blocks(self, start: int, end: int) -> Iterator[tuple[bytes, int, int, int]]:
        """Give the blocks that are whole: their type, place, size and checksum."""
        while start + _BLOCK.size <= end:
            self._file.seek(start)
            kind, checksum, length = _BLOCK.unpack(self._file.read(_BLOCK.size))
            start += _BLOCK.size
            if kind not in (_DATA, _END) or length > MOST_BLOCK or start + length > end:
                return  # of a run that was killed
            if kind == _END and (length != _COUNT.size or zlib.crc32(self._file.read(length)) != checksum):
                return
            yield kind, start, length, checksum
            start += length

    def fingerprints(self) -> Iterator[Fingerprints]:
        """Give all fingerprints, in portions."""
        left = self._count
        for kind, place, length, checksum in self._blocks(self._start, self._end):
            if kind == _DATA:
                self._file.seek(place)
                content = self._file.read(length)
                if len(content) != length or zlib.crc32(content) != checksum:
                    raise self._damaged()
                found = self._unpacked(content)
                left -= len(found.mark_sizes)
                yield found
        if left:
            raise self._damaged()

    def _damaged(self) -> SeenError:
        return SeenError(f"{self.path} is damaged. Restore a copy of it, or start a new index.")

    def _unpacked(self, content: bytes) -> Fingerprints:
        per_text = 2 if self._settings["measure"] == "wording" else 1
        try:
            reader = _Reader(_expanded(content))
            sizes = reader.array().astype(np.int64)
            parts = [reader.array() for _ in range(per_text)]
            mark_sizes, marks = reader.array().astype(np.int64), reader.array()
        except (ValueError, zlib.error):
            raise self._damaged() from None
        whole = [int(sizes[number::per_text].sum()) for number in range(per_text)] == list(map(len, parts))
        whole = whole and int(mark_sizes.sum()) == len(marks) and len(sizes) == per_text * len(mark_sizes)
        if not whole or not reader.at_end:
            raise self._damaged()
        items = np.empty(sum(map(len, parts)), dtype=np.uint64)
        for number, own in enumerate(parts):
            items[_of_kind(sizes, per_text, number)] = own << _HALF
        return Fingerprints(sizes, items, mark_sizes, marks)

    def append(self, portions: Iterator[Fingerprints]) -> None:
        """Add texts: all of them, or none if this fails or is interrupted."""
        if not self._writable:
            raise ValueError(f"{self.path} is open for reading only. Open it with writable=True.")
        file = self._file
        count = self._count
        try:
            with naming_full_disk(str(self.path), "move the index to a larger disk"):
                file.seek(self._end)
                file.truncate()
                if self._end == 0:
                    file.write(self._header())
                for portion in portions:
                    count += len(portion.mark_sizes)
                    _write(file, _DATA, _packed(portion, 2 if self.measure == "wording" else 1))
                file.flush()
                os.fsync(file.fileno())
                _write(file, _END, _COUNT.pack(count))
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            self._forget()
            raise
        self._start = self._start or len(self._header())
        self._end, self._count = file.tell(), count
        sync(self.path.parent)

    def _forget(self) -> None:
        """Take back a run that has failed."""
        try:
            self._file.seek(self._end)
            self._file.truncate()
        except OSError as error:  # what could not be written is still in the buffer
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            os.ftruncate(self._file.fileno(), self._end)


def _described(settings: dict[str, Any]) -> str:
    words = settings.get("shingle_words")
    return f"measure {settings.get('measure')!r}" + (f" of {words} words" if words else "")


def _write(file: IO[bytes], kind: bytes, content: bytes) -> None:
    file.write(_BLOCK.pack(kind, zlib.crc32(content), len(content)))
    file.write(content)


def _of_kind(sizes: Positions, per_text: int, number: int) -> npt.NDArray[np.bool_]:
    """Return which items are in the sets of one kind: pairs of words, or runs of characters."""
    return np.repeat(np.arange(len(sizes)) % per_text == number, sizes)


def _packed(portion: Fingerprints, per_text: int) -> bytes:
    """Return fingerprints as bytes. Texts share many of their items, so these are often places in a table of all."""
    items = portion.items >> _HALF
    kinds = [items[_of_kind(portion.sizes, per_text, number)] for number in range(per_text)]
    return zlib.compress(b"".join(map(_coded, (portion.sizes, *kinds, portion.mark_sizes, portion.marks))), 1)


def _coded(array: npt.NDArray[Any]) -> bytes:
    """Return an array as bytes: its values, or a table of them and places in it, whatever takes less."""
    width, values = _narrow(array)
    plain = _ARRAY.pack(width, len(array), 0, 0) + values
    table, places = np.unique(array, return_inverse=True)
    width, values = _narrow(places)
    table_width, table_values = _narrow(table)
    if len(values) + len(table_values) >= len(plain):
        return plain
    return _ARRAY.pack(width, len(array), table_width, len(table)) + table_values + values


def _narrow(array: npt.NDArray[Any]) -> tuple[int, bytes]:
    """Return the bytes of a value, no more than are needed, and all values."""
    most = int(array.max()) if len(array) else 0
    width = next(width for width in _WIDTHS if most < 1 << (8 * width))
    return width, array.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()


def _expanded(content: bytes) -> bytes:
    """Return what was compressed, as long as it is not more than a block can be."""
    expanding = zlib.decompressobj()
    found = expanding.decompress(content, MOST_EXPANDED)
    if not expanding.eof:
        raise ValueError("a block is too large, or not whole")
    return found


class _Reader:
    """Reads arrays one after the other; a ValueError says that they are not what was written."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._content)

    def array(self) -> npt.NDArray[np.uint64]:
        """Return the next array."""
        if self._at + _ARRAY.size > len(self._content):
            raise ValueError("an array is missing")
        width, count, table_width, table_count = _ARRAY.unpack_from(self._content, self._at)
        self._at += _ARRAY.size
        if table_width == 0:
            return self._values(width, count)
        table, places = self._values(table_width, table_count), self._values(width, count)
        if len(places) and places.max() >= len(table):
            raise ValueError("a place is not in the table")
        return table[places.astype(np.int64)]

    def _values(self, width: int, count: int) -> npt.NDArray[np.uint64]:
        if width not in _WIDTHS or count * width > len(self._content) - self._at:
            raise ValueError("an array is longer than its bytes")
        values = np.zeros((count, 8), dtype=np.uint8)
        own = np.frombuffer(self._content, np.uint8, count * width, self._at)
        values[:, :width] = own.reshape(count, width)
        self._at += count * width
        return values.view("<u8").reshape(-1).astype(np.uint64)


def halved(sizes: Positions, items: npt.NDArray[np.uint64]) -> tuple[Positions, npt.NDArray[np.uint64]]:
    """Return sets as an index keeps them: of each item its upper half, each once."""
    items = items >> _HALF << _HALF
    owner = np.repeat(np.arange(len(sizes)), sizes)
    again = np.zeros(len(items), dtype=bool)
    again[1:] = (items[1:] == items[:-1]) & (owner[1:] == owner[:-1])
    if not again.any():
        return sizes, items
    return sizes - np.bincount(owner[again], minlength=len(sizes)), items[~again]
