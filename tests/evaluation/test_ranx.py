"""Precision at k and average precision as ranx computes them, where both are defined alike: without ties."""

import numpy as np
import pytest

from sthash import codes
from sthash.evaluation import Neighbors, tally
from sthash.evaluation.measures import average_precision, precision_at


@pytest.mark.filterwarnings("ignore")  # those of its own libraries
def test_ranx_confirms_the_rankings():
    ranx = pytest.importorskip("ranx", reason="ranx is not installed; scikit-learn confirms the same in test_ball.py")
    rng = np.random.default_rng(1)
    corpus = np.tril(np.ones((65, 64), dtype=bool), k=-1)  # document i is at distance i from the query
    queries = np.zeros((20, 64), dtype=bool)
    indices = np.array([rng.permutation(65)[:12] for _ in queries])
    (seen,) = tally(codes.pack(corpus), codes.pack(queries), Neighbors(indices, 65), [64])
    truth = ranx.Qrels({f"q{j}": {f"d{i}": 1 for i in row} for j, row in enumerate(indices)})
    ranking = ranx.Run({f"q{j}": {f"d{i}": float(65 - i) for i in range(65)} for j in range(20)})
    assert precision_at(seen, 10).mean() == pytest.approx(ranx.evaluate(truth, ranking, "precision@10"))
    assert average_precision(seen).mean() == pytest.approx(ranx.evaluate(truth, ranking, "map"))
