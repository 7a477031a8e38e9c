"""Arrays and tensors of every kind, through every public function that takes vectors."""

import numpy as np
import pytest

import sthash
from sthash import Collection, Deduplicator, Learning, SelfTaughtHashing, VectorIndex, VectorModel, near_duplicates
from sthash.applications import KNNHashClassifier
from sthash.baselines import IterativeQuantization
from sthash.hashing import EmbeddingQuantizer, knn_graph
from sthash.vectors.conversion import as_array, as_numpy
from support.tensors import CudaArray, Exchanged, Tensor

ROWS = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32).astype(np.float16).astype(np.float64)

KINDS = {
    "float64": lambda rows: rows,
    "float16": lambda rows: rows.astype(np.float16),
    "Fortran order": np.asfortranarray,
    "lists": lambda rows: rows.tolist(),
    "tensor": Tensor,
    "tensor on a GPU": lambda rows: Tensor(rows, device="cuda"),
    "tensor of bfloat16": lambda rows: Tensor(rows, numpy=False),
    "tensors": lambda rows: [Tensor(row) for row in rows],
    "array on a GPU": CudaArray,
    "DLPack": Exchanged,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_becomes_float32(kind):
    found = as_array(KINDS[kind](ROWS))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, ROWS)


def test_bfloat16_of_numpy():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    rows = ROWS.astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(as_array(rows), rows.astype(np.float32))


def test_float32_is_not_copied():
    rows = ROWS.astype(np.float32)
    assert as_array(rows) is rows
    assert as_numpy(rows) is rows


def test_frames():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    np.testing.assert_array_equal(as_array(pandas.DataFrame(ROWS)), ROWS)


USES = {
    "SelfTaughtHashing": lambda X: SelfTaughtHashing(8, 5).fit(X).transform(X),
    "IterativeQuantization": lambda X: IterativeQuantization(8).fit(X).transform(X),
    "KNNHashClassifier": lambda X: KNNHashClassifier(SelfTaughtHashing(8, 5)).fit(X, np.arange(60) % 2).predict(X),
    "knn_graph": lambda X: knn_graph(X, 5).toarray(),
    "VectorModel": lambda X: VectorModel.build(X, learning=Learning(n_bits=8, n_neighbors=5)).encode(X).codes,
    "VectorIndex": lambda X: VectorIndex.build(X).search(X, 5)[0],
    "EmbeddingQuantizer": lambda X: EmbeddingQuantizer(4).fit(X).transform(X),
    "near_duplicates": lambda X: near_duplicates(vectors=X, threshold=0.6).groups,
    "Deduplicator": lambda X: [one.is_new for one in Deduplicator(0.6, measure="cosine").add(vectors=X)],
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["tensor on a GPU", "tensor of bfloat16", "array on a GPU", "DLPack"])
def test_every_public_function_takes_every_kind(use, kind):
    expected = USES[use](ROWS.astype(np.float32))
    found = USES[use](KINDS[kind](ROWS))
    assert np.array_equal(np.asarray(found, dtype=object), np.asarray(expected, dtype=object))


@pytest.mark.parametrize("kind", ["tensor on a GPU", "tensor of bfloat16", "array on a GPU", "DLPack"])
def test_collections_take_every_kind(kind, tmp_path):
    with Collection.create(
        tmp_path / "c.sth", vectors=KINDS[kind](ROWS), learning=Learning(n_bits=8, n_neighbors=5)
    ) as collection:
        assert len(collection) == 60
        (hit,) = collection.search(KINDS[kind](ROWS[7]), k=1)
        assert hit.score == pytest.approx(1, abs=1e-5)
        assert sthash.load is not None


REFUSED = {
    "complex": (np.array([1j, 2j]), "complex numbers"),
    "masked": (np.ma.masked_array([1.0, 2.0], [True, False]), "masked array"),
    "dates": (np.array(["2020-01-01"], dtype="datetime64[D]"), "dates"),
    "durations": (np.array([1], dtype="timedelta64[D]"), "durations"),
    "text": (["1", "2"], "text"),
    "bytes": (np.array([b"1"]), "text"),
    "objects": (np.array([1.0, None], dtype=object), "Python objects"),
    "records": (np.zeros(2, dtype=[("a", np.float32)]), "raw bytes"),
    "a text": ("oops", "a str"),
    "nothing": (None, "a NoneType"),
    "a mapping": ({"a": 1}, "a dict"),
    "sparse": (__import__("scipy.sparse").sparse.csr_array([[1.0, 2.0]]), "sparse matrix"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_holds_no_numbers_is_refused(kind):
    value, found = REFUSED[kind]
    with pytest.raises(TypeError, match=rf"^queries must be (real numbers|dense), got (a )?{found}\. [A-Z].*\.$"):
        as_array(value, "queries")


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match="vectors must have equally many values each"):
        as_array([[1.0], [1.0, 2.0]])


@pytest.mark.parametrize("kind", ["masked", "dates", "text"])
def test_estimators_refuse_what_scikit_learn_takes_without_a_word(kind):
    bad = {
        "masked": np.ma.masked_array(ROWS, ROWS > 1),
        "dates": ROWS.astype(int).astype("datetime64[D]"),
        "text": ROWS.astype(str),
    }[kind]
    with pytest.raises(TypeError, match="X must be real numbers, got"):
        SelfTaughtHashing(8, 5).fit(bad)
    with pytest.raises(TypeError, match="X must be real numbers, got"):
        knn_graph(bad, 5)
