"""``sth dedup``: what it writes, what it says, and what it leaves alone."""

import bz2
import errno
import gzip
import json
import lzma
import re
from decimal import Decimal

import pytest

from sthash import near_duplicates
from sthash.duplicates.spool import RecordSpool
from support.factories import random_texts, with_copies


@pytest.fixture
def texts():
    return with_copies(random_texts(300, 30))


@pytest.fixture
def source(texts, tmp_path):
    rows = [{"id": place, "body": text, "year": 2000 + place} for place, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_words_in_any_order(sth, tmp_path):
    rows = ["one two three four five six", "six five four three two one", "seven eight nine ten eleven twelve"]
    (tmp_path / "in.txt").write_text("\n".join(rows))
    asked = ("dedup", "in.txt", "--lines", "--measure", "jaccard")
    assert sth(*asked).out.split("\n") == rows
    assert sth(*asked, "--shingle-words", "1").out.split("\n") == [rows[0], rows[2]]
    sth(*asked, "-o", "out.jsonl")
    assert lines((tmp_path / "out.jsonl").read_text()) == [{"text": row} for row in rows]
    assert "--shingle-words" in sth(*asked, "--shingle-words", "0", status=1).err


def test_the_command(sth, source, texts, tmp_path):
    fields = ("--key", "id", "--text", "body")
    ran = sth("dedup", "in.jsonl", "-o", "out.jsonl", "--report", "dropped.jsonl", *fields)
    kept = lines((tmp_path / "out.jsonl").read_text())
    expected = [int(document.key) for document in near_duplicates(texts).deduplicated()]
    assert kept == [source[place] for place in expected]
    dropped = lines((tmp_path / "dropped.jsonl").read_text())
    assert len(dropped) == len(texts) - len(kept)
    assert {"key", "of", "score", "text", "of_text"} == set(dropped[0])
    summary = r"(\d+) documents, (\d+) dropped \((\d+) exact, (\d+) near, (\d+) doubtful\), (\d+) kept"
    total, *counts, left = map(int, re.fullmatch(summary, ran.err.splitlines()[-1]).groups())
    assert (total, counts[0], left) == (len(texts), len(dropped), len(kept))
    assert sum(counts[1:]) == len(dropped)
    assert counts[1] == sum(row["score"] == 1 for row in dropped) > 0
    assert ran.out == ""
    assert lines(sth("dedup", "in.jsonl", *fields).out) == kept
    assert lines(sth("dedup", "-", *fields, stdin=(tmp_path / "in.jsonl").read_text()).out) == kept


def test_a_dry_run_writes_nothing(sth, source, tmp_path):
    ran = sth("dedup", "in.jsonl", "--text", "body", "-o", "out.jsonl", "--dry-run", "--measure", "jaccard")
    assert "would be dropped" in ran.err
    assert "text of the kept" in ran.out
    assert not (tmp_path / "out.jsonl").exists()


def test_a_dry_run_shows_the_most_doubtful_drops_first(sth, tmp_path):
    long = "the quick brown fox jumps over the lazy dog and runs far away into the dark green forest near the hill"
    rows = [
        *("a short text of seven words here", "A short text, of seven words here!"),
        *(f"{long} at once again", f"{long} at once"),
        *(f"{long} on day 12 of the year", f"{long} on day 13 of the year"),
        *("one more text of words in a row", "one more text of words in some row"),
    ]
    (tmp_path / "in.txt").write_text("\n".join(rows))
    ran = sth(
        "dedup", "in.txt", "--lines", "--dry-run", "--measure", "jaccard", "--shingle-words", 1, "--threshold", 0.75
    )
    shown = [line.split("  ") for line in ran.out.splitlines()[1:]]
    shown = [[cell.strip() for cell in line if cell.strip()] for line in shown]
    assert [line[1] for line in shown[:2]] == ["low score, short text", "numbers differ"]
    assert [line[0] for line in shown[-1:]] == ["1.000"]
    assert "8 documents, 4 would be dropped (1 exact, 1 near, 2 doubtful), 4 kept" in ran.err


def test_the_command_against_a_collection(sth, source, tmp_path):
    sth("build", "c.sth", "in.jsonl", "--key", "id", "--text", "body")
    ran = sth("dedup", "in.jsonl", "--key", "id", "--text", "body", "--against", "c.sth", "-o", "out.jsonl")
    assert len(lines((tmp_path / "out.jsonl").read_text())) == 2  # the blank ones
    assert re.search(r"401 dropped \(.* exact, .*\), 2 kept", ran.err)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--memory", "much"), "--memory 'much' is not an amount of memory. Use one like 500MB"),
        (("--memory", "1k"), "--memory 1k is too little"),
        (("--threshold", "2"), "--threshold 2.0 must be above 0"),
        (("--against", "missing.sth"), "missing.sth"),
        (("--text", "title"), "'title'"),
    ],
)
def test_bad_options_leave_the_output_as_it_was(sth, source, tmp_path, options, message):
    (tmp_path / "out.jsonl").write_text("before")
    ran = sth("dedup", "in.jsonl", "--key", "id", "--text", "body", "-o", "out.jsonl", *options, status=1)
    assert message in ran.err
    assert (tmp_path / "out.jsonl").read_text() == "before"


ODD_RECORDS = [
    '{"id": 7, "text": "one two three", "label": 3,   "n": null}',
    '{"id": 8, "text": "four five six", "year": 2020.10, "metadata": {"year": 1999, "text": "inner", "label": "x"}}',
    '{"id": "9", "text": "", "label": ""}',
    '{"id": 10, "key": "k10", "text": "seven \\u0065ight", "x": 1e400}',
    '{"id": 11, "text": 12345, "id": 12}',
    '{"text": "Über 猫", "metadata": null}\r',
    '{"text": "one two three"}',
    '{"text": "twelve", "key": null, "label": null, "z": [1, {"a": []}]}',
]
KEPT_RECORDS = [*ODD_RECORDS[:6], ODD_RECORDS[7]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-be"])
def test_json_lines_stay_as_they_came(sth, tmp_path, encoding):
    (tmp_path / "in.jsonl").write_bytes("\n".join(ODD_RECORDS).encode(encoding))
    expected = "\n".join(KEPT_RECORDS).encode(encoding)
    sth("dedup", "in.jsonl", "-o", "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == expected
    sth("dedup", "in.jsonl", "-o", "in.jsonl")
    assert (tmp_path / "in.jsonl").read_bytes() == expected


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_and_several_inputs(sth, tmp_path, suffix):
    opened = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[suffix].open
    with opened(tmp_path / f"a.jsonl{suffix}", "wt", encoding="utf-8", newline="") as file:
        file.write("\n".join(ODD_RECORDS))
    more = '{"text": "thirteen"}\n{"text": "twelve"}\n'
    (tmp_path / "b.jsonl").write_text(more)
    sth("dedup", f"a.jsonl{suffix}", "b.jsonl", "-o", "out.jsonl")
    expected = "\n".join([*KEPT_RECORDS, '{"text": "thirteen"}', ""])
    assert (tmp_path / "out.jsonl").read_bytes() == expected.encode()
    assert "Write to out.jsonl, and" in sth("dedup", "b.jsonl", "-o", f"out.jsonl{suffix}", status=1).err


CSV = 'sep=;\r\n\r\n"id";text ;"te""xt"\r\n1;"a ""b""";"one; two\r\nthree"\r\n007; x;four\r\n'
CSV += '\r\n3;"";"four"\r\n4;;fünf\r\n5;;six'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_rows_of_csv_stay_as_they_came(sth, tmp_path, encoding):
    (tmp_path / "in.csv").write_bytes(CSV.encode(encoding))
    options = ("--text", 'te"xt', *(("--encoding", "cp1252") if encoding == "cp1252" else ()))
    sth("dedup", "in.csv", "-o", "out.csv", *options)
    expected = CSV.replace("\r\n\r\n", "\r\n").replace('3;"";"four"\r\n', "")
    assert (tmp_path / "out.csv").read_bytes() == expected.encode(encoding)
    # The last row, which no line end follows, gets one where more rows come.
    (tmp_path / "more.csv").write_bytes('sep=;\r\nid;"text ";"te""xt"\r\n6;;seven\r\n'.encode(encoding))
    sth("dedup", "in.csv", "more.csv", "-o", "both.csv", *options)
    both = (tmp_path / "both.csv").read_bytes().decode(encoding)
    assert both == (tmp_path / "out.csv").read_bytes().decode(encoding) + "\r\n6;;seven\r\n"
    sth("dedup", "in.csv", "-o", "out.jsonl", *options)
    rows = lines((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert rows[0] == {"id": "1", "text ": 'a "b"', 'te"xt': "one; two\r\nthree"}


def test_a_table_without_rows_keeps_its_header(sth, tmp_path):
    (tmp_path / "in.tsv").write_bytes(b"id\ttext\n")
    sth("dedup", "in.tsv", "-o", "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == b"id\ttext\n"


@pytest.mark.parametrize(
    ("more", "options", "message"),
    [
        ("key,text\n1,a\n", (), "more.csv has another delimiter or header than in.csv. Deduplicate into a .jsonl file"),
        ("id;text\n1;a\n", (), "more.csv has another delimiter or header"),
        ("\ufeffid,text\n1,a\n", ("--encoding", "cp1252"), "more.csv has another encoding than in.csv"),
    ],
)
def test_tables_that_do_not_fit_together(sth, tmp_path, more, options, message):
    (tmp_path / "in.csv").write_text("id,text\n1,b\n")
    (tmp_path / "more.csv").write_text(more, encoding="utf-8")
    assert message in sth("dedup", "in.csv", "more.csv", "-o", "out.csv", *options, status=1).err
    assert not (tmp_path / "out.csv").exists()
    sth("dedup", "in.csv", "more.csv", "-o", "out.jsonl", *options)
    assert [row["text"] for row in lines((tmp_path / "out.jsonl").read_text())] == ["b", "a"]


def test_sources_of_several_formats_become_json_lines(sth, tmp_path):
    (tmp_path / "in.csv").write_text("id,text\n1,one two\n2,\n")
    (tmp_path / "in.json").write_text('[{"id": 3, "text": "three"}, {"text": "one two"}]')
    (tmp_path / "in.jsonl").write_text('{"text":  "fünf"}\n', encoding="utf-8")
    (tmp_path / "in.txt").write_text("a file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("another file")
    sth("dedup", "in.csv", "in.json", "in.jsonl", "in.txt", "folder", "-o", "out.jsonl")
    written = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert '{"text":  "fünf"}\n' in written
    assert lines(written) == [
        {"id": "1", "text": "one two"},
        {"id": "2", "text": ""},
        {"id": 3, "text": "three"},
        {"text": "fünf"},
        {"key": "in.txt", "text": "a file"},
        {"key": "a.txt", "text": "another file"},
    ]
    assert "the sources are not all csv. Write to a .jsonl" in sth("dedup", "folder", "-o", "out.csv", status=1).err


@pytest.fixture
def rows_of_parquet():
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "id": pyarrow.array([3, None, 5, 6], pyarrow.int16()),
        "text": pyarrow.array(["one two", None, "one two", "three"], pyarrow.large_string()),
        "when": pyarrow.array([0, 1, 2, None], pyarrow.timestamp("ms", tz="Europe/Paris")),
        "price": pyarrow.array([Decimal("1.10"), None, Decimal(2), Decimal(3)], pyarrow.decimal128(9, 2)),
        "raw": pyarrow.array([b"\xff", b"", None, b"a"], pyarrow.binary()),
        "tags": pyarrow.array([["a", None], [], None, ["b"]], pyarrow.list_(pyarrow.string())),
        "nested": pyarrow.array([{"a": "x", "b": [1]}, None, {"a": None, "b": None}, {"a": "", "b": []}]),
        "kind": pyarrow.array(["x", "y", "x", None]).dictionary_encode(),
        "map": pyarrow.array([[("k", "v")], [], None, [("l", None)]], pyarrow.map_(pyarrow.string(), pyarrow.string())),
    }
    return pyarrow.table(columns).replace_schema_metadata({"made": "here"})


def test_rows_of_parquet_stay_as_they_came(sth, tmp_path, rows_of_parquet):
    from pyarrow import concat_tables, parquet

    parquet.write_table(rows_of_parquet, tmp_path / "in.parquet", row_group_size=2)
    (tmp_path / "again.parquet.gz").write_bytes(gzip.compress((tmp_path / "in.parquet").read_bytes()))
    sth("dedup", "in.parquet", "again.parquet.gz", "-o", "out.parquet")
    written = parquet.read_table(tmp_path / "out.parquet")
    # Blank texts are copies of nothing.
    assert written.equals(concat_tables([rows_of_parquet.take(kept) for kept in ([0, 1, 3], [1])]))
    assert written.schema.equals(parquet.read_schema(tmp_path / "in.parquet"), check_metadata=True)
    assert lines(sth("dedup", "in.parquet").out)[0]["price"] == "1.10"
    parquet.write_table(rows_of_parquet.select(["text", "id"]), tmp_path / "other.parquet")
    message = "other.parquet has other columns than in.parquet. Deduplicate into a .jsonl file"
    assert message in sth("dedup", "in.parquet", "other.parquet", "-o", "out.parquet", status=1).err
    assert parquet.read_table(tmp_path / "out.parquet").equals(written)
    parquet.write_table(rows_of_parquet.slice(0, 0), tmp_path / "in.parquet")
    sth("dedup", "in.parquet", "-o", "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet").equals(rows_of_parquet.slice(0, 0))


def test_bad_records_are_left_out(sth, tmp_path):
    good = '{"text": "one"}', '{"text":   "two"}'
    (tmp_path / "in.jsonl").write_text(f'{good[0]}\n{{"no text": 1}}\nnonsense\n\n{good[1]}\n')
    sth("dedup", "in.jsonl", "-o", "out.jsonl", "--skip-bad")
    assert (tmp_path / "out.jsonl").read_text() == "".join(f"{line}\n" for line in good)


def test_a_full_disk_leaves_no_output(sth, source, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(RecordSpool, "chosen", fail)
    ran = sth("dedup", "in.jsonl", "--text", "body", "-o", "out.jsonl", "--report", "dropped.jsonl", status=1)
    assert "the disk of out.jsonl is full. Free some space, or write to a larger disk" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_run_that_was_killed_is_continued(sth, source, tmp_path, monkeypatch):
    from sthash.duplicates import streaming

    expected = sth("dedup", "in.jsonl", "--text", "body", "-o", "expected.jsonl")
    command = ("dedup", "in.jsonl", "--text", "body", "-o", "kept.jsonl", "--resume", "run")
    assert "Leave --resume out." in sth(*command, "--measure", "cosine", status=1).err
    compare, calls = streaming._pairs_of_members, []

    def killed(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise ValueError("stopped")
        return compare(*arguments)

    monkeypatch.setattr(streaming, "LEAST_PARTS", 4)
    monkeypatch.setattr(streaming, "AT_ONCE", 64)
    monkeypatch.setattr(streaming, "_pairs_of_members", killed)
    assert "stopped" in sth(*command, status=1).err
    assert (tmp_path / "run").exists()
    assert not (tmp_path / "kept.jsonl").exists()
    assert sth(*command).err.splitlines()[-1] == expected.err.splitlines()[-1]
    assert len(calls) == 5  # two parts were left
    assert (tmp_path / "kept.jsonl").read_bytes() == (tmp_path / "expected.jsonl").read_bytes()
    assert not (tmp_path / "run").exists()


def test_an_index_keeps_what_was_seen(sth, source, tmp_path):
    rows = (tmp_path / "in.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text("".join(rows[:50]))
    (tmp_path / "b.jsonl").write_text("".join(rows[50:]))
    fields = ("--key", "id", "--text", "body")
    whole = sth("dedup", "in.jsonl", *fields, "--index", "whole.idx").out
    first = sth("dedup", "a.jsonl", *fields, "--index", "seen.idx").out
    again = ("dedup", "b.jsonl", *fields, "--index", "seen.idx")
    size = (tmp_path / "seen.idx").stat().st_size
    assert "would be dropped" in sth(*again, "--dry-run").err
    assert (tmp_path / "seen.idx").stat().st_size == size
    assert "missing" in sth(*again, "-o", "missing/out.jsonl", status=1).err
    assert (tmp_path / "seen.idx").stat().st_size == size
    assert first + sth(*again, "--report", "dropped.jsonl").out == whole
    dropped = lines((tmp_path / "dropped.jsonl").read_text())
    assert any(row["of"] is None and row["of_text"] is None for row in dropped)
    assert any(row["of"] is not None for row in dropped)
    blank = [row for row in rows if not json.loads(row)["body"].strip()]
    assert sth("dedup", "in.jsonl", *fields, "--index", "seen.idx").out == "".join(blank)
    assert "Leave --keep" in sth(*again, "--keep", "longest", status=1).err
    assert "is no index of sth dedup" in sth(*again[:-1], "in.jsonl", status=1).err


def test_an_embedder_finds_the_same_meaning(sth, tmp_path):
    (tmp_path / "in.jsonl").write_text(
        "".join(
            json.dumps({"id": str(n), "text": text}) + "\n"
            for n, text in enumerate(["a cat sat on a mat", "one feline was resting upon some rug", "stocks fell"])
        )
    )
    (tmp_path / "own_embedder.py").write_text(
        "def encode(texts):\n    return [[0, 1] if 'stocks' in own else [1, 0.1 * ('cat' in own)] for own in texts]\n"
    )
    asked = ("dedup", "in.jsonl", "--embedder", "own_embedder:encode")
    sth(*asked, "--cosine", "0.9", "-o", "out.jsonl", "--report", "dropped.jsonl")
    assert [row["id"] for row in lines((tmp_path / "out.jsonl").read_text())] == ["0", "2"]
    (row,) = lines((tmp_path / "dropped.jsonl").read_text())
    assert (row["key"], row["of"], row["by"]) == ("1", "0", "meaning")
    ran = sth(*asked, status=1)
    assert "such as --cosine 0.95" in ran.err
    assert "by chance" in ran.out
    assert "--cosine 0.9 is about embeddings" in sth("dedup", "in.jsonl", "--cosine", "0.9", status=1).err
