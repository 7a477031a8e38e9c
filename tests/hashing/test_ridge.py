"""ridge_map against the normal equations, solved as they stand; predictions against maps without the document."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash.hashing import ridge_map
from sthash.hashing.ridge import left_out_predictions


@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (40, 40), (30, 1), (1, 30)])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("dense", [False, True])
def test_equals_the_normal_equations(shape, alpha, dense):
    rng = np.random.default_rng(0)
    X = sp.random_array(shape, density=0.4, rng=rng, dtype=np.float32, format="csr")
    Y = rng.normal(size=(shape[0], 19))
    D = X.toarray().astype(np.float64)
    expected = np.linalg.solve(D.T @ D + alpha * np.eye(shape[1]), D.T @ Y)
    weights = ridge_map(X.toarray() if dense else X, Y, alpha, tol=1e-6)
    np.testing.assert_allclose(weights, expected, rtol=1e-3, atol=1e-4)


def test_an_output_depends_neither_on_the_others_nor_on_threads():
    rng = np.random.default_rng(1)
    X = sp.random_array((200, 300), density=0.1, rng=rng, dtype=np.float32, format="csr")
    Y = rng.normal(size=(200, 40))
    whole = ridge_map(X, Y, threads=3)
    np.testing.assert_allclose(ridge_map(X, Y[:, [7, 31]], threads=1), whole[:, [7, 31]], rtol=1e-5, atol=1e-6)


def test_nothing_to_learn():
    X = sp.csr_array((5, 3), dtype=np.float32)
    assert (ridge_map(X, np.ones((5, 2))) == 0).all()
    assert (ridge_map(np.eye(4), np.zeros((4, 2))) == 0).all()


def test_bad_input():
    with pytest.raises(ValueError, match="alpha=0"):
        ridge_map(np.eye(3), np.eye(3), 0)
    with pytest.raises(ValueError, match="one row per row of X, 3"):
        ridge_map(np.eye(3), np.ones((2, 1)))


@pytest.mark.parametrize("shape", [(300, 60), (300, 2000)])
def test_left_out_predictions_are_those_of_a_map_that_never_saw_the_document(shape):
    rng = np.random.default_rng(2)
    X = rng.normal(size=shape) / np.sqrt(shape[1])
    Y = X @ rng.normal(size=(shape[1], 3)) + rng.normal(size=(shape[0], 3))
    learned = left_out_predictions(X, Y, 0.5, rng, tol=1e-6)
    np.testing.assert_allclose(learned.weights, ridge_map(X, Y, 0.5, tol=1e-6), rtol=1e-3, atol=1e-4)
    for i in range(0, 300, 30):
        others = np.arange(300) != i
        exact = X[i] @ ridge_map(X[others], Y[others], 0.5, tol=1e-6)
        in_sample = X[i] @ learned.weights
        assert np.linalg.norm(learned.predictions[i] - exact) < 0.5 * np.linalg.norm(in_sample - exact)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
def test_left_out_predictions_of_documents_that_have_nothing_in_common(alpha):
    """The others say nothing about a document: without itself it is predicted zero."""
    rng = np.random.default_rng(3)
    learned = left_out_predictions(2 * np.eye(50), rng.normal(size=(50, 2)), alpha, rng, tol=1e-6)
    np.testing.assert_allclose(learned.predictions, 0, atol=1e-2)


def test_left_out_predictions_of_short_and_long_documents():
    """Where regularization is strong, what a document gets back of its own target grows with its squared length."""
    rng = np.random.default_rng(3)
    X = np.diag(np.linspace(0.1, 2, 50))
    targets = rng.normal(size=(50, 2))
    learned = left_out_predictions(X, targets, 30.0, rng, tol=1e-6)
    in_sample = X @ learned.weights
    assert np.abs(learned.predictions).max() < 0.1 * np.abs(in_sample).max()
