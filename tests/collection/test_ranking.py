"""The ranking of typed queries by the graph over candidates: the kernel and its slow twin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import _core
from sthash.collection.search.ranking import RankedPositions, RankingParameters, rank_by_graph
from sthash.vectors.rows import Rows


def unit_rows(rng, count, n_columns, most=12):
    """Sparse unit rows as a dense matrix; a few rows are blank."""
    rows = np.zeros((count, n_columns), dtype=np.float32)
    for row in rows:
        columns = rng.choice(n_columns, rng.integers(0, min(most, n_columns)), replace=False)
        row[columns] = rng.random(len(columns)) + 0.1
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)


def as_rows(rows):
    return Rows.of(sp.csr_array(rows))


def reranked(rows, places, scores, how):
    """Rank the hits of one query once more, slowly."""
    seeds = places[: how.seeds]
    smoothed, likeness = [], []
    for hit, place in enumerate(places):
        cosines = rows[seeds].astype(np.float64) @ rows[place]
        if hit < len(seeds):
            cosines[hit] = 0
        near = [seed for seed in np.argsort(-cosines, kind="stable")[: how.neighbors] if cosines[seed] > 0]
        around = np.average(scores[near], weights=cosines[near]) if near else scores[hit]
        smoothed.append((1 - how.smoothing) * scores[hit] + how.smoothing * around)
        first = [seed for seed in range(min(how.feedback_documents, len(seeds))) if seed != hit]
        likeness.append(np.average(cosines[first], weights=scores[first]) if first else 0.0)
    final, most = np.array(smoothed), max(likeness[: len(seeds)], default=0)
    if most > 0 and how.feedback > 0:
        final = (1 - how.feedback) * final + how.feedback * scores[0] * np.array(likeness) / most
    return final


def kernel(rows, places, scores, how, threads=1, k=None):
    return _core.rerank_hits(
        as_rows(rows).view(),
        places,
        scores,
        k=places.shape[1] if k is None else k,
        seeds=how.seeds,
        neighbors=how.neighbors,
        smoothing=how.smoothing,
        feedback_documents=how.feedback_documents,
        feedback=how.feedback,
        threads=threads,
    )


def made_up_hits(rng, queries, width, n_rows):
    places = np.full((queries, width), -1, dtype=np.int64)
    scores = np.zeros((queries, width), dtype=np.float32)
    for query in range(queries):
        count = rng.integers(0, width + 1)
        places[query, :count] = rng.choice(n_rows, count, replace=False)
        scores[query, :count] = np.sort(rng.random(count))[::-1] + 0.1
    return places, scores


@pytest.mark.parametrize(
    "how",
    [
        RankingParameters(),
        RankingParameters(seeds=5, neighbors=2, feedback_documents=3, smoothing=0.5, feedback=0.4),
        RankingParameters(seeds=7, neighbors=20, feedback_documents=50),
        RankingParameters(smoothing=0, feedback=0),
        RankingParameters(neighbors=0, feedback_documents=0),
        RankingParameters(seeds=0),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_kernel_equals_its_twin(how, seed):
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng, 60, 40)
    places, scores = made_up_hits(rng, 40, 30, len(rows))
    got_places, got_scores = kernel(rows, places, scores, how)
    for query in range(len(places)):
        count = int((places[query] >= 0).sum())
        expected = reranked(rows, places[query, :count], scores[query, :count].astype(np.float64), how)
        assert (got_places[query, count:] == -1).all()
        assert (got_scores[query, count:] == 0).all()
        assert sorted(got_places[query, :count]) == sorted(places[query, :count])
        where = {place: at for at, place in enumerate(places[query, :count].tolist())}
        own = [expected[where[place]] for place in got_places[query, :count].tolist()]
        np.testing.assert_allclose(got_scores[query, :count], own, rtol=2e-5)
        assert (np.diff(got_scores[query, :count]) <= 0).all()


def test_every_number_of_threads_gives_the_same():
    rng = np.random.default_rng(5)
    rows = unit_rows(rng, 300, 80, most=30)
    places, scores = made_up_hits(rng, 100, 120, len(rows))
    one = kernel(rows, places, scores, RankingParameters())
    for threads in (2, 3, 8):
        many = kernel(rows, places, scores, RankingParameters(), threads)
        assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))


@pytest.mark.parametrize("how", [RankingParameters(), RankingParameters(seeds=9, neighbors=3, feedback=0.5)])
@pytest.mark.parametrize("k", [1, 3, 10, 40, 1000])
def test_few_are_the_first_of_all(how, k):
    rng = np.random.default_rng(6)
    rows = unit_rows(rng, 300, 80, most=30)
    places, scores = made_up_hits(rng, 100, 120, len(rows))
    scores[:50] = np.sort(scores[:50] ** 4, axis=1)[:, ::-1]  # some hits cannot be among the first
    whole, few = kernel(rows, places, scores, how), kernel(rows, places, scores, how, k=k)
    assert all(np.array_equal(a[:, :k], b) for a, b in zip(whole, few, strict=True))


def test_equal_scores_are_ranked_by_place():
    rows = np.tile(unit_rows(np.random.default_rng(2), 1, 9) + np.float32(0.1), (5, 1))
    places = np.array([[4, 2, 0, 3, 1]])
    got, _ = kernel(rows, places, np.ones((1, 5), np.float32), RankingParameters())
    assert got.tolist() == [[0, 1, 2, 3, 4]]


def test_the_kernel_refuses_places_that_are_not_there():
    rows = unit_rows(np.random.default_rng(2), 4, 9)
    for places in ([[4]], [[-2]]):
        with pytest.raises(ValueError, match="place"):
            kernel(rows, np.array(places), np.ones((1, 1), np.float32), RankingParameters())
    with pytest.raises(ValueError, match="Each place needs a score"):
        kernel(rows, np.array([[1, 2]]), np.ones((1, 1), np.float32), RankingParameters())


# Through Python


def test_a_hit_among_its_like_moves_up():
    # Documents 1 to 4 are alike; document 0 stands alone and has the same score as document 1.
    rows = np.zeros((5, 8), dtype=np.float32)
    rows[0, [0, 1]] = 1, 2
    rows[1:, [0, 4, 5]] = 1, 2, 1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = RankedPositions(np.arange(5)[None], np.array([[2, 2, 1.9, 1.9, 1.8]], dtype=np.float32))
    vectors = as_rows(rows)
    ranked = rank_by_graph(found, vectors.at)
    assert ranked.positions[0, 0] == 1
    assert sorted(ranked.positions[0]) == list(range(5))


@pytest.mark.parametrize("spread", [0.02, 0.3, 2.0])
def test_the_best_are_those_of_the_whole_ranking(spread):
    """With few wanted, most candidates are passed over by bounds: never one of the best."""
    rng = np.random.default_rng(11)
    topics = unit_rows(rng, 6, 400, most=30)
    rows = unit_rows(rng, 600, 400, most=40) * 0.5 + topics[rng.integers(0, 6, 600)]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    places = np.array([rng.permutation(600)[:300] for _ in range(20)])
    scores = -np.sort(-(5 + spread * rng.random((20, 300))), axis=1).astype(np.float32)
    whole = kernel(rows, places, scores, RankingParameters())
    for k in (1, 3, 10, 60):
        few = kernel(rows, places, scores, RankingParameters(), k=k)
        assert np.array_equal(few[0], whole[0][:, :k])
        assert np.array_equal(few[1], whole[1][:, :k])


def test_the_score_of_a_seed_does_not_depend_on_other_candidates():
    rng = np.random.default_rng(12)
    rows = unit_rows(rng, 400, 300, most=30)
    places = np.array([rng.permutation(400)[:120] for _ in range(9)])
    scores = -np.sort(-(5 + rng.random((9, 120))), axis=1).astype(np.float32)
    parameters = RankingParameters()
    many = kernel(rows, places, scores, parameters)
    few = kernel(rows, places[:, : parameters.seeds], scores[:, : parameters.seeds], parameters)
    for query in range(9):
        wanted = dict(zip(many[0][query].tolist(), many[1][query].tolist(), strict=True))
        assert sorted(few[0][query]) == sorted(places[query, : parameters.seeds])
        assert [wanted[place] for place in few[0][query].tolist()] == few[1][query].tolist()


def test_candidates_follow_the_hits_that_are_asked_for():
    parameters = RankingParameters(seeds=50, candidates_per_hit=5, candidates=300)
    assert [parameters.n_candidates(k) for k in (1, 10, 11, 60, 100, 400)] == [50, 50, 55, 300, 300, 400]


def test_positions_need_not_be_dense():
    rng = np.random.default_rng(3)
    rows = unit_rows(rng, 500, 30) + np.float32(0.01)
    vectors = as_rows(rows)
    positions = np.sort(rng.choice(500, 20, replace=False))[None, ::-1].copy()
    scores = np.linspace(2, 1, 20, dtype=np.float32)[None]
    few = rank_by_graph(RankedPositions(positions, scores), vectors.at)
    whole = kernel(rows, positions, scores, RankingParameters())
    assert np.array_equal(few.positions, whole[0])
    assert np.array_equal(few.scores, whole[1])


def test_nothing_found_stays_nothing():
    nothing = RankedPositions(np.full((2, 3), -1), np.zeros((2, 3), dtype=np.float32))
    assert rank_by_graph(nothing, lambda _: pytest.fail("no vectors are needed")) is nothing
