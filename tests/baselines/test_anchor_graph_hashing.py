"""Anchor graph hashing against dense computations on its own anchor graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from sthash import codes
from sthash.baselines import AnchorGraphHashing
from sthash.baselines.anchor_graph_hashing import k_means, second_thresholds


def clusters(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(scale=4, size=(6, 10))[np.arange(n) % 6] + rng.normal(size=(n, 10))


def membership(hasher, X):
    """Z, written out: weights of the nearest anchors, summing to one."""
    Z = np.zeros((len(X), len(hasher.anchors_)))
    for i, x in enumerate(X):
        distances = ((x - hasher.anchors_) ** 2).sum(axis=1)
        nearest = np.argsort(distances)[: hasher.n_nearest]
        kernel = np.exp(-distances[nearest] / hasher.bandwidth_[0])
        Z[i, nearest] = kernel / kernel.sum()
    return Z


@pytest.fixture(scope="module")
def fitted():
    X = clusters()
    return X, AnchorGraphHashing(n_bits=8, layers=1, n_anchors=20, n_nearest=3).fit(X)


def test_vectors_are_eigenvectors_of_the_dense_anchor_graph(fitted):
    X, hasher = fitted
    Z = membership(hasher, X)
    A = Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    assert A.sum(axis=1) == pytest.approx(np.ones(len(X)))
    values, vectors = np.linalg.eigh(A)
    values, vectors = values[::-1], vectors[:, ::-1]
    assert values[0] == pytest.approx(1)
    Y = hasher.decision_function(X)
    assert (Y**2).sum(axis=0) == pytest.approx(np.full(8, len(X)), rel=1e-3)  # YᵀY = n I
    assert Y.sum(axis=0) == pytest.approx(np.zeros(8), abs=0.05)
    assert pytest.approx(Y * values[1:9], abs=1e-2) == A @ Y


def test_unseen_documents_get_the_mean_of_their_anchors(fitted):
    _, hasher = fitted
    Q = clusters(20, seed=3)
    assert hasher.decision_function(Q) == pytest.approx(membership(hasher, Q) @ hasher.weights_, abs=1e-3)


def test_bandwidth_is_the_squared_mean_distance_to_the_last_anchor(fitted):
    X, hasher = fitted
    distances = np.sort(((X[:, None] - hasher.anchors_) ** 2).sum(axis=2), axis=1)
    assert hasher.bandwidth_[0] == pytest.approx(np.sqrt(distances[:, 2]).mean() ** 2, rel=1e-4)


def test_second_thresholds_minimize_their_objective():
    rng = np.random.default_rng(0)
    Z = rng.random((60, 8))
    Z /= Z.sum(axis=1, keepdims=True)
    y = rng.normal(size=60)
    L = np.eye(60) - Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    positive = y > 0
    n_positive, n_other = positive.sum(), (~positive).sum()

    def objective(above):
        # 1ᵀz = 0 leaves one of the two thresholds free.
        below = (n_positive * above - np.abs(y).sum()) / n_other
        z = np.where(positive, y - above, -y + below)
        assert z.sum() == pytest.approx(0, abs=1e-8)
        return z @ L @ z, below

    best = scipy.optimize.minimize_scalar(lambda above: objective(above)[0]).x
    above, below = second_thresholds(sp.csr_array(Z), y)
    assert above == pytest.approx(best, abs=1e-5)
    assert below == pytest.approx(objective(best)[1], abs=1e-5)


def test_two_layers_halve_each_side_of_the_first():
    X = clusters()
    one = AnchorGraphHashing(n_bits=4, layers=1, n_anchors=20).fit(X)
    two = AnchorGraphHashing(n_bits=8, layers=2, n_anchors=20).fit(X)
    Y = one.decision_function(X)
    bits = codes.unpack(two.codes_, 8)
    assert np.array_equal(bits[:, ::2], Y > 0)
    above, below = two.splits_
    assert np.array_equal(bits[:, 1::2], np.where(Y > 0, above < Y, below > Y))


def test_k_means_ends_at_the_means_of_its_clusters():
    X = clusters().astype(np.float32)
    for rows in (X, sp.csr_array(X)):
        centers = k_means(rows, 6, np.random.default_rng(0), rounds=100)
        nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        for j in np.unique(nearest):
            assert centers[j] == pytest.approx(X[nearest == j].mean(axis=0), abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": 3}, "layers=3"),
        ({"n_anchors": 1}, "n_anchors=1"),
        ({"n_nearest": 0}, "n_nearest=0"),
        ({"n_anchors": 4, "n_nearest": 5}, "n_nearest=5 must be at most"),
    ],
)
def test_refuses_odd_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        AnchorGraphHashing(n_bits=2, **settings).fit(clusters())
