"""Vectors around centers, and indexes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sthash import VectorIndex


@pytest.fixture(scope="module")
def vectors() -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 37))[rng.integers(0, 30, 1200)] + 0.6 * rng.normal(size=(1200, 37))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def index(vectors: Any) -> VectorIndex:
    return VectorIndex.build(vectors, n_bytes=10, n_cells=16)


@pytest.fixture
def own(vectors: Any) -> VectorIndex:
    """An index that the test may change."""
    return VectorIndex.build(vectors, n_bytes=4, n_cells=16)
