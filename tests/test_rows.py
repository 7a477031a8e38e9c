"""Rows against the plain formulae, sparse and dense alike."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash.rows import (
    check_dense,
    check_vectors,
    check_width,
    row_parts,
    row_sums,
    scaled_rows,
    squared_norms,
    unit_factors,
    unit_rows,
)


def rows_of(dtype, seed=0):
    """Rows of many lengths, some of them blank."""
    X = sp.random_array((60, 40), density=0.3, format="csr", rng=np.random.default_rng(seed)).astype(dtype)
    X = sp.csr_array(sp.diags_array(np.arange(60) % 7.0) @ X).astype(dtype)
    X.eliminate_zeros()
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows_are_divided_in_double_precision(dtype):
    X = rows_of(dtype)
    D = X.toarray()
    norms = np.array([np.sqrt(sum(float(value) ** 2 for value in row)) for row in D])
    wanted = D / np.where(norms > 0, norms, 1)[:, None]
    for unit in (unit_rows(X).toarray(), unit_rows(D), unit_rows(np.asfortranarray(D))):
        assert unit.dtype == dtype
        np.testing.assert_allclose(unit, wanted, rtol=2e-7 if dtype == np.float32 else 1e-15)
        assert not unit[norms == 0].any()
    assert np.array_equal(X.toarray(), D)


def test_sums_and_norms_are_those_of_scipy_to_the_bit():
    X = rows_of(np.float32)
    assert np.array_equal(row_sums(X.indptr, X.data.astype(np.float64)), X.astype(np.float64).sum(axis=1))
    assert np.array_equal(squared_norms(X), X.astype(np.float64).power(2).sum(axis=1))
    np.testing.assert_allclose(squared_norms(X.toarray()), squared_norms(X), rtol=1e-14)
    assert row_sums(np.zeros(1, np.int64), np.zeros(0)).shape == (0,)


def test_scaled_rows():
    X = rows_of(np.float32)
    factors = unit_factors(squared_norms(X))
    assert (factors[squared_norms(X) == 0] == 1).all()
    wanted = X.toarray() * factors.astype(np.float32)[:, None]
    assert np.array_equal(scaled_rows(X, factors).toarray(), wanted)
    assert np.array_equal(scaled_rows(X.toarray(), factors), wanted)


def test_parts_put_together_give_the_matrix_again():
    X = rows_of(np.float32)
    parts = row_parts(X)
    assert not parts.dense
    assert (parts.indptr.dtype, parts.indices.dtype) == (np.int64, np.int32)
    again = sp.csr_array((parts.values, parts.indices, parts.indptr), shape=X.shape)
    assert (again != X).nnz == 0
    parts = row_parts(X.toarray())
    assert parts.dense
    assert np.array_equal(parts.values.reshape(60, -1), X.toarray())
    assert np.array_equal(parts.indices, np.arange(40))


def test_checks():
    messy = sp.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert check_vectors(messy).toarray().tolist() == [[1, 2]]
    assert check_dense([1, 2]).shape == (1, 2)
    with pytest.raises(ValueError, match="3 values each, got shape"):
        check_dense([[1, 2]], width=3)
    with pytest.raises(ValueError, match="finite"):
        check_dense([[1, np.nan]])
    with pytest.raises(ValueError, match="2 features, but this model learned from 3"):
        check_width(np.ones((1, 2)), 3)
