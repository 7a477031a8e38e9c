"""Kill a writer again and again, and look at what it leaves.

Run as: python -m support.crash_harness FOLDER KILLS SEED [broken].

A child process changes a collection in an endless row of random steps and acknowledges each one that has returned.
It is killed (SIGKILL) at a random time within a step. The file must then hold what the acknowledged steps make, or
that and the step that was under way, whole; it must pass its own check; and a search must give what a brute-force twin
gives.

With ``broken`` the child commits documents and their codes one after the other instead of together: a harness worth
having finds that out.
"""

import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sthash import Collection, Document
from sthash.collection import builder
from support.corpus import TOPICS, found, twin_search

State = dict[str, str]
WORDS = [word for words in TOPICS.values() for word in words]
BITS, NEIGHBORS, SMALLEST, LARGEST = 8, 5, 60, 600
FIRST_GUESS = 0.25


@dataclass
class Step:
    """A change: what the collection holds after it, and how to make it."""

    kind: str
    documents: list[Document]
    keys: list[str]
    after: State


def next_step(rng: random.Random, state: State, path: Path) -> Step:
    kind = rng.choice(["add", "add", "upsert", "delete", "delete", "compact", "relearn", "build"])
    documents, keys, after = list[Document](), list[str](), dict(state)
    if not state:
        kind = "build"
    if (kind == "delete" and len(state) < SMALLEST + 40) or (kind == "add" and len(state) > LARGEST):
        kind = "upsert"
    if kind == "build":
        documents = [some_document(rng, f"b{i}") for i in range(rng.randint(SMALLEST, 2 * SMALLEST))]
        after = {document.key: document.text for document in documents}
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
    return Step(kind, documents, keys, after)


def some_document(rng: random.Random, key: str) -> Document:
    return Document(key, " ".join(rng.choices(WORDS, k=8)))


def make(step: Step, path: Path) -> None:
    if step.kind == "build":
        Collection.create(path, step.documents, n_bits=BITS, n_neighbors=NEIGHBORS, overwrite=True).close()
        return
    with Collection.open(path) as collection:
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


def break_commits() -> None:
    whole = builder.put_encoded

    def apart(store, *rest, **named):
        store.connection.execute("COMMIT")
        store.connection.execute("BEGIN IMMEDIATE")
        whole(store, *rest, **named)

    builder.put_encoded = apart


def write(path: Path, state: State, seed: str, acknowledge: int) -> None:
    """Change the collection until killed."""
    rng = random.Random(seed)
    while True:
        step = next_step(rng, state, path)
        make(step, path)
        os.write(acknowledge, b".")
        state = step.after


def run_and_kill(path: Path, state: State, rng: random.Random, seconds: dict[str, float]) -> list[Step]:
    """Give the steps that were acknowledged, and the one after them.

    Some steps are let through, then the next is cut short within the time that the last one of its kind took: so that
    every kind is hit, on a fast machine and on a busy one.
    """
    seed = f"{rng.random()}"
    planned, steps = random.Random(seed), list[Step]()

    def plan() -> None:
        steps.append(next_step(planned, steps[-1].after if steps else state, path))

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


def examine(path: Path, allowed: list[State], rng: random.Random) -> State:
    """Give the state that the file is in; raise if it is none of those allowed, or not sound."""
    if not path.exists():
        assert {} in allowed, "the file is gone"
        return {}
    with Collection.open(path) as collection:
        collection.check()
        state = {document.key: document.text for document in collection}
        assert state in allowed, f"{len(state)} documents, expected one of {[len(one) for one in allowed]}"
        query = " ".join(rng.choices(WORDS, k=3))
        assert found(collection, query, 5, factor=4) == twin_search(collection, query, 5, 4)
    return state


def main() -> None:
    path, kills, seed = Path(sys.argv[1], "crash.sth"), int(sys.argv[2]), sys.argv[3]
    # Imported here, so that no child has to: learning, and what it stands on.
    rng = random.Random(seed)
    warm = [some_document(rng, f"w{i}") for i in range(SMALLEST)]
    Collection.create(path, warm, n_bits=BITS, n_neighbors=NEIGHBORS).close()
    path.unlink()
    if "broken" in sys.argv[4:]:
        break_commits()
    state, under_way, seconds = State(), dict[str, int](), dict[str, float]()
    for kill in range(kills):
        steps = run_and_kill(path, state, rng, seconds)
        before = steps[-2].after if len(steps) > 1 else state
        under_way[steps[-1].kind] = under_way.get(steps[-1].kind, 0) + 1
        try:
            state = examine(path, [before, steps[-1].after], rng)
        except Exception as error:
            sys.stdout.write(f"LOST at kill {kill + 1}, during {steps[-1].kind}: {type(error).__name__}: {error}\n")
            sys.exit(3)
    during = ", ".join(f"{kind} {count}" for kind, count in sorted(under_way.items()))
    sys.stdout.write(f"survived {kills} kills, during: {during}\n")


if __name__ == "__main__":
    main()
