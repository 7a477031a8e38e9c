"""The command that installs what is missing is the one that works for the way sthash was installed."""

import importlib.metadata
import json
import sys

import pytest

from sthash.extras import install_command


class Installed:
    def __init__(self, **files):
        self.files = files

    def read_text(self, name):
        return self.files.get(name.partition(".")[0])


def origin(folder, **about):
    return json.dumps({"url": folder.as_uri(), **about})


@pytest.mark.parametrize(
    ("folder", "marker", "installer", "command"),
    [
        ("venv", "pyvenv.cfg", "pip", "pip install 'sthash[files]'"),
        ("conda", "conda-meta", "conda", "pip install 'sthash[files]'"),
        ("app/.venv", "pyvenv.cfg", "uv", "uv pip install 'sthash[files]'"),
        ("uv/tools/sthash", "uv-receipt.toml", "uv", "uv tool install 'sthash[files]'"),
        ("cache/archive-v0/x7_a", "pyvenv.cfg", "uv", "uvx --from 'sthash[files]' sth"),
        ("pipx/venvs/sthash", "pipx_metadata.json", "pip", "pipx install --force 'sthash[files]'"),
    ],
)
def test_by_the_way_it_was_installed(monkeypatch, tmp_path, folder, marker, installer, command):
    prefix = tmp_path / folder
    prefix.mkdir(parents=True)
    (prefix / marker).touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Installed(INSTALLER=f"{installer}\n"))
    assert install_command("files") == command


def test_from_a_folder(monkeypatch, tmp_path):
    clone = tmp_path / "my clone"
    clone.mkdir()
    wheel = tmp_path / "sthash-1-py3-none-any.whl"
    wheel.touch()
    monkeypatch.setattr(sys, "prefix", "/usr")
    for about, command in (
        (origin(clone), f"pip install '{clone}[mcp]'"),
        (origin(clone, dir_info={"editable": True}), f"pip install -e '{clone}[mcp]'"),
        (origin(wheel), f"pip install '{wheel}[mcp]'"),
        (origin(tmp_path / "gone"), "pip install 'sthash[mcp]'"),
        ('{"url": "https://example.org/x.whl"}', "pip install 'sthash[mcp]'"),
        ("[broken", "pip install 'sthash[mcp]'"),
    ):
        monkeypatch.setattr(importlib.metadata, "distribution", lambda _, url=about: Installed(direct_url=url))
        assert install_command("mcp") == command


def test_without_an_installation(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert install_command("mcp") == "pip install 'sthash[mcp]'"
