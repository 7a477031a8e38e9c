"""Connections to a collection's file, and what SQLite's errors mean for its users."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

from sthash.collection.file.journal import FileId, file_id, note_open, set_aside_strange_journal
from sthash.collection.file.schema import restrict

WAIT_SECONDS = 30.0
READ_ONLY = "cannot be changed: the file or its folder is read-only. Change the permissions, or copy it"
RESTORE = "Restore a copy with Collection.copy_to (sth copy COPY FILE --overwrite), or build it again"


class CollectionError(ValueError):
    """The file is not a collection, or is damaged, busy, full, or from a newer version."""


class CollectionBusyError(CollectionError):
    """Another process is changing the file."""


def connect(path: Path, mode: str, wait: float = WAIT_SECONDS) -> tuple[sqlite3.Connection, FileId]:
    """Connect to a file, of which nothing can run; say which file it is, for `note_open` when it is closed."""
    while True:
        if mode == "rwc":
            path.touch()
        identity = _readable(path)
        if mode == "rw":
            set_aside_strange_journal(path)
        note_open(identity, 1)
        try:
            connection = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?mode={mode}",
                uri=True,
                timeout=wait,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                if file_id(path) == identity:
                    # Text stands only where bytes have been altered; the sums tell, so reading it must not fail first.
                    connection.text_factory = lambda content: content.decode("utf-8", "replace")
                    restrict(connection)
                    # What is acknowledged is on the disk: the end of the journal too.
                    connection.execute("PRAGMA synchronous = EXTRA")
                    if mode == "rw" and connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                        connection.execute(
                            "PRAGMA journal_mode = DELETE"
                        )  # it has no files but its own and the journal
                    return connection, identity
            except BaseException:
                connection.close()
                raise
            connection.close()  # another file has just been moved to the path
        except BaseException:
            note_open(identity, -1)
            raise
        note_open(identity, -1)


def explained(path: Path, error: sqlite3.Error) -> CollectionError:
    """Return the error of ours that says what one of SQLite's means."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return CollectionBusyError(f"{path} is being changed by another process. Try again when it is done.")
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        what = "has a change to undo that was cut short. Open it once with the permission to write"
    elif code == sqlite3.SQLITE_READONLY_DBMOVED:
        what = "was moved or replaced by another process; nothing was changed. Try again"
    elif primary == sqlite3.SQLITE_FULL:
        what = "cannot be written: the disk is full, and nothing was changed. Free some space and try again"
    elif primary == sqlite3.SQLITE_READONLY:
        what = READ_ONLY
    elif primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        what = f"cannot be read or written ({error}), and nothing was changed. Check the disk and the permissions"
    elif primary == sqlite3.SQLITE_TOOBIG:
        what = f"cannot hold a document of that size ({error}). Split it"
    elif primary == sqlite3.SQLITE_NOTADB:
        what = "is not a collection. Pass a file that sth build has made"
    elif primary in (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_INTERRUPT):
        what = f"was not changed, because SQLite refused a statement ({error}). Report it if the arguments are right"
    else:
        what = f"is damaged ({error}). {RESTORE}"
    return CollectionError(f"{path} {what}.")


def _readable(path: Path) -> FileId:
    """Return which file is at a path. It is not opened, because closing it would end the locks of this process."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no file {str(path)!r}. Check the name, or make a collection with sth build."
        ) from None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise CollectionError(f"{path} is not a collection. Pass a file that sth build has made.")
    return status.st_dev, status.st_ino
