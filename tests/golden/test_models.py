"""Model files that earlier versions wrote are read, and give the codes that they gave."""

from pathlib import Path

import numpy as np
import pytest

import sthash
from support.golden import make_texts

MODELS = Path(__file__).with_name("models")
NAMES = sorted(path.stem for path in MODELS.glob("*.safetensors") if path.stem != "TextVectorizer")


@pytest.mark.parametrize("name", NAMES)
def test_golden_models(name):
    texts = [" ".join(text.split()[:12]) for text in make_texts(80)]
    rows = sthash.load(MODELS / "TextVectorizer.safetensors").transform(texts)
    with np.load(MODELS / "codes.npz") as golden:
        np.testing.assert_array_equal(sthash.load(MODELS / f"{name}.safetensors").transform(rows), golden[name])
