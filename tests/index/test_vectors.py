"""Search among embeddings: stages against a slow twin, files, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import sthash
from sthash import VectorIndex
from sthash.hashing.codebooks import signs_of


@pytest.fixture(scope="module")
def vectors() -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 20))[rng.integers(0, 30, 1200)] + 0.6 * rng.normal(size=(1200, 20))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def index(vectors: Any) -> VectorIndex:
    return VectorIndex.build(vectors, n_bytes=4, n_cells=16)


def slow_estimates(index: VectorIndex, query: Any) -> dict[int, tuple[int, float]]:
    """Return the cell and the estimate of each vector, by what the arrays of the index mean."""
    parts = index._arrays
    n_bytes = parts["signs"].shape[1] // 8
    weights, products = query @ parts["signs"], query @ parts["centers"]
    codes = parts["codes"].reshape(-1, n_bytes, 32).transpose(0, 2, 1).reshape(-1, n_bytes)
    sums = signs_of(codes) @ weights
    found = {}
    for cell in range(index.n_cells):
        for place in range(32 * parts["starts"][cell], 32 * parts["starts"][cell + 1]):
            factor = parts["scales"][0] + parts["scales"][1] * parts["factors"][place]
            shift = parts["scales"][2] + parts["scales"][3] * parts["shifts"][place]
            if parts["ids"][place] >= 0:
                found[int(parts["ids"][place])] = (cell, float(products[cell] + shift + factor * sums[place]))
    return found


def test_all_cells_and_all_candidates_are_exact(vectors: Any, index: VectorIndex) -> None:
    queries = vectors[:20] + 0.1
    ids, cosines = index.search(queries, 10, probes=16, candidates=1200)
    units = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    truth = np.sort(units @ vectors.T, axis=1)[:, ::-1][:, :10]
    np.testing.assert_allclose(cosines, truth, atol=1e-6)
    np.testing.assert_allclose(np.einsum("ij,ikj->ik", units, vectors[ids]), cosines, atol=1e-6)


def test_candidates_have_the_largest_estimates_in_the_nearest_cells(vectors: Any, index: VectorIndex) -> None:
    for query in vectors[::100]:
        estimates = slow_estimates(index, query)
        assert sorted(estimates) == list(range(1200))
        probed = set(np.argsort(-(query @ index._arrays["centers"]))[:5].tolist())
        inside = sorted((-estimate, id_) for id_, (cell, estimate) in estimates.items() if cell in probed)
        found = set(index.search(query, 40, probes=5, candidates=40)[0][0].tolist())
        # Tables of bytes round; only candidates close to the last one may change sides.
        step = 2 * np.abs(query @ index._arrays["signs"]).reshape(-1, 4).sum(axis=1).max() / 127
        slack = 8 * step * float(index._arrays["scales"][0] + 255 * index._arrays["scales"][1])
        last = inside[39][0]
        assert {id_ for estimate, id_ in inside if estimate < last - slack} <= found
        assert found <= {id_ for estimate, id_ in inside if estimate <= last + slack}


def test_estimates_come_close_to_cosines(vectors: Any, index: VectorIndex) -> None:
    query = vectors[5]
    estimates = slow_estimates(index, query)
    errors = [estimates[id_][1] - float(query @ vectors[id_]) for id_ in range(1200)]
    assert np.abs(errors).mean() < 0.1


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_equal_single_queries(vectors: Any, index: VectorIndex, threads: int) -> None:
    ids, cosines = index.search(vectors[:70], 5, threads=threads)
    for row in range(0, 70, 9):
        alone = index.search(vectors[row], 5, threads=1)
        assert (alone[0][0] == ids[row]).all()
        assert (alone[1][0] == cosines[row]).all()


def test_files(vectors: Any, index: VectorIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    np.save(tmp_path / "vectors.npy", vectors)
    again = VectorIndex.load(tmp_path / "index", np.load(tmp_path / "vectors.npy", mmap_mode="r"))
    assert (again.search(vectors[:9])[0] == index.search(vectors[:9])[0]).all()
    assert len(again) == 1200
    assert again.nbytes == index.nbytes
    with pytest.raises(ValueError, match="1200 vectors of 20 values"):
        VectorIndex.load(tmp_path / "index", vectors[:5])
    with pytest.raises(ValueError, match="no vectors yet"):
        sthash.load(tmp_path / "index").search(vectors[:1])


@pytest.mark.parametrize(
    "few",
    [np.ones((5, 4)), np.eye(3), np.vstack([np.zeros((3, 6)), np.ones((40, 6))]), np.array([[1.0], [-2.0]])],
    ids=["duplicates", "three rows", "zero rows", "one column"],
)
def test_odd_vectors(few: Any) -> None:
    index = VectorIndex.build(few)
    norms = np.linalg.norm(few, axis=1, keepdims=True)
    units = few / np.where(norms > 0, norms, 1)
    ids, cosines = index.search(few, len(few) + 1, probes=index.n_cells)
    assert (ids[:, -1] == -1).all()
    np.testing.assert_allclose(cosines[:, :-1], -np.sort(-(units @ units.T), axis=1), atol=1e-6)


def test_bad_input_is_refused(vectors: Any, index: VectorIndex) -> None:
    with pytest.raises(ValueError, match="no vectors"):
        VectorIndex.build(np.zeros((0, 4)))
    with pytest.raises(ValueError, match="n_bytes=3"):
        VectorIndex.build(vectors, n_bytes=3)
    with pytest.raises(ValueError, match="finite"):
        VectorIndex.build(np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="20 values"):
        index.search(vectors[:, :3])
    with pytest.raises(ValueError, match="k=0"):
        index.search(vectors, 0)
