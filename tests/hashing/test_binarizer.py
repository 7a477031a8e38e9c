"""Median thresholds: balance, and the rule for ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sthash.hashing import median_bits


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 4)), elements=st.integers(-3, 3)))
def test_the_rule(values):
    bits = median_bits(values)
    for column, on in zip(values.T, bits.T, strict=True):
        n, median = len(column), np.median(column)
        assert on[column > median].all()
        assert not on[column < median].any()
        tied = on[column == median]
        assert tied.all() or not tied.any()
        if np.ptp(column) == 0:
            assert not on.any()
        else:
            balances = {
                name: abs(2 * choice.sum() - n) for name, choice in (("off", column > median), ("on", column >= median))
            }
            assert abs(2 * on.sum() - n) == min(balances.values()) or (column >= median).all()


def test_distinct_values_are_balanced():
    values = np.random.default_rng(0).normal(size=(101, 8))
    assert (median_bits(values).sum(axis=0) == 50).all()
    assert (median_bits(values[:100]).sum(axis=0) == 50).all()


def test_ties_go_to_the_better_balance():
    assert median_bits(np.array([[0.0], [1], [1], [1], [2]])).ravel().tolist() == [False, False, False, False, True]
    assert median_bits(np.array([[0.0], [1], [1], [1]])).ravel().tolist() == [False, True, True, True]


def test_shapes():
    assert median_bits(np.empty((0, 3))).shape == (0, 3)
    with pytest.raises(ValueError, match="two dimensions"):
        median_bits(np.zeros(3))


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(-3, 3)), st.data())
def test_a_row_of_weight_two_is_two_rows(values, data):
    weights = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(0, 3)).filter(np.any))
    weighted, repeated = median_bits(values, weights), median_bits(np.repeat(values, weights, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted, weights, axis=0), repeated)
    np.testing.assert_array_equal(median_bits(values, np.ones(len(values))), median_bits(values))
