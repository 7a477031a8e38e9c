"""The examples run as they are written, and show what they should."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.DOTALL)


@pytest.fixture
def sth_with_examples(sth, tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return sth


def test_the_sample_is_what_its_page_says():
    rows = [json.loads(line) for line in (EXAMPLES / "news.jsonl").read_text().splitlines()]
    assert len(rows) == 200
    assert len({row["key"] for row in rows}) == 200
    assert len({row["label"] for row in rows}) == 8
    assert all(set(row) == {"key", "text", "label", "year"} for row in rows)


def test_the_five_commands(sth_with_examples):
    lines = [shlex.split(line) for line in blocks("sh")[0].splitlines()]
    assert [words[:2] for words in lines] == [
        ["sth", name] for name in ("build", "search", "similar", "duplicates", "classify")
    ]
    build, *others = [words[1:] for words in lines]
    assert "200 documents" in sth_with_examples(*build).err
    search, similar, duplicates, classify = [
        [json.loads(line) for line in sth_with_examples(*words, "--json").out.splitlines()] for words in others
    ]
    assert [hit["label"] for hit in search] == ["space"] * 5
    assert "planet" in search[0]["terms"]
    assert [hit["label"] for hit in similar] == ["sports"] * 5
    assert similar[0]["score"] > 0.9
    assert 20 <= len(duplicates) <= 24
    assert classify[0]["label"] == "music"
    assert all(sth_with_examples(*words).out for words in others)


def test_the_python_code(sth_with_examples):
    names = {}
    exec(blocks("python")[0], names)
    assert len(names["hits"]) == 4  # no other document of these years has a word of the query
    assert all(hit.metadata["year"] in (2020, 2021, 2022) for hit in names["hits"])
    assert names["hits"][0].label == "space"
