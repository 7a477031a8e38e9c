"""Options that commands share: seeds, samples, tracebacks, and the groups that typer sees as single options."""

import json
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import pytest
import typer

from sthash import Collection, Learning, TextOptions, VectorOptions
from sthash.cli.commands import COMMANDS, function_of
from sthash.cli.conditions import parse_conditions
from sthash.cli.embedders import ComparisonOptions
from sthash.cli.option_groups import spread
from sthash.cli.options import LanguageOptions, LearningOptions, SourceOptions
from support.corpus import make_documents

QUICK = ("--n-bits", 8, "--n-neighbors", 5)


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    rows = ({"key": document.key, "text": document.text} for document in make_documents(120))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def codes(path):
    with Collection.open(path) as collection:
        return collection.encode([document.text for document in make_documents(120)]).tolist()


def test_a_seed_and_a_sample_size(sth, jsonl, tmp_path):
    for name, seed in {"a": 1, "b": 1, "c": 2}.items():
        sth("build", f"{name}.sth", jsonl, *QUICK, "--sample-size", 60, "--random-state", seed)
    assert codes(tmp_path / "a.sth") == codes(tmp_path / "b.sth")
    assert codes(tmp_path / "a.sth") != codes(tmp_path / "c.sth")
    before = codes(tmp_path / "a.sth")
    sth("relearn", "a.sth", "--sample-size", 60, "--random-state", 2)
    assert codes(tmp_path / "a.sth") == codes(tmp_path / "c.sth") != before
    for name, words in {"all": (), "more": ("--sample-size", 1000)}.items():
        sth("build", f"{name}.sth", jsonl, *QUICK, *words)
        with Collection.open(tmp_path / f"{name}.sth") as collection:
            assert collection.info()["learned_on"] == 120


def test_what_learning_from_fewer_documents_gives_up_is_said(sth, jsonl):
    said = sth("build", "c.sth", jsonl, *QUICK, "--sample-size", "60").err.splitlines()
    assert said == [
        "c.sth: 120 documents",
        "Learned from 60 of 120 documents; learning from all takes about 1 s and improves recall: "
        "sth relearn c.sth --sample-size 120",
    ]
    assert sth("info", "c.sth").out.splitlines()[-1] == said[1]
    assert "advice" not in sth("info", "c.sth").out
    assert sth("relearn", "c.sth").err.splitlines() == ["c.sth: relearned from 60 documents", said[1]]
    assert sth("relearn", "c.sth", "--sample-size", "120").err == "c.sth: relearned from 120 documents\n"
    sth("relearn", "c.sth", "--sample-size", "60")
    assert sth("relearn", "c.sth", "--sample-size", "0").err == "c.sth: relearned from 120 documents\n"
    assert json.loads(sth("info", "c.sth", "--json").out)["sample_size"] is None
    assert "lower recall" in sth("build", "--help").out


def test_limits_of_learning(sth, jsonl, tmp_path):
    refused = sth("build", "c.sth", jsonl, *QUICK, "--memory", "1KiB", status=1).err
    assert "of memory, but memory allows 1 KiB. Raise --memory" in refused
    assert not list(tmp_path.glob("*.sth*"))
    sth("build", "c.sth", jsonl, *QUICK, "--memory", "1.5GB", "--seconds", "20")
    with Collection.open(tmp_path / "c.sth") as collection:
        facts = collection.info()
        assert (facts["seconds"], facts["memory"]) == (20, 1_500_000_000)
    sth("relearn", "c.sth", "--seconds", "30")
    with Collection.open(tmp_path / "c.sth") as collection:
        facts = collection.info()
        assert (facts["seconds"], facts["memory"]) == (30, 1_500_000_000)


@pytest.mark.parametrize("text", ["", "much", "-1GiB", "4XB", "1e9"])
def test_amounts_that_are_none(sth, jsonl, text):
    for command in (("build", "c.sth", jsonl), ("dedup", jsonl)):
        assert "is not an amount of memory. Use one like 500MB" in sth(*command, f"--memory={text}", status=1).err
    assert "--sample-size -3 must be" in sth("build", "c.sth", jsonl, "--sample-size=-3", status=1).err


def test_tracebacks(sth, monkeypatch):
    failing = ("search", "missing.sth", "x")
    assert "Traceback" not in sth(*failing, status=1).err
    for arguments in (("--traceback", *failing), (*failing, "--traceback")):
        shown = sth(*arguments, status=1, traceback=True).err
        assert shown.startswith("Traceback (most recent call last)")
        assert "store.py" in shown
        assert "there is no file 'missing.sth'" in shown.splitlines()[-1]
    monkeypatch.setenv("STHASH_TRACEBACK", "1")
    assert "Traceback" in sth(*failing, status=1, traceback=True).err
    monkeypatch.setenv("STHASH_TRACEBACK", "0")
    assert "Traceback" not in sth(*failing, status=1).err


def test_a_closed_pipe_is_no_error_with_a_traceback_either(sth, jsonl, tmp_path):
    sth("build", "c.sth", jsonl, *QUICK)
    script = f"'{sys.executable}' -m sthash.cli --traceback export '{tmp_path / 'c.sth'}' | head -1"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (len(result.stdout.splitlines()), result.stderr) == (1, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_file_and_help_of_its_own(sth, name):
    command = function_of(name)
    assert (command.__name__, command.__module__) == (name, f"sthash.cli.commands.{name}")
    shown = sth(name, "--help").out
    assert f"Usage: sth {name}" in shown
    assert command.__doc__.splitlines()[0] in " ".join(shown.split())


def test_every_file_of_the_commands_is_a_command():
    folder = Path(sys.modules["sthash.cli.commands"].__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(COMMANDS)


def test_mistyped_commands_get_advice(sth):
    assert "Did you mean search?" in sth("serch", status=2).err
    assert "Try: sth --help" in sth("frobnicate", status=2).err
    assert "Missing argument 'TEXT'. Try: sth search --help" in sth("search", "x.sth", status=2).err


def test_a_command_imports_no_other():
    code = (
        "import sys; from sthash.cli import main; sys.argv[1:] = ['version']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*(name for name in sys.modules if 'cli.commands.' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "sthash.cli.commands.version"


@dataclass(frozen=True)
class Color:
    name: Annotated[str, typer.Argument()]
    depth: Annotated[int, typer.Option()] = 8


def test_groups_are_spread_and_gathered(capsys):
    def paint(wall: str, color: Color, *, twice: bool = False) -> None:
        typer.echo(f"{wall} {color} {twice}")

    app = typer.Typer()
    app.command()(spread(paint))
    app(["north", "red", "--depth", "3", "--twice"], standalone_mode=False)
    assert capsys.readouterr().out == "north Color(name='red', depth=3) True\n"


def test_words_of_sources_are_those_that_were_given():
    given = SourceOptions(["a.csv"], text="body", encoding="latin-1")
    assert given.words() == ["--text", "body", "--encoding", "latin-1"]
    assert SourceOptions(["a.csv"]).words() == []
    given = SourceOptions(["a"], include=["*.md", "x"], skip_bad=True)
    assert given.words() == ["--include", "*.md", "--include", "x", "--skip-bad"]


def test_settings_that_are_not_given_are_left_to_the_library():
    assert LearningOptions().changes() == {}
    assert LearningOptions().learning() is None
    given = LearningOptions(n_bits=8, scatter=0.0, random_state=0)
    assert given.changes() == {"n_bits": 8, "scatter": 0.0, "random_state": 0}
    assert given.learning() == Learning(n_bits=8, scatter=0.0, random_state=0)
    assert LearningOptions(sample_size=9, memory="1GB").learning() == Learning(sample_size=9, memory=10**9)
    assert LearningOptions(sample_size=0).changes() == {"sample_size": None}


def test_options_have_the_names_of_the_library():
    assert {field.name for field in fields(LearningOptions)} == {field.name for field in fields(Learning)} - {
        "hasher",
        "when",  # of sth build alone: --learn
    }
    for options, library in ((LanguageOptions, TextOptions), (ComparisonOptions, VectorOptions)):
        assert {field.name for field in fields(options)} < {field.name for field in fields(library)}


def test_the_help_names_the_defaults_of_the_library(sth):
    shown = " ".join(sth("build", "--help").out.split())
    defaults = Learning()
    assert f"{defaults.n_bits} bits each, from a graph of {defaults.n_neighbors} neighbors" in shown
    assert f"at most {defaults.seconds:.0f} seconds (--seconds)" in shown
    assert f"[default: {VectorOptions().metric}]" in shown
    assert f"[default: {VectorOptions().precision}]" in shown


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["a=x", "a=7", "b=1.5", "c=d=e"], {"a": ["x", "7", 7], "b": ["1.5", 1.5], "c": ["d=e"]}),
        (["a in x,7", "a=y"], {"a": ["x", "7", 7, "y"]}),
        (["a=", "b = x y "], {"a": [""], "b": ["x y"]}),
        (['a="7"', 'b in "x, y", z'], {"a": ["7"], "b": ["x, y", "z"]}),
        (["draft"], {"draft": ["true", True]}),
    ],
)
def test_conditions_on_equality(words, wanted):
    assert parse_conditions(words) == {field: {"in": values} for field, values in wanted.items()}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["year>=2020", "year < 2024.5"], {"year": {">=": 2020, "<": 2024.5}}),
        (['year>"2020"', "name<=m"], {"year": {">": "2020"}, "name": {"<=": "m"}}),
        (["a!=x", "a!=y", "b not in 1,2"], {"a": {"not in": ["x", "y"]}, "b": {"not in": ["1", 1, "2", 2]}}),
        (["!draft", "done=true"], {"draft": {"not in": ["true", True]}, "done": {"in": ["true", True]}}),
        (["author exists", "x  not exists"], {"author": {"exists": True}, "x": {"exists": False}}),
        (["metadata.label=x", "a b=c"], {"metadata.label": {"in": ["x"]}, "a b": {"in": ["c"]}}),
    ],
)
def test_conditions_of_other_kinds(words, wanted):
    assert parse_conditions(words) == wanted


def test_conditions_that_are_none():
    assert parse_conditions(None) is None
    for words in ([""], ["!"], ["=x"], [">=3"], ["a b"], ["a in "]):
        with pytest.raises(ValueError, match=r"is not a valid condition\. Write FIELD=VALUE"):
            parse_conditions(words)
    with pytest.raises(ValueError, match="'a' with < twice"):
        parse_conditions(["a<1", "a<2"])
