import csv
import gzip
import json
import lzma
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sthash import Collection
from sthash.cli.commands import COMMANDS as ALL_COMMANDS
from sthash.collection.build import builder
from sthash.extras import install_command
from support.components import require
from support.corpus import as_rows, make_documents


def lines(result):
    return [json.loads(line) for line in result.out.splitlines()]


def test_add_delete_export(sth, built):
    more = "".join(json.dumps({"key": f"m{i}", "text": "a ship at sea"}) + "\n" for i in range(3))
    assert "3 documents added" in sth("add", built, "-", stdin=more).err
    assert "'m0'" in sth("add", built, "-", stdin=more, status=1).err
    sth("add", built, "-", "--replace", stdin=more)
    assert "2 documents deleted" in sth("delete", built, "m0", "m1").err
    assert "'m0'" in sth("delete", built, "m0", status=1).err
    sth("delete", built, "m0", "--missing-ok")
    exported = sth("export", built).out
    rows = [json.loads(line) for line in exported.splitlines()]
    assert len(rows) == 121
    assert rows[-1] == {"key": "m2", "text": "a ship at sea", "label": None, "metadata": {}}
    sth("build", "again.sth", "-", "--n-bits", 8, "--n-neighbors", 5, stdin=exported)
    assert sth("export", "again.sth").out == exported
    assert "relearned from 121 documents" in sth("relearn", built, "--n-bits", 4).err
    assert "bytes" in sth("compact", built).err
    assert lines(sth("info", built, "--json"))[0]["n_bits"] == 4
    assert "ok, 121 documents" in sth("check", built).out
    assert "1 document deleted" in sth("delete", built, "m2").err
    assert lines(sth("check", built, "--json"))[0]["ok"] is True
    assert "121" in sth("info", built).out


def test_copy_and_restore(sth, built, tmp_path):
    sth("copy", built, "copy.sth")
    assert "--overwrite" in sth("copy", built, "copy.sth", status=1).err
    expected = sth("export", built).out
    (tmp_path / "damaged.sth").write_bytes((tmp_path / built).read_bytes()[:9000])
    sth("copy", "copy.sth", "damaged.sth", "--overwrite")
    assert sth("export", "damaged.sth").out == expected


def test_duplicates_and_classify(sth, built):
    copies = "".join(json.dumps({"key": f"m{i}", "text": "ship sail harbour captain"}) + "\n" for i in range(3))
    sth("add", built, "-", stdin=copies)
    groups = lines(sth("duplicates", built, "--json"))
    assert {"keep": "m0", "reason": "first of 3", "keys": ["m0", "m1", "m2"]} in groups
    assert "documents to drop" in sth("duplicates", built, "--keep", "longest").err
    assert lines(sth("classify", built, "kitten claw", "--json"))[0]["label"] == "cats"
    assert "cats" in sth("classify", built, "kitten claw", "--voting", "distance").out
    assert "--keep 'last'" in sth("duplicates", built, "--keep", "last", status=1).err
    assert "--voting 'x'" in sth("classify", built, "a", "--voting", "x", status=1).err


def write(path, rows, kind):
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        if kind == "lines":
            file.writelines(row["body"] + "\n" for row in rows)
        elif kind == "jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, rows[0], delimiter="\t" if kind == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)


@pytest.mark.parametrize("compression", ["", ".gz", ".xz"])
@pytest.mark.parametrize("kind", ["lines", "jsonl", "csv", "tsv"])
def test_every_format(sth, tmp_path, kind, compression):
    rows = as_rows(make_documents(60))
    rows[1]["body"] = 'a "quoted" ship,\tand a tab\u2028' + ("" if kind in ("lines", "jsonl") else "\nand a line")
    write(tmp_path / f"docs.{kind}{compression}", rows, kind)
    fields = [] if kind == "lines" else ["--key", "id", "--text", "body", "--label", "topic"]
    sth("build", "c.sth", f"docs.{kind}{compression}", *fields, "--n-bits", 4, "--n-neighbors", 5)
    with Collection.open(tmp_path / "c.sth") as collection:
        documents = list(collection)
    assert [document.text for document in documents] == [row["body"] for row in rows]
    if kind != "lines":
        assert [document.key for document in documents] == [row["id"] for row in rows]
        assert documents[5].label == rows[5]["topic"]
        assert documents[5].metadata == {"number": 5 if kind == "jsonl" else "5"}


def test_parquet(sth, tmp_path):
    require("PyArrow")
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(as_rows(make_documents(60))), tmp_path / "docs.parquet")
    sth("build", "c.sth", "docs.parquet", "--text", "body", "--label", "topic", "--n-bits", 4, "--n-neighbors", 5)
    assert len(sth("export", "c.sth").out.splitlines()) == 60
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not really")
    assert "Parquet" in sth("add", "c.sth", "bad.parquet", status=1).err


def test_folders(sth, tmp_path):
    for document in make_documents(60):
        file = tmp_path / "docs" / document.label / f"{document.key}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document.text)
    (tmp_path / "docs" / ".hidden").write_text("not this")
    with gzip.open(tmp_path / "docs" / "extra.txt.gz", "wt") as file:
        file.write("compressed yeast")
    sth("build", "c.sth", "docs", "--n-bits", 4, "--n-neighbors", 5)
    with Collection.open(tmp_path / "c.sth") as collection:
        assert len(collection) == 61
        assert collection.get("cats/d1.txt").label == "cats" or collection.get("bread/d0.txt").label == "bread"
        assert collection.get("extra.txt.gz").text == "compressed yeast"
        assert collection.get("extra.txt.gz").label is None
    latin = tmp_path / "latin.txt"
    latin.write_bytes("ein Schäf\n".encode("latin-1"))
    assert "--encoding latin-1" in sth("add", "c.sth", latin, status=1).err
    sth("add", "c.sth", latin, "--encoding", "latin-1")


def test_errors_are_one_line(sth, built, tmp_path):
    assert "COLLECTION" in sth("search", status=2).err
    assert "No such command" in sth("nothing", status=2).err
    assert "there is no file" in sth("search", "missing.sth", "x", status=1).err
    assert "--overwrite" in sth("build", built, "docs.jsonl", status=1).err
    sth("build", built, "docs.jsonl", "--text", "body", "--n-bits", 4, "--n-neighbors", 5, "--overwrite")
    assert "missing.jsonl does not exist" in sth("add", built, "missing.jsonl", status=1).err
    assert "c.sth is a collection, not a source" in sth("add", built, "c.sth", status=1).err
    assert "line 1" in sth("add", built, "-", stdin="not json", status=1).err
    assert "not a JSON object" in sth("add", built, "-", stdin="[1]", status=1).err
    assert "Set --text to" in sth("add", built, "-", stdin='{"a": 1}', status=1).err
    assert "'zzz'" in sth("add", built, "-", "--key", "zzz", stdin='{"text": "a"}', status=1).err
    assert "line 2" in sth("add", built, "-", "--format", "csv", stdin="text,b\nx\n", status=1).err
    assert "FIELD=VALUE" in sth("search", built, "x", "--where", "=y", status=1).err
    unknown = sth("search", built, "x", "--where", "y", status=1).err
    assert "'y', which no document has. The documents have: 'key', 'label', 'number', 'topic'." in unknown
    assert "have a number there" in sth("search", built, "x", "--where", 'number="3"', status=1).err
    assert "-k 0" in sth("search", built, "x", "-k", 0, status=1).err
    assert "--n-bits 5000" in sth("build", "new.sth", "-", "--n-bits", 5000, stdin='{"text": "ship"}', status=1).err
    assert "encoding" in sth("add", built, "-", "--encoding", "nope", stdin="{}", status=1).err
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "abc"}\n' * 100)[:-20])
    assert "cut short" in sth("add", built, "cut.jsonl.gz", status=1).err
    assert not (tmp_path / "new.sth").exists()
    assert not list(tmp_path.glob("*.building"))


COMMANDS = {
    "search": ["x"],
    "similar": ["d1"],
    "duplicates": [],
    "classify": ["x"],
    "info": [],
    "check": [],
    "export": [],
    "add": ["docs.jsonl", "--text", "body"],
    "delete": ["d1"],
    "relearn": [],
    "compact": [],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_takes_what_is_no_collection(sth, built, tmp_path, command):
    whole = (tmp_path / built).read_bytes()
    other = sqlite3.connect(tmp_path / "other.sth")
    other.execute("CREATE TABLE mine (a)")
    other.close()
    newer = bytearray(whole)
    newer[60:64] = (99).to_bytes(4, "big")
    (tmp_path / "newer.sth").write_bytes(newer)
    (tmp_path / "text.sth").write_text("this is no collection\n" * 100)
    (tmp_path / "empty.sth").write_bytes(b"")
    (tmp_path / "folder.sth").mkdir()
    for name, message in {
        "other.sth": "not a collection",
        "newer.sth": "Upgrade",
        "text.sth": "not a collection",
        "empty.sth": "not a collection",
        "folder.sth": "directory",
    }.items():
        assert message in sth(command, name, *COMMANDS[command], status=1).err
    (tmp_path / "cut.sth").write_bytes(whole[: len(whole) // 2])
    assert "damaged" in sth(command, "cut.sth", *COMMANDS[command], status=1).err


def test_output_to_a_closed_pipe_is_no_error(sth, built, tmp_path):
    script = f"'{sys.executable}' -m sthash.cli export '{tmp_path / built}' | head -1"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr == ""


def test_a_search_imports_no_more_than_it_needs(built, tmp_path, run_python):
    source = (
        "import sys; sys.argv = ['sth', 'search', 'c.sth', 'kitten', '--json']; import os; "
        f"os.chdir({str(tmp_path)!r})\n"
        "from sthash.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print('MODULES', *sys.modules)"
    )
    modules = run_python(source).split("MODULES")[1].split()
    assert not {"scipy", "sklearn", "rich", "pyarrow", "sthash.hashing"} & set(modules)


def test_demo(sth, tmp_path):
    shown = sth("demo", tmp_path / "python.sth").out
    assert "tarfile" in shown
    assert "Try next" in shown
    assert "ok" in sth("check", tmp_path / "python.sth").out


def test_the_installed_command(built, tmp_path):
    command = Path(sys.executable).parent / "sth"
    shape = (
        f"'{command}' build n.sth docs.jsonl --text body --n-bits 8 && '{command}' search n.sth 'kitten' -k 5 --json"
    )
    result = subprocess.run(
        ["bash", "-c", shape], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 5
    result = subprocess.run([command, "info", "docs.jsonl"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "sth: docs.jsonl is not a collection. Pass a file that sth build has made.\n"


def test_version_and_help(sth):
    assert sth("version").out == sth("--version").out
    assert sth("version").out.startswith("sthash ")
    shown = sth("--help").out
    assert sth().out == shown
    assert "\n  relearn " in shown
    assert "\nExamples:\n  sth demo " in shown
    assert all(shown.count(f"\n  {name} ") == 1 for name in ALL_COMMANDS)


def test_words_without_quotes_are_one_query(sth, built):
    quoted = sth("search", built, "kitten claw", "--json").out
    assert sth("search", built, "kitten", "claw", "--json").out == quoted
    assert sth("search", built, "-k", 10, "kitten", "--json", "claw").out == quoted
    assert sth("classify", built, "kitten", "claw", "--json").out == sth("classify", built, "kitten claw", "--json").out
    assert "TEXT" in sth("search", built, status=2).err


def test_tables_have_words_and_use_the_width(sth, tmp_path, monkeypatch):
    text = "the galaxies were beautiful " + "and so on " * 40
    rows = [{"key": f"k{n}" * 3, "text": text} for n in range(5)]
    stdin = "".join(json.dumps(row) + "\n" for row in [*rows, *({"text": d.text} for d in make_documents(60))])
    sth("build", "c.sth", "-", "--n-bits", 4, "--n-neighbors", 5, stdin=stdin)
    for width in (60, 90, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = sth("search", "c.sth", "galaxy", "beauty", "-k", 3).out.splitlines()
        assert width - 8 <= max(map(len, shown)) <= width
        assert "galaxies" in shown[0]
        assert any("k0k0k0" in line for line in shown)


def test_keys_are_never_cut(sth, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    keys = [f"articles/{'long' * 30}/{number}.md" for number in range(2)]
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"key": key, "text": "one ship at sea"}) + "\n" for key in keys)
    )
    sth("build", "c.sth", "in.jsonl")
    commands = (
        ("search", "c.sth", "ship"),
        ("list", "c.sth"),
        ("get", "c.sth", *keys),
        ("duplicates", "c.sth", "--pairs"),
        ("dedup", "in.jsonl", "--dry-run"),
    )
    for command in commands:
        shown = sth(*command).out
        assert all(key in shown for key in keys), command
    assert keys[0] in sth("duplicates", "c.sth").out
    assert keys[1] in sth("similar", "c.sth", keys[0]).out


def test_get_and_list(sth, built):
    assert lines(sth("get", built, "d3", "d5", "--json")) == lines(sth("export", built))[3:6:2]
    shown = sth("get", built, "d3").out
    assert "d3\nlabel: stars\nnumber: 3\n" in shown
    assert "'nothing'" in sth("get", built, "d3", "nothing", status=1).err
    first = sth("list", built)
    assert [row.split()[0] for row in first.out.splitlines()[1:]] == [f"d{n}" for n in range(20)]
    assert first.err == "20 of 120 documents; -n 120 lists all\n"
    assert sth("list", built, "-n", 0, "--json").out == sth("export", built).out
    some = sth("list", built, "--where", "number<3", "--where", "label in cats,ships")
    assert some.err == "2 of 2 documents\n"
    assert "no document has" in sth("list", built, "--where", "nothing=3", status=1).err


def test_texts_are_shown_and_written_as_they_are(sth, tmp_path):
    text = "\t".join(f"column{number}" for number in range(60)) + " :smile: [bold]end"
    rows = [{"key": "a", "text": text}, {"key": "東京", "text": "a cat in 東京 \ud800"}, {"key": "c", "text": "猫"}]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sth("build", "c.sth", "d.jsonl")
    shown = sth("get", "c.sth", "a").out
    assert shown.split() == ["a", *text.split()]
    assert '{"key": "東京"' not in sth("get", "c.sth", "東京", "--json").out  # a lone surrogate is in no encoding
    assert '"text": "猫"' in sth("get", "c.sth", "c", "--json").out
    assert sth("dedup", "d.jsonl").out == (tmp_path / "d.jsonl").read_text()  # as it came


def test_errors_speak_of_options(sth, built, tmp_path):
    there = sth("add", built, "-", stdin='{"key": "d3", "text": "cat"}', status=1).err
    assert there == (
        "sth: key 'd3' is in the collection already. Give the new document another key, or let it replace the old one: "
        "use --replace.\n"
    )
    twice = sth("add", built, "-", stdin='{"key": "x", "text": "cat"}\n' * 2, status=1).err
    assert "'x' occurs more than once" in twice
    assert "use upsert or --replace" in twice
    folder = sth("build", "missing/c.sth", "docs.jsonl", "--text", "body", status=1).err
    assert folder == f"sth: {tmp_path / 'missing'} does not exist, so c.sth cannot be written. Make the folder first.\n"
    assert sth("build", built, "docs.jsonl", status=1).err.endswith("Pass --overwrite to replace it, or add to it.\n")


def test_sync(sth, tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    assert "has no files that can be read, so n.sth is empty" in sth("sync", "n.sth", "notes", status=1).err
    (tmp_path / "notes" / "a.md").write_text("Feed the starter.")
    (tmp_path / "notes" / "b.png").write_bytes(bytes(50))
    said = sth("sync", "n.sth", "notes").err.splitlines()
    assert said == [
        "skipped: notes/b.png is binary, not text. Convert it to text, or name it in exclude (--exclude).",
        "n.sth: 1 added, 0 replaced, 0 deleted, 0 unchanged, 1 skipped",
    ]
    (tmp_path / "notes" / "a.md").rename(tmp_path / "notes" / "c.md")
    assert sth("sync", "n.sth", "notes", "--exclude", "*.png").err == (
        "n.sth: 1 added, 0 replaced, 1 deleted, 0 unchanged\n"
    )
    assert "is not a folder" in sth("sync", "n.sth", "nothing", status=1).err

    def come_back():
        (tmp_path / "away").rename(tmp_path / "notes")
        (tmp_path / "notes" / "e.md").write_text("Back again.")

    def interrupt(seconds):
        assert seconds == 5
        raise KeyboardInterrupt

    monkeypatch.setattr("sthash.cli.commands.sync.time.sleep", interrupt)
    (tmp_path / "notes" / "d.md").write_text("Water the plants.")
    watched = sth(
        "sync", "n.sth", "notes", "--exclude", "*.png", "--watch", "--interval", "5", status=130, traceback=True
    )
    assert "1 added" in watched.err
    steps = iter([lambda: (tmp_path / "notes").rename(tmp_path / "away"), lambda: None, come_back])
    monkeypatch.setattr("sthash.cli.commands.sync.time.sleep", lambda _: next(steps, lambda: interrupt(5))())
    watched = sth("sync", "n.sth", "notes", "--watch", status=130, traceback=True).err.splitlines()
    assert watched[1] == "waiting: notes is not a folder. Name the folder that the collection follows."
    assert watched[2].startswith("n.sth: 1 added, 0 replaced, 0 deleted, ")
    assert len(watched) == 3


def test_empty_sources_and_folders_to_follow(sth, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "none.jsonl").touch()
    empty = "sth: there is no document in notes, so nothing was built.\n"
    assert sth("build", "n.sth", "notes", status=1).err == empty
    assert not (tmp_path / "n.sth").exists()
    (tmp_path / "docs.txt").write_text("Water the plants.")
    sth("build", "n.sth", "docs.txt")
    assert "so nothing was built" in sth("build", "n.sth", "none.jsonl", "--overwrite", status=1).err
    assert sth("get", "n.sth", "docs.txt").out == "docs.txt\nWater the plants.\n\n"
    assert "so nothing was added" in sth("add", "n.sth", "none.jsonl", status=1).err
    (tmp_path / "notes" / "a.md").write_text("Feed the starter.")
    assert sth("add", "n.sth", "notes").err.splitlines() == [
        "to replace changed files, too, and delete those that are gone: sth sync n.sth notes",
        "n.sth: 1 document added",
    ]
    (tmp_path / "notes" / "b.txt").write_text("left\tright :smile:\n" * 300)
    sth("sync", "n.sth", "notes")
    assert sth("get", "n.sth", "b.txt").out == "b.txt\n" + "left\tright :smile:\n" * 300 + "\n\n"
    (tmp_path / "notes" / "b.txt").unlink()
    assert sth("build", "n.sth", "notes", "--overwrite").err == "n.sth: 1 document\n"
    missing = "sth: nothing does not exist. Name a file or a folder that does.\n"
    assert sth("build", "n.sth", "nothing", "--overwrite", status=1).err == missing
    assert sth("get", "n.sth", "a.md").out == "a.md\nFeed the starter.\n\n"


def test_bad_records_are_skipped(sth, built, tmp_path):
    content = b'{"text": "good one"}\n{"text": \n{"title": "no text"}\n\xe4\n{"text": "good two"}\n'
    (tmp_path / "bad.jsonl").write_bytes(content)
    before = sth("export", built).out
    assert "line 2 is not JSON" in sth("add", built, "bad.jsonl", status=1).err
    assert sth("export", built).out == before
    assert not list(tmp_path.glob("*skipped*"))
    for name in ("c.sth.skipped.jsonl", "c.sth.skipped-2.jsonl"):
        shown = sth("add", built, "bad.jsonl", "--skip-bad").err
        assert f"3 bad records were skipped: {name} says which and why" in shown
        assert "2 documents added" in shown
        skipped = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert [row["place"] for row in skipped] == [f"bad.jsonl, line {number}" for number in (2, 3, 4)]
        assert all(row["reason"].startswith(row["place"]) for row in skipped)
    assert "skipped" not in sth("add", built, "-", "--skip-bad", stdin='{"text": "good"}').err


def test_a_package_that_several_files_need_is_named_once(sth, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (tmp_path / "docs").mkdir()
    for name in ("a.pdf", "b.pdf", "c.txt"):
        (tmp_path / "docs" / name).write_text("text")
    counted, advice, _ = sth("build", "c.sth", "docs").err.splitlines()
    assert counted.startswith("2 files were skipped")
    assert advice == f"PDF needs pypdf. Install it: {install_command('files')}."


def test_patterns_and_encodings_of_folders(sth, tmp_path):
    for number, document in enumerate(make_documents(60)):
        file = tmp_path / "docs" / f"{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(document.text, encoding=("utf-8", "utf-16")[number % 2])
    (tmp_path / "docs" / "latin.md").write_bytes("ein Schäfer".encode("latin-1"))
    (tmp_path / "docs" / "image.png").write_bytes(bytes(range(256)))
    build = ("build", "c.sth", "docs", "--n-bits", 4, "--n-neighbors", 5)
    shown = sth(*build, "--include", "*.md").err
    assert shown.startswith("1 file was skipped: c.sth.skipped.jsonl says which and why\n")
    (skipped,) = map(json.loads, (tmp_path / "c.sth.skipped.jsonl").read_text().splitlines())
    assert "latin.md is not UTF-8: the byte 0xE4 at offset 7" in skipped["reason"]
    assert "--encoding utf-8,latin-1" in skipped["reason"]
    sth(*build, "--exclude", "*.png", "--encoding", "utf-8,latin-1", "--overwrite")
    assert lines(sth("get", "c.sth", "latin.md", "--json"))[0]["text"] == "ein Schäfer"
    assert "2 files were skipped" in sth(*build, "--overwrite").err
    assert len((tmp_path / "c.sth.skipped-2.jsonl").read_text().splitlines()) == 2
    assert "60 of 60" in sth("list", "c.sth", "-n", 0).err


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "kitten", "-k", 10**30),
        ("search", "kitten", "-k", 10**30, "--no-rerank"),
        ("search", "kitten", "--radius", 10**30),
        ("search", "kitten", "--radius", 10**10),
        ("search", "kitten", "--radius", 10**10, "--no-rerank"),
        ("similar", "d1", "-k", 10**12, "--radius", 2**31),
        ("duplicates", "--radius", 10**30),
        ("duplicates", "--threads", 10**30),
        ("classify", "kitten", "-k", 10**30),
        ("classify", "kitten", "--radius", 10**30),
        ("relearn", "--sample-size", 10**30),
        ("list", "-n", 10**30),
        ("search", "kitten", "--where", f"number<{10**400}"),
    ],
    ids=str,
)
def test_big_numbers_work(sth, built, arguments):
    command, *rest = arguments
    sth(command, built, *rest)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("relearn", "--n-bits", 10**30), "must be at most"),
        (("relearn", "--n-neighbors", 10**30), "must be less than the number of documents"),
        (("relearn", "--random-state", 10**30), "must be an int from 0 to 4294967295"),
        (("relearn", "--scatter", "1e300"), "--scatter 1e+300 must be at most 1e+06"),
        (("relearn", "--scatter", "nan"), "--scatter nan must be a positive number or 0"),
        (("duplicates", "--threshold", "1e400"), "--threshold inf must be above 0"),
        (("serve", "--port", 10**30), "must be from 0 to 65535"),
    ],
    ids=str,
)
def test_big_numbers_are_refused_in_plain_words(sth, built, arguments, message):
    command, *rest = arguments
    shown = sth(command, built, *rest, status=1).err
    assert message in shown
    assert "incompatible function arguments" not in shown


@pytest.mark.parametrize(("words", "expected"), [("sth sea", "search"), ("sth build --sca", "--scatter")])
def test_shell_completion(words, expected):
    """What bash runs when a person presses the tab key."""
    sth = Path(sys.executable).with_name("sth")
    # It asks which shell has called it; bash would step aside for a last command.
    asked = ["bash", "-c", f"{sth} --show-completion; true"]
    script = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert "_STH_COMPLETE=complete_bash" in script.stdout, script.stderr
    environment = {**os.environ, "_STH_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split()) - 1)
    completed = subprocess.run([sth], env=environment, capture_output=True, text=True, check=False)
    assert completed.stdout.split() == [expected], completed.stderr


def test_learning_is_left_for_later(sth, jsonl):
    told = sth("build", "c.sth", jsonl, "--text", "body", "--n-bits", 8, "--n-neighbors", 5, "--learn", "later").err
    assert "sth relearn c.sth" in told
    assert sth("search", "c.sth", "kitten").out
    assert "term counts" in sth("info", "c.sth").out
    facts = json.loads(sth("info", "c.sth", "--json").out)
    assert sum(facts["parts"].values()) == facts["bytes"]
    assert "relearned from 120" in sth("relearn", "c.sth").err
    assert "--learn" in sth("build", "d.sth", jsonl, "--text", "body", "--learn", "never", status=1).err


def test_building_says_when_words_can_be_searched(sth, jsonl, monkeypatch):
    monkeypatch.setattr(builder, "SECONDS_BEFORE", 0.0)
    told = sth("build", "c.sth", jsonl, "--text", "body", "--n-bits", 8, "--n-neighbors", 5).err
    assert "c.sth: words can be searched" in told
