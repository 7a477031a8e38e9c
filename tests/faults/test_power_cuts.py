"""What is acknowledged survives a power cut. STHASH_CUTS says how many are simulated (make crash N=...)."""

import os
import subprocess
import sys

import pytest

from sthash.collection.file.schema import TABLES
from support.components import require
from support.programs import ENVIRONMENT, command

CUTS = int(os.environ.get("STHASH_CUTS", "100"))


def run(folder, cuts, seed, *more):
    require("a C compiler")
    program = command("power_cuts", folder, cuts, seed, *more)
    return subprocess.run(program, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=600 + cuts)


@pytest.mark.parametrize("part", range(2))
def test_power_cuts_lose_nothing(memory_path, part):
    result = run(memory_path, -(-CUTS // 2), part)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("survived")
    assert result.stdout.split("in tables: ")[1].split() == sorted(TABLES)
    sys.stdout.write(result.stdout)


def test_the_simulation_can_fail(memory_path):
    """A store that does not wait for the end of its journal is found out."""
    result = run(memory_path, 400, 0, "broken")
    assert result.returncode == 3, result.stdout + result.stderr
    assert result.stdout.startswith("LOST")
