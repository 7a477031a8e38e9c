"""The approximate graph: nearly the exact one, the same bits everywhere, and no quadratic wait."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import _core
from sthash.hashing import graph, graph_recall, knn_graph


def topics(n, dense=False, seed=0):
    """Rows around centers: 60 topics with words of their own, and words that all share."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 60, n)
    if dense:
        return (rng.normal(size=(60, 24))[topic] + rng.normal(scale=0.4, size=(n, 24))).astype(np.float32)
    columns = np.concatenate(
        [40 * topic[:, None] + rng.integers(0, 40, (n, 9)), 2400 + rng.zipf(1.6, (n, 5)).clip(max=600)], axis=1
    )
    values = rng.random(columns.shape, dtype=np.float32) + 0.1
    X = sp.coo_array((values.ravel(), (np.repeat(np.arange(n), 14), columns.ravel())), shape=(n, 3001)).tocsr()
    X.sum_duplicates()
    return X


def twin_recall(W, X, k):
    """The obvious way: all cosines, sorted, and their numbers compared."""
    X = X.toarray() if sp.issparse(X) else X
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    cosines = (X / np.where(norms > 0, norms, 1)) @ (X / np.where(norms > 0, norms, 1)).T
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines, axis=1)[:, :k]
    found = np.take_along_axis(W.toarray(), nearest, axis=1) > 0
    return found[np.take_along_axis(cosines, nearest, axis=1) > 0].mean()


@pytest.mark.parametrize("dense", [False, True])
def test_finds_nearly_all_edges_and_their_exact_weights(dense):
    X = topics(9000, dense)
    W, exact = knn_graph(X, 10, exact=False), knn_graph(X, 10, exact=True)
    assert graph_recall(W, X, 10) > 0.9
    assert graph_recall(exact, X, 10) == 1
    both = W.multiply(exact > 0)
    np.testing.assert_array_equal(both.data, exact.multiply(W > 0).data)
    assert (W != W.T).nnz == 0
    assert W.diagonal().max() == 0


@pytest.mark.parametrize("dense", [False, True])
def test_a_small_corpus_is_searched_completely(dense):
    X = topics(1500, dense)
    W, exact = knn_graph(X, 10, exact=False), knn_graph(X, 10, exact=True)
    assert abs(W - exact).nnz <= 0.01 * exact.nnz


@pytest.mark.parametrize("dense", [False, True])
def test_recall_equals_the_twin(dense):
    X = topics(800, dense)
    W = knn_graph(X, 10)
    W.data[np.random.default_rng(0).random(W.nnz) < 0.3] = 0
    W.eliminate_zeros()
    assert graph_recall(W, X, 10, sample_size=800) == pytest.approx(twin_recall(W, X, 10), abs=1e-3)
    assert 0.6 < graph_recall(W, X, 10, sample_size=100) < 0.8


def test_recall_is_one_where_there_is_nothing_to_find():
    X = sp.csr_array(np.eye(40, dtype=np.float32))
    assert graph_recall(knn_graph(X, 3), X, 3) == 1


@pytest.mark.parametrize(
    ("W", "words"), [(sp.eye_array(3, format="csr"), "shape \\(4, 4\\)"), (np.eye(4), "sparse matrix")]
)
def test_recall_refuses_what_is_no_graph_of_x(W, words):
    with pytest.raises(ValueError, match=words):
        graph_recall(W, np.eye(4), 2)


def test_seed_threads_and_paths(run_python):
    source = """
import hashlib, numpy as np, scipy.sparse as sp, sthash.hashing
X = sp.random_array((5000, 500), density=0.02, rng=np.random.default_rng(0), dtype=np.float32, format="csr")
for rows in (X, X[:3000, :40].toarray() - 0.1):
    W = sthash.hashing.knn_graph(rows, 9, exact=False, threads={threads}, random_state=3)
    print(hashlib.sha256(W.data.tobytes() + W.indices.tobytes()).hexdigest())
"""
    seen = {
        run_python(source.format(threads=threads), STHASH_SIMD=path)
        for path, threads in zip(_core.simd_paths(), (1, 3, 2), strict=False)
    }
    assert len(seen) == 1


def test_another_seed_gives_another_graph():
    X = topics(9000)
    first, second = (knn_graph(X, 5, exact=False, random_state=seed) for seed in (0, 1))
    assert 0 < (first != second).nnz < 0.2 * first.nnz


@pytest.mark.parametrize("dense", [False, True])
def test_equal_rows_are_folded(dense):
    """Copies are neighbors in the order of their numbers, as in the exact graph, and take no time."""
    X = topics(60, dense)
    X = X.toarray() if sp.issparse(X) else X
    X = np.concatenate([X, np.tile(X[:1], (2000, 1)), X[1:4], X[1:4]])
    W = knn_graph(X if dense else sp.csr_array(X), 6, exact=False)
    assert W[[500]].indices.tolist() == [0, 60, 61, 62, 63, 64]
    assert {1, 2060, 2063} <= {1, *W[[1]].indices.tolist()}
    small = np.concatenate([X[:100], X[-6:]])
    W, exact = (knn_graph(small if dense else sp.csr_array(small), 6, exact=way) for way in (False, True))
    np.testing.assert_array_equal(W.toarray(), exact.toarray())


def test_a_term_in_every_document_and_half_of_them_blank():
    X = topics(8000)
    X = sp.csr_array(sp.hstack([X, np.full((8000, 1), 0.3, dtype=np.float32)]))
    X.data[X.indptr[4000] :] = 0
    X.eliminate_zeros()
    W = knn_graph(X, 10, exact=False)
    assert W[4000:].nnz == 0
    assert graph_recall(W, X, 10) > 0.9


def test_fewer_rows_overlap_than_neighbors_are_wanted():
    pairs = np.repeat(np.arange(20_000), 2)
    X = sp.csr_array((np.tile([1.0, 2.0], 20_000), (np.arange(40_000), pairs)), shape=(40_000, 20_000))
    W = knn_graph(X, 25)  # approximate, because there are so many rows
    assert W.nnz == 40_000
    assert (W.indices == np.arange(40_000) ^ 1).all()
    assert knn_graph(sp.eye_array(31_000, format="csr"), 5).nnz == 0


def test_tells_how_far_it_is():
    seen = []
    knn_graph(topics(12_000), 10, exact=False, threads=1, report=lambda *counts: seen.append(counts))
    assert seen
    assert seen == sorted(set(seen))
    assert all(0 < done <= total for done, total in seen)
    assert len({total for _, total in seen}) == 1


def test_an_error_of_who_is_told_ends_the_search():
    with pytest.raises(ZeroDivisionError):
        knn_graph(topics(12_000), 10, exact=False, threads=1, report=lambda done, _: done / 0)


def test_none_chooses_by_size_and_metric(monkeypatch):
    X = topics(300)
    monkeypatch.setattr(graph, "APPROXIMATE_ROWS", 100)
    monkeypatch.setattr(graph, "nearest_rows", None)
    assert knn_graph(X, 5).nnz > 0
    monkeypatch.undo()
    monkeypatch.setattr(graph, "_nearly_nearest_rows", None)
    assert knn_graph(X, 5).nnz > 0
    monkeypatch.setattr(graph, "APPROXIMATE_ROWS", 100)
    assert knn_graph(X, 5, metric="euclidean").nnz > 0
    assert knn_graph(X, 5, exact=True).nnz > 0


def test_the_approximate_search_is_for_cosines():
    with pytest.raises(ValueError, match=r"'cosine', got 'euclidean'. Pass exact=True"):
        knn_graph(topics(50), 5, metric="euclidean", exact=False)
