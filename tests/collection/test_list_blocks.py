"""Blocks of posting lists hold what was put into them, and are safe from any bytes."""

import numpy as np
import pytest

from sthash import _core


def packed(lists):
    """Bytes by column, as `_core.pack_postings` gives them."""
    bounds = np.concatenate([[0], np.cumsum([len(content) for content in lists.values()], dtype=np.int64)])
    content = np.frombuffer(b"".join(lists.values()), dtype=np.uint8)
    return np.array(list(lists), dtype=np.int32), content, bounds.astype(np.int64)


def blocks_of(lists, most):
    columns, content, bounds = _core.pack_list_blocks(*packed(lists), most=most)
    whole = content.tobytes()
    return {column: whole[bounds[i] : bounds[i + 1]] for i, column in enumerate(columns.tolist())}


def random_lists(seed):
    rng = np.random.default_rng(seed)
    columns = np.unique(rng.integers(0, rng.choice([500, 1 << 31]), 300))
    return {int(column): rng.bytes(int(rng.choice([1, 3, 40, 400]))) for column in columns}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 100, 980, 1 << 40])
def test_lists_come_back(seed, most):
    lists = random_lists(seed)
    blocks = blocks_of(lists, most)
    found = {}
    for first, block in blocks.items():
        columns, content, bounds = _core.unpack_list_block(block, first=first)
        whole = content.tobytes()
        own = {column: whole[bounds[i] : bounds[i + 1]] for i, column in enumerate(columns.tolist())}
        assert columns[0] == first
        assert len(block) <= most or len(own) == 1
        for column in (*own, first + 1, columns[-1] - 1):
            assert _core.list_in_block(block, first=first, column=column) == own.get(column)
        found |= own
    assert found == lists


def test_no_lists():
    assert blocks_of({}, 100) == {}
    assert _core.list_in_block(b"", first=3, column=3) is None


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (b"\x00", "ends within a number"),
        (b"\x80" * 9 + b"\x01\x00", "ends within a number"),
        (b"\x00\x05ab", "ends within a list"),
        (b"\xff\xff\xff\xff\x0f\x00", "out of range"),
        (b"\xff" * 8 + b"\x7f\x00", "out of range"),
        (b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "ends within a list"),
    ],
)
def test_forged_blocks_are_refused(block, message):
    with pytest.raises(ValueError, match=message):
        _core.unpack_list_block(block, first=7)
    with pytest.raises(ValueError, match=message):
        _core.list_in_block(block, first=7, column=(1 << 31) - 1)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="ascend"):
        _core.pack_list_blocks(*packed({5: b"a"} | {4: b"b"}), most=10)
    columns, content, bounds = packed({1: b"a", 2: b"b"})
    for wrong in (bounds[:-1], bounds + 1, bounds[::-1].copy()):
        with pytest.raises(ValueError, match=r"offsets|bounds|[Bb]eg"):
            _core.pack_list_blocks(columns, content, wrong, most=10)
    with pytest.raises(ValueError, match="column"):
        _core.list_in_block(b"", first=-1, column=3)
