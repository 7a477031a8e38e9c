"""Kill a collection that follows a folder, again and again, while it syncs.

Run as: python -m support.sync_kill_harness FOLDER KILLS SEED.

Files of the folder are added, changed, renamed and removed; then a child process syncs, and is killed (SIGKILL) at a
random time. The file must hold the documents from before or those of the folder, pass its own check, and keep what did
not come from the folder; the next sync must bring it to the folder.
"""

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from sthash import Collection, Learning
from support.corpus import TOPICS
from support.factories import small_segments

WORDS = [word for words in TOPICS.values() for word in words]
OWN = {f"own{number}": f"{WORDS[number]} is not from the folder" for number in range(10)}
FILES = 150


def main() -> None:
    folder, path = Path(sys.argv[1], "notes"), Path(sys.argv[1], "notes.sth")
    rng, fate = random.Random(sys.argv[3]), Counter[str]()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number in range(FILES):
        write(folder / f"{number}.md", rng)
    own = [{"key": key, "text": text} for key, text in OWN.items()]
    Collection.create(path, own, overwrite=True, learning=Learning(n_bits=8, n_neighbors=5)).close()
    took = sync(path, folder)
    kills = int(sys.argv[2])
    for kill in range(10 * kills):  # as many as asked for, and more until there were both outcomes
        if kill >= kills and len(fate) == 2:
            break
        before = state_of(path)
        change(folder, rng)
        child = os.fork()
        if child == 0:
            sync(path, folder)
            os._exit(0)
        time.sleep(rng.uniform(0, 1.3 * took))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        state, wanted = state_of(path), OWN | {file.name: file.read_text() for file in folder.iterdir()}
        if state not in (before, wanted):
            sys.exit(f"LOST at kill {kill + 1}: {len(state)} documents, expected {len(before)} or {len(wanted)}")
        fate["before" if state == before else "after"] += 1
        took = sync(path, folder)
        if state_of(path) != wanted:
            sys.exit(f"LOST at kill {kill + 1}: the next sync did not make up for it")
    sys.stdout.write(f"survived {fate.total()} kills: {fate['before']} before the commit, {fate['after']} after it\n")


def write(file: Path, rng: random.Random) -> None:
    file.write_text(" ".join(rng.choices(WORDS, k=30)))


def change(folder: Path, rng: random.Random) -> None:
    files = sorted(folder.iterdir())
    for file in rng.sample(files, 12):
        kind = rng.choice(["change", "rename", "remove", "add"])
        if kind == "change":
            write(file, rng)
        elif kind == "rename":
            file.rename(folder / f"{rng.randrange(10**9)}.md")
        elif kind == "remove" and len(files) > FILES // 2:
            file.unlink()
        else:
            write(folder / f"{rng.randrange(10**9)}.md", rng)


def sync(path: Path, folder: Path) -> float:
    start = time.perf_counter()
    with Collection.open(path, threads=1) as collection:
        collection.sync(folder)
    return time.perf_counter() - start


def state_of(path: Path) -> dict[str, str]:
    with Collection.open(path, threads=1) as collection:
        collection.check()
        return {str(document.key): document.text for document in collection}


if __name__ == "__main__":
    with small_segments(few=80):
        main()
