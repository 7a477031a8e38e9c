"""A push that is killed at random points, again and again, ends with every document there once."""

import os
import subprocess

from support.components import require
from support.programs import ENVIRONMENT, command

require("Milvus Lite")

KILLS = int(os.environ.get("STHASH_PUSH_KILLS", "5"))


def run(folder, kills, *more):
    harness = command("milvus_kill_harness", folder, kills, 0, *more)
    return subprocess.run(
        harness, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60 + 10 * kills
    )


def test_killed_pushes_lose_and_double_nothing(tmp_path):
    result = run(tmp_path, KILLS)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("survived")


def test_the_harness_can_fail(tmp_path):
    result = run(tmp_path, 2, "broken")
    assert result.returncode == 3, result.stdout + result.stderr
    assert result.stdout.startswith("LOST")
