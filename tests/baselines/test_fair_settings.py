"""Settings without which a rival is handicapped: rare terms of co-hashing, thresholds of random hyperplanes."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import codes
from sthash.baselines import LaplacianCoHashing, RandomHyperplaneHashing


def texts(n=200, seed=0):
    """Counts on four topics, with a tail of terms that only one or two documents have."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 4
    common = rng.poisson(np.random.default_rng(7).gamma(0.4, size=(4, 60))[label])
    rare = np.zeros((n, 4 * n))
    for row in range(0, n, 2):
        rare[row : row + 2, 8 * (row // 2) : 8 * (row // 2) + 8] = rng.random(8) < 0.2
    return np.hstack([common, rare]), label


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rare_terms_are_as_if_they_were_not_there(form):
    X, _ = texts()
    known = (X != 0).sum(axis=0) >= 5
    hasher = LaplacianCoHashing(8, min_df=5).fit(form(X))
    without = LaplacianCoHashing(8).fit(form(X[:, known]))
    assert np.array_equal(hasher.codes_, without.codes_)
    assert np.array_equal(hasher.transform(form(X[:9])), without.transform(form(X[:9, known])))
    assert not hasher.terms_[~known].any()


def test_rare_terms_make_vectors_of_a_few_documents():
    """Three documents that share terms of their own are nearly a component, whose vector says nothing of the others."""
    X, _ = texts()
    rare = np.zeros((len(X), 30))
    rare[:3] = 2
    X = np.hstack([X[:, :60], rare])

    def share_of_three(min_df):
        places = LaplacianCoHashing(4, min_df=min_df).fit(X)._places(X.astype(np.float32))[:, 0]
        weights = X[:, :60].sum(axis=1) if min_df > 3 else X.sum(axis=1)
        return float((weights * places**2)[:3].sum() / (weights * places**2).sum())

    assert share_of_three(1) > 0.9
    assert share_of_three(5) < 0.1


def test_random_thresholds_lie_within_the_corpus():
    X = np.random.default_rng(0).random((200, 12)).astype(np.float32)
    hasher = RandomHyperplaneHashing(256, threshold="random").fit(X)
    values = X @ hasher.weights_
    thresholds = -hasher.offsets_
    assert ((values.min(axis=0) <= thresholds) & (thresholds <= values.max(axis=0))).all()
    assert np.array_equal(codes.unpack(hasher.codes_, 256), values > thresholds)
    places = (thresholds - values.min(axis=0)) / np.ptp(values, axis=0)
    assert np.quantile(places, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.1)
    shorter = RandomHyperplaneHashing(16, threshold="random").fit(X)
    assert np.array_equal(shorter.codes_, codes.prefix(hasher.codes_, 16))


def test_odd_settings_are_refused():
    X = np.random.default_rng(0).random((20, 12))
    with pytest.raises(ValueError, match="threshold='median'"):
        RandomHyperplaneHashing(4, threshold="median").fit(X)
    with pytest.raises(ValueError, match="width makes stripes"):
        RandomHyperplaneHashing(4, threshold="random", width=1.0).fit(X)
    with pytest.raises(ValueError, match="min_df=0"):
        LaplacianCoHashing(4, min_df=0).fit(X)
