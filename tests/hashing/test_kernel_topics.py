"""The recipe for topical codes of dense vectors, and the choice of a recipe by measurement."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import sthash
from sthash import SelfTaughtHashing
from sthash.baselines import AnchorGraphHashing
from sthash.hashing import PredictionWarning, choice, knn_graph
from sthash.hashing.choice import precision_at, recipe_scores
from sthash.hashing.kernel_topics import KernelRidge, learn_kernel_codes, mean_squared_distance, smoothed
from sthash.model.learning import Learning


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    known, unseen = order[:1257], order[1257:]
    return X[known], y[known], X[unseen], y[unseen]


def average_precision(hasher, y, Q, wanted):
    distances = sthash.codes.unpack(hasher.transform(Q), hasher.n_bits)[:, None] != sthash.codes.unpack(
        hasher.codes_, hasher.n_bits
    )
    order = np.argsort(distances.sum(axis=2), axis=1, kind="stable")
    hits = y[order] == wanted[:, None]
    precision = hits.cumsum(axis=1) / np.arange(1, len(y) + 1)
    return float(((precision * hits).sum(axis=1) / hits.sum(axis=1)).mean())


@pytest.mark.parametrize("n_bits", [16, 64])
def test_digits_are_found_better_than_by_other_recipes_and_anchor_graph_hashing(digits, n_bits):
    X, y, Q, wanted = digits
    own = average_precision(SelfTaughtHashing(n_bits, recipe="kernel_topics").fit(X), y, Q, wanted)
    rivals = {
        "topics": SelfTaughtHashing(n_bits, recipe="topics"),
        "neighbors": SelfTaughtHashing(n_bits, recipe="neighbors"),
        "AGH": AnchorGraphHashing(n_bits),
    }
    for name, rival in rivals.items():
        assert own > average_precision(rival.fit(X), y, Q, wanted) + 0.01, name


def test_auto_takes_the_best_recipe_on_held_out_rows(digits):
    X, y, Q, _ = digits
    scores = recipe_scores(SelfTaughtHashing(16), X, y)
    assert set(scores) == {"paper", "topics", "neighbors", "embeddings", "kernel_topics"}
    assert max(scores, key=scores.get) == "kernel_topics"
    hasher = SelfTaughtHashing(16, recipe="auto").fit(X)
    assert hasher.recipe_ == max(hasher.recipe_scores_, key=hasher.recipe_scores_.get) == "kernel_topics"
    named = SelfTaughtHashing(16, recipe="kernel_topics").fit(X)
    assert np.array_equal(hasher.codes_, named.codes_)
    assert np.array_equal(hasher.transform(Q), named.transform(Q))
    assert named.recipe_ == "kernel_topics"
    assert named.recipe_scores_ == {}


def test_auto_takes_sparse_rows_and_keeps_its_choice_in_a_file(tmp_path):
    rng = np.random.default_rng(0)
    topics = np.arange(300) % 4
    X = sp.csr_array(rng.poisson(rng.gamma(0.3, size=(4, 60))[topics]), dtype=np.float32)
    hasher = SelfTaughtHashing(8, 5, recipe="auto").fit(X, topics)
    assert set(hasher.recipe_scores_) == {"paper", "topics", "neighbors"}
    hasher.save(tmp_path / "hasher")
    loaded = sthash.load(tmp_path / "hasher")
    assert (loaded.recipe, loaded.recipe_) == ("auto", hasher.recipe_)
    assert loaded.recipe_scores_ == hasher.recipe_scores_
    assert np.array_equal(loaded.transform(X), hasher.transform(X))


def test_auto_refuses_what_it_cannot_measure():
    with pytest.raises(ValueError, match="holds out a fifth"):
        SelfTaughtHashing(12, 5, recipe="auto").fit(np.eye(15) + 1)
    with pytest.raises(ValueError, match="has its own graph, embedding"):
        SelfTaughtHashing(4, recipe="auto", graph=knn_graph).fit(np.eye(50) + 1)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        SelfTaughtHashing(4, recipe="auto").fit(np.eye(50) + 1, np.zeros(3))


def test_precision_counts_ties_in_expectation():
    corpus = np.array([[0], [1], [1], [3]], dtype=np.uint8)
    relevant = np.array([[True, True, False, True]])
    query = np.zeros((1, 1), dtype=np.uint8)
    assert precision_at(corpus, query, relevant, 2, 1) == 1
    assert precision_at(corpus, query, relevant, 2, 2) == (1 + 0.5) / 2
    assert precision_at(corpus, query, relevant, 2, 4) == 3 / 4


def test_clusters_are_those_of_the_data():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(20), 30, axis=0) + 0.01 * rng.normal(size=(600, 20))
    found = choice.clusters(X.astype(np.float32), SelfTaughtHashing(8, 10))
    truth = np.repeat(np.arange(20), 30)
    same = found[:, None] == found
    assert (same == (truth[:, None] == truth)).mean() > 0.98


def test_the_paper_warns_when_its_functions_cannot_predict_its_codes(digits):
    X, _, Q, _ = digits
    with pytest.warns(PredictionWarning, match=r"agree with only 7\d% of the bits.*recipe='kernel_topics'"):
        SelfTaughtHashing(64).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SelfTaughtHashing(8, 5).fit(np.repeat(np.eye(4), 50, axis=0) + 0.1 * np.random.default_rng(0).random((200, 4)))
        SelfTaughtHashing(64, recipe="kernel_topics").fit(X).transform(Q)


def test_predictions_are_those_of_a_regression_without_the_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    targets = rng.normal(size=(60, 2))
    ridge = KernelRidge(X, 1.0, rng, 1)
    _, predicted = ridge.fit(targets)
    for row in (0, 17):
        others = np.delete(np.arange(60), row)
        F = ridge.rows[others]
        weights = np.linalg.solve(F.T @ F + 0.5 * np.eye(F.shape[1]), F.T @ targets[others])
        np.testing.assert_allclose(ridge.rows[row] @ weights, predicted[row], atol=1e-6)


def test_smoothing_follows_the_spectrum():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 20))
    topical = smoothed(np.r_[np.full(10, 0.02), np.full(10, 0.6)], vectors)
    flat = smoothed(np.full(20, 0.5), vectors)
    share = (topical[:, 10:] ** 2).sum() / (topical**2).sum()
    assert share < 0.01
    assert (flat[:, 10:] ** 2).sum() / (flat**2).sum() > 0.4
    np.testing.assert_allclose(np.linalg.norm(smoothed(np.zeros(20), vectors), axis=1), 1)


def test_distance_of_neighbors():
    rows = np.eye(3, dtype=np.float32)
    W = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    assert mean_squared_distance(rows, W) == pytest.approx(2)


def test_scale_blank_rows_threads_and_files(tmp_path, digits):
    X, _, Q, _ = digits
    X, Q = X[:300], np.vstack([Q[:20], np.zeros((1, 64), dtype=np.float32)])
    hasher = SelfTaughtHashing(24, 10, recipe="kernel_topics", threads=1).fit(X)
    codes = hasher.transform(Q)
    assert not codes[-1].any()
    assert np.array_equal(hasher.transform(1000 * Q), codes)
    assert np.array_equal(SelfTaughtHashing(24, 10, recipe="kernel_topics", threads=3).fit(X).codes_, hasher.codes_)
    hasher.save(tmp_path / "hasher")
    assert np.array_equal(sthash.load(tmp_path / "hasher").transform(Q), codes)
    function = hasher.hash_function_
    function.width_ = np.array([-1.0])
    hasher.save(tmp_path / "hasher")
    with pytest.raises(ValueError, match="width"):
        sthash.load(tmp_path / "hasher")


def test_what_it_does_not_take():
    with pytest.raises(ValueError, match=r"takes dense vectors.*recipe='topics'"):
        SelfTaughtHashing(4, recipe="kernel_topics").fit(sp.csr_array(np.eye(10)))
    with pytest.raises(ValueError, match="at least 3 vectors with neighbors"):
        learn_kernel_codes(np.eye(2), sp.csr_array(np.ones((2, 2))), 4, np.random.default_rng(0), 1)
    with pytest.raises(ValueError, match="recipe='kernel_topics' is not known"):
        Learning(recipe="kernel_topics")
    few = np.repeat(np.eye(3), 4, axis=0)
    assert SelfTaughtHashing(4, 3, recipe="kernel_topics").fit(few).codes_.shape == (12, 1)
