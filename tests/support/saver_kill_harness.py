"""Kill what saves models, indexes and the files of `sth dedup` and `sth sync`, again and again.

Run as: python -m support.saver_kill_harness FOLDER KILLS SEED [in_place].

A child process writes two versions of one kind of file over each other, and says when a write begins and when it has
returned. It is killed (SIGKILL) at a random time. The version that was acknowledged last must be there, or the one
that was being written, whole; nothing may stay in the folder for temporary files, and the next write removes what is
left over.

With ``in_place`` files are written where they are, which the harness must find out.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from sthash import files, model_file
from support.saved_files import NAMES, SavedFiles, temporary_files_in


def write_in_place() -> None:
    """Break all writers of models: the file is changed where it is."""
    from contextlib import contextmanager

    @contextmanager
    def in_place(target, **_):
        yield Path(target)

    model_file.replacing = in_place


BEGUN, DONE = b"b", b"."
LATER, MOST_SECONDS = 2.0, 3.0


def _wait(reading):
    """Wait until a write begins, or is done."""
    if not os.read(reading, 1):
        raise SystemExit("the writer ended by itself")


def run_and_kill(saved, name, version, folder, rng, seconds):
    """Return how many writes were acknowledged before the kill."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            while True:
                version = 1 - version
                os.write(writing, BEGUN)
                saved.write(name, version, folder)
                os.write(writing, DONE)
        finally:
            os._exit(1)  # it never ends by itself
    os.close(writing)
    acknowledged = 0
    for _ in range(rng.choice([0, 0, 1])):
        _wait(reading)
        _wait(reading)
        acknowledged += 1
    _wait(reading)
    time.sleep(rng.uniform(0, seconds))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while part := os.read(reading, 4096):
        acknowledged += part.count(DONE)
    os.close(reading)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"the writer of {name} ended by itself with status {status}")
    return acknowledged


def unfinished(folder):
    return [file.name for file in folder.iterdir() if file.name.endswith((files.SUFFIX, "-journal"))]


def main() -> None:
    folder, kills, rng = Path(sys.argv[1], "files"), int(sys.argv[2]), random.Random(sys.argv[3])
    folder.mkdir(parents=True)
    saved, spilled = SavedFiles(Path(sys.argv[1], "inputs")), Path(sys.argv[1], "temporary")
    with temporary_files_in(spilled):
        versions, seconds, fate, left_over, known_left = {}, {}, Counter(), 0, 0
        for name in NAMES:
            start = time.perf_counter()
            saved.write(name, 0, folder)
            versions[name], seconds[name] = 0, 3 * (time.perf_counter() - start)
        if "in_place" in sys.argv[4:]:
            write_in_place()
        for kill in range(kills):
            name = NAMES[kill % len(NAMES)]
            last = versions[name] ^ (run_and_kill(saved, name, versions[name], folder, rng, seconds[name]) % 2)
            try:
                versions[name] = saved.version(name, folder)
                assert versions[name] in (last, 1 - last), "there is no version"
                assert not list(spilled.iterdir()), "temporary files stay"
            except Exception as error:
                sys.stdout.write(f"LOST at kill {kill + 1}, while writing {name}: {type(error).__name__}: {error}\n")
                sys.exit(3)
            is_before = versions[name] == last
            fate[name, "before" if is_before else "after"] += 1
            change = LATER if is_before else 1 / LATER  # so that there is as much of both
            seconds[name] = min(seconds[name] * change, MOST_SECONDS)
            left_over += len(unfinished(folder)) > known_left
            known_left = len(unfinished(folder))
        for name in NAMES:
            saved.write(name, 0, folder)
        if stay := unfinished(folder):
            sys.stdout.write(f"LEFT {stay}\n")
            sys.exit(4)
    done = ", ".join(f"{name} {fate[name, 'before']}+{fate[name, 'after']}" for name in NAMES)
    sys.stdout.write(
        f"survived {fate.total()} kills (before + after the new version): {done}; {left_over} left-overs\n"
    )


if __name__ == "__main__":
    main()
