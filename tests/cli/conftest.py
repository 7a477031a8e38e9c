"""The command, run in this process as its entry point does."""

import io
import sys
from dataclasses import dataclass

import pytest

from sthash.cli import main


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
