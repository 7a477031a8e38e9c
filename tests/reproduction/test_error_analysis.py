"""Quality after each step, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sthash.reproduction.corpora import CorpusSplit
from sthash.reproduction.error_analysis import StepScorer, measure_error, ranked
from sthash.reproduction.report.claims import eigenmap_share


def plain_ranking(corpus, query, own, cosine):
    """Positions of the corpus, nearest first, without the query's own; ties in the order of the corpus."""
    if cosine:
        scale = [np.linalg.norm(row) or 1 for row in corpus]
        away = [-float(row @ query) / length for row, length in zip(corpus, scale, strict=True)]
    else:
        away = [float(((row - query) ** 2).sum()) for row in corpus]
    return [i for i in sorted(range(len(corpus)), key=lambda i: (round(away[i], 9), i)) if i != own]


@pytest.mark.parametrize(("kind", "cosine"), [(np.asarray, False), (np.asarray, True), (sp.csr_array, True)])
@pytest.mark.parametrize("left_out", [True, False])
def test_rankings_equal_plain_loops(kind, cosine, left_out):
    rng = np.random.default_rng(0)
    corpus = rng.random((40, 6))
    places = np.array([3, 11, 30]) if left_out else None
    queries = corpus[places] if left_out else rng.random((3, 6))
    found = ranked(kind(corpus), kind(queries), 7, places, cosine=cosine)
    for j in range(3):
        assert found[j].tolist() == plain_ranking(corpus, queries[j], places[j] if left_out else None, cosine)[:7]


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(1)
    corpus, queries = rng.random((50, 5)), rng.random((20, 5))
    whole = ranked(corpus, queries, 6)
    monkeypatch.setattr("sthash.reproduction.error_analysis._CELLS", 120)
    np.testing.assert_array_equal(ranked(corpus, queries, 6), whole)


@pytest.mark.parametrize("left_out", [True, False])
def test_codes_are_judged_as_plain_loops_would(left_out):
    """The expected share over all orders of ties, by drawing many orders."""
    rng = np.random.default_rng(2)
    vectors = rng.random((30, 8))
    labels = rng.integers(3, size=30)
    places = np.array([0, 7, 12, 29]) if left_out else None
    queries, wanted = (vectors[places], labels[places]) if left_out else (rng.random((4, 8)), rng.integers(3, size=4))
    corpus_bits = rng.random((30, 5)) < 0.5
    query_bits = corpus_bits[places] if left_out else rng.random((4, 5)) < 0.5
    query_bits = query_bits ^ (rng.random((4, 5)) < 0.2)
    scorer = StepScorer(vectors, places, queries, labels, wanted, {"neighbors": 5, "ranking": 9})
    found = scorer.hamming("codes", 5, corpus_bits, query_bits)
    near, same = [], []
    for j in range(4):
        own = places[j] if left_out else None
        truth = set(plain_ranking(vectors, queries[j], own, cosine=True)[:5])
        assert set(scorer.neighbors.indices[j].tolist()) == truth
        distances = (corpus_bits != query_bits[j]).sum(axis=1)
        for _ in range(4000):
            order = sorted((i for i in range(30) if i != own), key=lambda i: (distances[i], rng.random()))
            near.append(len(truth & set(order[:5])) / 5)
            same.append(np.mean([labels[i] == wanted[j] for i in order[:9]]))
    assert found["neighbors"] == pytest.approx(np.mean(near), abs=0.01)
    assert found["topics"] == pytest.approx(np.mean(same), abs=0.01)


def test_duplicates_do_not_hide_a_query_from_itself():
    vectors = np.ones((9, 2))
    scorer = StepScorer(
        vectors, np.array([8]), vectors[[8]], np.zeros(9, int), np.zeros(1, int), {"neighbors": 3, "ranking": 3}
    )
    assert scorer.neighbors.indices.tolist() == [[0, 1, 2]]


def test_every_step_is_measured():
    rng = np.random.default_rng(3)
    centers = rng.random((4, 30)) * 3
    labels = rng.integers(4, size=200)
    counts = rng.poisson(centers[labels])
    rows = sp.csr_array((counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32))
    data = CorpusSplit(rows[:140], rows[140:], labels[:140], labels[140:])
    settings = {"lengths": [4, 8], "queries": 30, "neighbors": 8, "ranking": 15}
    result = measure_error(data, {"error_analysis": settings})
    assert result["queries"] == {"seen": 30, "unseen": 60}
    for kind, steps in (("seen", 6), ("unseen", 5)):
        rows = result[kind]
        assert rows[0]["neighbors"] == 1.0
        assert len(rows) == 1 + 2 * steps
        assert all(0 <= row[name] <= 1 for row in rows for name in ("neighbors", "topics"))
        # Fewer neighbors survive each step, and bits know less than the reals that they were cut from.
        assert rows[0]["neighbors"] > rows[1]["neighbors"]
    assert 0 < eigenmap_share(result["unseen"], 8) <= 1.5
