"""The pages of the documentation, and what runs their code blocks."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sthash.cli import main
from support.browser import serving

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md") for path in ROOT.glob(pattern)
)
# Languages of blocks that hold no program: output, settings of other programs, and directives of the site.
NO_PROGRAM = {"text", "json", "nginx", "ini", "toml", "{toctree}"}
# Commands that set up a machine, which a test must not do.
SETUP = {"pip", "make"}
FENCE = re.compile(
    r"^(?:<!-- (?P<note>[^>]*) -->\n)?```(?P<language>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
# Before an output: its numbers are not compared.
DIFFERS = "the output differs per machine"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, the line where it begins, and the output that the page shows for it."""

    language: str
    body: str
    line: int
    output: str | None = None
    exact: bool = True


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """Find the blocks of a page; one of text right after another block is its output.

    Examples
    --------
    >>> blocks('```python\\nprint(1)\\n```\\n\\n```text\\n1\\n```\\n')
    [Block(language='python', body='print(1)\\n', line=1, output='1\\n', exact=True)]
    """
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        language, body = match["language"].strip(), match["body"]
        is_output = language == "text" and found and not text[end : match.start()].strip()
        if is_output:
            found[-1] = replace(found[-1], output=body, exact=match["note"] != DIFFERS)
        else:
            found.append(Block(language, body, text.count("\n", 0, match.start()) + 1))
        end = match.end()
    return found


@dataclass
class Runner:
    """Runs the blocks of one page, one after another, in the current folder."""

    page: str
    capture: Any
    servers: ExitStack
    environment: pytest.MonkeyPatch
    port: int
    names: dict[str, Any]

    def run(self, block: Block) -> None:
        """Run a block, and compare what it prints with what the page shows."""
        self.capture.readouterr()
        body = block.body.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        if block.language == "python":
            exec(compile("\n" * block.line + body, self.page, "exec"), self.names)  # so that errors name the line
        else:
            for line in body.replace("\\\n", " ").splitlines():
                self._command(line)
        printed = self.capture.readouterr().out
        if block.output is not None:
            expected, actual = _stripped(block.output), _stripped(printed)
            if not block.exact:
                expected, actual = _without_numbers(expected), _without_numbers(actual)
            assert actual == expected, f"{self.page}:{block.line} prints:\n{printed}"

    def _command(self, line: str) -> None:
        words = shlex.split(line, comments=True)
        settings = {}
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            settings[name] = value
        match words:
            case []:
                pass
            case [command, *_] if command in SETUP:
                pass
            case ["export", setting]:
                self.environment.setenv(*setting.split("=", 1))
            case ["curl", *_]:
                if shutil.which("curl"):
                    subprocess.run([*words, "--silent", "--fail"], stdout=subprocess.DEVNULL, check=True)
            case ["sth", "serve", source, *_]:
                self.servers.enter_context(serving(Path(source), self.port, **settings))
            case ["sth", *arguments]:
                self._sth(arguments)
            case _:
                raise AssertionError(f"{self.page} has a command that the tests do not know: {line}")

    def _sth(self, arguments: list[str]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["sth", *arguments])
            with pytest.raises(SystemExit) as end:
                main()
        assert end.value.code == 0, self.capture.readouterr().err


@contextmanager
def runner(page: str, folder: Path, capture: Any, **names: Any) -> Iterator[Runner]:
    """Give a runner in a folder that has the examples where pages expect them."""
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    with ExitStack() as servers, pytest.MonkeyPatch.context() as environment:
        environment.chdir(folder)
        environment.setenv("COLUMNS", "80")
        environment.syspath_prepend(os.fspath(folder))
        yield Runner(page, capture, servers, environment, _free_port(), {"__name__": "page", **names})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _without_numbers(lines: list[str]) -> list[str]:
    """What stays the same where learning may round in another way."""
    return [" ".join(re.sub(r"\d+(?:\.\d+)?", "0", line).split()) for line in lines]


def _stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
