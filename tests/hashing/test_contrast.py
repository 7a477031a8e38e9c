"""The recipe for embeddings: plain Hamming codes that beat iterative quantization, and its gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

import sthash
from sthash import Learning, SelfTaughtHashing, VectorModel
from sthash.baselines import IterativeQuantization
from sthash.hashing import contrast, knn_graph
from sthash.hashing.contrast import Directions, batches, closeness, first_directions, gradients_of, softmax, spread


def clustered(n: int, d: int) -> npt.NDArray[np.float32]:
    """Vectors with a mean, clusters, and axes of different length, as embeddings have them."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(30, d))
    rows = centers[rng.integers(0, 30, n)] + rng.normal(size=(n, d))
    rows = rows * np.linspace(1.5, 0.1, d) + 0.3
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contrast, "STEPS", 60)


def found(hasher: Any, corpus: Any, queries: Any) -> float:
    """Share of the true top 10 among the 30 nearest codes."""
    true = np.argsort(-(queries @ corpus.T), axis=1)[:, :10]
    bits = [2.0 * np.unpackbits(hasher.transform(rows), axis=1) - 1 for rows in (queries, corpus)]
    near = np.argsort(-(bits[0] @ bits[1].T), axis=1, kind="stable")[:, :30]
    return float(np.mean([np.isin(*pair).mean() for pair in zip(true, near, strict=True)]))


def test_it_finds_more_than_iterative_quantization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contrast, "STEPS", 800)
    rows = clustered(1600, 32)
    corpus, queries = rows[:1500], rows[1500:]
    hasher = SelfTaughtHashing(24, recipe="embeddings").fit(corpus)
    assert found(hasher, corpus, queries) > found(IterativeQuantization(24).fit(corpus), corpus, queries)


@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_the_temperature_follows_the_spread(shift: float) -> None:
    """Vectors that share a large part are all close to each other: their temperature is as much lower."""
    rows = clustered(80, 16)
    rows[:, 0] += shift
    mean = rows.mean(axis=0)
    directions = first_directions(rows - mean, mean, 8, np.random.default_rng(0))
    pairs = np.array([slow_closeness(*rows[[i, j]]) for i in range(80) for j in range(80) if i != j])
    assert directions.temperature == pytest.approx(contrast.TEMPERATURE * pairs.std(), rel=1e-3)
    bits = (rows - mean) @ directions.weights > 0
    agreements = np.array([np.mean(2.0 * (bits[i] == bits[j]) - 1) for i in range(80) for j in range(80) if i != j])
    assert 1 / directions.sharpness[0] == pytest.approx(contrast.TEMPERATURE * agreements.std(), rel=1e-3)


def slow_closeness(row: Any, other: Any) -> float:
    cosine = np.dot(np.float64(row), other) / np.linalg.norm(np.float64(row)) / np.linalg.norm(np.float64(other))
    return float(1 - np.arccos(np.clip(cosine, -1, 1)) / (np.pi / 2))


def test_closeness_equals_its_slow_twin() -> None:
    rows = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    slow = [[slow_closeness(row, other) for other in rows] for row in rows]
    # Near 1, an arc cosine shows the square root of the rounding.
    np.testing.assert_allclose(closeness(rows), slow, atol=1e-3)
    np.testing.assert_allclose(closeness(np.float32([[1, 0], [0, 2], [-3, 0]]))[0], [1, 0, -1], atol=1e-6)
    assert spread(closeness(np.ones((4, 3), dtype=np.float32))) == contrast.LEAST_SPREAD


def test_gradients_are_those_of_the_loss() -> None:
    """Differences show the derivative by each bit, as if it were a number; that of a sign is the one of tanh."""
    rng = np.random.default_rng(0)
    rows, mean = 0.5 * rng.normal(size=(6, 5)).astype(np.float32), np.float32([0.1, 0, 0, 0.2, 0])
    weights, intercept = rng.normal(size=(5, 8)).astype(np.float32), rng.normal(size=8).astype(np.float32)
    near = np.array([[slow_closeness(row, other) for other in rows + mean] for row in rows + mean])
    wanted = slow_softmax(near / 0.1)
    margins = (rows @ weights + intercept).astype(np.float64)
    bits = np.where(margins > 0, 1.0, -1.0)

    def loss(bits: Any, sharpness: float = 3.0) -> float:
        given = slow_softmax(sharpness * (bits @ bits.T) / 8)
        return -sum(wanted[i, j] * np.log(given[i, j]) for i in range(6) for j in range(6) if i != j) / 6

    of_margins = np.zeros_like(bits)
    for place in np.ndindex(*bits.shape):
        change = np.zeros_like(bits)
        change[place] = 1e-4
        of_margins[place] = (loss(bits + change) - loss(bits - change)) / 2e-4
    steepness = contrast.STEEPNESS
    of_margins *= steepness * (1 - np.tanh(steepness * margins) ** 2)
    gradients = gradients_of(Directions(weights, intercept, np.float32([3.0]), 0.1), rows, mean)
    np.testing.assert_allclose(gradients[0], rows.T @ of_margins, atol=1e-4)
    np.testing.assert_allclose(gradients[1], of_margins.sum(axis=0), atol=1e-4)
    assert gradients[2][0] == pytest.approx((loss(bits, 3.01) - loss(bits, 2.99)) / 0.02, rel=1e-2, abs=1e-3)


def slow_softmax(logits: Any) -> Any:
    result = np.zeros_like(logits, dtype=np.float64)
    for i in range(len(logits)):
        powers = [0.0 if i == j else np.exp(logits[i, j] - logits[i].max()) for j in range(len(logits))]
        result[i] = np.array(powers) / sum(powers)
    return result


def test_softmax_equals_its_slow_twin() -> None:
    logits = np.random.default_rng(0).normal(size=(7, 7)).astype(np.float32)
    np.testing.assert_allclose(softmax(logits.copy()), slow_softmax(logits), atol=1e-6)
    assert softmax(np.ones((1, 1), dtype=np.float32)).tolist() == [[0.0]]


def test_batches_hold_documents_and_their_neighbors() -> None:
    W = sp.csr_array(knn_graph(clustered(100, 8), 5))
    batch = next(batches(W, np.random.default_rng(0)))
    assert len(np.unique(batch)) == len(batch)
    inside = W[batch][:, batch]
    assert (np.diff(inside.indptr) > 0).all()


@pytest.mark.usefixtures("few_steps")
def test_threads_and_files_change_no_code(tmp_path: Path) -> None:
    rows = clustered(300, 16) * 7
    hasher = SelfTaughtHashing(40, 10, recipe="embeddings", threads=1).fit(rows)
    hasher.save(tmp_path / "model")
    assert (hasher.transform(rows) == hasher.codes_).all()
    assert (sthash.load(tmp_path / "model").transform(rows) == hasher.codes_).all()
    assert (SelfTaughtHashing(40, 10, recipe="embeddings", threads=3).fit(rows).codes_ == hasher.codes_).all()
    assert not hasher.transform(np.zeros((1, 16))).any()


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize(
    "rows",
    [np.ones((20, 4)), np.vstack([np.zeros((5, 6)), np.ones((9, 6)), np.eye(6)])],
    ids=["duplicates", "zero rows"],
)
def test_odd_corpora(rows: Any) -> None:
    hasher = SelfTaughtHashing(8, 3, recipe="embeddings").fit(rows)
    assert np.isfinite(hasher.decision_function(rows)).all()


@pytest.mark.usefixtures("few_steps")
def test_a_model_of_vectors_takes_it() -> None:
    rows = clustered(200, 8)
    model = VectorModel.build(rows, learning=Learning(n_bits=16, n_neighbors=5, recipe="embeddings"))
    assert model.settings["recipe"] == "embeddings"
    assert model.encode(rows).codes.shape == (200, 2)


def test_progress_and_bad_input() -> None:
    seen: list[str] = []
    SelfTaughtHashing(8, 5, recipe="embeddings").fit(clustered(50, 8), progress=lambda name, *_: seen.append(name))
    assert set(seen) == {"graph", "codes"}
    with pytest.raises(ValueError, match="takes dense vectors"):
        SelfTaughtHashing(4, recipe="embeddings").fit(sp.csr_array(np.eye(10)))
    with pytest.raises(ValueError, match="needs at least 2 vectors with neighbors, got 0"):
        SelfTaughtHashing(4, 3, recipe="embeddings").fit(np.eye(10))
    with pytest.raises(ValueError, match="has its own embedding, binarizer, hash_function"):
        SelfTaughtHashing(4, recipe="embeddings", binarizer=lambda places: places > 0).fit(np.eye(10))
