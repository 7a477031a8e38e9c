"""Large corpora that hardly are corpora: each recipe gives a correct model, by the paths that large corpora take."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import SelfTaughtHashing, _core
from sthash.hashing import embedding, graph, knn_graph, neighbors, sth

ROWS = 3000
RECIPES = ("paper", "neighbors", "topics")


@pytest.fixture(autouse=True)
def _large(monkeypatch):
    """Let 1,000 documents be many."""
    monkeypatch.setattr(graph, "APPROXIMATE_ROWS", 1000)
    for module in (embedding, neighbors, sth):
        monkeypatch.setattr(module, "LARGE", 1000)


def documents(n, seed=0):
    """Rows of eight words, five of them of one of 40 topics."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 40, n)
    columns = np.concatenate([30 * topic[:, None] + rng.integers(0, 30, (n, 5)), rng.integers(1200, 1500, (n, 3))], 1)
    values = rng.random(columns.shape, dtype=np.float32) + 0.1
    X = sp.coo_array((values.ravel(), (np.repeat(np.arange(n), 8), columns.ravel())), shape=(n, 1500)).tocsr()
    X.sum_duplicates()
    return X


def learned(X, recipe):
    return SelfTaughtHashing(16, 10, recipe=recipe).fit(X)


@pytest.mark.parametrize("recipe", RECIPES)
def test_equal_documents_get_one_code(recipe):
    X = sp.csr_array(np.tile(documents(1).toarray(), (ROWS, 1)))
    assert len(np.unique(learned(X, recipe).transform(X), axis=0)) == 1


@pytest.mark.parametrize("recipe", RECIPES)
def test_half_of_the_documents_blank(recipe):
    X = documents(ROWS)
    X = sp.csr_array(sp.vstack([X, sp.csr_array((ROWS, X.shape[1]), dtype=np.float32)]))
    hasher = learned(X, recipe)
    assert not hasher.codes_[ROWS:].any()
    assert not hasher.transform(X[ROWS:]).any()
    assert len(np.unique(hasher.codes_[:ROWS], axis=0)) > 40


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_term_in_every_document(recipe):
    X = documents(ROWS)
    X = sp.csr_array(sp.hstack([X, np.full((ROWS, 1), 2, dtype=np.float32)]))
    assert len(np.unique(learned(X, recipe).transform(X), axis=0)) > 40


@pytest.mark.parametrize("recipe", RECIPES)
def test_more_neighbors_are_wanted_than_documents_overlap(recipe):
    pairs = np.arange(ROWS, dtype=np.int32) // 2
    X = sp.csr_array((np.ones(ROWS, dtype=np.float32), pairs, np.arange(ROWS + 1)), shape=(ROWS, ROWS // 2))
    codes = learned(X, recipe).transform(X)
    np.testing.assert_array_equal(codes[::2], codes[1::2])


def test_wide_dense_rows_are_searched_as_sparse_ones(monkeypatch):
    X = documents(ROWS).toarray()
    as_dense = knn_graph(X, 5)
    monkeypatch.setattr(graph, "MOST_DENSE_COLUMNS", 1000)
    as_sparse = knn_graph(X, 5)
    assert (as_sparse != knn_graph(sp.csr_array(X), 5)).nnz == 0
    assert (as_dense > 0).multiply(as_sparse > 0).nnz > 0.9 * as_sparse.nnz


def test_long_kernels_report_under_the_names_of_their_stages(monkeypatch):
    def told(kernel):
        def wrapped(*arguments, report, **settings):
            report(3, 7)
            return kernel(*arguments, report=report, **settings)

        return wrapped

    for name in ("approximate_neighbors", "fit_svm_bank"):
        monkeypatch.setattr(_core, name, told(getattr(_core, name)))
    seen = []
    SelfTaughtHashing(8, 10).fit(documents(ROWS), progress=lambda *report: seen.append(report))
    assert ("graph", 3, 7) in seen
    assert ("hash functions", 3, 7) in seen
    assert seen[-1] == ("hash functions", 1, 1)
