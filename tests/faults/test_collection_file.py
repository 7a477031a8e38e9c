"""Files that are damaged, full, read-only or strange: a clear error or the right answer, never a traceback."""

import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sthash import Collection, CollectionError, Document, near_duplicates
from sthash.checksums import row_checksum
from sthash.cli import main
from sthash.collection.file.schema import TABLES
from support.corpus import found, make_documents, twin_search
from support.embedders import embed
from support.factories import copied, create_collection, small_segments, tables_in_use

COMMANDS = (
    ["search", "FILE", "kitten claw", "--json"],
    ["search", "FILE", "kitten", "--where", "parity=1", "--no-rerank", "--json"],
    ["similar", "FILE", "d8", "--json"],
    ["duplicates", "FILE", "--json"],
    ["classify", "FILE", "kitten claw", "--json"],
    ["info", "FILE", "--json"],
    ["export", "FILE"],
)
OF_VECTORS = tuple(command for command in COMMANDS if command[0] != "classify" and "--no-rerank" not in command)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file of texts and one of vectors with codes; both have rows in every table."""
    folder = tmp_path_factory.mktemp("whole")
    documents = [*make_documents(100), Document("copy", make_documents(9)[8].text), Document("gone", "a ship")]
    with small_segments(few=80):
        for name, embedder in (("texts.sth", None), ("vectors.sth", embed)):
            with create_collection(folder / name, [*documents[:80], documents[-1]], embedder=embedder) as collection:
                collection.add(documents[80:-1])
                collection.delete("gone")
                collection.upsert(documents[95:100])
            assert tables_in_use(folder / name) == set(TABLES)
    return folder


@pytest.fixture
def path(whole, tmp_path):
    return copied(whole / "texts.sth", tmp_path).rename(tmp_path / "c.sth")


def run(monkeypatch, path, command):
    """Exit status and output; an error must be one line."""
    monkeypatch.setattr(sys, "argv", ["sth", *(str(path) if word == "FILE" else word for word in command)])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end:
        main()
    if end.value.code:
        assert err.getvalue().startswith("sth: ")
        assert err.getvalue().count("\n") == 1
    return end.value.code, out.getvalue()


@pytest.mark.parametrize("kind", ["texts.sth", "vectors.sth"])
@pytest.mark.parametrize("part", range(2))
def test_altered_bytes_anywhere(whole, tmp_path, monkeypatch, kind, part):
    """Whatever byte is altered: the same answers, or an error, or at least a check that finds the damage."""
    path = copied(whole / kind, tmp_path)
    content = path.read_bytes()
    commands = COMMANDS if kind == "texts.sth" else OF_VECTORS
    right = [run(monkeypatch, path, command) for command in commands]
    assert all(status == 0 for status, _ in right)
    rng = np.random.default_rng(part)
    refused = 0
    for _ in range(25):
        altered = bytearray(content)
        place, length = int(rng.integers(len(content))), int(rng.choice([1, 1, 8, 200]))
        altered[place : place + length] = rng.bytes(len(altered[place : place + length]))
        path.write_bytes(altered)
        status, _ = run(monkeypatch, path, ["check", "FILE"])
        refused += bool(status)
        for command, expected in zip(commands, right, strict=True):
            given = run(monkeypatch, path, command)
            assert given == expected or given[0] == 1 or status == 1
    assert refused > 6


ALL = {"search", "similar", "duplicates", "classify"}


@pytest.mark.parametrize(
    ("table", "column", "fails"),
    [
        ("documents", "text", ALL | {"export"}),
        ("documents", "label", ALL | {"export"}),
        ("documents", "metadata", ALL | {"export"}),
        ("counts", "content", {"search", "similar"}),
        ("frequencies", "content", {"search", "similar"}),
        ("terms", "term", set()),  # a document is found by the form that was typed, too
        ("weights", "content", {"similar"}),
        ("weights", "frequency", {"similar"}),
        ("segments", "size", ALL | {"info"}),
        ("segments", "kind", ALL | {"info"}),
        ("parts", "content", ALL | {"info"}),
        ("deletions", "content", ALL | {"info"}),
        ("pending", "content", ALL | {"info"}),
        ("settings", "content", ALL | {"info"}),
    ],
)
@pytest.mark.parametrize("kind", ["texts.sth", "vectors.sth"])
def test_altered_values_are_found_in_every_table(whole, tmp_path, monkeypatch, kind, table, column, fails):
    path = copied(whole / kind, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        if column in ("frequency", "label", "size", "kind"):
            connection.execute(f"UPDATE {table} SET {column} = 7")
        else:
            connection.execute(f"UPDATE {table} SET {column} = CAST({column} || x'01' AS BLOB)")
    for command in (*(COMMANDS if kind == "texts.sth" else OF_VECTORS), ["check", "FILE"]):
        status, _ = run(monkeypatch, path, command)
        if kind == "texts.sth" and command[0] in fails:
            assert status == 1, command
    assert status == 1
    with pytest.raises(CollectionError, match=f"damaged.*{table}"), Collection.open(path) as collection:
        collection.check()


@pytest.mark.parametrize("kind", ["texts.sth", "vectors.sth"])
@pytest.mark.parametrize("table", TABLES)
def test_missing_rows_are_found(whole, tmp_path, kind, table):
    with contextlib.closing(sqlite3.connect(whole / kind)) as connection:
        which = "WHERE name <> 'embedder'" if table == "settings" else ""  # without a name, any embedder will do
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table} {which} ORDER BY rowid")]
    for row in {rows[0], rows[-1], rows[len(rows) // 2]}:
        path = copied(whole / kind, tmp_path)
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        with pytest.raises(CollectionError, match="damaged"), Collection.open(path) as collection:
            collection.check()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO deletions VALUES (999, 1, x'00', 0)",
        "INSERT INTO deletions VALUES (-1, 1, x'00', 0)",
        "INSERT INTO parts VALUES (4294967296 * 999, x'00', 0)",
        "INSERT INTO parts VALUES (-1, x'00', 0)",
        "INSERT INTO pending VALUES (7, x'00', 0)",  # of no kind
        "INSERT INTO pending VALUES (-1, x'00', 0)",
        "INSERT INTO pending VALUES ((9 << 52) + 1, x'00', 0)",
        "INSERT INTO pending VALUES ((2 << 52) + 3, x'00', 0)",  # of a document in a segment
        "INSERT INTO pending VALUES ((2 << 52) + 5000, x'00', 0)",  # of no document
        "INSERT INTO segments VALUES (999, 'nothing', 0, 9, 10, 10, 0)",
        "INSERT INTO segments VALUES (999, 'codes', 4000, 4009, 10, 10, 0)",
        "INSERT INTO weights VALUES (5000, 1, x'', 0)",
        "INSERT INTO weights VALUES (-1, 1, x'', 0)",
        "INSERT INTO counts VALUES (5000, x'', 0)",
        "INSERT INTO frequencies VALUES (5000, zeroblob(1024), 0)",
        "INSERT INTO terms VALUES (5000, x'41', 0)",
        "INSERT INTO documents VALUES (5000, x'41', NULL, x'7b7d', x'', 0)",
        "INSERT INTO settings VALUES ('strange', x'7b7d', 0)",
    ],
)
@pytest.mark.parametrize("kind", ["texts.sth", "vectors.sth"])
def test_rows_too_many_are_found(whole, tmp_path, kind, statement):
    """Their checksums are right, but nothing refers to them."""
    path = copied(whole / kind, tmp_path)
    table = statement.split()[2]
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
        row = connection.execute(f"SELECT rowid, * FROM {table} WHERE sum = 0").fetchone()
        connection.execute(f"UPDATE {table} SET sum = ? WHERE rowid = ?", (row_checksum(row[1:-1]), row[0]))
    with pytest.raises(CollectionError, match="damaged"), Collection.open(path) as collection:
        collection.check()


def test_cut_at_any_length(path, monkeypatch):
    content = path.read_bytes()
    for length in (1, 15, 16, 99, 100, 4095, 4096, 4097, 3 * 4096, len(content) - 4096, len(content) - 1):
        path.write_bytes(content[:length])
        assert run(monkeypatch, path, ["check", "FILE"])[0] == 1
        for command in COMMANDS:
            assert run(monkeypatch, path, command)[0] == 1


FULL_DISK = """
import sys, resource, signal
from sthash import Collection, CollectionError, Document, Learning
path, limit = sys.argv[1:]
if int(limit):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
documents = [Document(f"new{i}", f"kitten {i} " * 200) for i in range(2000)]
for change in (lambda c: c.add(documents), lambda c: c.upsert(documents)):
    try:
        with Collection.open(path) as collection:
            change(collection)
    except CollectionError as error:
        print(error)
try:
    texts = [f"ship{i % 7} sail{i % 13} mast{i % 31} " * 300 for i in range(2000)]
    Collection.create(path + "2", texts, learning=Learning(n_bits=8, n_neighbors=5))
except (CollectionError, OSError) as error:
    print(error)
"""


def test_a_full_disk(path, tmp_path):
    limit, folder, mounted = path.stat().st_size + 200_000, tmp_path / "small", False
    folder.mkdir()
    if os.geteuid() == 0:
        size = f"size={path.stat().st_size + 400_000}"
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True, check=False)
        mounted = mount.returncode == 0
    try:
        target = Path(shutil.copy(path, folder / "c.sth"))
        result = subprocess.run(
            [sys.executable, "-c", FULL_DISK, target, "0" if mounted else str(limit)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert result.returncode == 0, result.stderr
        messages = result.stdout.splitlines()
        assert len(messages) == 3
        assert all("disk" in message for message in messages)
        with Collection.open(target) as collection:
            assert collection.check().documents == 101
            assert found(collection, "kitten", 5) == twin_search(collection, "kitten", 5, 500)
        assert [file.name for file in folder.iterdir()] == ["c.sth"]
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


READ_ONLY = """
import os, sys
from sthash import Collection, CollectionError, SelfTaughtHashing, TextVectorizer
path, user = sys.argv[1:]
if int(user):
    os.setgid(int(user)); os.setuid(int(user))
with Collection.open(path) as collection:
    print(len(collection), collection.search("kitten", 1)[0].label)
    changes = (lambda: collection.add(["x"]), lambda: collection.delete("d1"), collection.relearn, collection.compact)
    for change in changes:
        try:
            change()
            print("changed")
        except CollectionError as error:
            print(error)
"""


def test_a_read_only_file(path, tmp_path):
    content = path.read_bytes()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    user = "0"
    if os.geteuid() == 0:
        user = "65534"  # root may write everything
        for folder in (tmp_path, *tmp_path.parents):
            if not folder.stat().st_mode & 0o001:
                folder.chmod(folder.stat().st_mode | 0o011)
    result = subprocess.run(
        [sys.executable, "-c", READ_ONLY, path, user], capture_output=True, text=True, check=False, timeout=120
    )
    tmp_path.chmod(0o755)
    assert result.returncode == 0, result.stderr
    first, *messages = result.stdout.splitlines()
    assert first == "101 cats"
    assert len(messages) == 4
    assert all("read-only" in message for message in messages)
    assert path.read_bytes() == content


STRANGE = {
    "nul": "kitten\0with\0nul",
    "surrogate": "kitten \ud800 alone \udfff",
    "right to left": "שלום kitten \u202e مرحبا",
    "empty": "",
    "blank": " \n\t ",
    "lines": "one\r\ntwo\u2028three\x85four",
    "long": "kitten" * 1_700_000,
    "emoji": "👩‍👩‍👧 kitten ﬀ",
    "'; DROP TABLE documents; --": "sql kitten",
    "../../etc/passwd": "path kitten",
    "": "no key at all, yet a key",
    "\ud800key\0": "surrogate key",
    "%s{0}\\": "percent",
}


def test_strange_texts_and_keys_come_back_as_they_were(path):
    documents = [
        Document(key, text, "l\0\ud800", {"a\ud800": text[:9], "n": None, "x": [1.5]}) for key, text in STRANGE.items()
    ]
    with Collection.open(path) as collection:
        collection.add(documents)
        assert list(collection)[101:] == documents
        for key in STRANGE:
            assert collection.get(key).text == STRANGE[key]
            collection.search(key=key, k=2)
        assert {hit.key for hit in collection.search("kitten path", 300)} >= {
            "../../etc/passwd",
            "nul",
            "right to left",
        }
        collection.search("\ud800 \0 kitten", 3, where={"n": None})
        assert len(collection.search("kitten", 300, where={"a\ud800": STRANGE["surrogate"][:9]})) == 1
        collection.relearn()
        near_duplicates(collection)
        assert collection.check().documents == 101 + len(STRANGE)
        assert collection.delete(list(STRANGE)) == len(STRANGE)
        assert collection.check().documents == 101


def test_strange_texts_through_the_command_line(path, monkeypatch, tmp_path):
    lines = "".join(json.dumps({"key": key, "text": text}) + "\n" for key, text in STRANGE.items())
    (tmp_path / "strange.jsonl").write_text(lines)
    assert run(monkeypatch, path, ["add", "FILE", str(tmp_path / "strange.jsonl")])[0] == 0
    exported = [json.loads(line) for line in run(monkeypatch, path, ["export", "FILE"])[1].splitlines()]
    assert {row["key"]: row["text"] for row in exported[101:]} == STRANGE
    for command in (["search", "FILE", "kitten"], ["duplicates", "FILE"], ["similar", "FILE", "../../etc/passwd"]):
        assert run(monkeypatch, path, command)[0] == 0


def test_many_documents_with_one_key(path):
    with Collection.open(path) as collection:
        same = (Document("same", f"ship {number}") for number in range(100_000))
        assert collection.upsert(same) == 100_000
        assert len(collection) == 102
        assert collection.get("same").text == "ship 99999"
        with pytest.raises(ValueError, match="'same'"):
            collection.add(Document("same", "ship") for _ in range(100_000))
        assert collection.check().documents == 102


def test_interrupted_builds_leave_nothing(tmp_path):
    def interrupted():
        yield from make_documents(50)
        signal.raise_signal(signal.SIGINT)
        yield from make_documents(50, first=50)

    with pytest.raises(KeyboardInterrupt):
        create_collection(tmp_path / "c.sth", interrupted())
    assert list(tmp_path.iterdir()) == []
