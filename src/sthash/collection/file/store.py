"""The file: an SQLite database. Only this module and its siblings touch the disk, and SQLite does all of it.

The format is named by ``application_id`` and the low byte of ``user_version``; its tables are in `schema`:

``settings`` (name, content, sum)
    JSON values: how texts become words, how hash functions and cells were learned, the next id. Arrays of cells.
    Phrases of texts.
``documents`` (id, key, label, metadata, text, sum)
    Strings as UTF-8 with lone surrogates let through, most texts packed (see `phrases`); metadata as a JSON object in
    ASCII. The text comes late, so that what stands before it can be read without it.
``terms`` (column, term, sum)
    The open vocabulary: each word of the documents has a column.
``frequencies`` (chunk, content, sum)
    Number of documents that have each term: int32, of the columns from 256 chunk on.
``counts`` (id, content, sum)
    The term counts of a text, all words included, as ``_core.pack_counts`` packs them.
``weights`` (column, frequency, content, sum)
    What hash functions know of a term: in how many documents it was when they were learned, and its float32 weight per
    bit; no content where the term was in no document that they were learned from. For vectors, a row per dimension.
``segments`` (segment, kind, first, last, size, bytes, sum), ``parts`` (place, content, sum)
    Immutable parts of indexes, each of a range of ids; see `segments`. The place of a part is segment << 32 | part.
``deletions`` (place, size, content, sum)
    Which documents of a segment are no longer there: for each chunk of 65,536 of its documents that lost some, a bit
    per document, and how many are set. The place is segment << 32 | chunk.
``pending`` (place, content, sum)
    Records of documents that are in no segment yet; see `records`.
``removals`` (number, id, content, sum)
    The last documents that were removed, with their term counts, for readers of earlier states; see `removals`.

Every row ends with a CRC-32 over its other columns, so that no altered byte is taken for data. The setting ``next`` has
the id, the automatic key, the segment number and the number of a removal that come next, and how many removals
are logged. The upper three bytes of ``user_version`` are a mark of
the last change (see `journal`).
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from sthash import _core
from sthash.collection.file import forks
from sthash.collection.file.connection import (
    READ_ONLY,
    RESTORE,
    WAIT_SECONDS,
    CollectionBusyError,
    CollectionError,
    connect,
    explained,
)
from sthash.collection.file.journal import FileId, file_id, format_of, marked, note_open, successor
from sthash.collection.file.schema import (
    FORMAT,
    SCHEMA,
    TABLES,
    TYPES,
    lift_restrictions,
    restrict,
    strange_schema,
)
from sthash.deadline import check_time, has_time_limit, time_is_up, time_limit

__all__ = ["FORMAT", "MOST_IDS", "TABLES", "WAIT_SECONDS", "CollectionBusyError", "CollectionError", "Store"]

APPLICATION_ID = 0x53544861  # "STHa"
MOST_IDS = 1 << 52
# Changes beyond this size go to the disk before the commit, and readers then wait for it.
CACHE_KIB = 65536
# Steps of SQLite's virtual machine between two looks at the time limit: about a millisecond.
STEPS_PER_LOOK = 20_000
# Connections of a parent process. To close one here would undo what the parent is doing.
_of_parent: list[sqlite3.Connection] = []


class Store:
    """One connection to a collection's file; rows go in with their sums and come out checked.

    If another file is moved to the path, or the process is forked, the next transaction opens the path again.

    Parameters
    ----------
    path : path
    mode : {"rw", "ro", "rwc"}
        As SQLite names them: to change, to read only, to create.
    wait : float
        Seconds to wait for another process that holds the file.

    Attributes
    ----------
    lock : RLock
        Whoever uses the store holds it.
    openings : int
        How often the path was opened.
    transactions : int
        How many have begun.
    """

    connection: sqlite3.Connection
    # Most bytes of documents that are read for one answer; None for no limit.
    max_read_bytes: int | None = None

    def __init__(self, path: str | PathLike[str], mode: str = "rw", wait: float = WAIT_SECONDS) -> None:
        self.path = Path(path)
        self.lock = threading.RLock()
        self.openings = self.transactions = 0
        self._inside: int | None = None  # the thread whose transaction it is
        self.mode, self._wait = mode, wait
        self._read_only = mode == "ro"
        self._own_changes = self._last_version = 0
        self._digest = 0
        self._file: FileId | None = None
        self._closed = False
        forks.guard(self)
        with self.lock:
            self._open()

    def _open(self) -> None:
        if forks.is_unsafe():
            raise CollectionError(
                f"{self.path} cannot be opened: this process was forked while another thread was inside a collection. "
                "Fork when no thread uses one, or start processes by 'spawn' or 'forkserver'."
            )
        with self.clear_errors():
            self.connection, self._file = connect(self.path, self.mode, self._wait)
        self.openings += 1
        self._own_changes = self._last_version + 1
        self.connection.set_progress_handler(time_is_up, STEPS_PER_LOOK)
        try:
            with self.clear_errors():
                self.connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                if self.mode == "rwc":
                    self._lay_out()
                else:
                    self._check_format()
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        if self._file is not None:
            self.connection.close()
            note_open(self._file, -1)
            self._file = None

    def _lay_out(self) -> None:
        # Nobody sees the file before it is whole, and nobody else may build it at the same time.
        self._inside = threading.get_ident()
        self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self.connection.execute("PRAGMA journal_mode = OFF")
        self.connection.execute("BEGIN EXCLUSIVE")
        self.connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.connection.execute(f"PRAGMA user_version = {FORMAT}")
        for statement in SCHEMA.split(";"):
            self.connection.execute(statement)

    def finish(self) -> None:
        """Commit a new file. Its mark follows from its content: the same input gives the same file."""
        self.connection.execute(f"PRAGMA user_version = {marked(self.format, self._digest)}")
        self.connection.execute("COMMIT")

    def _check_format(self) -> None:
        with self.reading():
            (application,) = self.connection.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                raise CollectionError(f"{self.path} is not a collection. Pass a file that sth build has made.")
            version = self.format
            if version > FORMAT:
                raise CollectionError(
                    f"{self.path} has format {version}, newer than the format {FORMAT} that this sthash reads. "
                    "Upgrade sthash."
                )
            if version < FORMAT:
                raise self.damaged("it has no known format")
            strange = strange_schema(self.connection)
            if strange is not None:
                raise self.damaged(f"its schema is not that of a collection ({strange[:80]!r})")
            pages, size = (self.connection.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("count", "size"))
            if self.path.stat().st_size < pages * size:  # SQLite would take the missing end for zeros
                raise self.damaged("it is cut short")

    @property
    def format(self) -> int:
        """The number of the file's format."""
        return format_of(self._user_version())

    def _user_version(self) -> int:
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        """Close the connection; what was not committed is undone."""
        with self.lock:
            self._closed = True
            self._disconnect()

    def leave_to_parent(self) -> None:
        """Forget the connection, and who holds the lock, in a forked process."""
        self.lock, self._inside = threading.RLock(), None
        if self._file is not None:
            _of_parent.append(self.connection)
            self._file = None

    def _make_ready(self) -> None:
        """Make sure that the connection is to the file that is at the path now."""
        if self._closed:
            raise CollectionError(f"{self.path} is closed. Open it again with Collection.open.")
        if self._file is None:
            self._open()
        elif self.mode != "rwc":
            try:
                same = file_id(self.path) == self._file
            except OSError:
                raise CollectionError(
                    f"{self.path} is gone: it was moved or deleted while it was open. Open it where it is now."
                ) from None
            if not same:
                # SQLite would take the journal of the new file for that of the old one.
                self._disconnect()
                self._open()

    def damaged(self, what: str) -> CollectionError:
        """Make the error for content that cannot be right."""
        return CollectionError(f"{self.path} is damaged: {what}. {RESTORE}.")

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ones that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                check_time()
            raise explained(self.path, error) from error

    @property
    def _in_transaction(self) -> bool:
        return self._file is not None and self.connection.in_transaction

    @contextmanager
    def reading(self) -> Iterator[bool]:
        """Read one state of the file; concurrent commits are not visible. Yield whether this begins a transaction."""
        if not self._in_transaction:
            check_time()
            forks.give_way()
        with self.lock, self.clear_errors():
            if self._in_transaction:
                yield False
                return
            self._make_ready()
            self._begin("BEGIN")
            try:
                yield True
            finally:
                self._end("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make all changes of the block or none of them."""
        if self._read_only:  # SQLite would notice it only at the first change, perhaps after much work
            raise CollectionError(f"{self.path} {READ_ONLY}.")
        forks.give_way()
        with self.lock, self.clear_errors():
            self._make_ready()
            self._begin("BEGIN IMMEDIATE")
            try:
                # First of all, so that page 1 comes first in the journal.
                before = self._user_version()
                self.connection.execute(f"PRAGMA user_version = {successor(before, format_of(before))}")
                yield
                check_time()
                with time_limit(None):  # a commit must not be cut short
                    self.connection.execute("COMMIT")
                self._inside = None
                self._own_changes += 1
            except BaseException:
                self._end("ROLLBACK")
                raise

    def _begin(self, how: str) -> None:
        self.connection.execute(how)
        self._inside = threading.get_ident()
        self.transactions += 1

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads out, without a transaction: for what no other connection can change."""
        with self.lock, self.clear_errors():
            self._inside = threading.get_ident()
            try:
                yield
            finally:
                self._inside = None

    @property
    def is_inside(self) -> bool:
        """Whether the calling thread is in a transaction, and so may run statements."""
        return self._inside == threading.get_ident()

    def _own(self) -> sqlite3.Connection:
        """Return the connection to the thread whose transaction it is.

        Two threads inside one connection may wait for each other forever: one has SQLite's lock and waits for the
        GIL, the other has the GIL.
        """
        if self._inside != threading.get_ident():
            raise CollectionError(
                f"{self.path} is read outside of a snapshot. Use what a snapshot has within its `with` statement, and "
                "in the thread that entered it."
            )
        return self.connection

    def _end(self, how: str) -> None:
        self._inside = None
        # A full disk or an unreadable file ends the transaction by itself.
        if not self._in_transaction:
            return
        if has_time_limit():
            with time_limit(None):
                self.connection.execute(how)
        else:
            self.connection.execute(how)

    def compact(self) -> None:
        """Rewrite the file without the space of deleted rows."""
        if self._read_only:
            raise CollectionError(f"{self.path} {READ_ONLY}.")
        with self.lock, self.clear_errors():
            self._make_ready()
            lift_restrictions(self.connection)
            try:
                self.connection.execute("VACUUM")
            finally:
                restrict(self.connection)
            self._own_changes += 1

    def version(self) -> int:
        """Return a number that grows with every change of the file, by this connection or another one."""
        changes_of_others: int = self._own().execute("PRAGMA data_version").fetchone()[0]
        self._last_version = changes_of_others + self._own_changes
        return self._last_version

    def origin(self) -> tuple[int, int]:
        """Return what changes when the whole file is replaced, in place or by another one."""
        return self.openings, int(self._own().execute("PRAGMA schema_version").fetchone()[0])

    @property
    def n_bytes(self) -> int:
        """Size of the database in bytes."""
        return int(self.value("PRAGMA page_count")) * int(self.value("PRAGMA page_size"))

    def free_share(self) -> float:
        """Return the share of the file that deleted rows have left unused."""
        return int(self.value("PRAGMA freelist_count")) / max(int(self.value("PRAGMA page_count")), 1)

    # Rows in and out. Every statement lists its columns in the order of the sum.

    def put(self, table: str, *values: Any) -> None:
        """Insert a row, replacing one with the same first column."""
        marks = ", ".join("?" * (len(values) + 1))
        self._own().execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", self._summed(values))  # noqa: S608

    def _summed(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        checksum = _core.row_checksum(values)
        self._digest = (self._digest * 31 + checksum) & 0xFFFFFFFF
        return (*values, checksum)

    def execute(self, statement: str, arguments: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run a statement."""
        return self._own().execute(statement, arguments)

    def execute_many(self, statement: str, arguments: list[tuple[Any, ...]]) -> None:
        """Run a statement once per row of arguments."""
        self._own().executemany(statement, arguments)

    def value(self, query: str) -> Any:
        """Return the one value that a query gives."""
        return self._own().execute(query).fetchone()[0]

    def put_many(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert new rows."""
        if rows:
            marks = ", ".join("?" * (len(rows[0]) + 1))
            self._own().executemany(f"INSERT INTO {table} VALUES ({marks})", map(self._summed, rows))  # noqa: S608

    def rows(self, table: str, condition: str = "", arguments: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Return checked rows, without their sums; ``condition`` is what follows the table's name in the SELECT."""
        for row in self._own().execute(f"SELECT * FROM {table} {condition}", arguments):  # noqa: S608
            yield self.checked(table, row)
            self._own()

    def rows_at(self, table: str, numbers: Collection[int]) -> Iterator[tuple[Any, ...]]:
        """Return those of some rows that exist, in one query: by ascending number, which is their first column."""
        wanted = json.dumps([int(number) for number in numbers])
        # Each table that is asked for has a name for its number.
        return self.rows(table, "WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY rowid", (wanted,))

    def checked(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row without its sum, which must be right."""
        self.check_sum(table, row)
        if tuple(map(type, row[:-1])) not in TYPES[table]:
            raise self.damaged(f"the table {table} has a row with values of the wrong type")
        return row[:-1]

    def check_sum(self, table: str, row: tuple[Any, ...]) -> None:
        """Refuse a row whose sum is not right, or that has a value of which there is none."""
        try:
            right = _core.row_checksum(row[:-1]) == row[-1]
        except TypeError:
            right = False
        if not right:
            raise self.damaged(f"the table {table} has a row whose checksum does not match")

    def has_setting(self, name: str) -> bool:
        """Whether there is a setting with this name."""
        return self._own().execute("SELECT 1 FROM settings WHERE name = ?", (name,)).fetchone() is not None

    def setting(self, name: str) -> Any:
        """Return a setting's value."""
        content = self.blob(name)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self.damaged(f"the setting {name} cannot be read") from error

    def put_setting(self, name: str, value: Any) -> None:
        """Set a setting to a JSON value."""
        self.put("settings", name, json.dumps(value, sort_keys=True).encode())

    def blob(self, name: str) -> bytes:
        """Return a setting's bytes."""
        for _, content in self.rows("settings", "WHERE name = ?", (name,)):
            return bytes(content)
        raise self.damaged(f"the setting {name} is missing")
