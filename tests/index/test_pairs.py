"""Joins: each pair once, whatever the size of the blocks."""

import numpy as np
import pytest

from sthash import HammingIndex
from support.index_twin import Twin, random_codes


def collected(blocks):
    result = []
    for block in blocks:
        assert len(block.left) == len(block.right) == len(block.distances) > 0
        result += zip(block.left.tolist(), block.right.tolist(), block.distances.tolist(), strict=True)
    assert len(result) == len(set(result))
    return set(result)


@pytest.mark.parametrize("strategy", ["auto", "scan", "tables"])
@pytest.mark.parametrize("n_bits", [12, 64, 140])
@pytest.mark.parametrize("own_ids", [False, True])
def test_self_join(strategy, n_bits, own_ids):
    rng = np.random.default_rng(n_bits)
    codes = random_codes(rng, 1200, n_bits, clusters=100)
    ids = rng.permutation(5000)[:1200] if own_ids else None
    index, twin = HammingIndex(n_bits, strategy=strategy), Twin(n_bits)
    index.add(codes, ids)
    twin.add(codes, ids)
    gone = rng.permutation(sorted(twin.held))[:200]
    index.remove(gone)
    twin.remove(gone)
    for radius in (0, 2, 5):
        assert collected(index.pairs(radius)) == twin.pairs(radius)
    assert collected(index.pairs(radius=1, threads=1)) == twin.pairs(1)


@pytest.mark.parametrize("strategy", ["auto", "scan", "tables"])
def test_join_with_another_index(strategy):
    rng = np.random.default_rng(1)
    left, right, twin = HammingIndex(48, strategy=strategy), HammingIndex(48, strategy=strategy), Twin(48)
    codes = random_codes(rng, 1500, 48, clusters=60)
    left.add(codes[:500], np.arange(500) * 3)
    right.add(codes[500:])
    twin.add(codes[500:])
    wanted = set()
    for key, code in zip(np.arange(500) * 3, codes[:500], strict=True):
        found, how_far = twin.ranked(code)
        wanted |= {(int(key), int(o), int(d)) for o, d in zip(found, how_far, strict=True) if d <= 3}
    assert collected(left.pairs(3, right)) == wanted


@pytest.mark.parametrize("strategy", ["scan", "tables"])
def test_blocks_stay_small_when_everything_is_a_pair(strategy):
    n = 4000
    index = HammingIndex(16, strategy=strategy)
    index.add(np.zeros((n, 2), dtype=np.uint8))
    total = 0
    for block in index.pairs(radius=0):
        assert len(block.left) <= 1 << 21
        assert (block.left < block.right).all()
        total += len(block.left)
    assert total == n * (n - 1) // 2


def test_join_sees_the_index_as_it_was_at_the_call():
    codes = random_codes(np.random.default_rng(2), 300, 32, clusters=4)
    index, twin = HammingIndex(32), Twin(32)
    index.add(codes)
    twin.add(codes)
    blocks = index.pairs(4)
    index.remove(np.arange(100))
    index.add(codes)
    assert collected(blocks) == twin.pairs(4)


def test_join_of_nothing():
    index, other = HammingIndex(8), HammingIndex(8)
    assert collected(index.pairs(3)) == set()
    other.add(np.zeros((3, 1), dtype=np.uint8))
    assert collected(index.pairs(3, other)) == set()
    assert collected(other.pairs(3, index)) == set()
