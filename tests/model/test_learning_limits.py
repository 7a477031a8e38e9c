"""From how many documents a model is learned: as many as estimates of time and memory allow."""

import numpy as np
import pytest

from sthash.hashing import cost as learner
from sthash.model import learning_limits
from sthash.model.learning_limits import CorpusSize, Cost, LearningLimits, machine_bytes, said_bytes, said_seconds

GIB = 1 << 30


def linear(count):
    return Cost(count / 1000, 2000 * count)


def slow_twin(limits, count, cost):
    """The largest number within the limits, looked for one by one, with two digits."""
    most = max(n for n in range(count + 1) if cost(n).within(limits))
    return int(f"{most}"[:2].ljust(len(f"{most}"), "0"))


def test_all_documents_within_the_limits():
    assert LearningLimits(None, 300, GIB).documents(100_000, linear) == 100_000
    assert LearningLimits(None, 300, GIB).documents(123_457, linear) == 123_457
    assert LearningLimits(700, 300, GIB).documents(100_000, linear) == 700
    assert LearningLimits(700, 300, GIB).documents(30, linear) == 30


@pytest.mark.parametrize(
    ("limits", "power"),
    [((None, 7, GIB), 1.0), ((None, 300, 3 << 20), 1.0), ((4321, 3.3, GIB), 1.0), ((None, 9, GIB), 1.3)],
)
def test_a_sample_beyond_them(limits, power):
    def cost(count):
        return Cost(count**power / 1000, 2000 * count)

    limits = LearningLimits(*limits)
    found = limits.documents(9_999, cost)
    wanted = 9_999 if limits.sample_size is None else limits.sample_size
    assert found == slow_twin(limits, wanted, cost) < 9_999
    assert cost(found).within(limits)


def test_limits_that_are_too_small_for_anything():
    with pytest.raises(
        ValueError, match=r"1,000 documents takes about 2 MiB of memory, but learning_bytes allows 10 KiB"
    ):
        LearningLimits(None, 300, 10_000).documents(5000, lambda count: Cost(1, 2100 * count))
    with pytest.raises(ValueError, match=r"200 documents takes about 4 min, but learning_seconds allows 60 s\. Raise"):
        LearningLimits(None, 60, GIB).documents(200, lambda count: Cost(1.2 * count, 1))
    for wrong, message in (
        ({"seconds": 0}, "learning_seconds=0 must be a positive number"),
        ({"seconds": float("inf")}, "learning_seconds=inf"),
        ({"bytes": 0}, "learning_bytes=0 must be an int of at least 1"),
        ({"sample_size": 0}, "sample_size=0 must be an int of at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            LearningLimits(**wrong)


def test_the_memory_of_a_container_counts(tmp_path, monkeypatch):
    assert machine_bytes() > 1 << 26
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(learning_limits, "_CONTAINER_LIMITS", (str(limit), str(tmp_path / "none")))
    whole = machine_bytes()
    limit.write_text("50000000\n")
    assert machine_bytes() == 50_000_000
    assert LearningLimits().most_bytes == 25_000_000
    limit.write_text("max\n")
    assert machine_bytes() == whole


def test_the_estimate_does_not_look_at_this_machine(monkeypatch):
    """The same corpus gives the same model with any number of threads: time is always that of two cores."""
    seen = []
    known = learner.learning_cost
    monkeypatch.setattr(
        learner,
        "learning_cost",
        lambda *given, threads: (seen.append((given, threads)), known(*given, threads=threads))[1],
    )
    size = CorpusSize(1000, 30_000, 500)
    whole, half = size.cost(1000, 64, "neighbors"), size.cost(500, 64, "neighbors")
    assert seen == [((1000, 30_000, 64, "neighbors"), 2), ((500, 15_000, 64, "neighbors"), 2)]
    assert whole.seconds >= half.seconds > 0
    assert whole.bytes > half.bytes > 8 * 15_000 + 4 * 500 * 64


@pytest.mark.parametrize("recipe", ["paper", "neighbors", "topics"])
def test_a_larger_corpus_takes_more(recipe):
    sizes = [2**power for power in range(8, 22)]
    costs = [CorpusSize(n, 20 * n, 100_000).cost(n, 64, recipe) for n in sizes]
    assert (np.diff([cost.seconds for cost in costs]) > 0).all()
    assert (np.diff([cost.bytes for cost in costs]) > 0).all()


def test_what_people_read():
    assert [said_seconds(seconds) for seconds in (0.01, 45, 600, 7300)] == ["1 s", "45 s", "10 min", "2 h"]
    assert [said_bytes(count) for count in (1, 20 << 20, 12 * GIB)] == ["1 KiB", "20 MiB", "12 GiB"]
