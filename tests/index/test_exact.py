"""Every way of searching gives what its obvious twin gives. Also run under each SIMD path by test_simd.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sthash import HammingIndex
from support.index_twin import Twin, assert_same_answers, random_codes

WIDTHS = [
    1,
    3,
    8,
    15,
    16,
    17,
    24,
    25,
    32,
    33,
    48,
    63,
    64,
    65,
    96,
    127,
    128,
    129,
    192,
    200,
    256,
    320,
    513,
    1024,
]
STRATEGIES = ["auto", "scan", "tables"]


def filled(n_bits, codes, strategy, ids=None):
    index, twin = HammingIndex(n_bits, strategy=strategy), Twin(n_bits)
    index.add(codes, ids)
    twin.add(codes, ids)
    return index, twin


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bits", WIDTHS)
def test_all_widths(n_bits, strategy):
    rng = np.random.default_rng(n_bits)
    codes = random_codes(rng, 1100, n_bits, clusters=5)
    index, twin = filled(n_bits, codes, strategy)
    queries = np.concatenate([codes[:10], random_codes(rng, 5, n_bits)])
    for part in (queries, queries[9:11]):
        for k, radius in ((1, 0), (7, 3), (100, n_bits // 4)):
            assert_same_answers(index, twin, part, k, radius)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bits", [8, 64, 128])
def test_radius_from_none_to_everything(n_bits, strategy):
    rng = np.random.default_rng(1)
    codes = random_codes(rng, 700, n_bits)
    index, twin = filled(n_bits, codes, strategy)
    for radius in sorted({0, 1, 2, 5, n_bits // 2, n_bits - 1, n_bits, n_bits + 5}):
        assert_same_answers(index, twin, codes[:15], 3, radius)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bits", [4, 64, 100])
def test_all_codes_equal_and_k_beyond_n(n_bits, strategy):
    codes = np.repeat(random_codes(np.random.default_rng(2), 1, n_bits), 3000, axis=0)
    ids = np.random.default_rng(3).permutation(10_000)[:3000]
    index, twin = filled(n_bits, codes, strategy, ids)
    others = random_codes(np.random.default_rng(9), 2, n_bits)
    assert_same_answers(index, twin, np.concatenate([codes[:14], others]), 10, 1)
    assert_same_answers(index, twin, codes[:1], 5000, 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bits", [1, 64, 300])
def test_empty_index_and_no_queries(n_bits, strategy):
    index, twin = HammingIndex(n_bits, strategy=strategy), Twin(n_bits)
    queries = random_codes(np.random.default_rng(4), 20, n_bits)
    assert_same_answers(index, twin, queries, 3, 2)
    index.add(queries)
    twin.add(queries)
    assert_same_answers(index, twin, queries[:0], 3, 2)
    assert index.search(queries[:0], 3)[0].shape == (0, 3)


@pytest.fixture(scope="module")
def large():
    """Codes on several pages with ids in no order, some to be removed, and the true neighbors."""
    rng = np.random.default_rng(5)
    n = 140_000
    codes = random_codes(rng, n, 32, clusters=3000)
    ids = rng.permutation(2 * n)[:n]
    gone, queries = ids[: n // 10], codes[rng.permutation(n)[:70]]
    left = ids[n // 10 :]
    ranked = []
    for query in queries:
        true = np.bitwise_count(codes[n // 10 :].view(np.uint32) ^ query.view(np.uint32))[:, 0]
        order = np.lexsort((left, true))[:5000]
        ranked.append((left[order], true[order]))
    return codes, ids, gone, queries, ranked


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_pages_own_ids_holes_and_threads(large, strategy, threads):
    codes, ids, gone, queries, ranked = large
    index = HammingIndex(32, strategy=strategy)
    index.add(codes, ids)
    index.remove(gone)
    for part in (queries, queries[:4]):
        found, distances = index.search(part, 10, threads=threads)
        lims, near, _ = index.radius_search(part, 2, threads=threads)
        for row, (true_ids, true) in enumerate(ranked[: len(part)]):
            np.testing.assert_array_equal(found[row], true_ids[:10])
            np.testing.assert_array_equal(distances[row], true[:10])
            np.testing.assert_array_equal(near[lims[row] : lims[row + 1]], true_ids[true <= 2])


@pytest.mark.parametrize("n_bits", [20, 64, 150])
def test_tables_and_tail_together(n_bits):
    rng = np.random.default_rng(6)
    codes = random_codes(rng, 9000, n_bits, clusters=300)
    index, twin = filled(n_bits, codes[:6000], "auto")
    index.build_tables()
    index.add(codes[6000:])
    twin.add(codes[6000:])
    assert index.stats.in_tables == 6000
    for part in (codes[5990:6010], codes[:2]):
        assert_same_answers(index, twin, part, 10, 2)
    index.build_tables()
    assert index.stats.in_tables == 9000
    assert_same_answers(index, twin, codes[5990:6010], 10, 2)


@pytest.mark.parametrize("n_bits", [9, 64, 130])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_allowed(n_bits, strategy):
    rng = np.random.default_rng(7)
    codes = random_codes(rng, 2000, n_bits, clusters=20)
    ids = rng.permutation(9000)[:2000]
    index, twin = filled(n_bits, codes, strategy, ids)
    doubled = np.concatenate([ids[:3], ids[:3], [9001, 9002]])
    for allowed in (ids[:500], doubled, [], [9001], ids, set(ids[:40].tolist())):
        assert_same_answers(index, twin, codes[:16], 5, 2, allowed=allowed)
        assert_same_answers(index, twin, codes[:1], 5, 2, allowed=allowed)


def test_tables_are_built_once_they_pay_and_answers_stay_the_same():
    rng = np.random.default_rng(8)
    codes = random_codes(rng, 100_000, 64, clusters=500)
    index, scan = HammingIndex(64), HammingIndex(64, strategy="scan")
    index.add(codes)
    scan.add(codes)
    for start in range(0, 40_000, 1000):
        queries = codes[start : start + 1000]
        for one, other in zip(index.radius_search(queries, 2), scan.radius_search(queries, 2), strict=True):
            np.testing.assert_array_equal(one, other)
    stats = index.stats
    assert stats.in_tables == 100_000
    assert stats.probed > 0
    assert stats.scanned_in_batches > 0
    assert scan.stats.table_bytes == 0


@settings(max_examples=80, deadline=None)
@given(
    n_bits=st.integers(1, 1024),
    n=st.integers(0, 1400),
    queries=st.sampled_from([1, 2, 11, 12, 40]),
    clusters=st.sampled_from([0, 1, 3, 50]),
    k=st.integers(1, 60),
    radius=st.integers(0, 1100),
    strategy=st.sampled_from(STRATEGIES),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_index(n_bits, n, queries, clusters, k, radius, strategy, seed):
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, n + queries, n_bits, clusters)
    index, twin = filled(n_bits, codes[:n], strategy)
    if radius > n_bits:
        radius %= 8
    assert_same_answers(index, twin, codes[n:], k, radius)
