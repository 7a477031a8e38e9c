"""Sums, norms and unit length against the plain formulae, sparse and dense alike."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash.vectors.lengths import row_sums, rows_of_unit_length, scaled_rows, squared_norms, unit_factors, unit_rows


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


def test_rows_of_unit_length_are_not_copied():
    unit = unit_rows(rows_of(np.float32).toarray()[1:7])
    assert rows_of_unit_length(unit) is unit
    np.testing.assert_array_equal(rows_of_unit_length(2 * unit), unit_rows(2 * unit))
