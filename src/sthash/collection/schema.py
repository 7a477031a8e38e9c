"""What the database of a collection looks like: the tables of each format, and nothing that a stranger has added.

A file may come from anywhere. SQLite would run its triggers, constraints, generated columns and views, so a file whose
schema is not letter for letter that of its format is refused, and what a statement may do is limited.
"""

from __future__ import annotations

import functools
import sqlite3
from typing import Any

FORMAT = 3
# Has the tables of format 3; its vectors are of any length and compared by inner product, which format 3 does not know.
PRODUCT_FORMAT = 4
OLDEST_FORMAT, NEWEST_FORMAT = 1, PRODUCT_FORMAT

_COMMON = """
CREATE TABLE settings (name TEXT PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE terms (column INTEGER PRIMARY KEY, term BLOB NOT NULL UNIQUE, frequency INTEGER NOT NULL,
                    weights BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE documents (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, label BLOB, metadata BLOB NOT NULL,
                        text BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
"""
_TABLES_1 = f"""{_COMMON}
CREATE TABLE codes (chunk INTEGER PRIMARY KEY, held BLOB NOT NULL, content BLOB NOT NULL, sum INTEGER NOT NULL);
"""
_TABLES_3 = f"""{_COMMON}
CREATE TABLE frequencies (chunk INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE counts (id INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE codes (chunk INTEGER PRIMARY KEY, held BLOB NOT NULL, content BLOB NOT NULL, lengths BLOB NOT NULL,
                    sum INTEGER NOT NULL);
CREATE TABLE segments (segment INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,
                       indexed INTEGER NOT NULL, live INTEGER NOT NULL, size INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE postings (place INTEGER PRIMARY KEY, content BLOB NOT NULL, sum INTEGER NOT NULL);
"""
# The statements that make the tables of each format. A file has exactly these, or it is not opened.
SCHEMAS = {1: _TABLES_1, 2: _TABLES_1, 3: _TABLES_3, 4: _TABLES_3}
SCHEMA = SCHEMAS[FORMAT]
# The tables of the newest format with the types of a row's values. SQLite keeps whatever it is given, and a stranger's
# file may hold anything.
TYPES: dict[str, tuple[tuple[type, ...], ...]] = {
    "settings": ((str, bytes),),
    "terms": ((int, bytes, int, bytes),),
    "documents": ((int, bytes, bytes, bytes, bytes), (int, bytes, type(None), bytes, bytes)),
    "vectors": ((int, bytes),),
    "frequencies": ((int, bytes),),
    "counts": ((int, bytes),),
    "codes": ((int, bytes, bytes, bytes),),
    "segments": ((int, int, int, int, int, int),),
    "postings": ((int, bytes),),
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


def strange_schema(connection: sqlite3.Connection, version: int) -> str | None:
    """Return the name of something that does not belong to a format, or is missing; None if all is right."""
    expected = _objects(version)
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
def _objects(version: int) -> dict[tuple[str, str, str], str | None]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMAS[version])
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    finally:
        connection.close()
    return {(kind, name, table): sql for kind, name, table, sql in rows}
