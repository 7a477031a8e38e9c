"""Packed codes and what is measured on them, against plain loops over bits."""

import numpy as np
import pytest

from sthash import codes


@pytest.fixture(params=[1, 7, 8, 20, 64, 130])
def bits(request):
    return np.random.default_rng(request.param).random((60, request.param)) < 0.4


def test_pack_and_unpack(bits):
    packed = codes.pack(bits)
    for row, unpacked in zip(packed, bits, strict=True):
        for p, bit in enumerate(unpacked):
            assert bool(row[p // 8] >> (p % 8) & 1) == bit
    np.testing.assert_array_equal(codes.unpack(packed, bits.shape[1]), bits)


def test_prefix(bits):
    packed = codes.pack(bits)
    for n_bits in range(1, bits.shape[1] + 1):
        np.testing.assert_array_equal(codes.prefix(packed, n_bits), codes.pack(bits[:, :n_bits]))
    for n_bits in (0, 8 * packed.shape[1] + 1):
        with pytest.raises(ValueError, match="n_bits"):
            codes.prefix(packed, n_bits)


def test_distances(bits):
    packed = codes.pack(bits)
    wanted = (bits[:25, None, :] != bits[None, :, :]).sum(axis=2)
    np.testing.assert_array_equal(codes.distances(packed[:25], packed), wanted)
    assert codes.distances(packed[:0], packed).shape == (0, 60)
    with pytest.raises(ValueError, match="equally wide"):
        codes.distances(packed, np.zeros((1, 100), dtype=np.uint8))


def test_row_distances(bits):
    packed = codes.pack(bits)
    wanted = (bits != bits[::-1]).sum(axis=1)
    np.testing.assert_array_equal(codes.row_distances(packed, packed[::-1]), wanted)
    np.testing.assert_array_equal(codes.row_distances(packed, packed[7:8]), (bits != bits[7]).sum(axis=1))
    assert codes.row_distances(packed[:0], packed[:1]).shape == (0,)
    with pytest.raises(ValueError, match="60, or one, got 3"):
        codes.row_distances(packed, packed[:3])
    with pytest.raises(ValueError, match="equally wide"):
        codes.row_distances(packed, np.zeros((1, 100), dtype=np.uint8))


def test_as_words(bits):
    words = codes.as_words(codes.pack(bits))
    assert words.dtype == np.uint64
    assert words.shape == (60, -(-bits.shape[1] // 64))
    for row, unpacked in zip(words.tolist(), bits, strict=True):
        for p, bit in enumerate(unpacked):
            assert bool(row[p // 64] >> (p % 64) & 1) == bit
        assert sum(word.bit_count() for word in row) == unpacked.sum()


def test_balance_correlation_and_entropy(bits):
    packed, n_bits = codes.pack(bits), bits.shape[1]
    np.testing.assert_allclose(codes.bit_balance(packed, n_bits), [np.mean(column) for column in bits.T])
    if n_bits > 1:
        wanted = np.corrcoef(bits.T.astype(float))
        np.testing.assert_allclose(codes.bit_correlation(packed, n_bits), wanted, atol=1e-12)
    counts = {}
    for row in bits:
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    wanted = -sum(c / 60 * np.log2(c / 60) for c in counts.values())
    assert codes.code_entropy(packed) == pytest.approx(wanted)


def test_constant_bits():
    packed = codes.pack(np.array([[1, 0, 1], [1, 1, 0]], dtype=bool))
    correlation = codes.bit_correlation(packed, 3)
    assert correlation.tolist() == [[1, 0, 0], [0, 1, -1], [0, -1, 1]]
    assert codes.code_entropy(packed[:1]) == 0


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (np.zeros((2, 2), dtype=np.int8), TypeError, "uint8, got int8"),
        (np.zeros(2, dtype=np.uint8), ValueError, "two dimensions"),
        (np.zeros((2, 3), dtype=np.uint8), ValueError, "2 bytes per row for 12 bits, got 3"),
        (np.array([[0, 0], [0, 16]], dtype=np.uint8), ValueError, "beyond bit 12, but row 1"),
    ],
)
def test_check(wrong, error, message):
    with pytest.raises(error, match=message):
        codes.check(wrong, 12)


def test_nothing_to_measure():
    nothing = np.zeros((0, 1), dtype=np.uint8)
    for measure in (
        lambda: codes.bit_balance(nothing, 8),
        lambda: codes.bit_correlation(nothing, 8),
        lambda: codes.code_entropy(nothing),
    ):
        with pytest.raises(ValueError, match="at least one code"):
            measure()
