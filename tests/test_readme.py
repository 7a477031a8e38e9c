"""The README tells the truth: its commands and its code run as they are written, and its links lead somewhere."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sthash import baselines
from support.pages import PAGES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = ("build", "search", "similar", "duplicates", "classify")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that has the examples where the README expects them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words):
    environment = os.environ | {"STHASH_TRACEBACK": "1"}
    command = [sys.executable, "-m", "sthash.cli", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_block_is_run():
    assert len(re.findall(r"^```\w", README, re.MULTILINE)) == len(blocks("sh")) + len(blocks("python"))
    assert len(blocks("sh")) == 2  # the two commands of make, and the five commands


def test_the_two_commands_of_make():
    """They are too long to run here: CI runs one, and a test the only command of the other."""
    lines = [line.partition("#")[0].split() for line in blocks("sh")[0].splitlines()]
    assert lines == [["make", "demo"], ["make", "test"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^demo: \S+ ##.*\n\t@\$\(BIN\)/sth demo\n\n", makefile, re.MULTILINE)
    assert 'sth("demo")' in (ROOT / "tests/cli/test_demo.py").read_text(encoding="utf-8")
    assert re.search(r"^test: lint unit ##", makefile, re.MULTILINE)
    assert re.search(r"^step make test$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_five_commands(folder):
    commands = [shlex.split(line) for line in blocks("sh")[1].splitlines()]
    assert [words[:2] for words in commands] == [["sth", name] for name in COMMANDS]
    (_, *build), *others = commands
    run(build)
    assert (folder / "news.sth").exists()
    for _, *words in others:
        assert run(words)
    search, similar, duplicates, classify = (
        [json.loads(line) for line in run([*words, "--json"]).splitlines()] for _, *words in others
    )
    assert [hit["label"] for hit in search] == ["space"] * 5
    assert [hit["label"] for hit in similar] == ["sports"] * 5
    assert duplicates
    assert classify[0]["label"] == "music"


def test_the_python_code(folder):
    names = {}
    for block in blocks("python"):
        exec(block, names)
    assert names["hits"][0].label == "space"
    assert {hit.label for hit in names["similar"]} == {"sports"}
    assert all(len(group) == 2 for group in names["duplicates"])
    assert names["label"] == "music"
    assert names["ids"].shape == (1, 10)
    assert "planets" in names["texts"][names["ids"][0, 0]]
    assert names["model"].encode(names["texts"]).codes.shape == (200, 8)


def test_what_the_readme_counts_and_names_is_there():
    assert "nine other methods" in README
    assert len(baselines.__all__) == 9
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE)} <= {*targets}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {*re.findall(r"\(extra\s+`([a-z]+)`\)", README), *re.findall(r"'\.\[([a-z]+)\]'", README)}
    assert {"client", "milvus", "plot", "serve", "spark"} == named <= {*extras}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []
