"""Bad arguments get an error that names them, and leave the index as it was."""

import numpy as np
import pytest

from sthash import HammingIndex

CODES = np.array([[1, 0], [2, 0], [3, 1]], dtype=np.uint8)


@pytest.fixture
def index():
    index = HammingIndex(n_bits=10)
    index.add(CODES)
    yield index
    assert len(index) == 3
    assert index.codes([0, 1, 2]).tolist() == CODES.tolist()


@pytest.mark.parametrize(
    ("n_bits", "error"),
    [(0, ValueError), (-3, ValueError), (1025, ValueError), (2.0, TypeError), (True, TypeError)],
)
def test_n_bits(n_bits, error):
    with pytest.raises(error, match="n_bits"):
        HammingIndex(n_bits)


def test_strategy():
    with pytest.raises(ValueError, match=r"strategy='fast' .*auto, scan, tables"):
        HammingIndex(8, strategy="fast")


@pytest.mark.parametrize(
    ("codes", "error", "message"),
    [
        (CODES[:, :1], ValueError, "2 bytes per row for 10 bits, got 1"),
        (CODES[0], ValueError, "two dimensions"),
        (CODES.astype(np.int64), TypeError, "uint8, got int64"),
        (CODES.astype(bool), TypeError, "uint8, got bool"),
        (np.array([[0, 0], [0, 4]], dtype=np.uint8), ValueError, "zero beyond bit 10, but row 1"),
    ],
)
def test_codes(index, codes, error, message):
    for call in (
        lambda: index.add(codes),
        lambda: index.update(codes, np.arange(len(codes))),
        lambda: index.search(codes, 1),
        lambda: index.radius_search(codes, 1),
        lambda: index.count(codes, 1),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([1, 2], ValueError, "as many as the codes, got 2 for 3"),
        ([[10, 11, 12]], ValueError, "one dimension"),
        ([10, 11, -1], ValueError, "got -1"),
        ([10, 11, 2**63], ValueError, str(2**63)),
        ([10, 11, 2**80], ValueError, str(2**80)),
        (np.array([10, 11, 2**63], dtype=np.uint64), ValueError, str(2**63)),
        ([10.0, 11.0, 12.0], TypeError, "whole numbers"),
        (["a", "b", "c"], TypeError, "whole numbers"),
        ([10, 11, None], TypeError, "whole numbers"),
        ([True, False, True], TypeError, "whole numbers"),
    ],
)
def test_ids(index, ids, error, message):
    with pytest.raises(error, match=message):
        index.add(CODES, ids)
    with pytest.raises(error, match=message):
        index.update(CODES, ids)
    if "as many" not in message:
        with pytest.raises(error, match=message):
            index.remove(ids)
    if "as many" not in message and not isinstance(ids[0], bool):  # booleans are a mask
        with pytest.raises(error, match=message):
            index.search(CODES, 1, allowed=ids)


def test_masks(index):
    assert index.search(CODES, 1, allowed=[True, False, True])[0].tolist() == [[0], [0], [2]]
    for mask in (np.ones(2, dtype=bool), np.ones((3, 1), dtype=bool), np.zeros(0, dtype=bool)):
        with pytest.raises(ValueError, match=r"one value per id of the index, shape \(3,\)"):
            index.search(CODES, 1, allowed=mask)
    with pytest.raises(TypeError, match="whole numbers"):
        index.search(CODES, 1, allowed={True, False})


@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), (1.5, TypeError), ("3", TypeError), (None, TypeError)])
def test_radius(index, value, error):
    for call in (
        lambda: index.radius_search(CODES, value),
        lambda: index.count(CODES, value),
        lambda: index.pairs(value),
        lambda: index.pairs(value, index),
    ):
        with pytest.raises(error, match="radius"):
            call()
    if value is not None:
        with pytest.raises(error, match="radius"):
            index.search(CODES, 1, radius=value)


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (-1, ValueError), (1.0, TypeError)])
def test_k(index, k, error):
    with pytest.raises(error, match=r"k=.* must be an int"):
        index.search(CODES, k)


@pytest.mark.parametrize(("threads", "error"), [(0, ValueError), (-2, ValueError), ("2", TypeError)])
def test_threads(index, threads, error):
    with pytest.raises(error, match=r"threads=.* must be an int"):
        index.search(CODES, 1, threads=threads)


def test_any_number_of_threads(index):
    assert index.search(CODES, 1, threads=10**12)[0].tolist() == [[0], [1], [2]]


WEIGHTS = np.ones((3, 10), dtype=np.float32)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (WEIGHTS[:2], ValueError, r"\(3, 10\), got shape \(2, 10\)"),
        (WEIGHTS[:, :9], ValueError, "one column per bit"),
        (WEIGHTS[0], ValueError, r"got shape \(10,\)"),
        (-WEIGHTS, ValueError, "must not be negative or NaN, got -1.0. Take the margins' absolute values"),
        (WEIGHTS * np.nan, ValueError, "negative or NaN, got nan"),
        (WEIGHTS * np.inf, ValueError, "finite sum, got inf"),
        (WEIGHTS * 1e38, ValueError, "finite sum, got inf. Scale them down"),
        (WEIGHTS.astype(np.float64) * 1e300, ValueError, "finite sum"),
        (WEIGHTS.astype(str), TypeError, "weights must be numbers"),
        (WEIGHTS.astype(bool), TypeError, "weights must be numbers, got dtype bool"),
    ],
)
def test_weights(index, weights, error, message):
    with pytest.raises(error, match=message):
        index.search(CODES, 1, weights=weights)


def test_weights_of_other_types(index):
    for weights in (WEIGHTS.tolist(), WEIGHTS.astype(np.float64), WEIGHTS.astype(int), np.asfortranarray(WEIGHTS)):
        ids, distances = index.search(CODES, 2, weights=weights)
        assert ids[:, 0].tolist() == [0, 1, 2]
        assert distances.dtype == np.float32


def test_pairs_of_other_things(index):
    with pytest.raises(TypeError, match="other must be a HammingIndex, got str"):
        index.pairs(1, "another")
    with pytest.raises(ValueError, match="same n_bits, got 10 and 11"):
        index.pairs(1, HammingIndex(11))


def test_rows_that_are_not_contiguous(index):
    wide = np.zeros((3, 4), dtype=np.uint8)
    wide[:, ::2] = CODES
    assert index.search(wide[:, ::2], 1)[1].tolist() == [[0], [0], [0]]
    assert index.search(CODES[::-1], 1)[0].tolist() == [[2], [1], [0]]
