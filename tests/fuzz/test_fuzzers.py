"""The fuzzers themselves: the pool notices whatever goes wrong, cases can be repeated, and checksums are right."""

import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fuzz import broken, collection_files, index_files, model_files
from fuzz.pool import TESTS, run
from fuzz.worker import random_of
from sthash import Collection, HammingIndex

FINDINGS = {0: "signal 11", 1: "took more than", 2: "IndexError: nobody documents this one", 3: "exit 3", 4: "MiB"}


def test_the_pool_notices_crashes_hangs_errors_and_memory():
    """A broken target: what it does in each case is known from the seed."""
    seed, count = 1, 24
    ways = [random_of(seed, "broken", number).randrange(broken.PERIOD) for number in range(count)]
    assert set(FINDINGS) < set(ways)
    limits = {"case_seconds": 6, "most_findings": 99, "environment": {"STHASH_FUZZ_MIB": "200"}}
    report = run("broken", seed, 110, workers=2, count=count, **limits)
    assert sorted(finding.number for finding in report.findings) == [n for n, way in enumerate(ways) if way in FINDINGS]
    for finding in report.findings:
        assert FINDINGS[ways[finding.number]] in finding.what
        assert f"SEED={seed} CASE={finding.number}" in str(finding)
    assert report.cases == count - len(report.findings)


def test_a_case_can_be_run_again(tmp_path):
    """The same seed and number change a file in the same way."""
    index_files.prepare(tmp_path)
    content = (tmp_path / "64-own.index").read_bytes()
    changed = [index_files.forged(random_of(5, "index_files", 3), content) for _ in range(2)]
    assert changed[0] == changed[1] != content


@pytest.mark.parametrize("size", [0, 1, 4, 7, 8, 31, 32, 33, 100, 4088])
def test_checksums_of_index_files(tmp_path, size):
    """The twin of the checksum gives the sum that a file has."""
    index = HammingIndex(64)
    codes = np.random.default_rng(size).integers(0, 256, (size, 8), dtype=np.uint8)
    index.add(codes)
    index.save(tmp_path / "x")
    content = (tmp_path / "x").read_bytes()
    assert int.from_bytes(content[48:56], "little") == index_files.checksum(content[4096 : 4096 + 8 * size])
    assert int.from_bytes(content[4088:4096], "little") == index_files.checksum(content[:4088])


@pytest.mark.parametrize("target", [collection_files, model_files, index_files], ids=lambda module: module.__name__)
def test_every_target_gets_past_the_checksums(tmp_path, target):
    """Otherwise only the check of the sums would be tested."""
    (tmp_path / "seeds").mkdir()
    (tmp_path / "scratch").mkdir()
    target.prepare(tmp_path / "seeds")
    checked = Random(0)
    refused = 0
    for number in range(25):
        path = tmp_path / "scratch" / "file"
        path.write_bytes(checked.choice(sorted((tmp_path / "seeds").iterdir())).read_bytes())
        random = random_of(0, target.__name__, number)
        if target is index_files:
            path.write_bytes(index_files.forged(random, path.read_bytes()))
        else:
            target.forge(random, path)
        refused += _says_checksum(path, target)
    assert refused < 10


def _says_checksum(path: Path, target) -> bool:
    try:
        if target is collection_files:
            with Collection.open(path, wait=0) as collection:
                problems = str(collection.check())
            return "checksum" in problems
        if target is index_files:
            HammingIndex.open(path)
        else:
            import sthash

            sthash.load(path)
    except Exception as error:
        return "checksum" in str(error)
    return False


@pytest.mark.parametrize("target", ["sources", "queries"])
def test_readers_and_queries(target):
    """Some cases on every run; ``make fuzz`` has no end."""
    report = run(target, 7, 60, workers=1, count=120)
    assert [str(finding) for finding in report.findings] == []
    assert report.cases == 120
    assert len(report.outcomes) >= 3


def test_the_command_prints_its_seed():
    result = subprocess.run(
        [sys.executable, "-m", "fuzz", "index_files", "--seconds", "20", "--count", "20"],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("seed ")
    assert "index_files: 20 cases, 0 findings" in result.stdout
