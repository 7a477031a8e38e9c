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
    ("prefix", "installer", "command"),
    [
        ("/usr", "pip", "pip install 'sthash[files]'"),
        ("/opt/conda", "conda", "pip install 'sthash[files]'"),
        ("/home/ann/app/.venv", "uv", "uv pip install 'sthash[files]'"),
        ("/home/ann/.local/share/uv/tools/sthash", "uv", "uv tool install 'sthash[files]'"),
        ("/home/ann/.cache/uv/archive-v0/x7_a", "uv", "uvx --from 'sthash[files]' sth"),
        ("/home/ann/.local/share/pipx/venvs/sthash", "pip", "pipx install --force 'sthash[files]'"),
    ],
)
def test_by_the_way_it_was_installed(monkeypatch, prefix, installer, command):
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Installed(INSTALLER=f"{installer}\n"))
    assert install_command("files") == command


def test_from_a_folder(monkeypatch, tmp_path):
    clone = tmp_path / "my clone"
    clone.mkdir()
    monkeypatch.setattr(sys, "prefix", "/usr")
    for about, command in (
        (origin(clone), f"pip install '{clone}[mcp]'"),
        (origin(clone, dir_info={"editable": True}), f"pip install -e '{clone}[mcp]'"),
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
