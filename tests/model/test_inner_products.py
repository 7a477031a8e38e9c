"""Models of vectors that are compared by inner product."""

import numpy as np
import pytest

from sthash import HammingIndex, Learning, ModelFileError, VectorModel
from sthash.codes import pack
from sthash.model import inner_products
from sthash.model.inner_products import MEAN_PART, RIDGE, InnerProducts
from sthash.vectors.lengths import completed_rows


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(1500, 12)) * rng.lognormal(0, 1, 1500)[:, None]).astype(np.float32)


@pytest.fixture(scope="module")
def model(vectors):
    return VectorModel.build(vectors, metric="ip", learning=Learning(n_bits=24, n_neighbors=8))


def test_cosines_with_completed_rows_order_as_products_do(vectors):
    query = np.random.default_rng(1).normal(size=12)
    length = np.linalg.norm(vectors, axis=1).max()
    rows = completed_rows(vectors, float(length)).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(rows @ [*query, 0] * length, vectors @ query, rtol=1e-4, atol=1e-4)
    shorter = completed_rows(vectors, 1.0)
    beyond = np.linalg.norm(vectors, axis=1) > 1
    assert beyond.any()
    assert (shorter[beyond, -1] == 0).all()
    assert (shorter[~beyond, -1] > 0).all()


@pytest.mark.parametrize("together", [8192, 100])
def test_query_weights_are_least_squares(vectors, together, monkeypatch):
    monkeypatch.setattr(inner_products, "ROWS_TOGETHER", together)
    products = InnerProducts.of(vectors)
    hyperplanes = np.random.default_rng(2).normal(size=(13, 9)).astype(np.float32)
    weights = products.query_weights(9, lambda rows: rows @ hyperplanes)
    # The slow way: a weighted regression with a column of ones for the means.
    bits = np.where(products.rows @ hyperplanes > 0, 1.0, -1.0)
    rows = products.rows.astype(np.float64)
    counts = np.linalg.norm(rows[:, :-1], axis=1)
    centered = bits - np.average(bits, axis=0, weights=counts)
    regularized = np.vstack([np.sqrt(counts)[:, None] * centered, np.sqrt(RIDGE * counts.sum()) * np.eye(9)])
    targets = np.sqrt(counts)[:, None] * (rows - np.average(rows, axis=0, weights=counts))
    decoder = np.linalg.lstsq(regularized, np.vstack([targets, np.zeros((9, 13))]), rcond=None)[0]
    expected = np.vstack([decoder[:, :-1].T, -MEAN_PART * decoder @ rows.mean(axis=0)])
    np.testing.assert_allclose(weights, expected / np.abs(expected).max(), atol=1e-5)


def test_queries_are_sure_of_bits_that_tell_products(vectors, model):
    queries = np.random.default_rng(3).normal(size=(60, 12)).astype(np.float32)
    best = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    index = HammingIndex(24)
    index.add(model.encode(vectors).codes)

    def recall(margins):
        ids, _ = index.search(pack(margins > 0), 100, weights=np.abs(margins))
        return np.mean([len(np.intersect1d(*pair)) / 10 for pair in zip(ids, best, strict=True)])

    found = recall(model.encode_queries(queries).margins)
    assert found > 0.75
    as_documents = recall(model.encode(queries).margins)
    assert found > as_documents + 0.1


def test_rows_keep_their_lengths(vectors, model):
    rows = model.encode(vectors[:5])
    np.testing.assert_array_equal(rows.rows.values, vectors[:5])
    np.testing.assert_array_equal(model.margins(rows.rows), rows.margins)
    asked = model.encode_queries(vectors[:5])
    np.testing.assert_array_equal(model.query_margins(asked.rows), asked.margins)
    np.testing.assert_allclose(model.encode_queries(7 * vectors[:5]).margins, asked.margins, atol=1e-5)
    assert not np.allclose(model.encode(0.1 * vectors[:5]).margins, rows.margins)
    by_cosine = VectorModel.build(vectors[:100], learning=Learning(n_bits=8, n_neighbors=5))
    np.testing.assert_array_equal(by_cosine.encode(vectors).margins, by_cosine.encode_queries(vectors).margins)


def test_files(vectors, model, tmp_path):
    model.save(tmp_path / "model")
    again = VectorModel.load(tmp_path / "model")
    assert (again.metric, again.fingerprint, again.n_columns) == ("ip", model.fingerprint, 12)
    for encode in (VectorModel.encode, VectorModel.encode_queries):
        np.testing.assert_array_equal(encode(again, vectors).margins, encode(model, vectors).margins)
    assert model.with_threads(1).metric == "ip"
    for changed in ({"metric": "cosine"}, {"metric": "l2"}, {"length": -1.0}, {"length": float("nan")}):
        wrong = VectorModel.load(tmp_path / "model")
        wrong.settings |= changed
        wrong.save(tmp_path / "wrong")
        with pytest.raises(ModelFileError, match=r"weights|metric|length"):
            VectorModel.load(tmp_path / "wrong")


def test_what_is_refused(vectors, model):
    with pytest.raises(ValueError, match="metric='l2' is not known"):
        VectorModel.build(vectors, metric="l2")
    for encode in (model.encode, model.encode_queries):
        with pytest.raises(ValueError, match=r"at most 1e\+18 for inner products"):
            encode(np.full((1, 12), 1e30))
        with pytest.raises(ValueError, match="finite"):
            encode(np.full((1, 12), np.nan))
        assert np.isfinite(encode(np.zeros((1, 12))).margins).all()


def test_the_recipe_is_that_for_dense_vectors(vectors):
    assert (
        VectorModel.build(vectors[:100], learning=Learning(n_bits=8, n_neighbors=5)).settings["recipe"] == "embeddings"
    )
    assert (
        VectorModel.build(vectors[:100], learning=Learning(n_bits=8, n_neighbors=5, recipe="neighbors")).settings[
            "recipe"
        ]
        == "neighbors"
    )
