"""Search with weights gives what its obvious twin gives. Also run under each SIMD path by test_simd.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sthash import HammingIndex
from support.index_twin import Twin, assert_same_weighted_answers, random_codes, weighted_distance

WIDTHS = [1, 5, 8, 16, 17, 32, 36, 37, 63, 64, 65, 100, 128, 129, 192, 256, 320, 1024]


def margins(rng, shape, kind):
    """Weights as margins are; all the same; few different, so that there are ties; of all sizes; mostly zero."""
    return {
        "margins": lambda: np.abs(rng.normal(size=shape)),
        "ones": lambda: np.ones(shape),
        "ties": lambda: rng.integers(0, 3, shape),
        "wild": lambda: np.exp(rng.normal(size=shape) * 12),
        "sparse": lambda: rng.random(shape) * (rng.random(shape) < 0.05),
        "none": lambda: np.zeros(shape),
    }[kind]().astype(np.float32)


KINDS = ["margins", "ones", "ties", "wild", "sparse", "none"]


def filled(n_bits, codes, ids=None, strategy="auto"):
    index, twin = HammingIndex(n_bits, strategy=strategy), Twin(n_bits)
    index.add(codes, ids)
    twin.add(codes, ids)
    return index, twin


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_all_widths(n_bits):
    rng = np.random.default_rng(n_bits)
    codes = random_codes(rng, 1100, n_bits, clusters=5)
    index, twin = filled(n_bits, codes)
    queries = np.concatenate([codes[:1], random_codes(rng, 1, n_bits)])
    for kind in ("margins", "ties"):
        assert_same_weighted_answers(index, twin, queries, margins(rng, (2, n_bits), kind), 7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_bits", [24, 64, 200])
def test_all_kinds_of_weights(n_bits, kind):
    rng = np.random.default_rng(1)
    codes = random_codes(rng, 3000, n_bits)
    index, twin = filled(n_bits, codes, rng.permutation(5000)[:3000])
    weights = margins(rng, (2, n_bits), kind)
    for how in ({"k": 1}, {"k": 40}, {"k": 10, "radius": n_bits // 3}, {"k": 5, "radius": 0}):
        assert_same_weighted_answers(index, twin, codes[:2], weights, **how)


def test_weights_of_one_give_the_plain_answer():
    rng = np.random.default_rng(2)
    codes = random_codes(rng, 200_000, 64, clusters=1000)
    index = HammingIndex(64)
    index.add(codes)
    for queries in (codes[:100], codes[:3]):
        plain = index.search(queries, 25)
        ids, distances = index.search(queries, 25, weights=np.ones((len(queries), 64), np.float32))
        np.testing.assert_array_equal(ids, plain[0])
        np.testing.assert_array_equal(distances, plain[1])
    assert index.stats.weighted == 103


@pytest.fixture(scope="module")
def large():
    """Codes on several pages with ids in no order, some to be removed, and the true neighbors."""
    rng = np.random.default_rng(5)
    n = 140_000
    codes = random_codes(rng, n, 40, clusters=3000)
    ids = rng.permutation(2 * n)[:n]
    gone, left = ids[: n // 10], ids[n // 10 :]
    queries = codes[rng.permutation(n)[:70]]
    weights = margins(rng, (70, 40), "margins")
    bits = np.unpackbits(codes[n // 10 :], axis=1, bitorder="little")
    ranked = []
    for query, weight in zip(queries, weights, strict=True):
        rough = (bits ^ np.unpackbits(query, bitorder="little")).astype(np.float32) @ weight
        near = np.argsort(rough)[:200]
        true = np.array([weighted_distance(codes[n // 10 + i].tobytes(), query, weight) for i in near])
        order = np.lexsort((left[near], true))[:50]
        ranked.append((left[near][order], true[order]))
    return codes, ids, gone, queries, weights, ranked


@pytest.mark.parametrize("strategy", ["auto", "tables"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_pages_own_ids_holes_and_threads(large, strategy, threads):
    codes, ids, gone, queries, weights, ranked = large
    index = HammingIndex(40, strategy=strategy)
    index.add(codes, ids)
    index.remove(gone)
    for part in (70, 4, 1):
        for k in (10, 50):
            found, distances = index.search(queries[:part], k, weights=weights[:part], threads=threads)
            for row, (true_ids, true) in enumerate(ranked[:part]):
                np.testing.assert_array_equal(found[row], true_ids[:k])
                np.testing.assert_array_equal(distances[row], true[:k])


@pytest.mark.parametrize("n_bits", [9, 64, 130])
def test_allowed(n_bits):
    rng = np.random.default_rng(7)
    codes = random_codes(rng, 2000, n_bits, clusters=20)
    ids = rng.permutation(9000)[:2000]
    index, twin = filled(n_bits, codes, ids)
    weights = margins(rng, (3, n_bits), "margins")
    for allowed in (ids[:500], np.concatenate([ids[:3], ids[:3], [9001]]), [], [9001], set(ids[:40].tolist())):
        assert_same_weighted_answers(index, twin, codes[:3], weights, 5, allowed=allowed)


def test_all_codes_equal_and_k_beyond_n():
    codes = np.repeat(random_codes(np.random.default_rng(2), 1, 64), 3000, axis=0)
    ids = np.random.default_rng(3).permutation(10_000)[:3000]
    index, twin = filled(64, codes, ids)
    queries = np.concatenate([codes[:1], random_codes(np.random.default_rng(9), 1, 64)])
    weights = margins(np.random.default_rng(4), (2, 64), "margins")
    assert_same_weighted_answers(index, twin, queries, weights, 10)
    assert_same_weighted_answers(index, twin, queries, weights, 5000)


def test_empty_index_and_no_queries():
    index = HammingIndex(64)
    queries, weights = np.zeros((3, 8), np.uint8), np.ones((3, 64), np.float32)
    ids, distances = index.search(queries, 2, weights=weights)
    assert ids.tolist() == [[-1, -1]] * 3
    assert distances.tolist() == [[-1, -1]] * 3
    index.add(queries)
    assert index.search(queries[:0], 2, weights=weights[:0])[0].shape == (0, 2)


@pytest.mark.parametrize("strategy", ["auto", "tables"])
def test_after_changes(strategy):
    rng = np.random.default_rng(11)
    codes = random_codes(rng, 4000, 48, clusters=30)
    index, twin = filled(48, codes[:3000], strategy=strategy)
    for held in (index, twin):
        held.remove(np.arange(0, 3000, 3))
        held.update(codes[3000:3100], np.arange(1, 300, 3))
        held.add(codes[3100:])
    assert_same_weighted_answers(index, twin, codes[:3], margins(rng, (3, 48), "margins"), 20)


@settings(max_examples=30, deadline=None)
@given(
    n_bits=st.integers(1, 1024),
    n=st.integers(0, 700),
    queries=st.integers(1, 3),
    clusters=st.sampled_from([0, 1, 3, 50]),
    k=st.integers(1, 60),
    radius=st.sampled_from([None, 0, 3, 40]),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_index(n_bits, n, queries, clusters, k, radius, kind, seed):
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, n + queries, n_bits, clusters)
    index, twin = filled(n_bits, codes[:n])
    assert_same_weighted_answers(index, twin, codes[n:], margins(rng, (queries, n_bits), kind), k, radius=radius)
