"""A collection that follows a folder is killed while it syncs: it is as before, or as the folder is."""

import subprocess

from support.programs import ENVIRONMENT, command


def test_killed_syncs_lose_nothing(memory_path):
    harness = command("sync_kill_harness", memory_path, 10, 3)
    result = subprocess.run(harness, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("survived ")
