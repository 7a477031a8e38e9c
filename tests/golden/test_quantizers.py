"""Files of `EmbeddingQuantizer`: each kind is read, and gives the scores that it gave; the newest, the same codes."""

from pathlib import Path

import numpy as np
import pytest

import sthash

FILES = Path(__file__).with_name("quantizers")


@pytest.mark.parametrize("name", ["axes", "books"])  # books along principal axes, and books as they are
def test_golden_quantizers(name):
    quantizer = sthash.load(FILES / f"{name}.safetensors")
    with np.load(FILES / f"{name}.npz") as golden:
        scores = quantizer.scores(golden["rows"][:5], golden["codes"])
        np.testing.assert_allclose(scores, golden["scores"], atol=1e-5)
        if name == "books":
            np.testing.assert_array_equal(quantizer.transform(golden["rows"]), golden["codes"])
        again = quantizer.scores(golden["rows"][:5], quantizer.transform(golden["rows"]))
        assert np.abs(again - scores).mean() < 0.01
