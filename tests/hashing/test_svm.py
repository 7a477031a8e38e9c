"""The SVM bank against LIBLINEAR, one machine at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from sthash import _core
from sthash.hashing import LinearSVMBank


def problem(seed, n=400, m=60, n_bits=37):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, m), density=0.2, rng=rng, dtype=np.float32, format="csr")
    planes = rng.normal(size=(m, n_bits))
    scores = X @ planes
    bits = scores + rng.normal(scale=0.3, size=scores.shape) > np.median(scores, axis=0)
    return X, bits


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_weights_converge_to_liblinears_solution(loss):
    X, bits = problem(3, n_bits=3)
    weights = np.random.default_rng(0).integers(0, 4, X.shape[0]).astype(float)
    weights[5] = 1e-40
    bank = LinearSVMBank(loss=loss, tol=1e-4, max_iter=20_000).fit(X, bits, sample_weight=weights)
    for p in range(bits.shape[1]):
        svc = LinearSVC(loss=loss, fit_intercept=False, tol=1e-8, max_iter=1_000_000, dual=True, random_state=0)
        svc.fit(X.astype(np.float64), bits[:, p], sample_weight=weights)
        assert np.linalg.norm(bank.weights_[:, p] - svc.coef_.ravel()) < 0.01 * np.linalg.norm(svc.coef_)


def test_weights_of_one_change_nothing_and_bad_ones_are_refused():
    X, bits = problem(1, n=80, n_bits=4)
    plain, ones = LinearSVMBank().fit(X, bits), LinearSVMBank().fit(X, bits, sample_weight=np.ones(80))
    np.testing.assert_array_equal(plain.weights_, ones.weights_)
    for weights, words in (
        (np.ones(79), "one weight per row"),
        (-np.ones(80), "not negative"),
        (np.full(80, np.nan), "finite"),
        (np.zeros(80), "zero for all rows"),
        (["a"] * 80, "must hold numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            LinearSVMBank().fit(X, bits, sample_weight=weights)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize(("C", "bias"), [(1.0, False), (0.1, True), (10.0, False)])
def test_converges_to_liblinears_solution(dense, loss, C, bias):
    X, bits = problem(0, n_bits=5)
    X = X.toarray() if dense else X
    bank = LinearSVMBank(C, loss=loss, fit_intercept=bias, tol=1e-4, max_iter=20_000).fit(X, bits)
    for p in range(bits.shape[1]):
        svc = LinearSVC(C=C, loss=loss, fit_intercept=bias, tol=1e-8, max_iter=1_000_000, dual=True, random_state=0)
        svc.fit(X.astype(np.float64), bits[:, p])
        expected = np.append(svc.coef_.ravel(), svc.intercept_)
        ours = np.append(bank.weights_[:, p], bank.intercept_[p])
        assert np.linalg.norm(ours - expected) < 0.01 * np.linalg.norm(expected)


def test_a_bit_depends_neither_on_the_others_nor_on_threads():
    X, bits = problem(1, n_bits=150)
    whole = LinearSVMBank(threads=3).fit(X, bits)
    for chosen in ([0], [3, 140], list(range(20, 90))):
        part = LinearSVMBank(threads=1).fit(X, bits[:, chosen])
        assert (part.weights_ == whole.weights_[:, chosen]).all()
        assert (part.n_iter_ == whole.n_iter_[chosen]).all()


def test_paths_do_not_change_a_bit(run_python):
    source = """
import hashlib, numpy as np, scipy.sparse as sp, sthash.hashing
rng = np.random.default_rng(0)
X = sp.random_array((300, 50), density=0.2, rng=rng, dtype=np.float32, format="csr")
bits = rng.random((300, 70)) < 0.5
for rows in (X, X.toarray()):
    bank = sthash.hashing.LinearSVMBank(fit_intercept=True).fit(rows, bits)
    print(hashlib.sha256(bank.weights_.tobytes() + bank.decision_function(rows).tobytes()).hexdigest())
"""
    assert len({run_python(source, STHASH_SIMD=path) for path in _core.simd_paths()}) == 1


def test_sparse_and_dense_agree():
    X, bits = problem(2)
    sparse, dense = LinearSVMBank().fit(X, bits), LinearSVMBank().fit(X.toarray(), bits)
    np.testing.assert_allclose(sparse.weights_, dense.weights_, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_bits", [1, 15, 16, 17, 64, 65, 200])
def test_margins_are_products(n_bits):
    X, bits = problem(3, n=80, n_bits=n_bits)
    bank = LinearSVMBank(fit_intercept=True).fit(X, bits)
    expected = X.toarray() @ bank.weights_ + bank.intercept_
    for rows in (X, X.toarray()):
        np.testing.assert_allclose(bank.decision_function(rows), expected, rtol=1e-4, atol=1e-5)


def test_one_label_and_blank_rows():
    X, bits = problem(4, n=50)
    bits[:, 0] = True
    bits[:, 1] = False
    X = X.tolil()
    X[7] = 0
    bank = LinearSVMBank(loss="hinge").fit(X.tocsr(), bits)
    margins = bank.decision_function(X.tocsr())
    assert np.isfinite(margins).all()
    assert (margins[7] == 0).all()


def test_too_few_rounds_warn():
    X, bits = problem(5)
    with pytest.warns(ConvergenceWarning, match=r"37 of 37 bits.*Raise max_iter"):
        LinearSVMBank(tol=1e-6, max_iter=1).fit(X, bits)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"C": 0}, "C=0"), ({"loss": "log"}, "squared_hinge"), ({"tol": -1.0}, "tol"), ({"max_iter": 0}, "max_iter=0")],
)
def test_bad_settings(settings, words):
    X, bits = problem(6, n=20)
    with pytest.raises(ValueError, match=words):
        LinearSVMBank(**settings).fit(X, bits)


def test_bad_shapes():
    X, bits = problem(7, n=20)
    with pytest.raises(ValueError, match="one row per row of X, 20"):
        LinearSVMBank().fit(X, bits[:5])
    with pytest.raises(ValueError, match=r"60.*same vectorizer"):
        LinearSVMBank().fit(X, bits).decision_function(np.ones((2, 3)))
