"""Models are copied and pickled; what is restored gives the same codes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from sthash import EmbeddingQuantizer, HammingIndex, TextModel, VectorModel

ROWS = np.random.default_rng(0).normal(size=(200, 12)).astype(np.float32)
TEXTS = [f"word{n % 17} thing{n % 5} text{n % 3}" for n in range(120)]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))])
def test_models_give_the_same_codes(way: Any) -> None:
    for model, given in ((VectorModel.build(ROWS), ROWS), (TextModel.build(TEXTS), TEXTS)):
        np.testing.assert_array_equal(way(model).encode(given).codes, model.encode(given).codes)
    quantizer = EmbeddingQuantizer(6).fit(ROWS)
    np.testing.assert_array_equal(way(quantizer).transform(ROWS), quantizer.transform(ROWS))
    assert way(EmbeddingQuantizer(5)).n_bytes == 5


def test_a_copied_index_keeps_its_strategy() -> None:
    index = HammingIndex.build(np.arange(50, dtype=np.uint8)[:, None], strategy="scan")
    assert copy.copy(index)._strategy == "scan"
    assert len(pickle.loads(pickle.dumps(index))) == 50
