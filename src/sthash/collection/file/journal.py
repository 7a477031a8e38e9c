"""The rollback journal beside a collection's file, and whether it is of this file.

A writer that is killed leaves ``FILE-journal``, from which SQLite undoes the change that was cut short. SQLite takes
any journal of that name for one of this file. If another file has been moved or copied to the path since then,
undoing the change would destroy that one. So whoever opens a file looks first whether the journal fits, and sets a
foreign journal aside.

Both have a copy of page 1, and every change leaves a mark in it: the upper three bytes of ``user_version``, whose low
byte is the format. Twelve bits of the mark are random, and twelve are a checksum of the ``user_version`` before. The
journal has page 1 as it was before the change, and the file has it as before or as after. What is compared stands in
the first 100 bytes, which a disk writes whole.
"""

from __future__ import annotations

import os
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sthash.files import sync

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FileId = tuple[int, int]
MAGIC = bytes.fromhex("d9d505f920a163d7")
# Where SQLite puts its locks: a reader has one in the second range, a writer all of it.
PENDING, SHARED, SHARED_BYTES = 0x40000000, 0x40000002, 510
SOON_SECONDS = 0.2

# The files that this process has open through SQLite. To open and close one of them in another way would end the locks
# that SQLite holds: POSIX locks belong to the process.
_open_files: Counter[FileId] = Counter()
_turn = threading.Lock()


def format_of(user_version: int) -> int:
    """Return the format that a ``user_version`` names.

    Examples
    --------
    >>> from sthash.collection.file.journal import format_of, marked
    >>> format_of(marked(2, 12345)), marked(2, 0)
    (2, 2)
    """
    return user_version & 0xFF


def marked(version: int, mark: int) -> int:
    """Return the ``user_version`` for a format and a mark of 24 bits, as the signed number that SQLite takes."""
    (value,) = struct.unpack("<i", struct.pack("<I", version | (mark & 0xFFFFFF) << 8))
    return int(value)


def successor(user_version: int, version: int) -> int:
    """Return the ``user_version`` for the state after a change."""
    own = int.from_bytes(os.urandom(2), "little") & 0xFFF
    return marked(version, own << 12 | _link(user_version))


def _link(user_version: int) -> int:
    return zlib.crc32(struct.pack("<I", user_version & 0xFFFFFFFF)) & 0xFFF


def file_id(path: Path) -> FileId:
    """Return what tells a file from any other, whatever its name."""
    status = path.stat()
    return status.st_dev, status.st_ino


def note_open(identity: FileId, change: int) -> None:
    """Take note that this process has opened (1) or closed (-1) a file through SQLite."""
    with _turn:
        _open_files[identity] += change
        if _open_files[identity] <= 0:
            del _open_files[identity]


def forget_open_files() -> None:
    """Reset the state in a forked process, which does not inherit the locks."""
    global _turn
    _turn = threading.Lock()
    _open_files.clear()


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[bool]:
    """Keep everybody else out of a file, without SQLite; yield whether that was possible in the given time."""
    if fcntl is None:
        yield True
        return
    with _turn:
        try:
            handle = os.open(path, os.O_RDWR) if file_id(path) not in _open_files else None
        except OSError:
            handle = None
        if handle is None:
            yield False
            return
        try:
            yield _lock_whole(handle, seconds)
        finally:
            os.close(handle)


def _lock_whole(handle: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, PENDING)
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, SHARED)
            return True
        except OSError:
            fcntl.lockf(handle, fcntl.LOCK_UN, 1, PENDING)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)


def journal_path(path: Path) -> Path:
    """Return where SQLite has the journal of a file; it follows symbolic links."""
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.name}-journal")


def set_aside_strange_journal(path: Path) -> Path | None:
    """If there is a journal that is not of this file, give it another name and return that.

    Nobody may be using the file: the journal of a writer at work is in order. Where that cannot be found out soon, all
    is left as it is.
    """
    journal = journal_path(path)
    if not journal.exists():
        return None
    with locked(path, SOON_SECONDS) as alone:
        if not alone or _fits(journal, path):
            return None
        return set_aside(journal)


def set_aside(journal: Path) -> Path | None:
    """Give a journal a name under which SQLite does not look for it."""
    aside = journal.with_name(f"{journal.name}.{os.urandom(4).hex()}.stale")
    try:
        journal.rename(aside)
    except FileNotFoundError:
        return None
    except PermissionError:
        if fcntl is not None:
            raise
        return None  # Windows renames no open file: a writer is at work, and its journal is in order
    sync(journal.parent)
    return aside


def _fits(journal: Path, path: Path) -> bool:
    """Whether a journal can be of a file; what cannot be told is left to SQLite."""
    before = _first_page(journal)
    if before is None:
        return True
    with path.open("rb") as file:
        now = file.read(len(before))
    if len(now) < 100:
        return True
    if not now.startswith(b"SQLite format 3\0"):
        return False
    old, new = _user_version(before), _user_version(now)
    changes = (_number(now, 24) - _number(before, 24)) & 0xFFFFFFFF
    # Compacting keeps the mark; any other change follows on the one before.
    return (changes in (0, 1) and new == old) or (changes == 1 and (new >> 8) & 0xFFF == _link(old))


def _first_page(journal: Path) -> bytes | None:
    """Return page 1 as a journal has it, if that is the first page in it and whole."""
    with suppress(OSError, struct.error), journal.open("rb") as file:
        header = file.read(28)
        if header[:8] != MAGIC:
            return None
        sector, page = struct.unpack(">II", header[20:28])
        if not 512 <= page <= 65536 or not 28 <= sector <= 65536:
            return None
        file.seek(sector)
        record = file.read(page + 8)
        if len(record) == page + 8 and _number(record, 0) == 1:
            return record[4:-4]
    return None


def _user_version(page: bytes) -> int:
    return _number(page, 60)


def _number(content: bytes, place: int) -> int:
    return int.from_bytes(content[place : place + 4], "big")
