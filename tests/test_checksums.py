"""Checksums of rows: those of zlib, value by value."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sthash.checksums import encode_text, row_checksum

VALUES = st.none() | st.integers() | st.binary(max_size=100) | st.text(st.characters(codec=None), max_size=40)


def slow_twin(values):
    total = 0
    for value in values:
        match value:
            case bytes():
                total = zlib.crc32(value, total ^ len(value))
            case int():
                total = zlib.crc32(b"%d" % value, total ^ 0x80000000)
            case str():
                total = zlib.crc32(encode_text(value), total ^ 0xE0000000)
            case None:
                total ^= 0x3FFFFFFF
    return total


@given(st.lists(VALUES, max_size=6).map(tuple))
def test_sums_are_those_of_zlib(values):
    assert row_checksum(values) == slow_twin(values)


def test_lone_surrogates_and_large_numbers_have_sums():
    values = ("\ud800", 1 << 80, -(1 << 63), -(1 << 70), bytes(range(256)) * 300)
    assert row_checksum(values) == slow_twin(values)


@pytest.mark.parametrize("value", [1.5, True, bytearray(b"x"), ["x"]])
def test_other_values_have_none(value):
    with pytest.raises(TypeError, match=f"no checksum for a {type(value).__name__}"):
        row_checksum((1, value))
