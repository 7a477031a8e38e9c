"""Threads may share what is fitted, built or opened: each gets the answers that one thread alone gets.

On a Python without the GIL this is a stress test of the whole module; with it, of what runs while it is released.
"""

import subprocess
import sys
import threading

import numpy as np
import pytest

from sthash import Collection, Deduplicator, HammingIndex, Learning, TextModel, VectorIndex, near_duplicates
from support.programs import ENVIRONMENT

THREADS = 8
ROUNDS = 6


def at_once(work):
    """Run ``work(number)`` on all threads, which start together, and return what they return."""
    barrier, results, failures = threading.Barrier(THREADS), [None] * THREADS, []

    def run(number):
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
    finally:
        sys.setswitchinterval(before)
    assert not failures, failures
    return results


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(f"word{n}" for n in rng.zipf(1.3, 30) % 500) for _ in range(400)]


def answers(collection, number):
    queries = [f"word{n} word{n + number}" for n in range(1, 9)]
    many = collection.search_many(queries, k=5)
    one = [collection.search(query, k=5) for query in queries]
    like = collection.search(key=str(number), k=5)
    return [[(hit.key, hit.score) for hit in hits] for hits in [*many, *one, like]]


def test_readers_of_a_collection(tmp_path, texts):
    Collection.create(tmp_path / "c.sth", texts, learning=Learning(n_bits=16)).close()
    with Collection.open(tmp_path / "c.sth") as alone:
        expected = [answers(alone, number) for number in range(THREADS)]
    with Collection.open(tmp_path / "c.sth") as shared:  # whose lists nobody has read yet
        found = at_once(lambda number: [answers(shared, number) for _ in range(2)])
    assert found == [[own, own] for own in expected]


def test_readers_and_writers_of_a_collection(tmp_path, texts):
    with Collection.create(tmp_path / "c.sth", texts, learning=Learning(n_bits=16)) as shared:

        def work(number):
            own = f"own{number}"
            for turn in range(ROUNDS):
                if number < 2:
                    shared.add([{"key": f"{own}-{turn}", "text": f"{own} turn{turn}"}])
                    assert [hit.key for hit in shared.search(f"turn{turn}", k=9) if hit.key.startswith(own)]
                else:
                    assert len(shared.search("word1", k=5)) == 5
                    assert len(shared.search(key="0", k=3)) == 3

        at_once(work)
        assert len(shared) == len(texts) + 2 * ROUNDS
        assert {hit.key for hit in shared.search("own0", k=100)} == {f"own0-{turn}" for turn in range(ROUNDS)}
        shared.check()


BESIDE_A_WRITER = """
import sys, threading
from sthash import Collection

sys.setswitchinterval(1e-5)
with Collection.open(sys.argv[1]) as shared:
    with shared.snapshot() as now:
        model = now.codes.model
    expected = model.encode(["word1 word2 word9"]).codes.tobytes()
    writes = [[{"key": f"{turn}-{n}", "text": f"new{turn} word{n}"} for n in range(20)] for turn in range(60)]
    writer = threading.Thread(target=lambda: [shared.add(write) for write in writes])
    writer.start()
    encoded = 0
    while writer.is_alive():
        assert model.encode([f"unseen{encoded} word1 word2 word9"]).codes.tobytes() == expected
        assert len(model.terms.names(range(20))) == 20
        encoded += 1
    writer.join()
    assert len(shared) == 1600 and encoded > 0
"""


def test_a_model_that_was_taken_from_a_snapshot(tmp_path, texts):
    """Threads in one connection wait for each other forever, one with the GIL: so in a process of its own."""
    Collection.create(tmp_path / "c.sth", texts, learning=Learning(n_bits=16)).close()
    program = [sys.executable, "-c", BESIDE_A_WRITER, str(tmp_path / "c.sth")]
    subprocess.run(program, env=ENVIRONMENT, check=True, timeout=240)


def test_models_and_indexes(texts):
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(900, 24)).astype(np.float32)
    nearest = VectorIndex.build(vectors)
    model = TextModel.build(texts, learning=Learning(n_bits=16))
    codes = model.encode(texts).codes
    index = HammingIndex.build(codes, n_bits=16)

    def ask(number):
        fresh = [f"{text} unseen{number} unseen{turn}" for turn, text in enumerate(texts[number * 9 :][:9])]
        encoded = model.encode(fresh).codes
        pairs = near_duplicates(texts[:100] + texts[:20], 0.9, threads=2).pairs
        parts = [encoded, *index.search(encoded, k=7), *nearest.search(vectors[number : number + 40], k=5)]
        return [part.tobytes() for part in parts], len(pairs)

    expected = [ask(number) for number in range(THREADS)]
    found = at_once(lambda number: [ask(number) for _ in range(2)])
    assert found == [[own, own] for own in expected]


def test_a_deduplicator_takes_each_text_once(texts):
    seen = Deduplicator(threads=1)

    def work(number):
        verdicts = []
        for start in range(0, len(texts), 50):
            some = range(start, start + 50)
            verdicts += seen.add([texts[i] for i in some], keys=[f"{number}-{i}" for i in some])
        return verdicts

    verdicts = at_once(work)
    new = [verdict.key.partition("-")[2] for own in verdicts for verdict in own if verdict.is_new]
    assert len(new) == len(set(new)) == len(seen)
    assert all(verdict.is_new or verdict.score >= 0.8 for own in verdicts for verdict in own)
