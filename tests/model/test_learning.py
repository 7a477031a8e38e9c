"""`Learning`: its settings are checked, and it learns from as many documents as time and memory allow."""

import numpy as np
import pytest

from sthash import Learning, SelfTaughtHashing, sizes
from sthash.hashing import cost as learner
from sthash.model.learning import CorpusSize, Cost, format_seconds
from sthash.sizes import machine_bytes


class Linear(Learning):
    """A thousand documents take a second and two megabytes."""

    def cost(self, size, count=None):
        return Cost(count / 1000, 2000 * count)


def slow_twin(limits, size, most):
    """The largest number within the limits, looked for one by one, with two digits."""
    found = max(n for n in range(most + 1) if limits.allows(limits.cost(size, n)))
    return int(f"{found}"[:2].ljust(len(f"{found}"), "0"))


def corpus(documents):
    return CorpusSize(documents, 30 * documents, 1000)


def test_all_documents_within_the_limits():
    assert Linear(memory="1GB").n_documents(corpus(100_000)) == 100_000
    assert Linear(memory="1GB").n_documents(corpus(123_457)) == 123_457
    assert Linear(sample_size=700).n_documents(corpus(100_000)) == 700
    assert Linear(sample_size=700).n_documents(corpus(30)) == 30


@pytest.mark.parametrize(
    "settings", [{"seconds": 7}, {"memory": "3MiB"}, {"sample_size": 4321, "seconds": 3.3}, {"seconds": 9}]
)
def test_a_sample_beyond_them(settings):
    limits, size = Linear(**settings), corpus(9_999)
    found = limits.n_documents(size)
    assert found == slow_twin(limits, size, limits.sample_size or 9_999) < 9_999
    assert limits.allows(limits.cost(size, found))


def test_limits_that_are_too_small_for_anything():
    class Heavy(Learning):
        def cost(self, size, count=None):
            return Cost(1.2 * count, 2100 * count)

    heavy = Heavy(n_bits=2)
    with pytest.raises(
        ValueError, match=r"1,000 documents takes about 2 MiB of memory, but memory allows 20 KiB\. Raise"
    ):
        Heavy(n_bits=2, memory=20_000).n_documents(corpus(5000))
    with pytest.raises(
        ValueError, match=r"270 documents takes about 5 min, but seconds allows 5 min\. Raise it \(--sec"
    ):
        heavy.n_documents(corpus(270))
    with pytest.raises(ValueError, match="but memory allows 1 KiB"):
        Learning(memory=1000)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_bits": 0}, "n_bits=0 must be an int of at least 1"),
        ({"n_bits": 100_000}, "n_bits=100000 must be at most .* fewer bits"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"recipe": "none"}, "recipe='none' is not known. Use one of: paper"),
        ({"sample_size": 0}, "sample_size=0 must be an int of at least 1"),
        ({"seconds": 0}, "seconds=0 must be a positive number"),
        ({"seconds": float("inf")}, "seconds=inf"),
        ({"memory": 0}, "memory=0 must be at least one byte"),
        ({"memory": "much"}, "memory='much' is not an amount of memory. Use one like 500MB or 4GiB"),
        ({"scatter": -1.0}, "scatter=-1.0"),
        ({"scatter": 1e9}, "scatter=.* must be at most"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": 2**32}, "random_state=4294967296 must be an int from 0 to"),
    ],
)
def test_settings_that_cannot_be_used(wrong, message):
    with pytest.raises(ValueError, match=message):
        Learning(**wrong)


def test_settings_of_another_type():
    for wrong in ({"n_bits": 8.0}, {"memory": 1.5}, {"hasher": "paper"}, {"random_state": None}):
        with pytest.raises(TypeError, match=f"{next(iter(wrong))}="):
            Learning(**wrong)


def test_the_memory_of_a_container_counts(tmp_path, monkeypatch):
    assert machine_bytes() > 1 << 26
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(sizes, "_CONTAINER_LIMITS", (str(limit), str(tmp_path / "none")))
    whole = machine_bytes()
    limit.write_text("50000000\n")
    assert machine_bytes() == 50_000_000
    assert Learning().most_bytes == 12_500_000
    limit.write_text(f"{1 << 40}\n")
    monkeypatch.setattr(sizes.os, "sysconf", lambda name: 1 << 21)
    assert Learning().most_bytes == 4 << 30
    assert Learning(memory="8GiB").most_bytes == 8 << 30
    monkeypatch.undo()
    monkeypatch.setattr(sizes, "_CONTAINER_LIMITS", (str(limit), str(tmp_path / "none")))
    limit.write_text("max\n")
    assert machine_bytes() == whole


def test_the_estimate_does_not_look_at_this_machine(monkeypatch):
    """The same corpus gives the same model with any number of threads: time is always that of two cores."""
    seen = []
    known = learner.learning_cost
    settings, size = Learning(), CorpusSize(1000, 30_000, 500)
    monkeypatch.setattr(
        learner,
        "learning_cost",
        lambda *given, threads: (seen.append((given, threads)), known(*given, threads=threads))[1],
    )
    whole, half = settings.cost(size), settings.cost(size, 500)
    assert seen == [((1000, 30_000, 64, "neighbors"), 2), ((500, 15_000, 64, "neighbors"), 2)]
    assert whole.seconds >= half.seconds > 0
    assert whole.bytes > half.bytes > 8 * 15_000 + 4 * 500 * 64


@pytest.mark.parametrize("recipe", ["paper", "neighbors", "topics", "embeddings"])
def test_a_larger_corpus_takes_more(recipe):
    sizes = [2**power for power in range(8, 22)]
    costs = [Learning(recipe=recipe).cost(CorpusSize(n, 20 * n, 100_000)) for n in sizes]
    assert (np.diff([cost.seconds for cost in costs]) > 0).all()
    assert (np.diff([cost.bytes for cost in costs]) > 0).all()


def test_a_new_hasher_has_the_settings():
    hasher = Learning(n_bits=12, n_neighbors=7, random_state=3).new_hasher("embeddings", threads=2)
    assert (hasher.n_bits, hasher.n_neighbors, hasher.recipe, hasher.random_state) == (12, 7, "embeddings", 3)
    assert hasher.threads == 2
    assert Learning(recipe="paper").new_hasher("embeddings").recipe == "paper"
    assert Learning().with_default("topics").new_hasher().recipe == "topics"
    assert Learning(recipe="paper").with_default("topics").recipe == "paper"


def test_a_hasher_of_ones_own_replaces_them():
    own = SelfTaughtHashing(256, 9, recipe="topics")
    settings, size = Learning(hasher=own), CorpusSize(10_000, 300_000, 5000)
    assert settings.new_hasher() is not own
    assert settings.new_hasher().get_params() == own.get_params()
    assert settings.cost(size) == Learning(n_bits=256, recipe="topics").cost(size)


def test_what_people_read():
    assert [format_seconds(seconds) for seconds in (0.01, 45, 600, 7300)] == ["1 s", "45 s", "10 min", "2 h"]
