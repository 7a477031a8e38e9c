"""Stages that may stand in for the default ones: class graph, Gaussian SVM, Nyström extension, linear embedding."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC, LinearSVC

from sthash import SelfTaughtHashing, codes
from sthash.hashing import (
    ClassGraph,
    ClassifierPerBit,
    GaussianSVM,
    LinearEmbedding,
    LinearSVMBank,
    NystromExtension,
    knn_graph,
    laplacian_eigenmap,
    median_bits,
)
from sthash.hashing.binarizer import median_thresholds, separating_thresholds


def documents(n=120, m=20, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(9).normal(size=(4, m))
    label = np.arange(n) % 4
    return (centers[label] + rng.normal(scale=0.8, size=(n, m))).astype(np.float32), label


# ── class graph ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_class_graph_joins_neighbors_of_one_category_only():
    X, y = documents()
    W = ClassGraph(n_neighbors=5).from_labels(X, y).toarray()
    assert np.array_equal(W, W.T)
    assert not W[y[:, None] != y].any()
    for category in range(4):
        members = np.flatnonzero(y == category)
        assert np.array_equal(W[np.ix_(members, members)], knn_graph(X[members], 5).toarray())


def test_class_graph_may_join_all_of_a_category():
    X, y = documents(12)
    W = ClassGraph(n_neighbors=None).from_labels(X, y).toarray()
    assert np.array_equal(W, (y[:, None] == y) & ~np.eye(12, dtype=bool))


def test_small_and_single_categories():
    X, _ = documents(8)
    y = np.array(["a", "a", "a", "b", "b", "b", "b", "c"])
    W = ClassGraph(n_neighbors=5).from_labels(np.abs(X), y).toarray()
    assert (W[:3, :3] > 0).sum() == 6
    assert not W[7].any()
    with pytest.raises(ValueError, match="no category twice"):
        ClassGraph().from_labels(X, np.arange(8))


def test_supervised_codes_tell_categories_apart_also_for_unseen_documents():
    X, y = documents()
    Q, wanted = documents(seed=1)
    hasher = SelfTaughtHashing(n_bits=8, graph=ClassGraph(10)).fit(X, y)
    first = codes.unpack(hasher.codes_, 8)[:, :3]
    assert len(np.unique(first, axis=0)) >= 3
    assert all(len(np.unique(first[y == c], axis=0)) == 1 for c in range(4))
    distances = (codes.unpack(hasher.transform(Q), 8)[:, None] != codes.unpack(hasher.codes_, 8)).sum(axis=2)
    assert np.mean(y[distances.argmin(axis=1)] == wanted) > 0.8


def test_only_a_supervised_graph_looks_at_the_categories():
    X, y = documents()
    plain = SelfTaughtHashing(n_bits=8)
    assert np.array_equal(plain.fit(X, y).codes_, clone(plain).fit(X).codes_)
    assert not plain.__sklearn_tags__().target_tags.required
    supervised = SelfTaughtHashing(n_bits=8, graph=ClassGraph())
    assert supervised.__sklearn_tags__().target_tags.required
    with pytest.raises(ValueError, match=r"Pass the categories of the documents"):
        supervised.fit(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        supervised.fit(X, y[:-1])


# ── Gaussian SVM ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_gaussian_svm_is_a_linear_one_in_the_space_of_its_kernel():
    X, _ = documents(60)
    bits = np.random.default_rng(0).random((60, 3)) > 0.5
    ours = GaussianSVM(C=2.0, gamma=0.1, tol=1e-4, max_iter=5000).fit(X, bits)
    K = np.exp(-0.1 * ((X[:, None].astype(float) - X) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0))  # features @ features.T == K
    for p in range(3):
        theirs = LinearSVC(C=2.0, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(features, bits[:, p])
        assert ours.decision_function(X)[:, p] == pytest.approx(theirs.decision_function(features), abs=2e-3)


def test_gaussian_svm_learns_what_no_plane_can():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    ring = (np.linalg.norm(X, axis=1) < 1)[:, None]
    Q = rng.normal(size=(200, 2))
    found = GaussianSVM(C=10).fit(X, ring).decision_function(Q) > 0
    assert np.mean(found[:, 0] == (np.linalg.norm(Q, axis=1) < 1)) > 0.93


def test_gaussian_svm_takes_the_width_that_svc_takes():
    X, _ = documents()
    bits = X[:, :1] > 0
    for rows in (X, sp.csr_array(np.maximum(X, 0))):
        theirs = SVC(gamma="scale").fit(rows, bits[:, 0])
        assert GaussianSVM().fit(rows, bits).gamma_ == pytest.approx(theirs._gamma, rel=1e-4)


def test_gaussian_svm_warns_and_refuses():
    X, _ = documents(40)
    bits = X[:, :2] > 0
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        GaussianSVM(max_iter=1, tol=1e-9).fit(X, bits)
    with pytest.raises(NotFittedError):
        GaussianSVM().decision_function(X)
    with pytest.raises(ValueError, match="same vectorizer"):
        GaussianSVM().fit(X, bits).decision_function(X[:, :5])
    with pytest.raises(ValueError, match="bits must have one row"):
        GaussianSVM().fit(X, bits[:5])
    for settings in ({"C": 0}, {"gamma": -1}, {"tol": 0}, {"max_iter": 0}):
        with pytest.raises(ValueError, match="="):
            GaussianSVM(**settings).fit(X, bits)


# ── Nyström extension ───────────────────────────────────────────────────────────────────────────────────────────────


def test_nystrom_gives_the_corpus_its_own_eigenvectors_back():
    """With its own row of W a document gets its own value: W v = μ D v."""
    X, _ = documents()
    W = knn_graph(X, 8)
    embedding = laplacian_eigenmap(W, 6)
    extension = NystromExtension(8).extend(X, W, embedding, median_bits(embedding))
    own = W.toarray().astype(float)  # cosines of a document with its neighbors, and with nobody else
    places = extension._extended(own) + extension.thresholds_
    assert places == pytest.approx(embedding, abs=1e-6)


@pytest.mark.parametrize("sparse", [True, False])
def test_nystrom_against_a_plain_loop(sparse):
    X, _ = documents()
    Q, _ = documents(15, seed=1)
    k = 8
    hasher = SelfTaughtHashing(n_bits=5, n_neighbors=k, hash_function=NystromExtension(k))
    hasher.fit(sp.csr_array(X) if sparse else X)
    found = hasher.decision_function(sp.csr_array(Q) if sparse else Q)
    W = knn_graph(X, k).toarray().astype(float)
    v = hasher.embedding_
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = unit.astype(float) @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    reach = np.sort(cosines, axis=1)[:, -k]
    for q, row in zip(Q, found, strict=True):
        similarity = unit @ (q / np.linalg.norm(q))
        near = (similarity >= np.sort(similarity)[-k]) | (similarity >= reach)
        w = np.where(near, np.maximum(similarity, 0), 0)
        for p in range(5):
            mu = (v[:, p] @ W @ v[:, p]) / (W.sum(axis=1) @ v[:, p] ** 2)
            assert row[p] == pytest.approx((w @ v[:, p]) / (mu * w.sum()) - np.median(v[:, p]), abs=1e-4)


def test_nystrom_leaves_a_stranger_without_bits():
    X = np.zeros((60, 11), dtype=np.float32)
    X[:, :10] = np.abs(documents(60, 10)[0])
    hasher = SelfTaughtHashing(n_bits=4, n_neighbors=5, hash_function=NystromExtension(5)).fit(X)
    assert hasher.transform(np.eye(11)[-1:]).tolist() == [[0]]


# ── linear embedding ────────────────────────────────────────────────────────────────────────────────────────────────


def test_linear_embedding_is_the_ridge_regression_of_the_eigenvectors():
    X, _ = documents()
    W = knn_graph(X, 8)
    embedding = laplacian_eigenmap(W, 4)
    stage = LinearEmbedding(alpha=0.5).extend(X, W, embedding, median_bits(embedding))
    rows, target = X.astype(float), embedding - embedding.mean(axis=0)
    wanted = np.linalg.solve(rows.T @ rows + 0.5 * np.eye(20), rows.T @ target)
    assert stage.weights_ == pytest.approx(wanted, rel=1e-2, abs=1e-3 * np.abs(wanted).max())
    assert -stage.intercept_ == pytest.approx(np.median(X @ wanted, axis=0), abs=1e-2 * np.abs(X @ wanted).max())


def test_linear_embedding_solves_lpi_where_a_linear_function_can():
    """With more features than documents X w = v has a solution: w then has LPI's own quotient, that of v."""
    X = np.random.default_rng(0).normal(size=(40, 200)).astype(np.float32)
    W = knn_graph(X, 5)
    embedding = laplacian_eigenmap(W, 3)
    stage = LinearEmbedding(alpha=1e-4).extend(X, W, embedding, median_bits(embedding))
    dense = W.toarray().astype(float)
    D = np.diag(dense.sum(axis=1))

    def quotient(y):
        y = y - (D @ y).sum() / D.sum()
        return (y @ (D - dense) @ y) / (y @ D @ y)

    for p in range(3):
        assert quotient(X.astype(float) @ stage.weights_[:, p]) == pytest.approx(quotient(embedding[:, p]), rel=1e-2)


@pytest.mark.parametrize("stage", [LinearEmbedding(), NystromExtension()])
def test_extensions_refuse_to_encode_before_they_are_fitted(stage):
    with pytest.raises(NotFittedError, match="the hasher that holds it"):
        stage.decision_function(np.eye(3))


def test_extensions_refuse_odd_settings():
    X, _ = documents()
    with pytest.raises(ValueError, match="alpha=0"):
        SelfTaughtHashing(n_bits=4, hash_function=LinearEmbedding(alpha=0)).fit(X)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        SelfTaughtHashing(n_bits=4, hash_function=NystromExtension(0)).fit(X)


# ── thresholds ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_give_the_bits_they_come_from(dtype):
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 11):
        values = rng.integers(-3, 4, size=(n, 30)).astype(dtype)
        values[:, :5] = np.nextafter(dtype(1), dtype(2)) * rng.integers(0, 2, size=(n, 5)) + dtype(0.5)
        bits = median_bits(values)
        assert np.array_equal(values > separating_thresholds(values, bits), bits)
        assert np.array_equal(values > median_thresholds(values), bits)


def test_median_thresholds_are_medians_where_nothing_ties():
    values = np.random.default_rng(0).normal(size=(31, 4))
    assert np.array_equal(median_thresholds(values), np.median(values, axis=0))


def test_bits_that_are_no_threshold_are_refused():
    with pytest.raises(ValueError, match="column 0"):
        separating_thresholds(np.array([[1.0], [2.0], [3.0]]), np.array([[True], [False], [True]]))


def interrupted(*arguments, **settings):
    raise KeyboardInterrupt


ROWS = np.random.default_rng(3).random((12, 4)).astype(np.float32)
FITTED = {
    "LinearSVMBank": (LinearSVMBank(), lambda stage: stage.fit(ROWS, ROWS > 0.5), "warnings.warn"),
    "GaussianSVM": (GaussianSVM(), lambda stage: stage.fit(ROWS, ROWS > 0.5), "warnings.warn"),
    "ClassifierPerBit": (
        ClassifierPerBit(LinearSVC()),
        lambda stage: stage.fit(ROWS, ROWS > 0.5),
        "sthash.hashing.classifier_per_bit.clone",
    ),
    "LinearEmbedding": (
        LinearEmbedding(),
        lambda stage: stage.extend(ROWS, None, ROWS, ROWS > 0.5),
        "sthash.hashing.linear_embedding.median_thresholds",
    ),
}


@pytest.mark.parametrize("name", FITTED)
def test_a_stage_whose_fit_fails_stays_as_it_was(name, monkeypatch):
    stage, learn, last_step = FITTED[name]
    stage = learn(clone(stage))
    held = dict(stage.__dict__)
    if last_step == "warnings.warn":
        stage.max_iter, stage.tol = held["max_iter"], held["tol"] = 1, 1e-9
    monkeypatch.setattr(last_step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(stage)
    assert stage.__dict__.keys() == held.keys()
    assert all(stage.__dict__[attribute] is value for attribute, value in held.items())


def test_threads_do_not_change_the_linear_embedding():
    W = knn_graph(ROWS, 3)
    few, many = (
        LinearEmbedding(threads=threads).extend(ROWS, W, ROWS, np.median(ROWS, axis=0) < ROWS) for threads in (1, 3)
    )
    assert np.array_equal(few.weights_, many.weights_)
    assert np.array_equal(few.decision_function(ROWS), many.decision_function(ROWS))
    with pytest.raises(ValueError, match="threads=0"):
        LinearEmbedding(threads=0).extend(ROWS, W, ROWS, ROWS > 0.5)
