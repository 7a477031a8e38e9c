"""`sth tune`: a table or JSON lines, a picture, and a command that works as it stands."""

import json
import shlex
import sys
from xml.etree import ElementTree

import pytest

from sthash.extras import install_command
from support.components import require
from support.corpus import make_documents

QUICK = ("--n-bits", "8", "--n-bits", "16", "--n-neighbors", "10", "--recipe", "paper")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "my corpus.jsonl"
    rows = [{"body": document.text, "label": document.label} for document in make_documents(300)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path.name


def test_json_and_the_command_that_builds(sth, corpus, tmp_path):
    found = sth("tune", corpus, "--text", "body", "--json", "--no-picture", *QUICK)
    trials = [json.loads(line) for line in found.out.splitlines()]
    assert [trial["n_bits"] for trial in trials] == [8, 16]
    assert all(0 < trial["recall"] <= 1 and trial["microseconds"] > 0 for trial in trials)
    (chosen,) = [trial for trial in trials if trial["recommended"]]
    assert [trial["command"] for trial in trials if not trial["recommended"]] == [None]
    command = shlex.split(chosen["command"])
    assert command[:4] == ["sth", "build", "COLLECTION", corpus]
    sth(*command[1:])
    facts = json.loads(sth("info", "COLLECTION", "--json").out)
    assert (facts["n_bits"], facts["n_neighbors"], facts["recipe"]) == (chosen["n_bits"], 10, "paper")
    assert not (tmp_path / "tune.svg").exists()


def test_a_table_and_a_picture(sth, corpus, tmp_path, monkeypatch):
    require("Matplotlib")
    monkeypatch.setenv("COLUMNS", "120")
    found = sth("tune", corpus, "--text", "body", *QUICK)
    assert "recommended" in found.out
    assert found.out.splitlines()[-1].startswith("sth build COLLECTION 'my corpus.jsonl' --recipe paper --n-bits ")
    assert "picture: tune.svg" in found.err
    assert ElementTree.parse(tmp_path / "tune.svg").getroot().tag.endswith("svg")
    sth("tune", corpus, "--text", "body", "--picture", "other.svg", *QUICK)
    assert (tmp_path / "other.svg").exists()


def test_without_matplotlib_there_is_a_table(sth, corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = sth("tune", corpus, "--text", "body", *QUICK)
    assert "recommended" in found.out
    assert install_command("plot") in found.err
    sth("tune", corpus, "--text", "body", "--picture", "x.svg", *QUICK, status=1)
    assert not list(tmp_path.glob("*.svg"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--recipe", "soup"), "--recipe 'soup' is not known"),
        (("--n-bits", "0"), "--n-bits 0"),
        (("--sample-size", "5"), "--sample-size 5 must be"),
        (("--aim", "speed"), "--aim 'speed'"),
        (("--text", "nothing"), "has no field 'nothing'"),
        (("--n-bits", "512"), "--n-bits 512 needs at least 514 documents"),
    ],
)
def test_errors(sth, corpus, options, message):
    given = () if "--text" in options else ("--text", "body")
    assert message in sth("tune", corpus, *given, *options, status=1).err


def test_too_few_documents(sth):
    assert "at least 250 documents, got 3" in sth("tune", "-", "--lines", stdin="a\nb\nc\n", status=1).err
