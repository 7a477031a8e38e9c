"""What recipes cost."""

from types import SimpleNamespace

import numpy as np

from sthash.reproduction.estimators import make
from sthash.reproduction.recipes import time_recipes


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
    assert all(0 < took["encode"] < took["fit"] < np.inf for took in best.values())
