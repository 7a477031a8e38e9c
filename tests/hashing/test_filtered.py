"""Eigenvectors of large graphs against the exact solver, and what the recipes make of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import SelfTaughtHashing, _core, codes
from sthash.hashing import embedding, knn_graph, neighbors, normal_scores, row_blocks
from sthash.hashing.embedding import laplacian_eigenpairs
from sthash.hashing.filtered import NormalizedGraph, filtered_pairs
from sthash.hashing.neighbors import filter_degrees, neighbor_places
from sthash.hashing.subspace import spectral_subspace
from sthash.vectors.rows import Rows


@pytest.fixture
def large(monkeypatch):
    """Let small graphs take the way of large ones, with blocks that divide them."""
    for module in (embedding, neighbors):
        monkeypatch.setattr(module, "LARGE", 0)
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 100)


def clusters(n=700, k=12, seed=0, sizes=8):
    rng = np.random.default_rng(seed)
    labels = rng.integers(sizes, size=n)
    return rng.normal(size=(sizes, 10))[labels] + rng.normal(scale=0.6, size=(n, 10)), k


def graph(n=700, seed=0):
    return knn_graph(*clusters(n, seed=seed))


def ring(n, reach=3):
    W = sp.diags_array([1.0] * 2 * reach, offsets=[*range(1, reach + 1), *range(n - reach, n)], shape=(n, n))
    return sp.csr_array(W + W.T)


def side_by_side(*graphs):
    return sp.csr_array(sp.block_diag(graphs))


@pytest.mark.parametrize("width", [16, 80, 208])
@pytest.mark.parametrize("past", [0.0, -1.0])
def test_a_step_of_the_filter_is_that_of_the_plain_product(width, past):
    rng = np.random.default_rng(0)
    A = sp.random_array((300, 300), density=0.05, rng=rng, format="csr", dtype=np.float32)
    now, before = rng.normal(size=(2, 300, width)).astype(np.float32)
    view = Rows.of(A).view()
    results = []
    for threads in (1, 3):
        following = before.copy()
        _core.filter_step(view, now, following, scale=1.5, shift=-0.25, past=past, threads=threads)
        results.append(following)
    expected = 1.5 * (A.toarray().astype(np.float64) @ now) - 0.25 * now + past * before
    np.testing.assert_allclose(results[0], expected, atol=1e-5)
    assert (results[0] == results[1]).all()


def test_a_step_is_the_same_on_every_simd_path(run_python):
    source = """
import hashlib, numpy as np, scipy.sparse as sp
from sthash import _core
from sthash.vectors.rows import Rows
rng = np.random.default_rng(0)
A = sp.random_array((300, 300), density=0.05, rng=rng, format="csr", dtype=np.float32)
now, following = rng.normal(size=(2, 300, 80)).astype(np.float32)
view = Rows.of(A).view()
_core.filter_step(view, now, following, scale=1.5, shift=-0.25, past=-1.0, threads=2)
print(hashlib.sha1(following).hexdigest())
"""
    assert len({run_python(source, STHASH_SIMD=path) for path in _core.simd_paths()}) == 1


@pytest.mark.parametrize(
    ("shape", "message"), [((300, 32), "same shape"), ((299, 16), "same shape"), ((300, 17), "same shape")]
)
def test_blocks_that_do_not_fit_are_refused(shape, message):
    view = Rows.of(sp.csr_array((300, 300), dtype=np.float32)).view()
    now = np.zeros((300, 16), dtype=np.float32)
    with pytest.raises(ValueError, match=message):
        _core.filter_step(view, now, np.zeros(shape, np.float32), scale=1, shift=0, past=0, threads=1)
    with pytest.raises(ValueError, match="overlap"):
        _core.filter_step(view, now, now, scale=1, shift=0, past=0, threads=1)


@pytest.mark.parametrize(
    ("W", "n_components"),
    [
        pytest.param(graph(), 12, id="one component"),
        pytest.param(side_by_side(graph(), graph(500, 1)), 12, id="two components"),
        pytest.param(side_by_side(*[graph(250)] * 4), 16, id="equal components: every eigenvalue four times"),
        pytest.param(side_by_side(*[ring(n) for n in range(40, 60)]), 10, id="more components than vectors"),
        pytest.param(side_by_side(graph(), sp.csr_array((5, 5)), ring(30)), 12, id="isolated nodes"),
        pytest.param(knn_graph(np.repeat(clusters(60)[0], 12, axis=0), 15), 10, id="identical documents"),
        pytest.param(ring(500), 8, id="ring: every eigenvalue twice, all close to zero"),
    ],
)
def test_agrees_with_the_exact_solver(W, n_components, large, monkeypatch):
    found = laplacian_eigenpairs(W, n_components)
    assert found.vectors.dtype == np.float32
    monkeypatch.setattr(embedding, "LARGE", 1 << 30)
    exact = laplacian_eigenpairs(W, n_components)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    np.testing.assert_allclose(found.values, exact.values, atol=0.004)
    np.testing.assert_allclose(found.vectors.T @ (degrees[:, None] * found.vectors), np.eye(n_components), atol=1e-3)
    np.testing.assert_allclose(degrees @ found.vectors, 0, atol=1e-3 * np.sqrt(degrees.sum()))
    residual = degrees[:, None] * found.vectors * (1 - found.values) - W @ found.vectors
    joined = degrees > 0
    assert np.linalg.norm(residual[joined] / np.sqrt(degrees[joined])[:, None], axis=0).max() < 0.05
    assert (found.vectors[~joined] == 0).all()
    indicators = exact.values == 0
    np.testing.assert_allclose(found.vectors[:, indicators], exact.vectors[:, indicators], atol=1e-6)


def test_threads_and_repetition_change_nothing_and_the_start_is_used(large):
    W = side_by_side(graph(), sp.csr_array((3, 3)))
    for learn in (
        lambda threads: embedding.eigenpairs_of_checked(W, 12, threads=threads).vectors,
        lambda threads: neighbor_places(W, 16, np.random.default_rng(0), threads=threads),
    ):
        one, two, three = (learn(threads) for threads in (1, 2, 3))
        assert (one == two).all()
        assert (one == three).all()
        assert (one[-3:] == 0).all()


def test_a_good_start_needs_fewer_steps(large):
    W = graph()
    A = NormalizedGraph(W)
    exact = laplacian_eigenpairs(W, 8).vectors

    def captured(start):
        block = filtered_pairs(A, 8, (1,), start=start)[1] * A.inverse[:, None]
        overlap = exact.T @ (np.square(A.root)[:, None] * block)
        return float(np.square(overlap).sum())

    assert captured(exact) > captured(None) + 1
    steps = []
    filtered_pairs(A, 8, (2, 3), report=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (6, 6)
    assert steps == sorted(steps)


@pytest.mark.parametrize("short", [False, True])
def test_places_in_place_are_those_of_the_plain_steps(short, monkeypatch):
    """From the same eigenvectors: those of `spectral_subspace`, which rounds them to a grid.

    The exact ones must not take their place: a value that the grid moves past its neighbor changes the ranks of both.
    That moved 383 of the 9,600 normal scores here, and an inner product of two places by up to 0.0375.
    """
    X, k = clusters(400)
    W = knn_graph(X, k)
    slow = neighbor_places(W, 8, np.random.default_rng(0), X if short else None)
    same = spectral_subspace(W, 24)
    monkeypatch.setattr(neighbors, "LARGE", 0)
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 100)

    def given(A, n_wanted, *_, **__):
        assert n_wanted == 24
        return 1 - same.values, (same.vectors * A.root[:, None]).astype(np.float32)

    monkeypatch.setattr(neighbors, "filtered_pairs", given)
    fast = neighbor_places(W, 8, np.random.default_rng(0), X if short else None)
    assert fast.dtype == np.float32
    if not short:  # with short vectors a frame chooses its subspace, so only what it leads to is alike
        np.testing.assert_allclose(fast @ fast.T, slow @ slow.T, atol=1e-4)
    assert np.abs(fast).mean() == pytest.approx(np.abs(slow).mean(), rel=0.03)


def test_more_documents_per_vector_take_more_steps_of_the_graph():
    steps = [sum(filter_degrees(n, 200)) for n in (15_000, 200_000, 300_000, 1_000_000, 10**8)]
    assert steps == [3, 3, 4, 5, 5]


def test_scores_in_place_are_those_of_the_copies():
    values = np.random.default_rng(0).normal(size=(501, 37)).astype(np.float32) ** 3
    values[:100, 5] = 0
    factors = np.linspace(0.5, 1, 37)
    expected = normal_scores.normal_scores(values) * factors
    normal_scores.score_columns(values, factors, threads=2)
    np.testing.assert_allclose(values, expected, atol=1e-6)


@pytest.mark.parametrize("recipe", ["paper", "neighbors"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_whole_fit_of_a_large_corpus(recipe, sparse, large, tmp_path):
    X, k = clusters(600)
    X = np.vstack([X, np.zeros((4, 10))]).astype(np.float32)
    X = sp.csr_array(X) if sparse else X
    stages = []
    hasher = SelfTaughtHashing(8, k, recipe=recipe).fit(X, progress=lambda stage, *_: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["graph", "embedding", "bits", "hash functions"]
    assert hasher.embedding_.dtype == np.float32
    on = codes.unpack(hasher.codes_, 8)
    assert not on[-4:].any()
    assert np.abs(on[:600].mean(axis=0) - 0.5).max() < 0.15
    again = SelfTaughtHashing(8, k, recipe=recipe, threads=1).fit(X, start=hasher.decision_function(X))
    agree = codes.unpack(again.codes_, 8).shape == on.shape
    assert agree
    hasher.save(tmp_path / "model")


def test_a_start_that_does_not_fit():
    X, k = clusters(60)
    for start, words in (
        (np.zeros((59, 3)), "one row per document, 60"),
        (np.zeros(60), "one row per document, 60"),
        (np.full((60, 2), np.nan), "finite"),
        (np.array([["a"]] * 60), "finite"),
    ):
        with pytest.raises(ValueError, match=words):
            SelfTaughtHashing(4, k).fit(X, start=start)


def test_memory_mapped_rows_are_read_where_they_are(tmp_path):
    X = sp.csr_array(np.abs(clusters(300)[0]).astype(np.float32))
    X.sort_indices()
    parts = []
    for name, part in (("data", X.data), ("indices", X.indices.astype(np.int32)), ("indptr", X.indptr)):
        np.save(tmp_path / f"{name}.npy", part)
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = sp.csr_array(tuple(parts), shape=X.shape)
    checked = SelfTaughtHashing(8)._check(mapped, reset=True)
    assert np.shares_memory(checked.data, parts[0])
    assert np.shares_memory(checked.indices, parts[1])
    for recipe in ("paper", "neighbors", "topics"):
        one, two = (SelfTaughtHashing(8, 10, recipe=recipe).fit(rows).codes_ for rows in (X, mapped))
        assert (one == two).all()
