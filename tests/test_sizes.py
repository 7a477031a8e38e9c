"""Amounts of memory, as people write them."""

import pytest

from sthash.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4GB", 4 * 10**9),
        ("4GiB", 4 * 2**30),
        ("4G", 4 * 10**9),
        ("4gib", 4 * 2**30),
        ("1.5 MB", 1_500_000),
        ("512k", 512_000),
        ("2TiB", 2 * 2**40),
        ("100", 100),
        ("100B", 100),
        (" 7 KiB ", 7 * 1024),
        (12345, 12345),
    ],
)
def test_one_meaning_everywhere(text, count):
    assert parse_size("memory", text) == count


@pytest.mark.parametrize(
    "text", ["", "GB", "4 pounds", "-4GB", "4GBB", "4iB", "1e9", "٤GB", "nan", "0", 0, -1, "0.0001B"]
)
def test_no_amount(text):
    with pytest.raises(ValueError, match=r"memory=.*[Uu]se .*500MB"):
        parse_size("memory", text)


@pytest.mark.parametrize("value", [4.5, True, None, [1]])
def test_no_amount_at_all(value):
    with pytest.raises(TypeError, match=r"memory=.* must be a number of bytes, or a str such as '4GB'"):
        parse_size("memory", value)


def test_what_people_read():
    assert [format_size(count) for count in (1, 20 << 20, 12 << 30)] == ["1 KiB", "20 MiB", "12 GiB"]
