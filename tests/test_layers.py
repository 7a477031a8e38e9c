"""A package imports only packages below it, and nothing reaches into a collection. `make lint` checks the contracts."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sthash"
LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
SETTINGS = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads(SETTINGS)["tool"]["importlinter"]["contracts"]
LAYERS = [re.findall(r"\w+", layer) for layer in CONTRACTS[0]["layers"]]


@pytest.fixture
def tiny(tmp_path):
    """A package with our layers and our contracts, without any import."""
    settings = "[tool.importlinter]" + SETTINGS.partition("[tool.importlinter]")[2].replace("sthash", "tiny")
    (tmp_path / "pyproject.toml").write_text(settings)
    for package in (name for layer in LAYERS for name in layer):
        (tmp_path / "tiny" / package).mkdir(parents=True)
        (tmp_path / "tiny" / package / "__init__.py").touch()
    (tmp_path / "tiny" / "__init__.py").write_text("import tiny.cli, tiny.text")
    (tmp_path / "tiny" / "collection" / "store.py").touch()
    return tmp_path / "tiny"


def lint(package):
    run = subprocess.run(
        LINT, cwd=package.parent, env=os.environ | {"PYTHONPATH": str(package.parent)}, capture_output=True, text=True
    )
    return run.returncode, run.stdout + run.stderr


def test_an_import_that_goes_down_passes(tiny):
    (tiny / "cli" / "search.py").write_text("from tiny.collection import Collection")
    (tiny / "collection" / "search.py").write_text("from tiny.collection.store import Store")
    assert lint(tiny)[0] == 0, lint(tiny)[1]


@pytest.mark.parametrize("line", ["from tiny.collection import Hit", "if TYPE_CHECKING:\n    import tiny.collection"])
def test_an_import_that_goes_up_fails(tiny, line):
    (tiny / "text" / "vectorizer.py").write_text(line)
    status, said = lint(tiny)
    assert status == 1
    assert "tiny.text is not allowed to import tiny.collection" in said


def test_engines_do_not_know_each_other(tiny):
    (tiny / "spark" / "export.py").write_text("import tiny.milvus")
    assert "tiny.spark is not allowed to import tiny.milvus" in lint(tiny)[1]


def test_a_package_without_a_layer_fails(tiny):
    (tiny / "forgotten.py").touch()
    status, said = lint(tiny)
    assert status == 1
    assert "tiny.forgotten" in said


def test_an_import_from_the_inside_of_a_collection_fails(tiny):
    (tiny / "serve" / "routes.py").write_text("from tiny.collection.store import Store")
    status, said = lint(tiny)
    assert status == 1
    assert "tiny.serve.routes -> tiny.collection.store" in said


def test_every_package_has_a_layer():
    packages = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert packages - {"__init__"} <= {name for layer in LAYERS for name in layer}


def names_from_sthash(path):
    """What a file imports from the package sthash itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "sthash":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name == "sthash")


def test_no_layer_below_cli_takes_names_from_sthash_itself():
    modules = {"__version__", "_core"} | {name for layer in LAYERS for name in layer}
    layers = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "cli" and path != PACKAGE / "__init__.py"]
    found = {str(path.relative_to(PACKAGE)): set(names_from_sthash(path)) - modules for path in layers}
    assert {path: names for path, names in found.items() if names} == {}


PRIVATE = re.compile(r"\._(view|store)\b|\bsqlite3\b")


def test_nothing_outside_reaches_into_a_collection():
    outside = [
        path
        for folder in ("src/sthash", "benchmarks", "tools")
        for path in (ROOT / folder).rglob("*.py")
        if PACKAGE / "collection" not in path.parents
    ]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in outside
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert found == []
