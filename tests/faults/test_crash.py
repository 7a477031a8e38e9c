"""Nothing is lost: writers are killed at random points. STHASH_KILLS says how often (make crash N=...)."""

import os
import subprocess
import sys

import pytest

from sthash.collection.file.schema import TABLES
from support.crash_harness import KINDS
from support.programs import ENVIRONMENT, command

KILLS = int(os.environ.get("STHASH_KILLS", "160"))


def run(folder, kills, seed, *more):
    harness = command("crash_harness", folder, kills, seed, *more)
    return subprocess.run(harness, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60 + 5 * kills)


@pytest.mark.parametrize("part", range(2))
def test_killed_writers_lose_nothing(memory_path, part):
    result = run(memory_path, -(-KILLS // 2), part)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("survived")
    assert result.stdout.split("in tables: ")[1].split() == sorted(TABLES)
    for kind in sorted(KINDS):
        assert f"{kind} " in result.stdout, f"no {kind} was cut short: {result.stdout}"
    sys.stdout.write(result.stdout)  # how often each step was cut short; shown by make crash


@pytest.mark.parametrize("variant", ["apart", "renamed", "trusting"])
def test_the_harness_can_fail(tmp_path, variant):
    """A store that is broken on purpose is found out: on disk, where the moment at which it may be killed is long."""
    result = run(tmp_path, 3000, 0, variant)  # it takes 150 kills or so, rarely 500
    # Where the damage is read at once, the writer ends by itself.
    said = result.stdout + result.stderr
    lost = result.returncode in (3, 4) and said.startswith(("LOST", "LEFT"))
    assert lost or "the writer ended by itself" in said, said
