"""Searches find the share of the true neighbors that is asked for: of unseen queries, with filters, after growth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sthash import VectorIndex
from sthash.index.effort import true_neighbors

WIDTH = 24


def clustered(n: int, seed: int) -> Any:
    """Vectors around centers, which are around centers."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    centers = np.repeat(fixed.normal(size=(12, WIDTH)), 20, axis=0) + 0.7 * fixed.normal(size=(240, WIDTH))
    rows = centers[rng.integers(0, 240, n)] + 0.6 * rng.normal(size=(n, WIDTH))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def rows() -> Any:
    return clustered(12_000, 1)


@pytest.fixture(scope="module")
def large(rows: Any) -> VectorIndex:
    return VectorIndex.build(rows, n_bytes=12)


QUERIES = clustered(300, 2)


def recall_of(index: VectorIndex, k: int = 10, allowed: Any = None, **how: Any) -> float:
    found, _ = index.search(QUERIES, k, allowed=allowed, **how)
    true, _ = index.search(QUERIES, k, allowed=allowed, exact=True)
    held = (true >= 0).sum()
    assert ((found >= 0).sum(axis=1) == (true >= 0).sum(axis=1)).all()
    return sum(len({*own} & {*right} - {-1}) for own, right in zip(found.tolist(), true.tolist(), strict=True)) / held


@pytest.mark.parametrize("k", [1, 3, 10, 50, 100, 300])
@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
def test_unseen_queries_find_the_share_that_is_asked_for(large: VectorIndex, k: int, recall: float) -> None:
    assert recall_of(large, k, recall=recall) >= recall - 0.01


def test_less_is_looked_at_for_less_recall(large: VectorIndex) -> None:
    looked_at = [large._planned(10, 12_000, recall, False, None, None) for recall in (0.7, 0.9, 0.98)]
    assert [plan for plan, _, _ in looked_at] == [0, 0, 0]
    assert looked_at[0][1] < looked_at[1][1] < looked_at[2][1]
    assert large._planned(10, 12_000, 1, False, None, None)[0] == 1


@pytest.mark.parametrize("metric", ["cosine", "ip"])
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_the_recall_holds_for_metrics_and_precisions(metric: Any, precision: Any) -> None:
    lengths = np.random.default_rng(3).lognormal(0, 0.2, size=(6000, 1)).astype(np.float32)
    index = VectorIndex.build(clustered(6000, 1) * lengths, metric=metric, precision=precision, n_bytes=12)
    assert recall_of(index) >= 0.94


@pytest.mark.parametrize("share", [1, 0.5, 0.1, 0.02, 0.001, 0.0001])
@pytest.mark.parametrize("kind", ["random", "near a vector", "half space"])
def test_filters_of_any_size_keep_the_recall(large: VectorIndex, rows: Any, share: float, kind: str) -> None:
    rng = np.random.default_rng(4)
    ratings = {
        "random": rng.random(len(rows)),
        "near a vector": rows @ rows[7],
        "half space": rows @ rng.normal(size=WIDTH),
    }[kind]
    allowed = np.argsort(-ratings)[: max(1, round(share * len(rows)))]
    assert recall_of(large, allowed=allowed) >= 0.94
    found = large.search(QUERIES, 10, allowed=allowed)[0]
    assert np.isin(found[found >= 0], allowed).all()


@pytest.mark.parametrize("kind", [np.array, lambda ids: {*ids.tolist()}])
def test_a_selection_answers_as_its_ids_do_and_follows_the_index(rows: Any, kind: Any) -> None:
    index, even = VectorIndex.build(rows[:3000], n_bytes=4), np.arange(0, 4000, 2)
    selection = index.select(kind(even))
    assert len(selection) == 2000

    def compare() -> None:
        for k in (1, 10, 1000):
            found, scores = index.search(QUERIES[:20], k, allowed=selection)
            true, true_scores = index.search(QUERIES[:20], k, allowed=even)
            np.testing.assert_array_equal(found, true)
            np.testing.assert_array_equal(scores, true_scores)
            assert not (found[found >= 0] % 2).any()

    compare()
    index.remove([0, 2, 5])
    compare()
    index.add(rows[:900])
    compare()


def test_selections_of_a_mask_and_of_nothing(large: VectorIndex) -> None:
    half = large.select(large.ids < 1500)
    assert large.search(QUERIES, 10, allowed=half)[0].max() < 1500
    assert (large.search(QUERIES, 3, allowed=large.select([]))[0] == -1).all()


def test_true_neighbors_are_those_of_brute_force(rows: Any) -> None:
    ids = np.arange(9000) * 2
    own = ids[:40]
    found = true_neighbors(rows[:40], own, ids, lambda some: rows[some // 2], 7)
    products = rows[:40] @ rows[:9000].T
    products[np.arange(40), np.arange(40)] = -np.inf
    assert (found == 2 * np.argsort(-products, axis=1, kind="stable")[:, :7]).mean() > 0.99  # but for rounding


def test_an_index_that_grew_one_by_one_is_like_a_new_one(rows: Any) -> None:
    grown, fresh = VectorIndex.build(rows[:600], n_bytes=8), VectorIndex.build(rows[:6000], n_bytes=8)
    for row in rows[600:1200]:
        grown.add(row)
    for first in range(1200, 6000, 75):
        grown.add(rows[first : first + 75])
    assert grown.coder.n_cells == pytest.approx(fresh.coder.n_cells, rel=0.1)
    sizes = [index._core.cell_sizes() for index in (grown, fresh)]
    assert sizes[0].sum() == 6000
    assert sizes[0].max() <= 2 * sizes[1].max()
    assert recall_of(grown) >= 0.94
    looked_at = [index._planned(10, 6000, 0.95, False, None, None) for index in (grown, fresh)]
    assert looked_at[0][1] * looked_at[0][2] <= 2 * looked_at[1][1] * looked_at[1][2]
    np.testing.assert_allclose(grown.vectors([5, 5999]), rows[[5, 5999]], atol=1e-6)


def test_cells_are_dissolved_as_an_index_shrinks(rows: Any, tmp_path: Path) -> None:
    index = VectorIndex.build(rows[:6000], n_bytes=8)
    before = np.count_nonzero(index._core.cell_sizes())
    kept = np.random.default_rng(5).permutation(6000)[:600]
    index.remove(np.setdiff1d(np.arange(6000), kept))
    assert np.count_nonzero(index._core.cell_sizes()) < before / 2
    assert recall_of(index) >= 0.94
    index.save(tmp_path / "index")
    again = VectorIndex.open(tmp_path / "index")
    index.add(rows[6000:])
    again.add(rows[6000:])
    for one in (index, again):
        assert recall_of(one) >= 0.94
    for one, other in zip(index.search(QUERIES), again.search(QUERIES), strict=True):
        np.testing.assert_array_equal(one, other)


def test_copies_of_one_vector_cannot_be_split() -> None:
    index = VectorIndex.build(np.ones((400, 8)), n_bytes=2)
    index.add(np.ones((4000, 8)))
    index.add(clustered(50, 1)[:, :8])
    assert index.search(np.ones(8), 5)[0].tolist() == [[0, 1, 2, 3, 4]]
    assert len(index) == 4450


def test_vectors_encoded_before_the_cells_were_grouped_anew_are_refused(rows: Any) -> None:
    index = VectorIndex.build(rows[:500], n_bytes=4)
    encoded = index.coder.encode(rows[500:510])
    index.add(rows[1000:4000])
    with pytest.raises(ValueError, match=r"grouped anew.*Encode them"):
        index.add_encoded(encoded)


def test_bad_targets_are_refused(large: VectorIndex) -> None:
    for wrong in (0, -0.5, 1.01, "high", True, float("nan"), None):
        with pytest.raises(ValueError, match=r"recall=.* must be a number above 0 and at most 1"):
            large.search(QUERIES, recall=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no rows to measure"):
        VectorIndex(large.coder).measure()
