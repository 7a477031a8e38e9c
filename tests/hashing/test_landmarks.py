"""The landmarks' graph against its definition, row by row."""

import numpy as np
import pytest
from scipy.linalg import eigh

from sthash import _core
from sthash.hashing import landmarks
from sthash.hashing.landmarks import landmark_rows, landmark_shares


def twin(places, chosen, k):
    """Shares by the definition, one document at a time."""
    unit = places / np.linalg.norm(places, axis=1, keepdims=True)
    distances = 1 - unit @ unit[chosen].T
    distances[chosen, np.arange(len(chosen))] = np.inf
    nearest = np.argsort(distances, axis=1)[:, :k]
    middle = np.sort(distances, axis=1)[:, (k - 1) // 2]
    Z = np.zeros(distances.shape)
    for i, near in enumerate(nearest):
        weights = np.exp(-distances[i, near] / np.sqrt(middle[i] * middle[chosen[near]]))
        Z[i, near] = weights / weights.sum()
    return Z


@pytest.fixture
def places():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 9))[rng.integers(6, size=400)] + rng.normal(scale=0.9, size=(400, 9))


def test_shares_equal_the_twin(places, monkeypatch):
    monkeypatch.setattr(landmarks, "LANDMARKS", 150)
    monkeypatch.setattr(landmarks, "BLOCK_ENTRIES", 150 * 64)
    Z = landmark_shares(places, np.random.default_rng(1), 2)
    chosen = np.sort(np.random.default_rng(1).permutation(np.arange(400))[:150])
    np.testing.assert_allclose(Z.toarray(), twin(places, chosen, 10), atol=1e-4)


def test_rows_span_the_eigenvectors_of_the_documents_graph(places, monkeypatch):
    """The graph through landmarks, Z Λ⁻¹ Zᵀ, formed and solved whole, has the same places."""
    monkeypatch.setattr(landmarks, "LANDMARKS", 150)
    rows = landmark_rows(places, 5, np.random.default_rng(1))
    Z = landmark_shares(places, np.random.default_rng(1), None).toarray()
    mass = Z.sum(axis=0)
    used = mass > 0
    A = (Z[:, used] / mass[used]) @ Z[:, used].T
    values, vectors = eigh(A, subset_by_index=(394, 398))
    expected = vectors[:, ::-1] * values[::-1]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=1e-3)


def test_zero_rows_stay_out(places):
    places[[0, 7]] = 0
    Z = landmark_shares(places, np.random.default_rng(0), None)
    assert (Z[[0, 7]].sum(axis=1) == 0).all()
    rows = landmark_rows(places, 4, np.random.default_rng(0))
    lengths = np.linalg.norm(rows, axis=1)
    assert (lengths[[0, 7]] == 0).all()
    np.testing.assert_allclose(np.delete(lengths, [0, 7]), 1)


def test_documents_in_one_place():
    places = np.repeat(np.eye(4), 50, axis=0)
    rows = landmark_rows(places, 3, np.random.default_rng(0))
    assert np.isfinite(rows).all()
    assert (np.abs(rows @ rows.T - np.kron(np.eye(4), np.ones((50, 50)))) < 0.7).all()


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (40, 7), (1000, 20), (3000, 3), (130, 100)])
def test_largest_in_rows_equals_sorting(n, k):
    scores = np.random.default_rng(0).integers(50, size=(37, n)).astype(np.float32)
    scores[3, : n // 2] = -np.inf
    columns, values = _core.largest_in_rows(scores, k=k, threads=2)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert (columns == expected).all()
    assert (values == np.take_along_axis(scores, expected, axis=1)).all()


def test_largest_in_rows_on_every_path(run_python):
    source = (
        "import numpy as np; from sthash import _core; "
        "scores = np.random.default_rng(0).normal(size=(50, 777)).astype(np.float32); "
        "print(_core.largest_in_rows(scores, k=15, threads=2)[0].tolist())"
    )
    assert len({run_python(source, STHASH_SIMD=path) for path in _core.simd_paths()}) == 1
