"""One writer and eight readers: a search sees all of a change or nothing of it."""

import threading
import time

import numpy as np
import pytest

from sthash import HammingIndex
from support.index_twin import random_codes

BATCH = 64
SECONDS = 2.0


@pytest.mark.parametrize("strategy", ["auto", "scan", "tables"])
@pytest.mark.parametrize("own_ids", [False, True])
def test_searches_see_whole_changes_only(strategy, own_ids):
    """The writer adds, updates and removes groups of equal codes, so any search must find whole groups."""
    rng = np.random.default_rng(0)
    n_bits = 64
    index = HammingIndex(n_bits, strategy=strategy)
    index.add(random_codes(rng, 5000, n_bits), np.arange(5000))
    group_code = random_codes(rng, 1, n_bits)
    moved_code = group_code ^ 0xFF
    group = np.repeat(group_code, BATCH, axis=0)
    stop, failures, searches = threading.Event(), [], [0] * 8

    def read(number):
        try:
            queries = np.concatenate([group[:1], np.repeat(moved_code, 15, axis=0)])[: 1 if number % 2 else 16]
            while not stop.is_set():
                counts = index.count(queries, 0, threads=1 + number % 2)
                lims, ids, _ = index.radius_search(queries, 0, threads=1)
                found, distances = index.search(queries, 3 * BATCH, radius=0)
                for seen in (counts[0], lims[1], (found[0] >= 0).sum(), (distances[0] == 0).sum()):
                    if seen % BATCH:
                        failures.append(int(seen))
                if len(np.unique(ids[: lims[1]])) != lims[1]:
                    failures.append("an id twice")
                searches[number] += 1
        except Exception as error:
            failures.append(error)

    readers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for reader in readers:
        reader.start()
    end, changes, base = time.monotonic() + SECONDS, 0, 10_000
    while time.monotonic() < end and not failures:
        ids = [np.arange(base + j * BATCH, base + (j + 1) * BATCH) for j in range(2)]
        for some in ids:
            index.add(group, some[::-1] if own_ids else some)
        index.update(np.repeat(moved_code, BATCH, axis=0), ids[0])
        index.remove(np.concatenate(ids))
        base += 2 * BATCH
        changes += 4
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert changes > 8
    assert min(searches) > 0
    assert len(index) == 5000


def test_two_writers_do_not_lose_anything():
    index = HammingIndex(32)
    codes = random_codes(np.random.default_rng(1), 50, 32)

    def write():
        for _ in range(100):
            index.remove(index.add(codes)[:10])

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(index) == 3 * 100 * 40
    assert len(index.ids) == len(index)
