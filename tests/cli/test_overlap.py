"""``sth overlap``: what it prints, and its exit status."""

import json

import pytest


@pytest.fixture
def files(tmp_path):
    train = [
        "The quick brown fox jumps over the lazy dog near the river bank.",
        "What is the capital of France? Paris.",
    ]
    more = ["An old man sat by the sea and looked at the ships that went by."]
    one = ["quick brown fox jumps over the lazy dog near the bridge", "What is the capital of France?", "Paris"]
    two = ["nothing of this stands anywhere in the training data", "old man sat by the sea and looked at the birds"]
    for name, texts in {"train": train, "more": more, "one": one, "two": two}.items():
        rows = [json.dumps({"id": f"{name}{place}", "text": text}) + "\n" for place, text in enumerate(texts)]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))


def test_shares_passages_and_exit_status(sth, files, tmp_path):
    ran = sth("overlap", "train.jsonl", "one.jsonl", "two.jsonl", status=3, traceback=True)
    assert ran.err.splitlines() == [
        "one.jsonl: 2 of 3 items (66.7%) stand in 2 training texts",
        "two.jsonl: 0 of 2 items (0.0%) stand in 2 training texts",
    ]
    assert "one1" in ran.out
    asked = ("overlap", "train.jsonl", "one.jsonl", "two.jsonl", "--train", "more.jsonl")
    rows = [json.loads(line) for line in sth(*asked, "--allow", "0.7", "--json").out.splitlines()]
    assert [(row["file"], row["key"], row["of"]) for row in rows] == [
        ("one.jsonl", "one0", "train0"),
        ("one.jsonl", "one1", "train1"),
        ("two.jsonl", "two1", "more0"),
    ]
    assert rows[0]["score"] == 0.75
    assert rows[1]["passages"][0]["train"] == "What is the capital of France"
    sth(*asked, "--allow", "0.7", "--report", "found.jsonl")
    assert [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()] == rows
    assert sth(*asked, "--threshold", "0.8", "--allow", "0.4").err.startswith("one.jsonl: 1 of 3")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("train.jsonl",), 2, "Name both: sth overlap TRAIN TEST"),
        (("train.jsonl", "missing.jsonl"), 1, "missing.jsonl does not exist"),
        (("train.jsonl", "one.jsonl", "--allow", "2"), 1, "--allow 2.0 must be a share"),
        (("train.jsonl", "one.jsonl", "--threshold", "0"), 1, "--threshold 0.0 must be above 0"),
        (("train.jsonl", "one.jsonl", "--shingle-words", "1"), 1, "--shingle-words"),
    ],
)
def test_bad_arguments(sth, files, arguments, status, message):
    assert message in sth("overlap", *arguments, status=status).err
