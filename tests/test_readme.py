"""The README tells the truth: its commands and its code run as they are written, and its links lead somewhere."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sthash import baselines
from support.pages import PAGES, blocks

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
INSTALL, EXAMPLE, CODE = blocks(README)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that has the examples where the README expects them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words):
    environment = os.environ | {"STHASH_TRACEBACK": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "sthash.cli", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_block_is_run():
    assert [block.language for block in (INSTALL, EXAMPLE, CODE)] == ["sh", "sh", "python"]
    assert INSTALL.body == "pip install .\n"  # `make package`, in CI, installs the wheel


def test_the_example_prints_what_is_shown(folder):
    (_, *build), (_, *search) = map(shlex.split, EXAMPLE.body.splitlines())
    run(build)
    assert (folder / "news.sth").exists()
    assert run(search) == EXAMPLE.output


def test_the_python_code_prints_what_is_shown(folder, capsys):
    exec(CODE.body, {})
    assert (folder / "news.sth").exists()
    assert capsys.readouterr().out == CODE.output


def test_what_the_pages_count_and_name_is_there():
    assert "nine others" in README
    assert len(baselines.__all__) == 9
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"`make ([a-z]+)", README + START)} <= {*targets}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {*re.findall(r"^\| `([a-z-]+)` \|", START, re.MULTILINE)}
    assert named == {*extras} - {"bench", "dev", "docs", "peers"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []
