"""Files of a stranger, whose checksums are right and whose values are not: a clear error, and nothing out of bounds."""

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from fuzz.collection_files import check_documented
from sthash import Collection, CollectionError, Document, classify, near_duplicates
from sthash.checksums import row_checksum
from sthash.collection.file.schema import TABLES
from support.corpus import make_documents
from support.factories import copied, create_collection, random_vectors, small_segments, tables_in_use

GOLDEN = Path(__file__).parents[1] / "collection" / "golden"
BIG = [-1, 40, 41, 1 << 20, 2_000_000_000, (1 << 31) - 1, 1 << 31, 1 << 62, -(1 << 63)]
TEXT = "kitten ship cat star"
VECTOR = np.ones(6)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file of texts, one of vectors with cells and codes, and one of few vectors; with rows in every table."""
    folder = tmp_path_factory.mktemp("whole")
    documents, rows = make_documents(99), random_vectors(99, 6)
    with small_segments(few=80):
        with create_collection(folder / "texts.sth", documents[:90]) as collection:
            collection.add(documents[90:])
            collection.delete("d7")
        with create_collection(folder / "vectors.sth", documents[:90], vectors=rows[:90]) as collection:
            collection.add(documents[90:], vectors=rows[90:])
            collection.delete("d7")
        Collection.create(folder / "few.sth", documents[:15], vectors=rows[:15]).close()
    assert tables_in_use(folder / "texts.sth") == tables_in_use(folder / "vectors.sth") == set(TABLES)
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


def setting(path, name):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (content,) = connection.execute("SELECT content FROM settings WHERE name = ?", (name,)).fetchone()
    return json.loads(content)


def settings(path, name="codes", **changes):
    content = json.dumps(setting(path, name) | changes).encode()
    forge(path, "UPDATE settings SET content = ? WHERE name = ?", content, name)


def everything(path, query):
    """Do what can be done; each step may fail with the documented error only, and the check must."""
    text = isinstance(query, str)

    def lists(collection):
        with collection.snapshot() as now:
            columns = np.arange(min(now.words.n_columns, 100), dtype=np.int32)
            now.words.posting_lists(columns)
            now.words.frequencies(columns)

    def filtered(collection):
        collection.search(query, 5, where={"parity": 1})
        collection.search(query, 5, where={"parity": 1}, rerank=False)

    def by_codes(collection):
        if collection.n_bits:
            collection.search(query, 5, rerank=False)
            collection.search(query, 5, radius=3)

    steps = [
        filtered,
        by_codes,
        lambda c: classify(c, query),
        lists,
        near_duplicates,
        lambda c: c.search(query, 5, explain=True),
        lambda c: c.search(TEXT, 5, explain=True, correct=True),
        lambda c: c.search('"kitten cat" -ship', 5),
        lambda c: c.search_many([query] * 3, 5),
        lambda c: c.search(key="d3"),
        lambda c: c.info(),
        lambda c: c.add(["kitten harbour zeppelin"] * 2, vectors=None if text else [VECTOR, VECTOR]),
        lambda c: c.upsert([Document("d5", "zeppelin")], vectors=None if text else [VECTOR]),
        lambda c: c.delete(["d4", "d5"]),
        lambda c: c.relearn(),
    ]
    for step in steps:
        copy = Path(shutil.copy(path, path.with_suffix(".copy")))
        try:
            with Collection.open(copy) as collection:
                step(collection)
        except (ValueError, KeyError, TypeError) as error:
            check_documented(error)
    with pytest.raises(CollectionError), Collection.open(path) as collection:
        collection.check()


def texts(whole, tmp_path):
    return copied(whole / "texts.sth", tmp_path)


def vectors(whole, tmp_path):
    return copied(whole / "vectors.sth", tmp_path)


@pytest.mark.parametrize("column", BIG)
def test_columns_of_terms(whole, tmp_path, column):
    path = texts(whole, tmp_path)
    forge(path, "UPDATE terms SET column = ? WHERE column = 0", column)
    everything(path, TEXT)


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
        {"learned_on": "many"},
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
    everything(path, TEXT)


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
@pytest.mark.parametrize("table", ["counts", "parts", "frequencies", "deletions", "pending"])
def test_contents(whole, tmp_path, table, content):
    path = texts(whole, tmp_path)
    if content is None:
        content = bytes(100_000)
    forge(path, f"UPDATE {table} SET content = ?", content)
    everything(path, TEXT)


@pytest.mark.parametrize("content", [*VARINTS, b"", "text", None, 7], ids=repr)
@pytest.mark.parametrize("table", ["parts", "deletions", "pending", "weights"])
def test_contents_of_vectors(whole, tmp_path, table, content):
    path = vectors(whole, tmp_path)
    forge(path, f"UPDATE {table} SET content = ?", bytes(100_000) if content is None else content)
    everything(path, VECTOR)


@pytest.mark.parametrize(
    "change",
    [
        "first = -1",
        "first = 50",
        "last = 4611686018427387904",
        "last = 5",
        "last = 9223372036854775807",
        "last = 'many'",
        "last = 0.5",
        "last = last + 1000",
        "size = -1",
        "size = 0",
        "size = 1",
        "size = 1000000000000, last = 1000000000000",
        "bytes = -1",
        "bytes = 'many'",
        "segment = -1 - segment",
        "segment = 9223372036854775807 - segment",
        "segment = segment + 100",
        "kind = 'nothing'",
        "kind = ''",
        "kind = CASE kind WHEN 'lengths' THEN 'codes' WHEN 'codes' THEN 'lengths' ELSE kind END",
        "kind = CASE kind WHEN 'lengths' THEN 'words' WHEN 'words' THEN 'lengths' ELSE kind END",
        "kind = x'00'",
    ],
)
@pytest.mark.parametrize("kind", ["texts.sth", "vectors.sth"])
def test_segments(whole, tmp_path, kind, change):
    path = copied(whole / kind, tmp_path)
    forge(path, f"UPDATE segments SET {change}")
    everything(path, TEXT if kind == "texts.sth" else VECTOR)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE weights SET frequency = 0",
        "UPDATE weights SET frequency = -5",
        "UPDATE weights SET frequency = 9223372036854775807",
        "UPDATE weights SET frequency = 'many'",
        "UPDATE weights SET content = x'00'",
        "UPDATE weights SET content = zeroblob(32000)",
        "UPDATE weights SET content = CAST(x'0000c07f' || substr(content, 5) AS BLOB)",
        "UPDATE weights SET content = x'ffff7f7fffff7f7fffff7f7fffff7f7fffff7f7fffff7f7fffff7f7fffff7f7f'",
        "UPDATE terms SET term = CAST(x'ff' || term AS BLOB)",
        "UPDATE frequencies SET chunk = -1",
        "UPDATE frequencies SET chunk = 1",
        "UPDATE frequencies SET chunk = 4611686018427387904",
        "UPDATE frequencies SET content = CAST(x'ffffffff' || substr(content, 5) AS BLOB)",
        "UPDATE parts SET place = place + 4294967296000",
        "UPDATE parts SET place = place + 1000",
        "UPDATE parts SET place = -1 - place",
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
        "UPDATE settings SET content = x'ff' WHERE name = 'codes'",
        "UPDATE settings SET content = CAST(replace(hex(zeroblob(50000)), '0', '[') AS BLOB)",
        "UPDATE weights SET frequency = 0.5",
        "DELETE FROM frequencies",
        "DELETE FROM terms WHERE column > 3",
        "DELETE FROM weights",
        "DELETE FROM weights WHERE column = 3",
        "DELETE FROM segments",
        "DELETE FROM parts",
        "DELETE FROM deletions",
        "DELETE FROM pending",
        "UPDATE weights SET column = -1 - column",
        "UPDATE weights SET column = column + 1000",
        "UPDATE deletions SET place = place + 100",
        "UPDATE deletions SET place = -1 - place",
        "UPDATE pending SET place = place + (9 << 52)",
        "UPDATE pending SET place = place + 1000",
        "UPDATE pending SET place = place - 50",
        "UPDATE pending SET place = -1 - place",
        "UPDATE settings SET content = x'ff' WHERE name = 'words'",
    ],
)
def test_other_values(whole, tmp_path, statement):
    path = texts(whole, tmp_path)
    forge(path, statement)
    everything(path, TEXT)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pending SET place = place + 4503599627370496 WHERE place >= 4 << 52",
        "UPDATE pending SET place = place + 1000 WHERE place >= 4 << 52",
        "DELETE FROM pending WHERE place >= 4 << 52",
        "DELETE FROM pending WHERE place BETWEEN 3 << 52 AND 4 << 52",
        "DELETE FROM deletions",
        "DELETE FROM segments WHERE kind = 'cells'",
        "DELETE FROM segments WHERE kind = 'vectors'",
        "DELETE FROM settings WHERE name = 'cells'",
        "DELETE FROM settings WHERE name = 'codes'",
        "DELETE FROM settings WHERE name = 'cells.signs'",
        "UPDATE settings SET content = x'' WHERE name = 'cells.centers'",
        "UPDATE settings SET content = zeroblob(100000) WHERE name = 'cells.centers'",
        "UPDATE settings SET content = zeroblob(length(content) - 4) WHERE name = 'cells.lengths'",
        "UPDATE settings SET content = CAST(x'0000c07f' || substr(content, 5) AS BLOB) WHERE name = 'cells.signs'",
        "UPDATE settings SET content = CAST(x'0000807f' || substr(content, 5) AS BLOB) WHERE name = 'cells.scales'",
        "UPDATE settings SET content = x'ff' WHERE name = 'cells'",
        "UPDATE weights SET content = x'0000c07f' WHERE column = 0",
        "UPDATE weights SET content = CAST(x'0000c07f' || substr(content, 5) AS BLOB)",
    ],
)
def test_values_of_vectors(whole, tmp_path, statement):
    path = vectors(whole, tmp_path)
    forge(path, statement)
    everything(path, VECTOR)


@pytest.mark.parametrize("size", [0, 1, 20, 23, 28, 4000])
@pytest.mark.parametrize("kind", ["few.sth", "vectors.sth"])
def test_sizes_of_dense_vectors(whole, tmp_path, kind, size):
    path = copied(whole / kind, tmp_path)
    forge(path, "UPDATE pending SET content = ? WHERE place >= 4 << 52", bytes(size))
    everything(path, VECTOR)


@pytest.mark.parametrize("value", ["0000c07f", "0000807f", "ffff7f7f"], ids=["NaN", "infinity", "largest"])
@pytest.mark.parametrize("kind", ["few.sth", "vectors.sth"])
def test_values_that_are_no_numbers(whole, tmp_path, kind, value):
    path = copied(whole / kind, tmp_path)
    forge(path, f"UPDATE pending SET content = CAST(x'{value}' || substr(content, 5) AS BLOB) WHERE place >= 4 << 52")
    everything(path, VECTOR)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("codes", {"n_columns": 7}),
        ("codes", {"n_columns": 0}),
        ("codes", {"n_columns": 1 << 40}),
        ("codes", {"kind": "text"}),
        ("codes", {"metric": "ip"}),
        ("cells", {"n_columns": 7}),
        ("cells", {"n_columns": 0}),
        ("cells", {"n_columns": 1 << 40}),
        ("cells", {"metric": "ip"}),
        ("cells", {"metric": ["cosine"]}),
        ("cells", {"precision": "int8"}),
        ("cells", {"precision": "float16"}),
        ("cells", {"n_bytes": 2}),
        ("cells", {"n_bytes": 23}),
        ("cells", {"n_bytes": 1 << 40}),
        ("cells", {"learned_on": 0}),
        ("cells", {"learned_on": -1}),
        ("cells", {"generation": "x"}),
        ("cells", {"arrays": {}}),
        ("cells", {"arrays": 7}),
        ("cells", {"arrays": {"centers": 7}}),
        ("cells", {"arrays": {"centers": ["O", [16, 6]]}}),
        ("cells", {"arrays": {"centers": ["<f4", [-1, 6]]}}),
        ("cells", {"arrays": {"centers": ["V8", [1 << 40, 1 << 40]]}}),
    ],
    ids=str,
)
def test_settings_of_vectors(whole, tmp_path, name, changes):
    path = vectors(whole, tmp_path)
    settings(path, name, **changes)
    everything(path, VECTOR)


@pytest.mark.parametrize("array", ["centers", "lengths", "signs", "scales", "margins", "steps"])
@pytest.mark.parametrize("change", ["|O", [1 << 50], [], "<c16"], ids=str)
def test_arrays_of_cells(whole, tmp_path, array, change):
    path = vectors(whole, tmp_path)
    arrays = setting(path, "cells")["arrays"]
    arrays[array] = [change, arrays[array][1]] if isinstance(change, str) else [arrays[array][0], change]
    settings(path, "cells", arrays=arrays)
    everything(path, VECTOR)


def test_a_cell_that_there_is_not(whole, tmp_path):
    for value in ("ffffffff", "ffffff7f", "e8030000"):
        path = vectors(whole, tmp_path)
        where = "place BETWEEN 3 << 52 AND 4 << 52"
        forge(path, f"UPDATE pending SET content = CAST(x'{value}' || substr(content, 5) AS BLOB) WHERE {where}")
        everything(path, VECTOR)


def test_a_vector_in_another_cell(whole, tmp_path):
    """A search must not fail; the check finds it."""
    path = vectors(whole, tmp_path)
    where = "place BETWEEN 3 << 52 AND 4 << 52"
    forge(path, f"UPDATE pending SET content = CAST(x'01000000' || substr(content, 5) AS BLOB) WHERE {where}")
    everything(path, VECTOR)


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.sth")), ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "change", ["key = CAST(key || x'ff' AS BLOB)", "text = x'ff'", "id = 9223372036854775807 - id"]
)
def test_documents_of_golden_files(tmp_path, golden, change):
    path = copied(golden, tmp_path)
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
        {"seconds": 0},
        {"memory": 1},
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
        {"seconds": -1},
        {"memory": "much"},
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
    kept = {name: value for name, value in setting(path, "codes").items() if name != "n_neighbors"}
    forge(path, "UPDATE settings SET content = ? WHERE name = 'codes'", json.dumps(kept).encode())
    with pytest.raises(CollectionError), Collection.open(path) as collection:
        collection.relearn()


def test_codes_with_bits_beyond_the_last(tmp_path):
    create_collection(tmp_path / "c.sth", make_documents(60), n_bits=6).close()
    forge(tmp_path / "c.sth", "UPDATE pending SET content = x'ff' WHERE place BETWEEN 2 << 52 AND 3 << 52")
    everything(tmp_path / "c.sth", TEXT)


def test_frequencies_above_the_number_of_documents(whole, tmp_path):
    """A word that is in more documents than there are would have a negative weight."""
    path = texts(whole, tmp_path)
    forge(path, "UPDATE frequencies SET content = ?", np.full(256, 100, dtype=np.int32).tobytes())
    everything(path, TEXT)
