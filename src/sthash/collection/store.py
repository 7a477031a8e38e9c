"""The file: an SQLite database. This is the only place that touches the disk, and SQLite does all of it.

Version 2 of the format, named by ``application_id`` and ``user_version``:

``settings`` (name, content, sum)
    JSON values: what kind of model it is and how it was learned. For dense vectors, also its weights.
``terms`` (column, term, frequency, weights, sum)
    The vocabulary: in how many documents a term occurs, and its float32 weight for each bit; no weights where the
    term was in no document that the hash functions were learned from.
``documents`` (id, key, label, metadata, text, sum)
    Strings as UTF-8 with lone surrogates let through; metadata as a JSON object in ASCII. The text comes late, so that
    what stands before it can be read without it.
``vectors`` (id, content, sum)
    For re-ranking: int32 columns, ascending, then as many float32 values; or just the values of a dense vector.
``codes`` (chunk, held, content, sum)
    Chunk c has the packed codes of the ids from ``CHUNK`` c on, one after the other; ``held`` has a byte for each,
    which is 1 where there is such a document.

Every row ends with a CRC-32 over its other columns, so that no altered byte is taken for data.

Version 1 is read too; a model of its is without random weights.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sthash.checksums import row_checksum
from sthash.deadline import check_time, time_is_up, time_limit

APPLICATION_ID = 0x53544861  # "STHa"
FORMAT = 2
OLDEST_FORMAT = 1
CHUNK = 1024
WAIT_SECONDS = 30.0
# Changes beyond this size go to the disk before the commit, and readers then wait for it.
CACHE_KIB = 65536
# Steps of SQLite's virtual machine between two looks at the time limit: about a millisecond.
STEPS_PER_LOOK = 20_000

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE terms (column INTEGER PRIMARY KEY, term BLOB NOT NULL UNIQUE, frequency INTEGER NOT NULL,
                    weights BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE documents (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, label BLOB, metadata BLOB NOT NULL,
                        text BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE codes (chunk INTEGER PRIMARY KEY, held BLOB NOT NULL, content BLOB NOT NULL, sum INTEGER NOT NULL);
"""
_READ_ONLY = "cannot be changed: the file or its folder is read-only. Change the permissions, or copy it"
TABLES = ("settings", "terms", "documents", "vectors", "codes")


class CollectionError(ValueError):
    """The file is no collection, is damaged, busy, full, or from a newer version."""


class CollectionBusyError(CollectionError):
    """Another process is changing the file."""


class Store:
    """One connection to a collection's file; rows go in with their sums and come out checked.

    Parameters
    ----------
    path : path
    mode : {"rw", "ro", "rwc"}
        As SQLite names them: to change, to read only, to create.
    wait : float
        Seconds to wait for another process that holds the file.
    """

    # Most bytes of documents that are read for one answer; None for no limit.
    max_read_bytes: int | None = None

    def __init__(self, path: str | PathLike[str], mode: str = "rw", wait: float = WAIT_SECONDS) -> None:
        self.path = Path(path)
        if mode != "rwc":
            _check_readable(self.path)
        with self.clear_errors():
            self.connection = sqlite3.connect(
                f"file:{quote(str(self.path.absolute()))}?mode={mode}",
                uri=True,
                timeout=wait,
                isolation_level=None,
                check_same_thread=False,
            )
        self._read_only = mode == "ro"
        self._own_changes = 0
        self.connection.set_progress_handler(time_is_up, STEPS_PER_LOOK)
        # Text stands only where bytes have been altered; the sums tell, so reading it must not fail first.
        self.connection.text_factory = lambda content: content.decode("utf-8", "replace")
        try:
            with self.clear_errors():
                self.connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                # No view, trigger or index expression of a stranger's file may call anything.
                self.connection.execute("PRAGMA trusted_schema = OFF")
                if mode == "rwc":
                    self._lay_out()
                else:
                    self._check_format()
        except BaseException:
            self.connection.close()
            raise

    def _lay_out(self) -> None:
        # Nobody sees the file before it is whole, and nobody else may build it meanwhile.
        self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self.connection.execute("PRAGMA journal_mode = OFF")
        self.connection.execute("BEGIN EXCLUSIVE")
        self.connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.connection.execute(f"PRAGMA user_version = {FORMAT}")
        for statement in SCHEMA.split(";"):
            self.connection.execute(statement)

    def _check_format(self) -> None:
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise CollectionError(f"{self.path} is not a collection. Pass a file that sth build has made.")
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            raise CollectionError(
                f"{self.path} has format {version}, newer than the format {FORMAT} that this sthash reads. "
                "Upgrade sthash."
            )
        present = {row[0] for row in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if version < OLDEST_FORMAT or not present.issuperset(TABLES):
            raise self.damaged("its tables are not those of a collection")
        with self.reading():
            pages, size = (self.connection.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("count", "size"))
            if self.path.stat().st_size < pages * size:  # SQLite would take the missing end for zeros
                raise self.damaged("it is cut short")

    def close(self) -> None:
        """Close the connection; what was not committed is undone."""
        self.connection.close()

    def damaged(self, what: str) -> CollectionError:
        """Make the error for content that cannot be right."""
        return CollectionError(f"{self.path} is damaged: {what}. Restore a copy, or build it again.")

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ones that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                check_time()
            raise _explained(self.path, error) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the file throughout, whatever others commit meanwhile."""
        with self.clear_errors():
            if self.connection.in_transaction:
                yield
                return
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self._end("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make all changes of the block or none of them."""
        if self._read_only:  # SQLite would notice it only at the first change, perhaps after much work
            raise CollectionError(f"{self.path} {_READ_ONLY}.")
        with self.clear_errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                check_time()
                with time_limit(None):  # a commit must not be cut short
                    self.connection.execute("COMMIT")
                self._own_changes += 1
            except BaseException:
                self._end("ROLLBACK")
                raise

    def _end(self, how: str) -> None:
        # A full disk or an unreadable file ends the transaction by itself.
        if self.connection.in_transaction:
            with time_limit(None):
                self.connection.execute(how)

    def version(self) -> int:
        """Return a number that grows with every change of the file, by this connection or another one."""
        with self.clear_errors():
            changes_of_others: int = self.connection.execute("PRAGMA data_version").fetchone()[0]
            return changes_of_others + self._own_changes

    # Rows in and out. Every statement lists its columns in the order of the sum.

    def put(self, table: str, *values: Any) -> None:
        """Insert a row, replacing one with the same first column."""
        marks = ", ".join("?" * (len(values) + 1))
        self.connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*values, row_checksum(values)))  # noqa: S608

    def execute(self, statement: str, arguments: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run a statement."""
        return self.connection.execute(statement, arguments)

    def execute_many(self, statement: str, arguments: list[tuple[Any, ...]]) -> None:
        """Run a statement once per row of arguments."""
        self.connection.executemany(statement, arguments)

    def value(self, query: str) -> Any:
        """Return the one value that a query gives."""
        return self.connection.execute(query).fetchone()[0]

    def put_many(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert new rows."""
        if rows:
            marks = ", ".join("?" * (len(rows[0]) + 1))
            summed = ((*row, row_checksum(row)) for row in rows)
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", summed)  # noqa: S608

    def rows(self, table: str, condition: str = "", arguments: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Return checked rows, without their sums; ``condition`` is what follows the table's name in the SELECT."""
        for row in self.connection.execute(f"SELECT * FROM {table} {condition}", arguments):  # noqa: S608
            yield self.checked(table, row)

    def checked(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row without its sum, which must be right."""
        try:
            right = row_checksum(row[:-1]) == row[-1]
        except TypeError:
            right = False
        if not right:
            raise self.damaged(f"the table {table} has a row whose checksum does not match")
        return row[:-1]

    def setting(self, name: str) -> Any:
        """Return a setting's value."""
        content = self.blob(name)
        try:
            return json.loads(content)
        except ValueError as error:
            raise self.damaged(f"the setting {name} cannot be read") from error

    def blob(self, name: str) -> bytes:
        """Return a setting's bytes."""
        for _, content in self.rows("settings", "WHERE name = ?", (name,)):
            return bytes(content)
        raise self.damaged(f"the setting {name} is missing")

    def put_model(self, model: dict[str, Any]) -> None:
        """Set the model, which makes the file one of the newest format."""
        self.put("settings", "model", json.dumps(model, sort_keys=True).encode())
        self.connection.execute(f"PRAGMA user_version = {FORMAT}")


def _explained(path: Path, error: sqlite3.Error) -> CollectionError:
    code = getattr(error, "sqlite_errorcode", None) or 0
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return CollectionBusyError(f"{path} is being changed by another process. Try again when it is done.")
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        what = "has a change to undo that was cut short. Open it once with the permission to write"
    elif primary == sqlite3.SQLITE_FULL:
        what = "cannot be written: the disk is full, and nothing was changed. Free some space and try again"
    elif primary == sqlite3.SQLITE_READONLY:
        what = _READ_ONLY
    elif primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        what = f"cannot be read or written ({error}), and nothing was changed. Check the disk and the permissions"
    elif primary == sqlite3.SQLITE_TOOBIG:
        what = f"cannot hold a document of that size ({error}). Split it"
    elif primary == sqlite3.SQLITE_NOTADB:
        what = "is not a collection. Pass a file that sth build has made"
    else:
        what = f"is damaged ({error}). Restore a copy, or build it again"
    return CollectionError(f"{path} {what}.")


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):  # a folder or a forbidden file gets Python's own clear error
            pass
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no file {str(path)!r}. Check the name, or make a collection with sth build."
        ) from None
