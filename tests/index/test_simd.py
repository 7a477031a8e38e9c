"""The exact tests, under every SIMD path that this machine has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sthash import _core

EXACT = [Path(__file__).with_name(name) for name in ("test_exact.py", "test_weighted.py")]


@pytest.mark.parametrize("path", [path for path in _core.simd_paths() if path != _core.simd_path()])
def test_every_other_path_is_exact(path):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *map(str, EXACT)],
        env={**os.environ, "STHASH_SIMD": path},
        cwd=EXACT[0].parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    assert " passed" in run.stdout


def test_an_unknown_path_is_refused():
    run = subprocess.run(
        [sys.executable, "-c", "import sthash"],
        env={**os.environ, "STHASH_SIMD": "mmx"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "STHASH_SIMD=mmx" in run.stderr
