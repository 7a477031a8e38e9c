"""The paper's objective: Hamming distances weighed by the graph, its matrix form, and its relaxation."""

import numpy as np
import pytest

from sthash.hashing import knn_graph, laplacian_eigenmap, median_bits


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 12))[np.arange(160) % 4] + 0.8 * rng.normal(size=(160, 12))
    return knn_graph(X, 8).toarray().astype(np.float64)


def test_the_objective_is_a_trace(graph):
    bits = np.random.default_rng(1).random((160, 10)) < 0.5
    Y = np.where(bits, 1.0, -1.0)
    distances = (bits[:, None] != bits[None]).sum(axis=2)
    np.testing.assert_allclose(((Y[:, None] - Y[None]) ** 2).sum(axis=2) / 4, distances)
    L = np.diag(graph.sum(axis=1)) - graph
    # Each pair of documents is there twice in the sum, and once in the trace.
    assert (graph * distances).sum() / 2 == pytest.approx(np.trace(Y.T @ L @ Y) / 4)


def test_codes_of_the_eigenmap_have_a_small_objective(graph):
    def objective(bits):
        return (graph * (bits[:, None] != bits[None]).sum(axis=2)).sum()

    bits = median_bits(laplacian_eigenmap(graph, 6))
    rng = np.random.default_rng(2)
    balanced = np.array([rng.permutation(bits[:, column]) for column in range(6)]).T
    assert objective(bits) < 0.5 * objective(balanced)
