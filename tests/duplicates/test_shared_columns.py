"""Sets of hashes as sparse rows: equal to a slow twin, with any number of threads."""

from collections import Counter

import numpy as np
import pytest

from sthash import _core


def random_sets(n_sets, n_items, most, seed=0):
    rng = np.random.default_rng(seed)
    items = rng.integers(0, 2**64, n_items, dtype=np.uint64)
    return [np.unique(rng.choice(items, rng.integers(0, most + 1))) for _ in range(n_sets)]


@pytest.mark.parametrize(("n_sets", "n_items", "most"), [(0, 1, 1), (1, 5, 5), (50, 3, 3), (300, 2000, 40)])
@pytest.mark.parametrize("near", [False, True])
def test_shared_columns_equal_those_of_a_dict(n_sets, n_items, most, near):
    sets = random_sets(n_sets, n_items, most)
    if near:  # all items in one range
        sets = [np.unique(own >> np.uint64(48)) for own in sets]
    indptr = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    items = np.concatenate([np.zeros(0, np.uint64), *sets])
    results = [_core.shared_columns(indptr, items, threads=threads) for threads in (1, 2, 5)]
    bounds, columns, n_columns = results[0]
    for other in results[1:]:
        assert np.array_equal(other[0], bounds)
        assert np.array_equal(other[1], columns)
        assert other[2] == n_columns
    count = Counter(items.tolist())
    shared = [[item for item in own.tolist() if count[item] > 1] for own in sets]
    assert np.diff(bounds).tolist() == [len(own) for own in shared]
    column_of = dict(zip((item for own in shared for item in own), columns.tolist(), strict=True))
    assert [column_of[item] for own in shared for item in own] == columns.tolist()
    assert sorted(column_of.values()) == list(range(n_columns))


def test_many_ranges():
    """More items than one range takes, so that several are counted."""
    sets = random_sets(2000, 40_000, 60, seed=1)
    indptr = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    items = np.concatenate(sets)
    bounds, columns, n_columns = _core.shared_columns(indptr, items, threads=2)
    values, counts = np.unique(items, return_counts=True)
    is_shared = np.isin(items, values[counts > 1])
    assert n_columns == int((counts > 1).sum())
    assert bounds[-1] == is_shared.sum()
    pairs = np.unique(np.stack([items[is_shared], columns.astype(np.uint64)]), axis=1)
    assert pairs.shape[1] == n_columns == len(np.unique(pairs[0])) == len(np.unique(pairs[1]))
