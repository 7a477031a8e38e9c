"""``sth dedup``: what it writes, what it says, and what it leaves alone."""

import errno
import json

import pytest

from sthash import near_duplicates
from sthash.cli import dedup
from sthash.duplicates import SpillError
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
    assert len(lines(sth(*asked).out)) == 3
    assert [row["text"] for row in lines(sth(*asked, "--shingle-words", "1").out)] == [rows[0], rows[2]]
    assert "--shingle-words" in sth(*asked, "--shingle-words", "0", status=1).err


def test_the_command(sth, source, texts, tmp_path):
    fields = ("--key", "id", "--text", "body")
    ran = sth("dedup", "in.jsonl", "-o", "out.jsonl", "--report", "dropped.jsonl", *fields)
    kept = lines((tmp_path / "out.jsonl").read_text())
    expected = [int(document.key) for document in near_duplicates(texts).deduplicated()]
    assert kept == [{**source[place], "id": str(place)} for place in expected]
    dropped = lines((tmp_path / "dropped.jsonl").read_text())
    assert len(dropped) == len(texts) - len(kept)
    assert {"key", "of", "score", "text", "of_text"} == set(dropped[0])
    assert ran.err.splitlines()[-1] == f"{len(texts)} documents, {len(dropped)} dropped, {len(kept)} kept"
    assert ran.out == ""
    assert lines(sth("dedup", "in.jsonl", *fields).out) == kept
    assert lines(sth("dedup", "-", *fields, stdin=(tmp_path / "in.jsonl").read_text()).out) == kept


def test_a_dry_run_writes_nothing(sth, source, tmp_path):
    ran = sth("dedup", "in.jsonl", "--text", "body", "-o", "out.jsonl", "--dry-run", "--measure", "jaccard")
    assert "would be dropped" in ran.err
    assert "right text" in ran.out
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_against_a_collection(sth, source, tmp_path):
    sth("build", "c.sth", "in.jsonl", "--key", "id", "--text", "body")
    ran = sth("dedup", "in.jsonl", "--key", "id", "--text", "body", "--against", "c.sth", "-o", "out.jsonl")
    assert len(lines((tmp_path / "out.jsonl").read_text())) == 2  # the blank ones
    assert "401 dropped, 2 kept" in ran.err


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


def test_a_full_disk_leaves_no_output(source, tmp_path, monkeypatch):
    from sthash import Document
    from sthash.cli.options import SourceOptions
    from sthash.duplicates import deduplicate

    monkeypatch.chdir(tmp_path)

    def fail(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(dedup, "_row", fail)
    with (
        deduplicate([Document("a", "one text"), Document("b", "one text")]) as found,
        pytest.raises(SpillError, match=r"the disk of out\.jsonl is full\. Free some space, or write to a larger disk"),
    ):
        dedup._write(found, "out.jsonl", "dropped.jsonl", SourceOptions.__new__(SourceOptions))
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
