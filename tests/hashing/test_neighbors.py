"""The recipe for neighbors, and the eigenvectors it is built on."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

import sthash
from sthash import SelfTaughtHashing, codes
from sthash.evaluation import nearest_neighbors
from sthash.hashing import LinearSVMBank, knn_graph, laplacian_eigenpairs, neighbors, subspace
from sthash.hashing.neighbors import balanced_bits, neighbor_places
from sthash.hashing.normal_scores import normal_scores
from sthash.hashing.signs import settled
from sthash.hashing.subspace import spectral_subspace
from sthash.reproduction.datasets import (
    load_20newsgroups,
    load_reuters21578_counts,
    load_tdt2,
    split_tdt2,
    tfidf_counts,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=500)
    return (rng.normal(size=(8, 30))[labels] + rng.normal(scale=0.7, size=(500, 30))).astype(np.float32)


@pytest.fixture(scope="module")
def graph():
    """In one piece, so that no eigenvalue is repeated."""
    return knn_graph(np.random.default_rng(2).normal(size=(400, 12)), 10)


def slow_places(W, n_bits, start, X=None):
    """The recipe in plain steps, from all eigenvectors of the dense matrix; ``start`` is the rotation's."""
    W = W.toarray().astype(np.float64)
    root = np.sqrt(W.sum(axis=1))
    values, vectors = np.linalg.eigh(W / root[:, None] / root)
    d = min(3 * n_bits, len(W) - 2)
    values, vectors = values[::-1][1 : d + 1], settled(vectors[:, ::-1][:, 1 : d + 1] / root[:, None])
    scores = np.empty_like(vectors)
    for j, column in enumerate(vectors.T):
        column = np.round(column / np.abs(column).max() * 1e5)
        before = (column[:, None] > column).sum(axis=1) + (column[:, None] == column).sum(axis=1) / 2
        scores[:, j] = norm.ppf(before / len(column)) * max(values[j], 0) ** min(1, 32 / n_bits)
    scores /= np.linalg.norm(scores, axis=1)[:, None]
    if X is not None:
        own = X / np.linalg.norm(X, axis=1)[:, None]
        own -= own.mean(axis=0)
        own /= np.linalg.norm(own, axis=1)[:, None]
        scores = np.hstack([0.2**0.5 * scores, 0.8**0.5 * own])
    axes = np.linalg.svd(scores)[2][:n_bits].T
    V, R = scores @ axes, start
    for _ in range(30):
        left, _, right = np.linalg.svd(V.T @ np.where(V @ R > 0, 1, -1))
        R = left @ right
    return V @ R


@pytest.mark.parametrize("n_bits", [3, 16, 64])
def test_places_are_those_of_the_plain_steps(graph, n_bits):
    places = neighbor_places(graph, n_bits, np.random.default_rng(0))
    start = np.linalg.qr(np.random.default_rng(0).standard_normal((n_bits, n_bits)))[0]
    slow = slow_places(graph, n_bits, start)
    # Axes have no sign, so the rotations start apart: what must agree is the distances, which no rotation changes.
    np.testing.assert_allclose(places @ places.T, slow @ slow.T, atol=1e-4)
    loss = [((np.sign(p) - p) ** 2).mean() for p in (places, slow)]
    assert loss[0] == pytest.approx(loss[1], rel=0.05)


def test_short_vectors_stand_beside_the_eigenvectors(monkeypatch):
    X = np.random.default_rng(2).normal(size=(400, 12))
    W = knn_graph(X, 10)
    wide = neighbor_places(W, 8, np.random.default_rng(0), X)
    monkeypatch.setattr(neighbors, "SHORT_AXES_PER_BIT", 1)
    places = neighbor_places(W, 8, np.random.default_rng(0), X)
    slow = slow_places(W, 8, np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0], X)
    np.testing.assert_allclose(places @ places.T, slow @ slow.T, atol=1e-4)
    # With more axes to choose from, bits lie farther from their thresholds.
    assert np.abs(wide).mean() > np.abs(places).mean()


def test_normal_scores_keep_the_order_and_equal_values_equal():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(101, 3)) ** 3
    values[:40, 1] = 0.25
    scores = normal_scores(values)
    assert (np.diff(scores[np.argsort(values[:, 0]), 0]) >= 0).all()
    assert np.unique(scores[:, 0]).size > 90
    assert np.unique(scores[:40, 1]).size == 1
    np.testing.assert_allclose(scores.mean(axis=0)[[0, 2]], 0, atol=1e-3)
    noisy = values + 1e-9 * rng.normal(size=values.shape)
    np.testing.assert_array_equal(normal_scores(noisy)[:40, 1], scores[:40, 1])
    assert (normal_scores(np.zeros((7, 2))) == 0).all()


def test_the_filter_finds_the_span_of_the_first_eigenvectors(monkeypatch):
    rng = np.random.default_rng(1)
    labels = rng.integers(12, size=900)
    W = knn_graph(rng.normal(size=(12, 20))[labels] * 1.5 + rng.normal(scale=0.5, size=(900, 20)), 10)
    exact = laplacian_eigenpairs(W, 11)
    monkeypatch.setattr(subspace, "EXACT_SIZE", 0)
    found = spectral_subspace(W, 40)
    degrees = W.sum(axis=1)
    np.testing.assert_allclose(found.vectors.T @ (degrees[:, None] * found.vectors), np.eye(40), atol=1e-4)
    np.testing.assert_allclose(degrees @ found.vectors, 0, atol=1e-3)
    assert (np.diff(found.values) >= -1e-6).all()
    # The twelve clusters are far apart from the rest of the spectrum: their span is found whole.
    overlap = np.linalg.svd(exact.vectors.T @ (degrees[:, None] * found.vectors))[1]
    assert overlap.min() > 0.99


def test_threads_change_nothing_and_lonely_nodes_lie_at_zero(monkeypatch, graph):
    monkeypatch.setattr(subspace, "EXACT_SIZE", 0)
    W = sp.block_diag([graph, sp.csr_array((2, 2))], format="csr")
    one, two = (neighbor_places(W, 16, np.random.default_rng(0), threads=threads) for threads in (1, 2))
    assert (one == two).all()
    assert (one[-2:] == 0).all()
    assert (np.abs(one[:-2]).sum(axis=1) > 0).all()


@pytest.mark.parametrize("n_bits", [1, 5, 64, 300])
def test_bits_are_balanced_at_any_length(n_bits):
    rows = np.random.default_rng(2).normal(size=(400, 12))
    hasher = SelfTaughtHashing(n_bits, 10, recipe="neighbors").fit(rows)
    share = codes.unpack(hasher.codes_, n_bits).mean(axis=0)
    assert share.min() >= 0.4
    assert share.max() <= 0.6
    assert (codes.unpack(hasher.codes_, n_bits) == balanced_bits(hasher.embedding_)).all()


def test_same_seed_same_codes_other_seed_other_codes(rows):
    first, again, other = (SelfTaughtHashing(16, 10, recipe="neighbors", random_state=s).fit(rows) for s in (0, 0, 1))
    assert (first.codes_ == again.codes_).all()
    assert (first.codes_ != other.codes_).any()


def test_save_and_load(rows, tmp_path):
    hasher = SelfTaughtHashing(24, 10, recipe="neighbors").fit(rows)
    hasher.save(tmp_path / "model")
    again = sthash.load(tmp_path / "model")
    assert again.get_params() == hasher.get_params()
    assert (again.transform(rows) == hasher.transform(rows)).all()
    assert (again.codes_ == hasher.codes_).all()


def test_its_own_stages_cannot_be_given_the_hash_function_can(rows):
    with pytest.raises(ValueError, match="recipe='neighbors' has its own embedding, binarizer"):
        SelfTaughtHashing(8, 10, recipe="neighbors", embedding=lambda W, d: W).fit(rows)
    hasher = SelfTaughtHashing(8, 10, recipe="neighbors", hash_function=LinearSVMBank(0.1)).fit(rows)
    assert hasher.hash_function_.C == 0.1


def held_out(name):
    """Vectors of training documents, and of others held out from them: the test splits are for the report alone."""
    if name == "20newsgroups":
        data = load_20newsgroups()
        seen = np.arange(len(data.train_texts)) % 3 > 0
        vectorizer = sthash.TextVectorizer()
        X = vectorizer.fit_transform([text for text, keep in zip(data.train_texts, seen, strict=True) if keep])
        return X, vectorizer.transform([text for text, keep in zip(data.train_texts, seen, strict=True) if not keep])
    data = load_reuters21578_counts() if name == "reuters" else split_tdt2(load_tdt2(), 1000)
    seen = np.arange(data.train.shape[0]) % 3 > 0
    return tfidf_counts(data.train[seen], data.train[~seen])


FILES = {"20newsgroups": "20news-bydate.tar.xz", "reuters": "reuters21578_counts.mat", "tdt2": "tdt2.npz"}


@pytest.mark.parametrize("name", FILES)
def test_finds_more_neighbors_than_the_papers_recipe_with_balanced_bits(needs, name):
    needs(FILES[name])
    X, Q = held_out(name)
    Q = Q[:600]
    neighbors = nearest_neighbors(X, Q, 10)

    def share_found(recipe, n_bits):
        hasher = SelfTaughtHashing(n_bits, recipe=recipe).fit(X)
        on = codes.unpack(hasher.codes_, n_bits)
        if recipe == "neighbors":
            assert (np.abs(on.mean(axis=0) - 0.5) <= 0.1).all()
        distances = (on[None] != codes.unpack(hasher.transform(Q), n_bits)[:, None]).sum(axis=2, dtype=np.int16)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :100]
        return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(nearest, neighbors, strict=True)])

    assert share_found("neighbors", 32) > share_found("paper", 32) + 0.01
