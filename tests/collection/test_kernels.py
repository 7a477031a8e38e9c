import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sthash import _core
from sthash.vectors.rows import Rows
from support.corpus import weighted_distances


def documents(rng, n, words, columns, dense):
    stored = rng.integers(0, 2**64, size=(n, words), dtype=np.uint64)
    rows = []
    for _ in range(n):
        kept = np.arange(columns) if dense else np.flatnonzero(rng.random(columns) < 0.4)
        rows.append((kept.astype(np.int32), rng.normal(size=len(kept)).astype(np.float32)))
    full = np.zeros((n, columns), dtype=np.float32)
    for row, (kept, values) in zip(full, rows, strict=True):
        row[kept] = values
    if dense:
        return stored, Rows.dense(full).view(), full
    # The rows are some of those of a table, in another order.
    order = rng.permutation(n)
    table = Rows.stacked([Rows.sparse(np.array([0, len(rows[i][0])]), *rows[i], columns) for i in order])
    return stored, table.at(np.argsort(order)).view(), full


@pytest.mark.parametrize("dense", [False, True])
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.sampled_from([1, 2, 5, 16, 17]),
    st.integers(1, 20),
    st.integers(1, 70),
    st.sampled_from([None, 20, 40, 64]),
    st.integers(1, 80),
    st.sampled_from([1, 6, 40]),
    st.booleans(),
    st.integers(0, 63),
)
def test_search_balls_equals_its_twin(dense, seed, n, words, columns, k, radius, wanted, count, weighted, unused):
    rng = np.random.default_rng(seed)
    stored, vectors, full = documents(rng, n, words, columns, dense)
    queries = rng.normal(size=(count, columns)).astype(np.float32)
    codes = rng.integers(0, 2**64, size=(count, words), dtype=np.uint64)
    asked = Rows.dense(queries) if dense else Rows.of(sp.csr_array(queries))
    margins = rng.normal(size=(count, 64 * words - unused)).astype(np.float32) if weighted else None
    places, scores, distances, radii, candidates = _core.search_balls(
        stored,
        vectors,
        codes,
        asked.view(),
        margins=margins,
        k=k,
        radius=radius,
        wanted=wanted,
        threads=2,
    )
    for query in range(count):
        away = np.bitwise_count(stored ^ codes[query]).sum(axis=1)
        counted, farthest, own = away, 64 * words, None
        if weighted:
            own = margins[query : query + 1]
            if radius is None:
                counted = weighted_distances(stored.view(np.uint8), codes[query].view(np.uint8), own[0])
                farthest = 255 * words
        ball = radius if radius is not None else (sorted(counted)[wanted - 1] if wanted <= n else farthest)
        inside = np.flatnonzero(counted <= ball)
        alone = _core.gather_ball(stored, codes[query : query + 1], margins=own, radius=radius, wanted=wanted)
        np.testing.assert_array_equal(alone, inside)
        cosines = full.astype(np.float64) @ queries[query]
        best = inside[np.argsort(-cosines[inside], kind="stable")][:k]
        held = places[query] >= 0
        assert radii[query] == ball
        assert candidates[query] == len(inside)
        assert held.sum() == len(best)
        assert (distances[query][~held] == -1).all()
        np.testing.assert_allclose(scores[query][held], cosines[best], atol=1e-4)
        np.testing.assert_array_equal(distances[query][held], away[places[query][held]])
        assert set(places[query][held]) <= set(inside.tolist())


@pytest.mark.parametrize("dense", [False, True])
def test_pair_scores_equal_their_twin(dense):
    rng = np.random.default_rng(0)
    _, vectors, full = documents(rng, 50, 1, 30, dense)
    left, right = rng.integers(0, 50, size=(2, 9000))
    scores = _core.pair_scores(vectors, left, right, threads=2)
    np.testing.assert_allclose(scores, (full[left] * full[right]).sum(axis=1), atol=1e-4)


@pytest.mark.parametrize("dense", [False, True])
def test_products_among_equal_their_twin(dense):
    rng = np.random.default_rng(0)
    _, vectors, full = documents(rng, 50, 1, 30, dense)
    places = rng.integers(0, 50, size=(9, 7))
    places[3, 4:] = places[5] = -1
    products = _core.products_among(vectors, places, threads=2)
    for group, own in zip(products, places, strict=True):
        rows = full[own] * (np.minimum.accumulate(own) >= 0)[:, np.newaxis]
        np.testing.assert_allclose(group, rows @ rows.T, atol=1e-4)


@pytest.mark.parametrize("power", [1, 2, 3, 8])
@pytest.mark.parametrize("ridge", [0.1, 2.0])
def test_vote_weights_solve_the_ridge_regression(power, ridge):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5, 40, 12))
    vectors[2, 30:] = vectors[2, :10]  # copies
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    products, likeness = np.float32(vectors @ vectors.transpose(0, 2, 1)), rng.random((5, 40))
    weights = _core.vote_weights(products, likeness, power=power, ridge=ridge, threads=1)
    matrix = products.astype(np.float64) ** power + ridge * np.eye(40)
    np.testing.assert_allclose(np.einsum("gij,gj->gi", matrix, weights), likeness, atol=1e-10)
    np.testing.assert_array_equal(weights, _core.vote_weights(products, likeness, power=power, ridge=ridge, threads=2))


@given(st.integers(0, 2**64 - 1), st.integers(1, 3), st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_scatter_equals_its_twin(seed, words, sizes):
    rng = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = rng.integers(0, 2**31 - 1, indptr[-1]).astype(np.int32)
    values = rng.normal(size=indptr[-1]).astype(np.float32)
    sums = _core.scatter(Rows.sparse(indptr, columns, values, 2**31 - 1).view(), words=words, seed=seed, threads=2)
    assert sums.shape == (len(sizes), 64 * words)
    for row in range(len(sizes)):
        expected = np.zeros(64 * words, dtype=np.float32)
        for at in range(indptr[row], indptr[row + 1]):
            for plane in range(64 * words):
                upper = splitmix(seed, int(columns[at]) * words + plane // 64) >> (plane % 64) & 1 == 0
                expected[plane] += values[at] if upper else -values[at]
        np.testing.assert_array_equal(sums[row], expected)


def splitmix(seed, number):
    bits = (seed + (number + 1) * 0x9E3779B97F4A7C15) % 2**64
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % 2**64
    return bits ^ bits >> 31
