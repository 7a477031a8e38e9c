"""knn_graph against an obvious twin: all pairs, sorted."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from sthash import SelfTaughtHashing, _core
from sthash.hashing import knn_graph
from sthash.vectors.rows import Rows


def twin_graph(X, k, metric="cosine", bandwidth=None):
    X = np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)
    n = len(X)
    if metric == "cosine":
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        U = (X / np.where(norms > 0, norms, 1)).astype(np.float32).astype(np.float64)
        closeness = (U @ U.T).astype(np.float32)
        weights = np.clip(closeness, 0, 1)
    else:
        distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        closeness = -distances
    near = np.zeros((n, n), dtype=bool)
    for i in range(n):
        order = sorted((j for j in range(n) if j != i), key=lambda j: (-closeness[i, j], j))
        near[i, order[:k]] = True
    if metric == "euclidean":
        weights = np.exp(-distances / (bandwidth or distances[near].mean()))
    W = np.where(near, weights, 0)
    return np.maximum(W, W.T)


def random_sparse(rng, n, m, density=0.2, negative=False):
    X = sp.random_array((n, m), density=density, rng=rng, dtype=np.float32, format="csr")
    if negative:
        X.data -= 0.5
    return X


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("dense", [False, True])
def test_cosine_equals_the_twin(dense, k, negative):
    rng = np.random.default_rng(k)
    X = random_sparse(rng, 300, 40, negative=negative)
    W = knn_graph(X.toarray() if dense else X, k)
    np.testing.assert_allclose(W.toarray(), twin_graph(X, k), atol=1e-6)


@pytest.mark.parametrize("bandwidth", [None, 0.7])
@pytest.mark.parametrize("dense", [False, True])
def test_heat_kernel_equals_the_twin(dense, bandwidth):
    X = random_sparse(np.random.default_rng(0), 200, 12, density=0.6)
    W = knn_graph(X.toarray() if dense else X, 7, metric="euclidean", bandwidth=bandwidth)
    np.testing.assert_allclose(W.toarray(), twin_graph(X, 7, "euclidean", bandwidth), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 1.0])
def test_the_bound_on_common_terms_never_changes_the_answer(share):
    rng = np.random.default_rng(1)
    X = random_sparse(rng, 400, 60, density=0.15)
    X = sp.csr_array(sp.hstack([X, sp.csr_array(rng.random((400, 3), dtype=np.float32))]))
    X.sort_indices()
    view = Rows.of(X).view()
    how = {"penalty": np.zeros(400, np.float32), "k": 10}
    rows, scores = _core.sparse_neighbors(view, **how, common_share=share, threads=2)
    expected_rows, expected_scores = _core.sparse_neighbors(view, **how, common_share=2.0, threads=1)
    assert (rows == expected_rows).all()
    assert (scores == expected_scores).all()


def test_agrees_with_scikit_learn_on_text():
    rng = np.random.default_rng(2)
    X = random_sparse(rng, 500, 300, density=0.05)
    distances, indices = NearestNeighbors(n_neighbors=8, metric="cosine", algorithm="brute").fit(X).kneighbors()
    directed = np.zeros((500, 500))
    np.put_along_axis(directed, indices, 1 - distances, axis=1)
    np.testing.assert_allclose(knn_graph(X, 8).toarray(), np.maximum(directed, directed.T), atol=1e-6)


@pytest.mark.parametrize("dense", [False, True])
def test_equal_rows_are_taken_in_order(dense):
    X = np.tile(np.array([[1.0, 2.0, 3.0]], dtype=np.float32), (90, 1))
    W = knn_graph(X if dense else sp.csr_array(X), 3)
    # Each row's nearest are rows 0, 1 and 2 (or the next one, for these three).
    assert (np.flatnonzero(W.toarray()[50]) == [0, 1, 2]).all()
    np.testing.assert_allclose(W.data, 1, atol=1e-6)


@pytest.mark.parametrize("dense", [False, True])
def test_blank_rows_have_no_edges_and_no_row_its_own(dense):
    X = random_sparse(np.random.default_rng(3), 80, 10).toarray()
    X[[4, 17]] = 0
    W = knn_graph(X if dense else sp.csr_array(X), 5)
    assert W[[4, 17]].nnz == 0
    assert W.diagonal().max() == 0
    assert (W != W.T).nnz == 0


def test_threads_and_paths_do_not_change_a_bit(run_python):
    source = """
import hashlib, numpy as np, scipy.sparse as sp, sthash.hashing
X = sp.random_array((600, 200), density=0.05, rng=np.random.default_rng(0), dtype=np.float32, format="csr")
for rows in (X, X.toarray()):
    W = sthash.hashing.knn_graph(rows, 9, threads={threads})
    print(hashlib.sha256(W.data.tobytes() + W.indices.tobytes()).hexdigest())
"""
    seen = {
        run_python(source.format(threads=threads), STHASH_SIMD=path)
        for path in _core.simd_paths()
        for threads in (1, 3)
    }
    assert len(seen) == 1


def test_an_unknown_path_is_refused(run_python):
    with pytest.raises(AssertionError, match="STHASH_SIMD=sse9 is not a path of this machine"):
        run_python("import sthash", STHASH_SIMD="sse9")


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (np.eye(5), {"n_neighbors": 5}, "n_neighbors=5 must be less than the number of documents, 5"),
        (np.eye(5), {"n_neighbors": 0}, "n_neighbors=0"),
        (np.eye(5), {"n_neighbors": 2.5}, "n_neighbors=2.5"),
        (np.eye(5), {"n_neighbors": 2, "metric": "jaccard"}, "jaccard.*cosine"),
        (np.eye(5), {"n_neighbors": 2, "metric": "euclidean", "bandwidth": -1}, "bandwidth=-1"),
        (np.full((5, 2), np.nan), {"n_neighbors": 2}, "NaN"),
        (np.full((5, 2), np.inf), {"n_neighbors": 2}, "infinity"),
        (np.zeros((0, 3)), {"n_neighbors": 2}, "0 sample"),
        (np.zeros(4), {"n_neighbors": 2}, "2D array"),
    ],
)
def test_bad_input(X, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        knn_graph(X, **options)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("exponent", [-120, -84, -40, 40, 64, 120])
def test_euclidean_graphs_do_not_depend_on_the_scale(exponent, dense):
    """1e19 and more overflowed, 1e-25 and less vanished: the squares left the range of single precision."""
    X = np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)
    scaled = np.ldexp(X, exponent)
    for bandwidth in (None, 2.0):
        wanted = knn_graph(X, 5, metric="euclidean", bandwidth=bandwidth)
        own = None if bandwidth is None else bandwidth * 2.0 ** (2 * exponent)
        W = knn_graph(scaled if dense else sp.csr_array(scaled), 5, metric="euclidean", bandwidth=own)
        np.testing.assert_array_equal(W.indices, wanted.indices)
        np.testing.assert_allclose(W.data, wanted.data, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1e37])
def test_cosine_graphs_of_very_short_and_very_long_rows(scale):
    X = np.random.default_rng(0).integers(1, 9, size=(40, 5)) * np.float32(scale)
    wanted = knn_graph((X / np.float64(scale)).round(), 4) if scale < 1e-40 else knn_graph(X / np.float32(scale), 4)
    np.testing.assert_allclose(knn_graph(X, 4).toarray(), wanted.toarray(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("recipe", ["paper", "topics", "neighbors"])
@pytest.mark.parametrize("scale", [1e-30, 1e25])
def test_rows_that_nothing_can_be_learned_from_are_refused(recipe, scale):
    """The machines learned nothing from them, and said nothing."""
    X = np.random.default_rng(0).normal(size=(80, 6)) * scale
    with pytest.raises(ValueError, match=r"longest row has length .* Scale the rows"):
        SelfTaughtHashing(8, 5, recipe=recipe).fit(X)
