"""Importing the package is cheap and offline, and loads nothing that is not asked for."""

import ast
import importlib
from pathlib import Path

import pytest

import sthash

LAZY_PACKAGES = ["sthash", "sthash.applications", "sthash.baselines", "sthash.serve", "sthash.text"]


@pytest.mark.parametrize("name", LAZY_PACKAGES)
def test_public_names_are_there(name):
    package = importlib.import_module(name)
    assert package.__all__ == sorted(dir(package))
    for public in package.__all__:
        assert getattr(package, public) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = package.nothing


def test_the_stub_is_the_list():
    stub = Path(sthash.__file__).with_suffix(".pyi").read_text()
    listed = [alias.name for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted([*listed, "__version__"]) == sthash.__all__


def test_import_loads_no_heavy_library(run_python):
    loaded = run_python("import sys, sthash; print(*sys.modules)").split()
    assert not {"numpy", "sklearn", "scipy", "rich", "typer"} & set(loaded)


def test_rows_and_counters_load_neither_scipy_nor_scikit_learn(run_python):
    modules = "vectors.rows", "vectors.checks", "codes", "text.counters", "text.weighting"
    program = f"import sys, {', '.join(f'sthash.{name}' for name in modules)}; print(*sys.modules)"
    assert not {"sklearn", "scipy"} & set(run_python(program).split())


def test_a_search_loads_neither_scipy_nor_scikit_learn(run_python, tmp_path):
    sthash.Collection.create(
        tmp_path / "c.sth",
        [f"word{i % 7} other{i % 5} third{i}" for i in range(60)],
        learning=sthash.Learning(n_bits=8),
    )
    program = f"""
import sys, sthash
with sthash.Collection.open({str(tmp_path / "c.sth")!r}) as collection:
    collection.search("word3")
print(*sys.modules)
"""
    assert not {"sklearn", "scipy"} & set(run_python(program).split())
