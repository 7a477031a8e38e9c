"""Nothing that stands in a stranger's file runs: any schema but ours is refused, at once and with one sentence."""

import contextlib
import shutil
import sqlite3

import pytest

from sthash import Collection, CollectionError, Learning
from sthash.collection.file.connection import connect
from sthash.collection.file.journal import note_open
from support.corpus import make_documents

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON documents BEGIN {}; END;"
ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r"
GENERATED = "ALTER TABLE {} ADD COLUMN boom BLOB GENERATED ALWAYS AS ({}) VIRTUAL;"
REWRITE = """PRAGMA writable_schema = ON;
UPDATE sqlite_master SET {} WHERE name = '{}';
PRAGMA writable_schema = OFF;"""
STRANGE = {
    "a trigger that deletes": TRIGGER.format("DELETE FROM documents WHERE id <> new.id; DELETE FROM parts"),
    "a trigger without end": TRIGGER.format(f"INSERT INTO settings SELECT 'x', x'00', count(*) FROM ({ENDLESS})"),
    "a trigger that loads": TRIGGER.format("SELECT load_extension('/tmp/evil.so')"),
    "a generated column": GENERATED.format("settings", "zeroblob(900000000)"),
    "a generated column of texts": GENERATED.format("documents", "hex(zeroblob(200000000))"),
    "an index of an expression": "CREATE INDEX i ON documents(length(hex(text)));",
    "a plain index": "CREATE INDEX i ON documents(label);",
    "a virtual table": "DROP TABLE terms; CREATE VIRTUAL TABLE terms USING fts5(term, frequency, weights, sum);",
    "a view": f"DROP TABLE pending; CREATE VIEW pending AS SELECT i AS place, i AS content, i AS sum FROM ({ENDLESS});",
    "a constraint": REWRITE.format("sql = replace(sql, 'sum INTEGER', 'sum INTEGER CHECK (sum <> 1)')", "pending"),
    "a default": REWRITE.format("sql = replace(sql, 'label BLOB', 'label BLOB DEFAULT (hex(1))')", "documents"),
    "pages of another table": REWRITE.format(
        "rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'documents')", "parts"
    ),
    "pages of the schema": REWRITE.format("rootpage = 1", "parts"),
    "a table more": "CREATE TABLE more (a);",
    "many tables": f"BEGIN; {''.join(f'CREATE TABLE t{number} (a);' for number in range(3000))} COMMIT;",
    "a table less": "DROP TABLE pending;",
    "statistics": "ANALYZE;",
    "no format": "PRAGMA user_version = 0;",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "c.sth"
    Collection.create(path, make_documents(80), learning=Learning(n_bits=8, n_neighbors=5)).close()
    return path


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_schema_is_refused(whole, tmp_path, name):
    path = shutil.copy(whole, tmp_path / "c.sth")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(STRANGE[name])
    with pytest.raises(CollectionError):
        Collection.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH ':memory:' AS other",
        "SELECT load_extension('x')",
        "SELECT hex(zeroblob(1000))",
        "PRAGMA writable_schema = ON",
        "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM pending; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
        f"SELECT {'+'.join('1' * 500)}",
    ],
)
def test_what_a_connection_may_not_do(whole, statement):
    connection, identity = connect(whole, "rw")
    try:
        with pytest.raises(sqlite3.Error):
            connection.execute(statement)
    finally:
        connection.close()
        note_open(identity, -1)


def test_a_trigger_that_comes_later_does_not_run(whole, tmp_path):
    path = shutil.copy(whole, tmp_path / "c.sth")
    with Collection.open(path) as collection:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript(STRANGE["a trigger that deletes"])
        with pytest.raises(CollectionError):
            collection.add(["kitten"])
        assert len(collection) == 80


def test_a_write_ahead_log_is_taken_back(whole, tmp_path):
    path = shutil.copy(whole, tmp_path / "c.sth")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with Collection.open(path) as collection:
        collection.add(["kitten"])
        assert collection.check().documents == 81
        assert [file.name for file in tmp_path.iterdir()] == ["c.sth"]
