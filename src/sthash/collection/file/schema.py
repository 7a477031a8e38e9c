"""The tables of a collection's file, and the checks that nothing else is in it.

A file may come from anywhere. SQLite would run its triggers, constraints, generated columns and views, so a file whose
schema is not this one, letter for letter, is refused, and what a statement may do is limited.
"""

from __future__ import annotations

import functools
import sqlite3
from typing import Any

FORMAT = 1

# The statements that make the tables. A file has exactly these, or it is not opened.
SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE documents (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, label BLOB, metadata BLOB NOT NULL,
                        text BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE terms (column INTEGER PRIMARY KEY, term BLOB NOT NULL UNIQUE, sum INTEGER NOT NULL);
CREATE TABLE frequencies (chunk INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE counts (id INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE weights (column INTEGER PRIMARY KEY, frequency INTEGER NOT NULL, content BLOB NOT NULL,
                      sum INTEGER NOT NULL);
CREATE TABLE segments (segment INTEGER PRIMARY KEY, kind TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
                       size INTEGER NOT NULL, bytes INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE parts (place INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE deletions (place INTEGER PRIMARY KEY, size INTEGER NOT NULL, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE pending (place INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE removals (number INTEGER PRIMARY KEY, id INTEGER NOT NULL, content BLOB NOT NULL, sum INTEGER NOT NULL);
"""
# The tables with the types of a row's values. SQLite keeps whatever it is given, and an untrusted file may hold
# anything.
TYPES: dict[str, tuple[tuple[type, ...], ...]] = {
    "settings": ((str, bytes),),
    "documents": ((int, bytes, bytes, bytes, bytes), (int, bytes, type(None), bytes, bytes)),
    "terms": ((int, bytes),),
    "frequencies": ((int, bytes),),
    "counts": ((int, bytes),),
    "weights": ((int, int, bytes),),
    "segments": ((int, str, int, int, int, int),),
    "parts": ((int, bytes),),
    "deletions": ((int, int, bytes),),
    "pending": ((int, bytes),),
    "removals": ((int, int, bytes),),
}
TABLES = tuple(TYPES)

LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 32,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 4,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_ATTACHED: 1,  # VACUUM attaches a database
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
    sqlite3.SQLITE_CREATE_TABLE,
    sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_CREATE_TEMP_TABLE,
    sqlite3.SQLITE_CREATE_TEMP_INDEX,
    sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_DROP_TEMP_TABLE,
    sqlite3.SQLITE_DROP_TEMP_INDEX,
    sqlite3.SQLITE_REINDEX,
}
_FUNCTIONS = {"coalesce", "count", "json_each", "json_valid", "length", "max", "min", "substr", "sum", "total"}
_PRAGMAS = {
    "application_id",
    "cache_size",
    "cell_size_check",
    "data_version",
    "freelist_count",
    "integrity_check",
    "journal_mode",
    "locking_mode",
    "page_count",
    "page_size",
    "quick_check",
    "schema_version",
    "synchronous",
    "table_info",
    "temp_store",
    "trusted_schema",
    "user_version",
}


def restrict(connection: sqlite3.Connection) -> None:
    """Let nothing that stands in a file run: no trigger, view or extension, and no statement that is not ours."""
    for limit, most in LIMITS.items():
        connection.setlimit(limit, most)
    if hasattr(connection, "setconfig"):  # Python 3.12
        constants: Any = sqlite3
        connection.setconfig(constants.SQLITE_DBCONFIG_DEFENSIVE, True)
        connection.setconfig(constants.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        connection.setconfig(constants.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.set_authorizer(_authorize)


def lift_restrictions(connection: sqlite3.Connection) -> None:
    """Allow what VACUUM does: it attaches a database and makes every table in it."""
    connection.set_authorizer(None)


def _authorize(action: int, first: str | None, second: str | None, _: str | None, source: str | None) -> int:
    if source is not None:  # a trigger or a view asks
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_OK if second in _FUNCTIONS else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def strange_schema(connection: sqlite3.Connection) -> str | None:
    """Return the name of something that does not belong to the schema, or is missing; None if all is right."""
    expected = _objects()
    query = "SELECT type, name, tbl_name, sql, rootpage FROM sqlite_master LIMIT ?"
    found, pages = dict[Any, Any](), set[Any]()
    for kind, name, table, sql, page in connection.execute(query, (2 * len(expected) + 1,)):
        found[kind, name, table] = sql
        # Two tables on the same pages, or one on those of the schema, would change each other.
        if expected.get((kind, name, table), b"") != sql or page in pages or not isinstance(page, int) or page < 2:
            return str(name)
        pages.add(page)
    return next((name for _, name, _ in expected.keys() - found.keys()), None)


@functools.cache
def _objects() -> dict[tuple[str, str, str], str | None]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    finally:
        connection.close()
    return {(kind, name, table): sql for kind, name, table, sql in rows}
