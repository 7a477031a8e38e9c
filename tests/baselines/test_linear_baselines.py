"""Baselines that project and threshold, against small dense computations written out plainly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import codes
from sthash.baselines import (
    BinarizedLSI,
    IterativeQuantization,
    LaplacianCoHashing,
    RandomHyperplaneHashing,
    SpectralHashing,
)
from sthash.baselines.decompositions import leading_svd
from sthash.hashing.rotation import quantizing_rotation


def counts(n=60, m=25, seed=0):
    rng = np.random.default_rng(seed)
    rates = rng.gamma(0.5, size=(3, m))
    return rng.poisson(rates[np.arange(n) % 3]).astype(np.float64)


def bits_of(hasher, X=None):
    return codes.unpack(hasher.codes_ if X is None else hasher.transform(X), hasher.n_bits)


def assert_same_bits_up_to_sign(found, wanted):
    """A singular vector has no sign of its own, nor has its bit."""
    for p in range(wanted.shape[1]):
        equal = np.mean(found[:, p] == wanted[:, p])
        assert equal in (0.0, 1.0), f"bit {p}: {equal:.3f} of the documents agree"


def test_lsi_is_the_dense_svd_cut_at_the_median():
    X, Q = counts(61), counts(20, seed=1)  # odd, so that the median is a document's own value
    hasher = BinarizedLSI(n_bits=6).fit(X)
    _, _, right = np.linalg.svd(X)
    places = X @ right[:6].T
    median = np.median(places, axis=0)
    wanted, wanted_queries = places > median + 1e-9, median < Q @ right[:6].T
    signs = np.sign((right[:6].T * hasher.components_).sum(axis=0))
    flip = signs < 0
    exact = np.abs(places - median) > 1e-6  # the median document itself may go either way
    assert ((bits_of(hasher) ^ flip) == wanted)[exact].all()
    assert ((bits_of(hasher, Q) ^ flip) == wanted_queries).all()
    assert (np.abs(bits_of(hasher).sum(axis=0) - 30.5) <= 1).all()


def test_lch_is_the_dense_svd_of_the_normalized_bipartite_graph():
    X, Q = counts(), counts(20, seed=1)
    hasher = LaplacianCoHashing(n_bits=5).fit(X)
    by_document, by_term = np.diag(X.sum(axis=1) ** -0.5), np.diag(X.sum(axis=0) ** -0.5)
    left, values, right = np.linalg.svd(by_document @ X @ by_term, full_matrices=False)
    assert values[0] == pytest.approx(1)
    assert values[1:6] == pytest.approx(hasher.singular_values_)
    places = by_document @ left[:, 1:6]
    median = np.median(places, axis=0)
    terms = by_term @ right[1:6].T
    queries = (Q @ terms) / Q.sum(axis=1, keepdims=True) / values[1:6]
    assert_same_bits_up_to_sign(bits_of(hasher), places > median)
    assert_same_bits_up_to_sign(
        np.vstack([bits_of(hasher), bits_of(hasher, Q)]), np.vstack([places > median, queries > median])
    )


def test_lch_solves_the_eigenproblem_of_its_bipartite_graph():
    X = counts()
    hasher = LaplacianCoHashing(n_bits=4).fit(X)
    n, m = X.shape
    W = np.block([[np.zeros((n, n)), X], [X.T, np.zeros((m, m))]])
    D = np.diag(W.sum(axis=1))
    documents = hasher._places(X.astype(np.float32)).astype(np.float64)
    terms = hasher.terms_.astype(np.float64) * hasher.singular_values_
    both = np.vstack([documents, terms])
    # L v = λ D v with λ = 1 − s
    assert (D - W) @ both == pytest.approx(D @ both * (1 - hasher.singular_values_), abs=1e-4)


def test_lch_keeps_the_trivial_vector_out_of_a_graph_in_pieces():
    X = sp.block_diag([counts(30, 12) + 1, counts(30, 12, seed=1) + 1], format="csr")
    hasher = LaplacianCoHashing(n_bits=3).fit(X)
    assert hasher.singular_values_[0] == pytest.approx(1)
    first = bits_of(hasher)[:, 0]
    assert len(set(first[:30])) == len(set(first[30:])) == 1
    assert first[0] != first[-1]


def test_spectral_hashing_is_weiss_and_others_own_recipe():
    rng = np.random.default_rng(0)
    X = rng.random((300, 6)) * [8, 5, 3, 2, 1, 0.5]
    Q = rng.random((40, 6)) * [8, 5, 3, 2, 1, 0.5]
    n_bits = 9
    hasher = SpectralHashing(n_bits=n_bits).fit(X)
    mean = X.mean(axis=0)
    _, _, axes = np.linalg.svd(X - mean, full_matrices=False)
    axes = axes.T * np.sign((axes.T * hasher.components_).sum(axis=0))
    places = X @ axes
    low, high = places.min(axis=0), places.max(axis=0)
    modes = [(k * np.pi / (high[j] - low[j]), j, k) for j in range(6) for k in range(1, n_bits + 1)]
    chosen = sorted(modes)[:n_bits]
    assert [j for _, j, _ in chosen] == hasher.axis_.tolist()
    assert [omega for omega, _, _ in chosen] == pytest.approx(hasher.frequency_.tolist())
    for rows in (X, Q):
        wanted = [np.sin(np.pi / 2 + (rows @ axes[:, j] - low[j]) * omega) for omega, j, _ in chosen]
        assert hasher.decision_function(rows) == pytest.approx(np.column_stack(wanted), abs=1e-4)


@pytest.mark.parametrize("degrees", [10, 45, 90, 150])
def test_hyperplanes_collide_as_the_angle_says(degrees):
    angle = np.deg2rad(degrees)
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(20, 2)))[0].T
    pair = np.array([plane[0], np.cos(angle) * plane[0] + np.sin(angle) * plane[1]])
    hasher = RandomHyperplaneHashing(n_bits=20_000, random_state=1).fit(pair)
    first, second = bits_of(hasher)
    expected = 1 - angle / np.pi
    assert np.mean(first == second) == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 20_000))


@pytest.mark.parametrize("distance", [0.3, 1.0, 2.5])
def test_stripes_collide_as_the_distance_says(distance):
    width = 2.0
    pair = np.random.default_rng(0).normal(size=(1, 30)).repeat(2, axis=0)
    pair[1, 3] += distance
    hasher = RandomHyperplaneHashing(n_bits=20_000, width=width, random_state=1).fit(pair)
    first, second = bits_of(hasher)
    odd = np.arange(1, 200, 2)
    expected = 0.5 + 4 / np.pi**2 * np.sum(np.exp(-(odd**2) * np.pi**2 * distance**2 / (2 * width**2)) / odd**2)
    assert np.mean(first == second) == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 20_000))


def test_stripes_are_the_parity_of_the_p_stable_hash():
    X = np.random.default_rng(0).normal(size=(50, 10))
    hasher = RandomHyperplaneHashing(n_bits=16, width=0.7).fit(X)
    integers = np.floor((X @ hasher.weights_ + hasher.offsets_) / 0.7).astype(int)
    assert np.array_equal(bits_of(hasher), integers % 2 == 1)
    assert (hasher.offsets_ >= 0).all()
    assert (hasher.offsets_ < 0.7).all()


def test_stripes_refuse_a_width_that_is_none():
    with pytest.raises(ValueError, match="width=0"):
        RandomHyperplaneHashing(width=0).fit(np.eye(3))


def test_itq_loss_never_rises_and_ends_below_the_random_start():
    X = np.random.default_rng(0).normal(size=(400, 20)) * np.linspace(3, 1, 20)
    hasher = IterativeQuantization(n_bits=8).fit(X)
    assert (np.diff(hasher.losses_) <= 1e-9).all()
    assert hasher.losses_[-1] < 0.99 * hasher.losses_[0]


def test_itq_rotation_is_the_best_for_its_corners():
    """The Procrustes step: no rotation near R has a smaller ‖B − V R‖ for the same B."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(100, 4))
    rotation, _ = quantizing_rotation(V, np.eye(4), max_iter=1)
    corners = np.where(V > 0, 1.0, -1.0)
    best = np.linalg.norm(corners - V @ rotation)
    assert rotation @ rotation.T == pytest.approx(np.eye(4))
    for _ in range(200):
        skew = rng.normal(scale=0.1, size=(4, 4))
        nearby = np.linalg.qr(rotation @ (np.eye(4) + skew - skew.T))[0]
        nearby *= np.sign((nearby * rotation).sum(axis=0))
        assert np.linalg.norm(corners - V @ nearby) >= best - 1e-9


def test_itq_finds_the_corners_of_a_turned_cube():
    rng = np.random.default_rng(0)
    corners = rng.choice([-1.0, 1.0], size=(300, 3)) + rng.normal(scale=0.05, size=(300, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    hasher = IterativeQuantization(n_bits=3).fit(corners @ turn)
    assert len(np.unique(hasher.codes_)) == 8
    groups = [
        np.unique(hasher.codes_[(np.sign(corners) == corner).all(axis=1)])
        for corner in np.unique(np.sign(corners), axis=0)
    ]
    assert all(len(group) == 1 for group in groups)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("centered", [True, False])
def test_lanczos_svd_against_lapack(sparse, centered, monkeypatch):
    X = counts(200, 90).astype(np.float32)
    minus = (np.ones(200), X.mean(axis=0, dtype=np.float64)) if centered else None
    wanted = np.linalg.svd(X - np.outer(*minus) if centered else X.astype(np.float64), full_matrices=False)
    monkeypatch.setattr("sthash.baselines.decompositions.DENSE_ENTRIES", 0)
    found = leading_svd(sp.csr_array(X) if sparse else X, 7, minus=minus)
    assert found.values == pytest.approx(wanted[1][:7])
    assert np.abs((found.right * wanted[2][:7].T).sum(axis=0)) == pytest.approx(np.ones(7))
    assert np.abs((found.left * wanted[0][:, :7]).sum(axis=0)) == pytest.approx(np.ones(7))


def test_svd_leaves_out_what_is_only_rounding():
    rng = np.random.default_rng(0)
    flat = (rng.random((50, 3)) @ rng.random((3, 20))).astype(np.float32)
    assert len(leading_svd(np.rint(flat * 8), 20).values) > 3
    assert len(leading_svd(np.repeat(np.rint(flat[:, :2] * 8), 5, axis=1), 10).values) == 2
