"""Kill a writer again and again, and look at what it leaves.

Run as: python -m support.crash_harness FOLDER KILLS SEED [apart | renamed | trusting].

A child process changes a collection in an endless row of random steps and acknowledges each one that has returned. The
collection is one of texts or, after some builds, one of vectors with codes; segments and cells are small, so that every
table is in use. The child is killed (SIGKILL) at a random time within a step. The file must then hold what the
acknowledged steps make, or that and the step that was under way, whole; it must pass its own check; and a search must
give what a brute-force twin gives.

Not every file that a killed writer leaves is opened: some are built over, or a copy is put in their place, by
`Collection.copy_to` or by hand, with what the writer has left beside them.

A harness worth having finds out what is broken. With ``apart`` the child commits documents and their codes one after
the other instead of together. With ``renamed`` a new file is renamed to the old one's name, and the old one's journal
is taken for its own. With ``trusting`` only the latter.
"""

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sthash import Collection, Document
from sthash.collection.build import builder
from sthash.collection.file import connection, replacement
from sthash.collection.file.schema import TABLES
from support.corpus import TOPICS, found, twin_search
from support.embedders import embed
from support.factories import create_collection, opened, small_segments, tables_in_use

State = dict[str, str]
BACKUP = State()
TABLES_SEEN = set[str]()
WORDS = [word for words in TOPICS.values() for word in words]
BITS, NEIGHBORS, SMALLEST, LARGEST = 8, 5, 60, 600
FIRST_GUESS = 0.25
KINDS = {"add", "build", "compact", "copy", "delete", "relearn", "upsert"}
UNSEEN = 0.4  # share of the kills after which the file is replaced without having been opened


@dataclass
class Step:
    """A change: what the collection holds after it, and how to make it."""

    kind: str
    documents: list[Document]
    keys: list[str]
    after: State
    dense: bool = False


def next_step(rng: random.Random, state: State | None) -> Step:
    """Give a step from a state, or from an unknown one."""
    kind = rng.choice(["add", "add", "upsert", "delete", "delete", "compact", "relearn", "build", "copy"])
    if not state:
        kind, state = rng.choice(["build", "copy"]), {}
    documents, keys, after = list[Document](), list[str](), dict(state)
    if (kind == "delete" and len(state) < SMALLEST + 40) or (kind == "add" and len(state) > LARGEST):
        kind = "upsert"
    if kind == "build":
        documents = [some_document(rng, f"b{i}") for i in range(rng.randint(2 * SMALLEST, 3 * SMALLEST))]
        after = {document.key: document.text for document in documents}
    elif kind == "copy":
        after = dict(BACKUP)
    elif kind == "add":
        mark = rng.randrange(10**9)
        documents = [some_document(rng, f"a{mark}-{i}") for i in range(rng.choice([1, 3, 120]))]
        after |= {document.key: document.text for document in documents}
    elif kind == "upsert":
        documents = [some_document(rng, key) for key in rng.sample(sorted(state), rng.randint(1, 20))]
        after |= {document.key: document.text for document in documents}
    elif kind == "delete":
        keys = rng.sample(sorted(state), rng.randint(1, 40))
        after = {key: text for key, text in state.items() if key not in keys}
    return Step(kind, documents, keys, after, dense=rng.random() < 0.5)


def some_document(rng: random.Random, key: str) -> Document:
    return Document(key, " ".join(rng.choices(WORDS, k=8)))


def build(path: Path, documents: list[Document], *, dense: bool = False) -> None:
    embedder = embed if dense else None
    create_collection(path, documents, overwrite=True, n_bits=BITS, n_neighbors=NEIGHBORS, embedder=embedder).close()


def make(step: Step, path: Path) -> None:
    if step.kind == "build":
        build(path, step.documents, dense=step.dense)
        return
    if step.kind == "copy":
        with Collection.open(backup_of(path)) as collection:
            collection.copy_to(path, overwrite=True)
        return
    with opened(path, embed) as collection:
        if step.kind == "add":
            collection.add(step.documents)
        elif step.kind == "upsert":
            collection.upsert(step.documents)
        elif step.kind == "delete":
            collection.delete(step.keys)
        elif step.kind == "compact":
            collection.compact()
        else:
            collection.relearn()


def backup_of(path: Path) -> Path:
    return path.with_name("backup.sth")


def trust_journals() -> None:
    connection.set_aside_strange_journal = lambda path: None


def rename_files() -> None:
    trust_journals()
    replacement._write_over = lambda new, target, wait: new.replace(target)


def break_commits() -> None:
    whole = builder.IndexSet.put

    def apart(indexes, entries):
        connection = indexes.words._store.connection
        connection.execute("COMMIT")
        connection.execute("BEGIN IMMEDIATE")
        whole(indexes, entries)

    builder.IndexSet.put = apart


def write(path: Path, state: State | None, seed: str, acknowledge: int) -> None:
    """Change the collection until killed."""
    rng = random.Random(seed)
    while True:
        step = next_step(rng, state)
        make(step, path)
        os.write(acknowledge, b".")
        state = step.after


def run_and_kill(path: Path, state: State | None, rng: random.Random, seconds: dict[str, float]) -> list[Step]:
    """Give the steps that were acknowledged, and the one after them.

    Some steps are let through, then the next is cut short within the time that the last one of its kind took: so that
    every kind is hit, on a fast machine and on a busy one.
    """
    seed = f"{rng.random()}"
    planned, steps = random.Random(seed), list[Step]()

    def plan() -> None:
        steps.append(next_step(planned, steps[-1].after if steps else state))

    plan()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write(path, state, seed, writing)
        finally:
            os._exit(1)  # it never ends by itself
    os.close(writing)
    for _ in range(rng.choice([0, 0, 1, 2])):
        start = time.perf_counter()
        if not os.read(reading, 1):
            break
        seconds[steps[-1].kind] = time.perf_counter() - start
        plan()
    time.sleep(rng.uniform(0.0, 1.2 * seconds.get(steps[-1].kind, FIRST_GUESS)))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while part := os.read(reading, 4096):
        for _ in part:
            plan()
    os.close(reading)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"the writer ended by itself with status {status}")
    return steps


def copy_by_hand(path: Path, rng: random.Random) -> None:
    """Put a copy in the place of a file, as people do."""
    if rng.random() < 0.5:
        shutil.copyfile(backup_of(path), path)
    else:
        shutil.copyfile(backup_of(path), path.with_name("moved"))
        path.with_name("moved").replace(path)


def left_over(path: Path) -> list[str]:
    """Give the files that should not be there after one more build."""
    rng = random.Random(0)
    documents = [some_document(rng, f"b{i}") for i in range(SMALLEST)]
    build(path, documents)
    names = {file.name for file in path.parent.iterdir() if file.suffix != ".stale"}
    return sorted(names - {path.name, backup_of(path).name})


def examine(path: Path, allowed: list[State], rng: random.Random) -> State:
    """Give the state that the file is in; raise if it is none of those allowed, or not sound."""
    if not path.exists():
        assert {} in allowed, "the file is gone"
        return {}
    with opened(path, embed) as collection:
        collection.check()
        state = {document.key: document.text for document in collection}
        assert state in allowed, f"{len(state)} documents, expected one of {[len(one) for one in allowed]}"
        query = " ".join(rng.choices(WORDS, k=3))
        with collection.snapshot() as now:
            if now.cells is None:
                assert found(collection, query, 5, factor=4) == twin_search(collection, query, 5, 4)
            else:
                _, (scores,) = now.cells.search(embed([query]), 5, exact=True)
                rows = embed(list(state.values()))
                cosines = rows @ embed([query])[0] / np.linalg.norm(rows, axis=1) / np.linalg.norm(embed([query]))
                np.testing.assert_allclose(scores, np.sort(cosines)[::-1][:5], atol=1e-5)
        first, *_ = query.split()
        holding = {key for key, text in state.items() if first in text.split()}
        assert {hit.key for hit in collection.search(first, len(state), ranking="bm25")} == holding
    TABLES_SEEN.update(tables_in_use(path))
    return state


def main() -> None:
    path, kills, seed = Path(sys.argv[1], "crash.sth"), int(sys.argv[2]), sys.argv[3]
    # Imported here, so that no child has to: learning, and what it stands on.
    rng = random.Random(seed)
    warm = [some_document(rng, f"w{i}") for i in range(2 * SMALLEST)]
    build(path, warm, dense=True)
    path.unlink()
    build(backup_of(path), warm)
    BACKUP.update({document.key: document.text for document in warm})
    for variant in sys.argv[4:]:
        {"apart": break_commits, "renamed": rename_files, "trusting": trust_journals}[variant]()
    possible, under_way, seconds = [State()], Counter[str](), dict[str, float]()
    for kill in range(3 * kills):  # as many as asked for, and more until each kind of step was cut short
        if kill >= kills and under_way.keys() >= KINDS and TABLES_SEEN.issuperset(TABLES):
            break
        steps = run_and_kill(path, possible[0] if len(possible) == 1 else None, rng, seconds)
        under_way[steps[-1].kind] += 1
        possible = [steps[-2].after, steps[-1].after] if len(steps) > 1 else [*possible, steps[-1].after]
        try:
            if rng.random() < UNSEEN:
                under_way["(journals left)"] += Path(f"{path}-journal").exists()
                if rng.random() < 0.5:
                    continue
                copy_by_hand(path, rng)
                possible = [BACKUP]
            possible = [examine(path, possible, rng)]
        except Exception as error:
            sys.stdout.write(f"LOST at kill {kill + 1}, during {steps[-1].kind}: {type(error).__name__}: {error}\n")
            sys.exit(3)
    if left := left_over(path):
        sys.stdout.write(f"LEFT {left}\n")
        sys.exit(4)
    during = ", ".join(f"{kind} {count}" for kind, count in sorted(under_way.items()))
    total, tables = sum(under_way[kind] for kind in KINDS), " ".join(sorted(TABLES_SEEN))
    sys.stdout.write(f"survived {total} kills, during: {during}; in tables: {tables}\n")


if __name__ == "__main__":
    with small_segments(few=80):
        main()
