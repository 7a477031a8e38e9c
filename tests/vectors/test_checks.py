"""What is refused of vectors, and in which words."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash.vectors.checks import check_rows, check_vectors, check_width

BAD = {
    "NaN": ([[1, np.nan]], {}, "vectors must be finite, got NaN"),
    "infinity": ([[1, np.inf]], {}, "vectors must be finite, got NaN, infinity"),
    "too large": ([[1, 1e300]], {}, "a number that float32 cannot hold"),
    "another width": ([[1, 2]], {"width": 3}, "must have 3 values, got 2. Make all vectors with the same model"),
    "no values": (np.ones((2, 0)), {}, "at least one value"),
    "a number": (1.5, {}, r"the rows of an array, got the shape \(\)"),
    "three axes": (np.ones((2, 2, 2)), {}, r"got the shape \(2, 2, 2\)"),
    "zero": ([[1, 2], [0, 0]], {"metric": "cosine"}, r"must not be zero.*\(row 1\)\. Leave it out, or use metric="),
    "too long": ([[1e30, 2]], {"metric": "ip"}, r"at most 1e\+18 for inner products, got 1e\+30. Scale"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_compared_is_refused(kind):
    vectors, how, message = BAD[kind]
    with pytest.raises(ValueError, match=message):
        check_rows(vectors, **how)


def test_numbers_of_rows_count_from_the_first():
    rows = np.ones((20_000, 2), dtype=np.float32)
    rows[17_001] = 0
    with pytest.raises(ValueError, match="row 17001"):
        check_rows(rows, "cosine")


def test_what_is_fine():
    rows = np.ones((3, 2), dtype=np.float32)
    assert check_rows(rows) is rows
    assert check_rows(rows, "cosine", width=2) is rows
    assert check_rows([1, 2]).shape == (1, 2)
    assert check_rows(np.zeros((0, 4)), "ip").shape == (0, 4)
    assert check_rows([[0, 0]]).tolist() == [[0, 0]]
    assert check_rows([[0, 0]], "ip").tolist() == [[0, 0]]
    assert check_rows([[0, 0]], "cosine", zeros=True).tolist() == [[0, 0]]
    assert check_rows([[1e30, 2]], "cosine").dtype == np.float32
    assert check_rows(np.asfortranarray(rows)).flags.c_contiguous


def test_rows_of_hashers_may_be_sparse():
    messy = sp.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert check_vectors(messy).toarray().tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="2 features, but this model learned from 3"):
        check_width(np.ones((1, 2)), 3)
