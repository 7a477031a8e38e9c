"""`Rows` against SciPy and NumPy: sparse, dense, and some of the rows of others."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import _core
from sthash.vectors.lengths import unit_rows
from sthash.vectors.rows import Rows


def sparse_matrix(n=30, m=12, seed=0):
    """A CSR matrix whose first rows are blank."""
    X = sp.random_array((n, m), density=0.3, format="csr", dtype=np.float32, rng=np.random.default_rng(seed))
    X = sp.csr_array(sp.diags_array((np.arange(n) > 1).astype(np.float32)) @ X)
    X.eliminate_zeros()
    X.sort_indices()
    return X.astype(np.float32)


def matrix_of(rows):
    """The rows as a plain array."""
    full = np.zeros((len(rows), rows.n_columns), dtype=rows.values.dtype)
    for place in range(len(rows)):
        columns, values = rows.row(place)
        full[place, columns] = values
    return full


def full(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.fixture(params=["sparse", "dense"])
def layout(request):
    return request.param


@pytest.fixture
def X(layout):
    return sparse_matrix().toarray() if layout == "dense" else sparse_matrix()


@pytest.fixture
def rows(X):
    return Rows.of(X)


def test_rows_of_a_matrix(X, rows):
    assert len(rows) == 30
    assert rows.n_columns == 12
    assert rows.is_dense != sp.issparse(X)
    assert (rows.indptr.dtype, rows.columns.dtype, rows.values.dtype) == (np.int64, np.int32, np.float32)
    np.testing.assert_array_equal(matrix_of(rows), full(X))
    np.testing.assert_array_equal(rows.to_scipy().toarray(), full(X))
    np.testing.assert_array_equal(np.diff(rows.indptr), [len(rows.row(place)[0]) for place in range(30)])


POSITIONS = {
    "some": [3, 4, 9, 20],
    "any order": [20, 3, 3, 0],
    "one after the other": list(range(5, 11)),
    "none": [],
    "all": list(range(30)),
}


@pytest.mark.parametrize("positions", POSITIONS)
def test_some_rows_are_those_of_the_matrix(X, rows, positions):
    chosen = POSITIONS[positions]
    some = rows.at(chosen)
    assert np.shares_memory(some.table_values, rows.table_values)
    np.testing.assert_array_equal(matrix_of(some), full(X)[chosen])
    np.testing.assert_array_equal(some.to_scipy().toarray(), full(X)[chosen])
    np.testing.assert_array_equal(matrix_of(some.at(np.arange(len(chosen))[::-1])), full(X)[chosen][::-1])
    np.testing.assert_allclose(some.sums(), full(X)[chosen].sum(axis=1, dtype=np.float64))
    both = Rows.stacked([some, rows])
    np.testing.assert_array_equal(matrix_of(both), np.concatenate([full(X)[chosen], full(X)]))


def test_a_part_has_the_rows_of_a_slice(X, rows):
    np.testing.assert_array_equal(matrix_of(rows.part(4, 9)), full(X)[4:9])
    np.testing.assert_array_equal(matrix_of(rows.part(4, 9).part(1, 99)), full(X)[5:9])
    np.testing.assert_array_equal(rows.part(4, 9).values.ravel(), Rows.of(X[4:9]).values.ravel())
    assert len(rows.part(7, 7)) == 0


def test_unit_rows_and_cosines(X, rows):
    unit = rows.unit()
    np.testing.assert_array_equal(matrix_of(unit), full(unit_rows(X)))
    left, right = np.random.default_rng(1).integers(0, 30, size=(2, 200))
    expected = (full(unit_rows(X)).astype(np.float64) @ full(unit_rows(X)).T)[left, right]
    np.testing.assert_allclose(unit.cosines(left, right, threads=2), expected, atol=1e-6)
    chosen = np.array([9, 4, 20])
    np.testing.assert_array_equal(unit.at(chosen).cosines(np.arange(3), np.arange(3)), unit.cosines(chosen, chosen))


def test_kernels_read_some_rows_as_they_read_a_copy(X, rows):
    chosen = [20, 3, 3, 0, 7]
    weights = np.random.default_rng(0).normal(size=(12, _core.lanes_in_group)).astype(np.float32)
    copied = _core.project(Rows.of(full(X)[chosen] if rows.is_dense else X[chosen]).view(), weights, threads=1)
    np.testing.assert_array_equal(_core.project(rows.at(chosen).view(), weights, threads=1), copied)
    first = _core.first_equal_rows(rows.at(chosen).view(), threads=2)
    assert first.tolist() == [0, 1, 1, 3, 4]


def test_the_view_is_made_once_and_some_rows_are_not_checked_again():
    rows = Rows.of(sparse_matrix())
    assert not rows.at([1]).checked
    assert rows.view() is rows.view()
    assert rows.at([1]).checked
    assert rows.at([1]).at([0]).checked


def test_rows_that_lead_out_of_bounds_are_refused():
    parts = np.array([0, 2]), np.array([0, 7], np.int32), np.ones(2, np.float32)
    with pytest.raises(ValueError, match=r"Row 0 leads out of bounds\. Make the rows again"):
        Rows.sparse(*parts, 7).view()
    Rows.sparse(*parts, 8).view()


def counts():
    return Rows.of(sp.csr_array(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 4]], dtype=np.int32)))


def test_counts():
    rows = counts()
    assert rows.values.dtype == np.int32
    assert rows.sums().tolist() == [3, 0, 7]
    assert rows.sums().dtype == np.int64
    assert rows.at([2, 0]).sums().tolist() == [7, 3]
    large = Rows.sparse(np.array([0, 2]), np.array([0, 1], np.int32), np.full(2, 2**31 - 1, np.int32), 2)
    assert large.sums().tolist() == [2**32 - 2]


def test_some_entries():
    rows = counts()
    assert rows.kept(np.ones(4, dtype=bool)) is rows
    assert matrix_of(rows.kept(rows.values > 1)).tolist() == [[2, 0, 0], [0, 0, 0], [0, 3, 4]]
    below = rows.below(2)
    assert matrix_of(below).tolist() == [[2, 0], [0, 0], [0, 3]]
    assert matrix_of(rows.at([2, 0]).below(2)).tolist() == [[0, 3], [2, 0]]
    assert rows.below(9).n_columns == 3


def test_rows_under_each_other_have_all_columns():
    wide = Rows.of(sp.csr_array(np.eye(4, dtype=np.int32)))
    assert matrix_of(Rows.stacked([counts(), wide])).shape == (7, 4)
    assert len(Rows.stacked([Rows.empty(3)])) == 0
    assert Rows.stacked([Rows.empty(3), wide]).values.dtype == np.int32


def test_a_matrix_in_disorder_is_put_in_order():
    messy = sp.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert Rows.of(messy).row(0)[0].tolist() == [0, 1]
    assert Rows.of(messy).row(0)[1].tolist() == [1, 2]
