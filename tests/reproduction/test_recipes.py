"""What recipes cost, and how their codes rank by margins."""

from types import SimpleNamespace

import numpy as np
import pytest

from sthash.evaluation import Neighbors, Topics
from sthash.reproduction.estimators import make
from sthash.reproduction.recipes import time_recipes, weighted_hits


def test_recipes_are_timed_in_turns(monkeypatch):
    X = np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)
    done = []

    def recording(method, n_bits):
        done.append(method.name)
        return make(method, n_bits)

    monkeypatch.setattr("sthash.reproduction.recipes.make", recording)
    best = time_recipes(SimpleNamespace(train=X, test=X[:9]), ["paper", "topics"], 8, fits=2, encodings=3)
    assert done == ["paper", "topics", "paper", "topics"]
    assert {recipe: sorted(took) for recipe, took in best.items()} == {
        "paper": ["encode", "fit"],
        "topics": ["encode", "fit"],
    }
    assert all(0 < seconds < np.inf for took in best.values() for seconds in took.values())


@pytest.mark.parametrize("by_topic", [True, False])
def test_ranking_by_margins_equals_plain_loops(by_topic, monkeypatch):
    rng = np.random.default_rng(4)
    bits = rng.random((40, 4)) < 0.5
    corpus = np.packbits(bits, axis=1, bitorder="little")
    margins = rng.standard_normal((12, 4))
    if by_topic:
        relevance = Topics(rng.integers(3, size=40), rng.integers(4, size=12))
    else:
        relevance = Neighbors(np.array([rng.permutation(40)[:5] for _ in range(12)]), 40)
    (whole,) = weighted_hits(corpus, margins, [relevance], 10)
    monkeypatch.setattr("sthash.reproduction.recipes._CELLS", 100)
    np.testing.assert_allclose(weighted_hits(corpus, margins, [relevance, relevance], 10), [whole, whole])
    for j in range(12):
        scores = [round(sum(m if on else -m for m, on in zip(margins[j], row, strict=True)), 9) for row in bits]
        relevant = relevance.mask(j, j + 1)[0]
        left, expected = 10, 0.0
        for value in sorted(set(scores), reverse=True):
            group = [i for i in range(40) if scores[i] == value]
            taken = min(left, len(group))
            expected += taken * np.mean(relevant[group])
            left -= taken
        assert whole[j] == pytest.approx(expected)


def test_margins_of_fewer_codes_than_asked_for():
    topics = Topics(np.array([0, 1, 1]), np.array([1]))
    assert weighted_hits(np.array([[1], [1], [0]], np.uint8), np.ones((1, 1)), [topics], 100).tolist() == [[2.0]]
