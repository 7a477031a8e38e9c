"""New files take their place: at a free path by a link, over an old file by one transaction of that file.

A file that is there is never replaced by renaming, because a process that has it open would go on with the old one, and
the journals of the two have the same name. Instead SQLite copies the new content into it: whoever reads or changes it
is waited for, a change that was cut short is undone first, and after a kill the file is the old one or the new one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sthash.collection.file.connection import WAIT_SECONDS, CollectionBusyError, connect, explained
from sthash.collection.file.journal import format_of, journal_path, locked, note_open, set_aside, successor
from sthash.collection.file.store import Store
from sthash.files import remove_left_overs, sync, take_access, unfinished

# A new file with a larger share of unused space, such as that of vectors before they were rounded, is written again.
MOST_FREE = 0.1


def write_new(target: Path, fill: Callable[[Store], None], *, overwrite: bool) -> None:
    """Let ``fill`` write a new file under another name, then put it in its place; if it fails, nothing is left."""
    target = Path(os.path.realpath(target))
    if remove_left_overs(target):
        raise CollectionBusyError(f"{target} is being built by another process. Wait for it.")
    with unfinished(target) as temporary:
        store = Store(temporary, "rwc", wait=0)
        try:
            with store.lock, store.clear_errors():
                fill(store)
                store.finish()
                if store.free_share() > MOST_FREE:
                    store.compact()
        finally:
            store.close()
        put_in_place(temporary, target, overwrite=overwrite)


def copy_file(source: Store, target: Path, *, overwrite: bool) -> None:
    """Copy a collection's file in one state of it, and put the copy in its place; a new file has the source's mode."""
    target = Path(os.path.realpath(target))
    with unfinished(target) as temporary:
        take_access(temporary, source.path)
        with source.clear_errors(), closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = OFF")
            with source.reading():
                source.connection.backup(copy)
        put_in_place(temporary, target, overwrite=overwrite)


def put_in_place(new: Path, target: Path, *, overwrite: bool) -> None:
    """Make ``new`` the file at ``target``; `FileExistsError` if there is one that may not be overwritten."""
    while True:
        if target.exists():
            if not overwrite:
                break
            return _write_over(new, target, WAIT_SECONDS)
        sync(new)
        set_aside(journal_path(target))  # of a file that is gone
        try:
            target.hardlink_to(new)
        except FileExistsError:
            continue
        except OSError:  # a file system without links
            new.rename(target)
        sync(target.parent)
        return None
    raise FileExistsError(f"{target} exists already. Pass overwrite=True (--overwrite) to replace it, or add to it.")


def _write_over(new: Path, target: Path, wait: float) -> None:
    try:
        connection, identity = connect(target, "rw", wait)
        try:
            _copy_content(new, connection)
        finally:
            connection.close()
            note_open(identity, -1)
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise explained(target, error) from error
        _replace(new, target, wait)


def _copy_content(new: Path, target: sqlite3.Connection) -> None:
    # This mode keeps the lock between transactions, until the connection is closed.
    target.execute("PRAGMA locking_mode = EXCLUSIVE")
    target.execute("BEGIN EXCLUSIVE")
    (before,) = target.execute("PRAGMA user_version").fetchone()
    target.execute("COMMIT")
    with closing(sqlite3.connect(new, isolation_level=None)) as source:
        source.execute("PRAGMA journal_mode = OFF")
        source.execute("PRAGMA synchronous = OFF")
        (own,) = source.execute("PRAGMA user_version").fetchone()
        source.execute(f"PRAGMA user_version = {successor(before, format_of(own))}")
        source.backup(target)


def _replace(new: Path, target: Path, wait: float) -> None:
    """Replace what is no database, or one so damaged that SQLite does not open it."""
    with locked(target, wait) as alone:
        if not alone:
            raise CollectionBusyError(f"{target} is in use by another process. Try again when it is done.")
        take_access(new, target)
        sync(new)
        set_aside(journal_path(target))
        new.replace(target)
        sync(target.parent)
