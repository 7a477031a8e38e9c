"""Golden model files are read, and give the codes that they gave when they were written."""

from pathlib import Path

import numpy as np
import pytest

import sthash
from support.golden import make_texts

MODELS = Path(__file__).with_name("models")
NOT_HASHERS = ("EmbeddingQuantizer", "TextVectorizer")
NAMES = sorted(path.stem for path in MODELS.glob("*.safetensors") if path.stem not in NOT_HASHERS)


@pytest.mark.parametrize("name", NAMES)
def test_golden_models(name):
    texts = [" ".join(text.split()[:12]) for text in make_texts(80)]
    rows = sthash.load(MODELS / "TextVectorizer.safetensors").transform(texts)
    with np.load(MODELS / "codes.npz") as golden:
        np.testing.assert_array_equal(sthash.load(MODELS / f"{name}.safetensors").transform(rows), golden[name])


def test_golden_quantizer():
    quantizer = sthash.load(MODELS / "EmbeddingQuantizer.safetensors")
    with np.load(MODELS / "EmbeddingQuantizer.npz") as golden:
        scores = quantizer.scores(golden["rows"][:5], golden["codes"])
        np.testing.assert_allclose(scores, golden["scores"], atol=1e-5)
        np.testing.assert_array_equal(quantizer.transform(golden["rows"]), golden["codes"])
