"""The command, run in this process as its entry point does."""

import io
import json
import sys
from dataclasses import dataclass

import pytest

from sthash.cli import main
from support.corpus import as_rows, make_documents


@dataclass
class Result:
    status: int
    out: str
    err: str


@pytest.fixture
def sth(tmp_path, monkeypatch, capsys):
    """Run sth in a folder of its own; an error must be one line, and no traceback unless one is expected."""
    monkeypatch.chdir(tmp_path)

    monkeypatch.delenv("STHASH_TRACEBACK", raising=False)

    def run(*arguments, stdin="", status=0, traceback=False):
        monkeypatch.setattr(sys, "argv", ["sth", *map(str, arguments)])
        given = stdin.encode(errors="surrogatepass") if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        assert end.value.code == status, captured.err
        if status and not traceback:
            assert captured.err.startswith("sth: ")
            assert captured.err.count("\n") == 1
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in as_rows(make_documents(120))))
    return path


@pytest.fixture
def built(sth, jsonl):
    sth("build", "c.sth", jsonl, "--text", "body", "--label", "topic", "--n-bits", 8, "--n-neighbors", 5)
    return "c.sth"
