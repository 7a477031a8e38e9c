"""Files of a stranger, whose checksums are right and whose values are not: a clear error, and nothing out of bounds."""

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from sthash import Collection, CollectionError, classify, near_duplicates
from sthash.checksums import row_checksum
from sthash.collection import posting_table
from support.corpus import make_documents

GOLDEN = Path(__file__).parents[1] / "collection" / "golden"
BIG = [-1, 40, 41, 1 << 20, 2_000_000_000, (1 << 31) - 1, 1 << 31, 1 << 62, -(1 << 63)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posting_table, "MOST_PENDING", 50)
        with Collection.create(folder / "texts.sth", make_documents(90), n_bits=8, n_neighbors=5) as collection:
            collection.add(make_documents(9, first=90))
    rows = np.random.default_rng(0).normal(size=(90, 6))
    Collection.create(folder / "vectors.sth", vectors=rows, n_bits=8, n_neighbors=5).close()
    return folder


def forge(path, statement, *arguments):
    """Change a file and make its checksums right."""
    table = statement.split()[1 if statement.startswith("UPDATE") else 2]
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement, arguments)
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        for row in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
            with contextlib.suppress(TypeError):
                total = row_checksum(row[1:-1])
                connection.execute(f"UPDATE {table} SET sum = ? WHERE rowid = ?", (total, row[0]))
        assert names[-1] == "sum"


def settings(path, **changes):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (content,) = connection.execute("SELECT content FROM settings WHERE name = 'model'").fetchone()
    forge(
        path, "UPDATE settings SET content = ? WHERE name = 'model'", json.dumps(json.loads(content) | changes).encode()
    )


def everything(path, query):
    """Do what can be done; each step may fail with the documented error only, and the check must."""

    def lists(collection):
        with collection.snapshot() as now:
            columns = now.encode([query]).indices
            now.posting_lists(columns).search(
                np.array([0, len(columns)]),
                columns,
                np.ones(len(columns), np.float32),
                k=5,
                k1=1.5,
                b=0.75,
                mean_length=now.mean_length or 1.0,
                allowed=None,
                threads=1,
            )

    def votes(collection):
        with contextlib.suppress(ValueError):  # "no document has a label", where all are gone
            classify(collection, query)

    def filtered(collection):
        with contextlib.suppress(ValueError, TypeError):  # "no document has this field", where all are gone
            collection.search(query, 5, where={"parity": 1})
            collection.search(query, 5, where={"parity": 1}, rerank=False)

    steps = [
        filtered,
        lambda c: c.search(query, 5, explain=True),
        lambda c: c.search_many([query] * 3, 5),
        lambda c: c.search(query, 5, rerank=False),
        lambda c: c.search(key="d3" if isinstance(query, str) else "3"),
        near_duplicates,
        votes,
        lambda c: c.info(),
        lists if isinstance(query, str) else len,
        lambda c: c.add(["kitten harbour zeppelin"] * 2) if isinstance(query, str) else len(c),
        lambda c: c.delete("d4" if isinstance(query, str) else "4"),
    ]
    for step in [*steps, lambda c: c.relearn()]:
        copy = Path(shutil.copy(path, path.with_suffix(".copy")))
        with contextlib.suppress(CollectionError), Collection.open(copy) as collection:
            step(collection)
    with pytest.raises(CollectionError), Collection.open(path) as collection:
        collection.check()


def texts(whole, tmp_path):
    return Path(shutil.copy(whole / "texts.sth", tmp_path / "c.sth"))


@pytest.mark.parametrize("column", BIG)
def test_columns_of_terms(whole, tmp_path, column):
    path = texts(whole, tmp_path)
    forge(path, "UPDATE terms SET column = ? WHERE column = 0", column)
    everything(path, "kitten ship cat star")


@pytest.mark.parametrize(
    "changes",
    [
        {"n_terms": 41},
        {"n_terms": 39},
        {"n_terms": 1 << 40},
        {"n_terms": -1},
        {"n_terms": "40"},
        {"n_bits": 1 << 30},
        {"n_bits": 16},
        {"n_bits": 0},
        {"n_bits": 64, "intercept": [0.0] * 64},
        {"intercept": [float("nan")] * 8},
        {"intercept": [1e300] * 8},
        {"intercept": 7},
        {"weighting": "nothing"},
        {"stemmer": "klingon"},
        {"n_documents": -5},
        {"mean_length": -1},
        {"random_weights": {"weight": float("inf"), "seed": 0}},
        {"random_weights": {"weight": 1.0, "seed": -1}},
        {"random_weights": {"mass": 1.0}},
        {"learnt_on": "many"},
        {"tried_on": "many"},
        {"stop_words": [["a"]]},
        {"kind": "vectors"},
        {"kind": "vectors", "n_columns": 1 << 40},
    ],
    ids=str,
)
def test_settings_of_the_model(whole, tmp_path, changes):
    path = texts(whole, tmp_path)
    settings(path, **changes)
    everything(path, "kitten ship cat star")


VARINTS = [
    b"\xff" * 12,
    b"\x80",
    b"\x80\x00",
    b"\xfe\xff\xff\xff\xff\x0f",
    b"\x01\xff\xff\xff\xff\xff\x0f",
    b"\x00\x01\x02",
    b"\x9c\x01",
]


@pytest.mark.parametrize("content", [*VARINTS, b"", "text", None, 7], ids=repr)
@pytest.mark.parametrize("table", ["counts", "postings", "frequencies"])
def test_contents(whole, tmp_path, table, content):
    path = texts(whole, tmp_path)
    if content is None:
        content = bytes(100_000)
    forge(path, f"UPDATE {table} SET content = ?", content)
    everything(path, "kitten ship cat star")


@pytest.mark.parametrize(
    "change",
    [
        "held = x'01'",
        "held = zeroblob(100000)",
        "content = zeroblob(7)",
        "content = x''",
        "lengths = x'ffffffff'",
        "lengths = replace(hex(lengths), '08', 'ff')",
        "lengths = x''",
        "chunk = -1",
        "chunk = 4611686018427387904",
        "chunk = 5",
        "held = 'text'",
    ],
)
def test_codes(whole, tmp_path, change):
    path = texts(whole, tmp_path)
    forge(path, f"UPDATE codes SET {change}")
    everything(path, "kitten ship cat star")


@pytest.mark.parametrize(
    "change",
    [
        "first = -1",
        "last = 4611686018427387904",
        "last = 5",
        "first = 50",
        "live = -1",
        "live = 89",
        "segment = -1",
        "size = -1",
        "segment = 9223372036854775807",
        "segment = 3",
        "indexed = 0",
        "last = 9223372036854775807",
        "last = 'many'",
        "last = 0.5",
    ],
)
def test_segments(whole, tmp_path, change):
    path = texts(whole, tmp_path)
    forge(path, f"UPDATE segments SET {change}")
    everything(path, "kitten ship cat star")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE terms SET frequency = 0",
        "UPDATE terms SET frequency = -5",
        "UPDATE terms SET frequency = 9223372036854775807",
        "UPDATE terms SET frequency = 'many'",
        "UPDATE terms SET weights = x'00'",
        "UPDATE terms SET weights = zeroblob(32000)",
        "UPDATE terms SET weights = CAST(x'0000c07f' || substr(weights, 5) AS BLOB)",
        "UPDATE terms SET weights = x'ffff7f7fffff7f7fffff7f7fffff7f7fffff7f7fffff7f7fffff7f7fffff7f7f'",
        "UPDATE terms SET term = CAST(x'ff' || term AS BLOB)",
        "UPDATE frequencies SET chunk = -1",
        "UPDATE frequencies SET chunk = 1",
        "UPDATE frequencies SET chunk = 4611686018427387904",
        "UPDATE frequencies SET content = CAST(x'ffffffff' || substr(content, 5) AS BLOB)",
        "UPDATE postings SET place = place + 4294967296",
        "UPDATE postings SET place = place + 1000",
        "UPDATE postings SET place = -1 - place",
        "UPDATE counts SET id = id + 1000000",
        "UPDATE counts SET id = -1 - id",
        "UPDATE documents SET id = 4611686018427387904 + id",
        "UPDATE documents SET id = -1 - id",
        "UPDATE documents SET id = 9223372036854775807 - id",
        "UPDATE documents SET key = CAST(key || x'ff' AS BLOB) WHERE id > 5",
        "UPDATE documents SET label = x'ff'",
        "UPDATE documents SET text = x'ff'",
        "UPDATE documents SET metadata = x'ff'",
        "UPDATE documents SET metadata = CAST('[' || text || ']' AS BLOB)",
        "UPDATE settings SET content = x'ff' WHERE name = 'next'",
        "UPDATE settings SET content = x'ff' WHERE name = 'model'",
        "UPDATE settings SET content = CAST(replace(hex(zeroblob(50000)), '0', '[') AS BLOB)",
        "UPDATE terms SET frequency = 0.5",
        "DELETE FROM frequencies",
        "DELETE FROM terms WHERE column > 3",
        "DELETE FROM codes",
    ],
)
def test_other_values(whole, tmp_path, statement):
    path = texts(whole, tmp_path)
    forge(path, statement)
    everything(path, "kitten ship cat star")


@pytest.mark.parametrize("size", [0, 1, 20, 23, 28, 4000])
def test_sizes_of_dense_vectors(whole, tmp_path, size):
    path = Path(shutil.copy(whole / "vectors.sth", tmp_path / "c.sth"))
    forge(path, "UPDATE vectors SET content = ?", bytes(size))
    everything(path, np.ones(6))


@pytest.mark.parametrize(
    "changes", [{"n_columns": 7}, {"n_columns": 0}, {"n_columns": 1 << 40}, {"kind": "text"}], ids=str
)
def test_settings_of_dense_models(whole, tmp_path, changes):
    path = Path(shutil.copy(whole / "vectors.sth", tmp_path / "c.sth"))
    settings(path, **changes)
    everything(path, np.ones(6))


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.sth")), ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "change", ["key = CAST(key || x'ff' AS BLOB)", "text = x'ff'", "id = 9223372036854775807 - id"]
)
def test_documents_of_earlier_formats(tmp_path, golden, change):
    """Their texts are read, and their ids used, when they are opened."""
    path = Path(shutil.copy(golden, tmp_path / "c.sth"))
    forge(path, f"UPDATE documents SET {change}")
    for step in (lambda c: c.search("words"), lambda c: c.add(["some words"]), near_duplicates):
        copy = Path(shutil.copy(path, path.with_suffix(".copy")))
        with contextlib.suppress(CollectionError, TypeError), Collection.open(copy) as collection:
            step(collection)
    with pytest.raises(CollectionError), Collection.open(path) as collection:
        collection.check()


@pytest.mark.parametrize(
    "changes",
    [
        {"random_state": -1},
        {"sample_size": "all"},
        {"learning_seconds": 0},
        {"learning_bytes": 1},
        {"min_df": "x"},
        {"max_df": -3},
    ],
    ids=str,
)
def test_settings_to_learn_with(whole, tmp_path, changes):
    """They matter only to who learns again, and are then those of the file, not of the caller."""
    path = texts(whole, tmp_path)
    settings(path, **changes)
    with pytest.raises(CollectionError), Collection.open(path) as collection:
        collection.relearn()


@pytest.mark.parametrize(
    "changes",
    [
        {"learned_of": -1},
        {"learned_of": "all"},
        {"next_id": 1 << 70},
        {"next_id": None},
        {"seen_terms": 7},
        {"cost_of_all": 3},
        {"cost_of_all": {"seconds": "long", "bytes": 1}},
        {"cost_of_all": {"seconds": 1e400, "bytes": 1}},
        {"learning_seconds": -1},
        {"learning_bytes": "much"},
    ],
    ids=str,
)
def test_settings_that_only_advice_rests_on(whole, tmp_path, changes):
    path = texts(whole, tmp_path)
    settings(path, **changes)
    with Collection.open(path) as collection:
        assert collection.search("kitten", 1)
        with pytest.raises(CollectionError, match="settings of its model cannot be used"):
            collection.info()


def test_settings_to_learn_with_that_are_missing(whole, tmp_path):
    path = texts(whole, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (content,) = connection.execute("SELECT content FROM settings WHERE name = 'model'").fetchone()
    kept = {name: value for name, value in json.loads(content).items() if name != "n_neighbors"}
    forge(path, "UPDATE settings SET content = ? WHERE name = 'model'", json.dumps(kept).encode())
    with pytest.raises(CollectionError), Collection.open(path) as collection:
        collection.relearn()


def test_codes_with_bits_beyond_the_last(tmp_path):
    Collection.create(tmp_path / "c.sth", make_documents(60), n_bits=6, n_neighbors=5).close()
    forge(tmp_path / "c.sth", "UPDATE codes SET content = CAST(x'ff' || substr(content, 2) AS BLOB)")
    everything(tmp_path / "c.sth", "kitten ship cat star")


def test_frequencies_above_the_number_of_documents(whole, tmp_path):
    """A word that is in more documents than there are would have a negative weight."""
    path = texts(whole, tmp_path)
    forge(path, "UPDATE frequencies SET content = ?", np.full(256, 100, dtype=np.int32).tobytes())
    everything(path, "kitten ship cat star")
