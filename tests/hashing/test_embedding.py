"""laplacian_eigenmap: solutions of L v = λ D v, on ordinary graphs and on the awkward ones."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from sthash.hashing import embedding, knn_graph, laplacian_eigenmap, laplacian_eigenpairs


def ring(n, reach=1):
    steps = np.arange(1, reach + 1)
    W = sp.diags_array([1.0] * len(steps), offsets=steps, shape=(n, n)).tolil()
    for step in steps:
        W[np.arange(n - step, n), np.arange(step)] = 1.0
    W = sp.csr_array(W)
    return W + W.T


def torus(side):
    circle, one = ring(side), sp.eye_array(side)
    return sp.csr_array(sp.kron(circle, one) + sp.kron(one, circle))


def hypercube(dimensions):
    edge = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    W = edge
    for _ in range(dimensions - 1):
        W = sp.csr_array(sp.kron(W, sp.eye_array(2)) + sp.kron(sp.eye_array(W.shape[0]), edge))
    return W


def random_graph(n, k, seed=0):
    return knn_graph(np.random.default_rng(seed).normal(size=(n, 6)), k, metric="euclidean")


def side_by_side(*graphs):
    return sp.csr_array(sp.block_diag(graphs))


def check(W, n_components):
    """Everything that makes the answer right: the equation, the constraints, and that nothing smaller exists."""
    values, vectors = laplacian_eigenpairs(W, n_components)
    W = W.toarray().astype(np.float64)
    d = W.sum(axis=1)
    D, L = np.diag(d), np.diag(d) - W
    np.testing.assert_allclose(L @ vectors, (D @ vectors) * values, atol=2e-5)
    np.testing.assert_allclose(vectors.T @ D @ vectors, np.eye(n_components), atol=1e-6)
    np.testing.assert_allclose(d @ vectors, 0, atol=1e-5 * np.sqrt(d.sum()))
    joined = d > 0
    expected = scipy.linalg.eigh(L[joined][:, joined], D[joined][:, joined], eigvals_only=True)[1 : n_components + 1]
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert (vectors[~joined] == 0).all()
    for column in vectors.T:
        assert column[np.flatnonzero(np.abs(column) > 0.999999 * np.abs(column).max())[0]] > 0
    again = laplacian_eigenmap(sp.csr_array(W), n_components)
    assert (again == vectors).all()
    return values, vectors


@pytest.mark.parametrize(
    ("W", "n_components"),
    [
        pytest.param(random_graph(200, 8), 16, id="small"),
        pytest.param(random_graph(900, 10), 24, id="large enough for Lanczos"),
        pytest.param(random_graph(40, 5), 38, id="n barely above l"),
        pytest.param(random_graph(700, 5), 500, id="most of the spectrum"),
        pytest.param(ring(50), 20, id="ring: every eigenvalue twice"),
        pytest.param(ring(900, reach=3), 24, id="large ring"),
        pytest.param(torus(28), 20, id="torus: eigenvalues four and eight times"),
        pytest.param(hypercube(10), 40, id="hypercube: eigenvalues 10 and 45 times"),
        pytest.param(side_by_side(*[random_graph(150, 6)] * 6), 30, id="six equal components"),
        pytest.param(side_by_side(random_graph(800, 6), random_graph(700, 6, 1)), 20, id="two large components"),
        pytest.param(side_by_side(*[ring(n) for n in range(3, 20)]), 10, id="more components than vectors"),
        pytest.param(side_by_side(random_graph(90, 5), ring(2), ring(3)), 12, id="large and tiny components"),
    ],
)
def test_right_on(W, n_components):
    check(sp.csr_array(W), n_components)


def test_components_are_told_apart_before_all_else():
    W = side_by_side(random_graph(60, 5), random_graph(40, 5, 1), random_graph(20, 5, 2))
    values, vectors = check(W, 6)
    assert (values[:2] == 0).all()
    assert values[2] > 1e-6
    part = np.repeat([0, 1, 2], [60, 40, 20])
    for column in vectors[:, :2].T:
        assert all(np.ptp(column[part == p]) == 0 for p in range(3))
    assert len({tuple(row) for row in vectors[:, :2]}) == 3


def test_isolated_nodes_are_left_out():
    W = random_graph(100, 5).tolil()
    W[[3, 50]] = 0
    W[:, [3, 50]] = 0
    check(sp.csr_array(W), 8)


def test_identical_documents():
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 5)), 20, axis=0)
    check(knn_graph(X, 25), 16)


def test_a_repeated_eigenvalue_that_lanczos_misses_is_found(monkeypatch):
    """Without the second look the hypercube's eigenvalues come back too few times: the check can fail."""
    W = hypercube(10)
    monkeypatch.setattr(embedding, "MISSED_GAP", 10.0)
    with pytest.raises(AssertionError):
        check(W, 40)


def test_agrees_with_a_dense_solver_on_distinct_eigenvalues():
    W = random_graph(300, 8)
    d = W.sum(axis=1)
    _, expected = scipy.linalg.eigh(np.diag(d) - W.toarray(), np.diag(d))
    ours = laplacian_eigenmap(W, 5)
    np.testing.assert_allclose(np.abs(ours), np.abs(expected[:, 1:6]), atol=1e-5)


@pytest.mark.parametrize(
    ("W", "n_components", "words"),
    [
        (ring(10), 9, "n_components=9 needs at least 11 documents.*got 10"),
        (ring(10), 0, "n_components=0"),
        (np.zeros((10, 10)), 2, "got 0 of 10"),
        (-ring(10), 2, "negative weights"),
        (ring(10) * np.nan, 2, "NaN"),
        (np.ones((3, 4)), 2, "square"),
        (np.triu(np.ones((6, 6)), 1), 2, "symmetric"),
    ],
)
def test_bad_input(W, n_components, words):
    with pytest.raises(ValueError, match=words):
        laplacian_eigenmap(W, n_components)


@pytest.mark.parametrize("column", [-1, 30, 10**9])
def test_graphs_whose_columns_do_not_exist_are_refused(column):
    """SciPy read out of bounds and ended the process."""
    W = sp.csr_array(np.ones((30, 30)))
    W.indices[7] = column
    with pytest.raises(ValueError, match="W is not a valid csr matrix"):
        laplacian_eigenmap(W, 3)
