"""Importing the package is cheap, and loads no library that is not asked for."""

import pytest

import sthash


def test_public_names_are_there():
    assert set(sthash.__all__) <= {*dir(sthash)}
    for name in sthash.__all__:
        assert getattr(sthash, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sthash.nothing


def test_import_loads_no_heavy_library(run_python):
    loaded = run_python("import sys, sthash; print(*sys.modules)").split()
    assert not {"sklearn", "scipy", "rich", "typer"} & set(loaded)
