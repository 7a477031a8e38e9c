"""What the executors do for a join, without Spark."""

import numpy as np
import pytest

import sthash
from sthash.codes import as_words
from support.components import require

require("PyArrow")

import pyarrow as pa

from sthash.spark.arrow import binary_column, packed_codes
from sthash.spark.bands import BOTH, Bands, find_links, find_pairs, first_shared


def some_codes(n, n_bits, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.random((4, n_bits)) < 0.5
    return np.unique(sthash.codes.pack(centers[rng.integers(4, size=n)] ^ (rng.random((n, n_bits)) < 0.05)), axis=0)


def task(codes, bands, order):
    """All codes, once a band, as one task gets them, in some order."""
    n, count = len(codes), len(bands.limits)
    band = np.repeat(np.arange(count, dtype=np.int32), n)[order]
    columns = [pa.array(band), pa.array(np.zeros(n * count, np.int64)), pa.array(np.full(n * count, BOTH, np.int8))]
    every = binary_column(np.tile(codes, (count, 1))[order])
    return iter([pa.RecordBatch.from_arrays([*columns, every], ["band", "cell", "side", "code"])])


@pytest.mark.parametrize(("n_bits", "radius"), [(8, 0), (12, 2), (64, 3), (64, 9), (100, 3), (130, 0), (10, 10)])
def test_bands_cover_all_bits_and_codes_within_the_radius_share_one(n_bits, radius):
    bands = Bands(n_bits, radius)
    codes = some_codes(150, n_bits)
    buckets = bands.buckets(codes)
    near = np.argwhere(sthash.codes.distances(codes, codes) <= radius)
    shared = buckets[:, near[:, 0]] == buckets[:, near[:, 1]]
    assert shared.any(axis=0).all()
    masks = bands.masks()
    if masks.any():
        assert (np.bitwise_or.reduce(masks, axis=0) == as_words(sthash.codes.pack(np.ones((1, n_bits))))).all()
    first = first_shared(as_words(codes)[near[:, 0]] ^ as_words(codes)[near[:, 1]], masks)
    assert (first < len(masks)).all()


@pytest.mark.parametrize(("n_bits", "radius"), [(12, 2), (64, 3), (100, 3), (10, 10)])
def test_a_task_gives_each_pair_once_whatever_the_order_of_its_rows(n_bits, radius):
    bands = Bands(n_bits, radius)
    codes = some_codes(120, n_bits)
    n = len(codes) * len(bands.limits)
    given = []
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(n)
        batches = list(find_pairs(task(codes, bands, order), bands))
        given.append([tuple(row.values()) for batch in batches for row in batch.to_pylist()])
        links = [row for batch in find_links(task(codes, bands, order), bands) for row in batch.to_pylist()]
        given.append(links)
    assert given[0] == given[2]
    assert given[1] == given[3]
    number = {code.tobytes(): place for place, code in enumerate(codes)}
    distances = sthash.codes.distances(codes, codes)
    expected = sorted((int(a), int(b), int(distances[a, b])) for a, b in np.argwhere(np.triu(distances <= radius, 1)))
    assert sorted((*sorted((number[a], number[b])), distance) for a, b, distance in given[0]) == expected


def test_slices_of_columns_are_read_right():
    codes = some_codes(20, 24)
    column = binary_column(codes)
    assert (packed_codes(column[5:9], 3, "code") == codes[5:9]).all()
    assert packed_codes(column[:0], 3, "code").shape == (0, 3)
    assert (packed_codes(column.cast(pa.large_binary()), None, "code") == codes).all()
    with pytest.raises(ValueError, match="1 null value"):
        packed_codes(pa.array([b"abc", None]), 3, "code")
