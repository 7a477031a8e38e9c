"""Term counts as bytes: rows and lists come back as they were, and no bytes do harm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sthash import _core

LARGEST = 2**31 - 1
ROWS = st.lists(st.dictionaries(st.integers(0, LARGEST - 1), st.integers(1, LARGEST), max_size=8), max_size=6)


def arrays(rows):
    """Give rows, which are dicts of columns to counts, as the parts of a CSR matrix."""
    ordered = [sorted(row.items()) for row in rows]
    indptr = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
    pairs = np.array([pair for row in ordered for pair in row], dtype=np.int32).reshape(-1, 2)
    return indptr, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def varint(value):
    """Write a number with seven bits per byte."""
    content = b""
    while value >= 128:
        content, value = content + bytes([value % 128 | 128]), value // 128
    return content + bytes([value])


def packed_pairs(pairs):
    """Write pairs as the header of the kernel says: the slow, obvious twin."""
    content, last = b"", -1
    for number, count in pairs:
        content += varint(2 * (number - last - 1) + (count > 1))
        content += varint(count - 2) if count > 1 else b""
        last = number
    return content


def unpack(content, offsets=None, n_columns=LARGEST, threads=1):
    offsets = [0, len(content)] if offsets is None else offsets
    array = np.frombuffer(content, dtype=np.uint8)
    return _core.unpack_counts(array, np.array(offsets, dtype=np.int64), n_columns=n_columns, threads=threads)


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@given(ROWS)
def test_rows_come_back(rows):
    parts = arrays(rows)
    content, offsets = _core.pack_counts(*parts, threads=2)
    assert content.tobytes() == b"".join(packed_pairs(sorted(row.items())) for row in rows)
    assert same(unpack(content.tobytes(), offsets, threads=2), parts)


@given(ROWS, st.sets(st.integers(0, 2**62), min_size=6, max_size=6))
def test_lists_are_the_rows_turned(rows, ids):
    ids = np.array(sorted(ids)[: len(rows)], dtype=np.int64)
    rows = [{column % 1000: count for column, count in row.items()} for row in rows]
    for threads in (1, 3):
        columns, content, offsets = _core.pack_postings(*arrays(rows), ids, n_columns=1000, threads=threads)
        assert columns.tolist() == sorted({column for row in rows for column in row})
        for place, column in enumerate(columns):
            pairs = [(int(id_), row[column]) for id_, row in zip(ids, rows, strict=True) if column in row]
            assert content[offsets[place] : offsets[place + 1]].tobytes() == packed_pairs(pairs)


def test_thousands_of_rows_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 40, 5000)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.concatenate([np.sort(rng.choice(9000, size, replace=False)) for size in sizes]).astype(np.int32)
    counts = rng.geometric(0.6, len(columns)).astype(np.int32)
    rows = (indptr, columns, counts)
    one = _core.pack_counts(*rows, threads=1)
    assert same(one, _core.pack_counts(*rows, threads=3))
    assert same(rows, _core.unpack_counts(*one, n_columns=9000, threads=3))
    ids = np.cumsum(rng.integers(1, 5, 5000))
    lists = _core.pack_postings(*rows, ids, n_columns=9000, threads=1)
    assert same(lists, _core.pack_postings(*rows, ids, n_columns=9000, threads=4))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x80", "ends within a number"),
        (b"\x01", "ends within a number"),
        (b"\x00\xff\xff", "ends within a number"),
        (b"\x80\x00", "longer than it needs to be"),
        (b"\xff" * 9 + b"\x02", "too large"),
        (b"\xff" * 11, "too large"),
        (varint(2 * LARGEST), "too large"),
        (varint(2**64 - 2), "too large"),
        (b"\x00" + varint(2 * (LARGEST - 1)), "too large"),
        (b"\x01" + varint(LARGEST - 1), "count is too large"),
        (b"\x01" + varint(2**63), "count is too large"),
    ],
)
def test_malformed_bytes_are_refused_with_their_row(content, why):
    for threads in (1, 3):
        with pytest.raises(ValueError, match=rf"Row 5000 of the counts is malformed: .*{why}"):
            unpack(content * 2, [0] * 5001 + [len(content), 2 * len(content)], threads=threads)


def test_columns_end_where_they_are_said_to():
    assert unpack(packed_pairs([(9, 1)]), n_columns=10)[1].tolist() == [9]
    for n_columns in (9, 0, -5):
        with pytest.raises(ValueError, match=r"Row 0 .* a number is too large"):
            unpack(packed_pairs([(9, 1)]), n_columns=n_columns)


@pytest.mark.parametrize("offsets", [[0, 2, 1], [-1, 2], [0, 4], [0, 2**62], [2**62, 2**62 + 1], [3, -(2**62)]])
def test_offsets_out_of_range_are_refused(offsets):
    with pytest.raises(ValueError, match="out of range"):
        unpack(b"\x00\x00\x00", offsets)


@given(st.binary(max_size=40))
def test_any_bytes_are_refused_or_are_what_packing_gives(content):
    try:
        rows = unpack(content)
    except ValueError as error:
        assert "Row 0 of the counts is malformed" in str(error)  # noqa: PT017 both ways are right
    else:
        assert _core.pack_counts(*rows, threads=1)[0].tobytes() == content


@pytest.mark.parametrize(
    ("indptr", "columns", "counts", "why"),
    [
        ([0, 2], [3, 3], [1, 1], "Row 0 .* do not ascend"),
        ([0, 1, 3], [3, 5, 4], [1, 1, 1], "Row 1 .* do not ascend"),
        ([0, 1], [-1], [1], "Row 0 .* do not ascend from 0"),
        ([0, 1], [2], [0], "Row 0 .* a count below 1"),
        ([0, 2], [2], [1], "Row 0 .* out of range"),
        ([-1, 1], [2], [1], "Row 0"),
        ([0, 1, 0], [2], [1], "Row 1 .* out of range"),
        ([0, 2**62, 1], [2], [1], "Row 0 .* out of range"),
        ([0, 1], [2], [1, 1], "as many counts as columns"),
        ([], [], [], "one entry more"),
    ],
)
def test_rows_that_are_none_are_refused(indptr, columns, counts, why):
    rows = np.array(indptr, np.int64), np.array(columns, np.int32), np.array(counts, np.int32)
    ids = np.arange(max(len(indptr) - 1, 0), dtype=np.int64)
    with pytest.raises(ValueError, match=why):
        _core.pack_counts(*rows, threads=1)
    with pytest.raises(ValueError, match=why):
        _core.pack_postings(*rows, ids, n_columns=100, threads=1)


def test_ids_and_columns_of_postings_are_checked():
    rows = arrays([{2: 1}, {3: 1}])
    for ids in ([4, 4], [5, 4], [-1, 4]):
        with pytest.raises(ValueError, match="Ids must ascend"):
            _core.pack_postings(*rows, np.array(ids), n_columns=4, threads=1)
    with pytest.raises(ValueError, match="as many ids as rows"):
        _core.pack_postings(*rows, np.array([1]), n_columns=4, threads=1)
    with pytest.raises(ValueError, match=r"Row 1 .* column too many"):
        _core.pack_postings(*rows, np.array([1, 2]), n_columns=3, threads=1)


def test_any_limit_of_the_columns():
    """The sanitizers of make fuzz do not let a limit pass that overflows."""
    assert unpack(varint(2 * 5), n_columns=2**63 - 1)[1].tolist() == [5]
    with pytest.raises(ValueError, match="too large"):
        unpack(varint(2**64 - 2), n_columns=2**63 - 1)
