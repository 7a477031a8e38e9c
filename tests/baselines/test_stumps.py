"""Boosted stumps: the search against plain loops, AdaBoost's bound, and the weights of the pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sthash import codes
from sthash.baselines import BoostedSSC, ForgivingHashing
from sthash.baselines.stumps import PairStumps, dissimilar_pairs, similar_pairs, splits
from sthash.hashing import knn_graph


def documents(n=80, m=12, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(scale=2, size=(4, m))[np.arange(n) % 4] + rng.normal(size=(n, m))).astype(np.float32)


@given(seed=st.integers(0, 10_000), sparse=st.booleans())
def test_split_weights_against_a_plain_loop(seed, sparse):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(9, 3)).astype(np.float32)
    pairs = rng.integers(9, size=(12, 2))
    weights = rng.random(12)
    stumps = PairStumps(sp.csr_array(X) if sparse else X, pairs)
    found = stumps.split_weight(weights)
    for feature, threshold, weight in zip(stumps.features, stumps.thresholds, found, strict=True):
        on = X[:, feature] > threshold
        wanted = sum(w for w, (i, j) in zip(weights, pairs, strict=True) if on[i] != on[j])
        assert weight == pytest.approx(wanted)
        assert np.array_equal(splits(X, pairs, feature, threshold), on[pairs[:, 0]] != on[pairs[:, 1]])
    # Every way to split the pairs by one feature is among the stumps.
    ways = {
        (f, tuple((X[:, f] > t)[pairs[:, 0]] != (X[:, f] > t)[pairs[:, 1]]))
        for f in range(3)
        for t in np.unique(X[:, f])
    }
    split_ways = {way for way in ways if any(way[1])}
    listed = {(int(f), tuple(splits(X, pairs, f, t))) for f, t in zip(stumps.features, stumps.thresholds, strict=True)}
    assert split_ways <= listed


@pytest.mark.parametrize("sparse", [True, False])
def test_share_on_counts_the_corpus(sparse):
    X = np.rint(documents())  # zeros, and numbers on both sides of them
    pairs = np.random.default_rng(0).integers(80, size=(30, 2))
    stumps = PairStumps(sp.csr_array(X) if sparse else X, pairs)
    wanted = [(X[:, f] > t).mean() for f, t in zip(stumps.features, stumps.thresholds, strict=True)]
    assert stumps.share_on(sp.csr_array(X) if sparse else X) == pytest.approx(wanted)


def test_pairs_are_neighbors_and_strangers():
    X = documents()
    rng = np.random.default_rng(0)
    similar, W = similar_pairs(X, 5, 100, rng)
    assert len(np.unique(similar, axis=0)) == len(similar) == 100
    assert (knn_graph(X, 5)[similar[:, 0], similar[:, 1]] > 0).all()
    strangers = dissimilar_pairs(W, 100, rng)
    assert len(strangers) > 50
    assert (W[strangers[:, 0], strangers[:, 1]] == 0).all()
    assert (strangers[:, 0] < strangers[:, 1]).all()


def test_adaboost_training_error_stays_below_its_bound():
    hasher = BoostedSSC(n_bits=30, n_neighbors=5).fit(documents())
    bound = np.cumprod(hasher.normalizers_)
    assert (hasher.normalizers_ < 1).all()
    assert (hasher.training_errors_ <= bound + 1e-12).all()
    assert bound[-1] < 0.7 * bound[0]
    assert (hasher.votes_[:, 0] > hasher.votes_[:, 1]).all()  # to agree speaks for "similar"


def test_adaboost_errors_are_those_of_the_votes_on_the_bits():
    X = documents()
    hasher = BoostedSSC(n_bits=12, n_neighbors=5, n_pairs=200).fit(X)
    rng = hasher._generator()
    similar, W = similar_pairs(X, 5, 200, rng)
    strangers = dissimilar_pairs(W, 200, rng)
    bits = codes.unpack(hasher.codes_, 12)
    wrong = []
    for pairs, label in ((similar, 1), (strangers, -1)):
        apart = bits[pairs[:, 0]] != bits[pairs[:, 1]]
        score = np.where(apart, hasher.votes_[:, 1], hasher.votes_[:, 0]).sum(axis=1)
        wrong.append(np.mean(score * label <= 0))
    assert hasher.training_errors_[-1] == pytest.approx(np.mean(wrong))


def test_first_stump_of_forgiving_hashing_is_the_best_of_all():
    X = documents(40, 3)
    hasher = ForgivingHashing(n_bits=1, n_neighbors=5, n_pairs=60).fit(X)
    pairs, _ = similar_pairs(X, 5, 60, hasher._generator())
    best = np.inf
    for feature in range(3):
        for threshold in X[:, feature]:
            on = X[:, feature] > threshold
            error = 0.5 * np.mean(on[pairs[:, 0]] != on[pairs[:, 1]]) + 0.5 * (on.mean() ** 2 + (1 - on.mean()) ** 2)
            best = min(best, error)
    assert hasher.errors_[0] == pytest.approx(best)


def test_forgiving_hashing_by_a_plain_loop():
    X = documents(40, 3)
    hasher = ForgivingHashing(n_bits=6, n_neighbors=5, n_pairs=60).fit(X)
    pairs, _ = similar_pairs(X, 5, 60, hasher._generator())
    weights = np.full(len(pairs), 1 / len(pairs))
    for feature, threshold, alpha, error in zip(
        hasher.features_, hasher.thresholds_, hasher.alphas_, hasher.errors_, strict=True
    ):
        on = X[:, feature] > threshold
        apart = on[pairs[:, 0]] != on[pairs[:, 1]]
        p = on.mean()
        assert error == pytest.approx(0.5 * weights[apart].sum() + 0.5 * (p**2 + (1 - p) ** 2))
        assert alpha == pytest.approx(0.5 * np.log((1 - error) / error))
        weights[apart] *= np.exp(2 * alpha)
        weights /= weights.sum()


@pytest.mark.parametrize("method", [BoostedSSC, ForgivingHashing])
def test_codes_keep_neighbors_closer_than_strangers(method):
    X = documents(200)
    bits = codes.unpack(method(n_bits=16, n_neighbors=5).fit(X).codes_, 16)
    apart = (bits[:, None] != bits).mean(axis=2)
    same = np.arange(200)[:, None] % 4 == np.arange(200) % 4
    assert apart[same].mean() < 0.7 * apart[~same].mean()


@pytest.mark.parametrize("method", [BoostedSSC, ForgivingHashing])
def test_refuses_too_many_neighbors_and_no_pairs(method):
    with pytest.raises(ValueError, match="n_neighbors=25 must be less than"):
        method().fit(documents(20))
    with pytest.raises(ValueError, match="n_pairs=0"):
        method(n_pairs=0).fit(documents())
    with pytest.raises(ValueError, match="no two of the"):
        method(n_bits=2, n_neighbors=2).fit(np.eye(8))


def test_boosted_ssc_refuses_a_corpus_of_neighbors_only():
    with pytest.raises(ValueError, match="neighbors of each other"):
        BoostedSSC(n_bits=2, n_neighbors=3).fit(np.abs(documents(4)))
