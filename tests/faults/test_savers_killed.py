"""Writers of models, indexes, `sth dedup` and `sth sync` are killed: the old file is there, or the new one.

A quarter as often as STHASH_KILLS says (make crash N=...).
"""

import os
import re
import subprocess
import sys

from support.programs import ENVIRONMENT, command
from support.saved_files import NAMES

KILLS = int(os.environ.get("STHASH_KILLS", "100")) // 4


def run(folder, kills, *more):
    harness = command("saver_kill_harness", folder, kills, 5, *more)
    return subprocess.run(harness, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120 + kills)


def test_killed_savers_leave_a_whole_file(memory_path):
    result = run(memory_path, KILLS)
    assert result.returncode == 0, result.stdout + result.stderr
    fates = dict(re.findall(r"(\w+) (\d+\+\d+)", result.stdout))
    assert set(fates) == set(NAMES)
    assert all(sum(map(int, fates[name].split("+"))) >= KILLS // len(NAMES) for name in NAMES)
    before, after = (sum(int(fate.split("+")[place]) for fate in fates.values()) for place in (0, 1))
    assert min(before, after) > 0
    sys.stdout.write(result.stdout)


def test_the_harness_can_fail(memory_path):
    """A writer that changes the file in its place is found out."""
    result = run(memory_path, 2000, "in_place")
    assert result.returncode == 3, result.stdout + result.stderr
    assert result.stdout.startswith("LOST")
