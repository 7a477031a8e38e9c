"""Temporary files: unmistakably ours, removed when their process is dead, and left alone while it lives."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import sthash
from sthash import Collection, HammingIndex, Learning, SelfTaughtHashing
from sthash.files import SUFFIX, remove_left_overs, replacing, unfinished
from support.corpus import make_documents
from support.programs import ENVIRONMENT

KILLED = """
import os, signal, sys
from pathlib import Path
from sthash import Collection
from sthash.files import replacing
def texts():
    for number in range(500):
        yield f"kitten{number % 20} ship{number % 30}"
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "build":
    Collection.create(sys.argv[1], texts())
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill(path, what):
    command = [sys.executable, "-c", KILLED, path, what]
    assert subprocess.run(command, env=ENVIRONMENT, check=False).returncode == -signal.SIGKILL


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_what_killed_saves_leave_is_removed_by_the_next(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 20)).astype(np.float32)
    for _ in range(2):
        kill(tmp_path / "index", "save")
        kill(tmp_path / "model", "save")
        kill(tmp_path / "c.sth", "build")
    assert len(names(tmp_path)) == 3  # the second has removed what the first had left
    assert all(name.endswith(SUFFIX) for name in names(tmp_path))
    HammingIndex(64).save(tmp_path / "index")
    SelfTaughtHashing(4, 5).fit(X).save(tmp_path / "model")
    Collection.create(tmp_path / "c.sth", make_documents(80), learning=Learning(n_bits=8, n_neighbors=5)).close()
    assert names(tmp_path) == ["c.sth", "index", "model"]
    assert sthash.load(tmp_path / "model").n_bits == 4


def test_a_file_in_use_is_left_alone(tmp_path):
    target = tmp_path / "notes"
    with unfinished(target) as first:
        assert remove_left_overs(target) == [first]
        with replacing(target) as second:
            second.write_text("second")
        assert first.exists()
        assert target.read_text() == "second"
    assert names(tmp_path) == ["notes"]


def test_what_is_somebody_elses_is_left_alone(tmp_path):
    target = tmp_path / "notes"
    others = [".notes.tmp", f".notes.1{SUFFIX}", f".notes.{'G' * 16}{SUFFIX}", f"notes.{'0' * 16}{SUFFIX}", ".notes.x"]
    others += [f".notes2.{'0' * 16}{SUFFIX}", f".notes.{'0' * 16}{SUFFIX}.bak"]
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / f".notes.{'a' * 16}{SUFFIX}").mkdir()
    (tmp_path / f".notes.{'b' * 16}{SUFFIX}").symlink_to(tmp_path / ".notes.x")
    expected = sorted([*names(tmp_path), "notes"])
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == expected


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_block_that_fails_leaves_nothing(tmp_path, error):
    target = tmp_path / "notes"
    target.write_text("old")

    def fail():
        with replacing(target) as temporary:
            temporary.write_text("new")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ["notes"]
    assert target.read_text() == "old"


def test_nothing_stays_open(tmp_path):
    least = os.dup(0)
    os.close(least)
    for _ in range(20):
        with replacing(tmp_path / "notes") as temporary:
            temporary.write_text("new")
    after = os.dup(0)
    os.close(after)
    assert after == least  # the lowest number that is free


@pytest.mark.skipif(sys.platform == "win32", reason="kills")
@pytest.mark.parametrize("step", range(1, 9))
def test_a_report_always_belongs_to_the_output_beside_it(tmp_path, step):
    output, report = tmp_path / "out", tmp_path / "report"
    output.write_text("old")
    report.write_text("old")
    program = f"""
import os, signal, sys
from pathlib import Path
from sthash.files import replacing

steps = 0
def killing(event, arguments):
    global steps
    if event in ("os.rename", "os.remove", "os.chmod"):
        steps += 1
        if steps == {step}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(killing)
with replacing({str(report)!r}) as noted, replacing({str(output)!r}, outdates={str(report)!r}) as written:
    noted.write_text("new")
    written.write_text("new")
print("finished")
"""
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL or done.stdout == "finished\n", done.stderr
    found = [path.read_text() if path.exists() else None for path in (output, report)]
    assert found in (["old", "old"], ["old", None], ["new", None], ["new", "new"])
    assert (done.returncode == 0) == (step == 8), found  # every step was tried
