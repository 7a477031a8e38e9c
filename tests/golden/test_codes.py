"""Codes are a promise too: what a recipe gave to these documents, it gives to the bit in every later version.

``python tests/golden/test_codes.py`` writes the file anew; do it only when a recipe changes on purpose.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import sthash
from sthash import Collection, Learning, SelfTaughtHashing, TextVectorizer
from support.golden import make_texts

GOLDEN = Path(__file__).with_name("codes.npz")
RECIPES = ("paper", "topics", "neighbors")
BASELINES = (
    "AnchorGraphHashing",
    "BinarizedLSI",
    "BoostedSSC",
    "ForgivingHashing",
    "IterativeQuantization",
    "LaplacianCoHashing",
    "RandomHyperplaneHashing",
    "SpectralHashing",
    "StackedRBMHashing",
)
# Rounding within BLAS may turn the codes of a collection of few documents, or of anchors; see docs/guarantees.md.
ROTATED = ("collection", "AnchorGraphHashing")


def learn_all() -> dict[str, np.ndarray]:
    """Every recipe and baseline: the codes of its corpus and of documents that it has not seen."""
    texts = make_texts()
    vectorizer = TextVectorizer()
    sparse = vectorizer.fit_transform(texts[:500])
    unseen = vectorizer.transform(texts[500:])
    axes = np.random.default_rng(1).normal(size=(sparse.shape[1], 48)).astype(np.float32)
    dense, dense_unseen = sparse @ axes, unseen @ axes
    learned = {}
    for recipe in RECIPES:
        for n_bits in (16, 64):
            for kind, corpus, queries in (("sparse", sparse, unseen), ("dense", dense, dense_unseen)):
                hasher = SelfTaughtHashing(n_bits, n_neighbors=15, recipe=recipe).fit(corpus)
                learned[f"{recipe}-{n_bits}-{kind}-corpus"] = hasher.codes_
                learned[f"{recipe}-{n_bits}-{kind}-unseen"] = hasher.transform(queries)
    for name in BASELINES:
        hasher = baseline(name).fit(sparse)
        learned[f"{name}-corpus"] = hasher.codes_
        learned[f"{name}-unseen"] = hasher.transform(unseen)
    with tempfile.TemporaryDirectory() as folder:
        for scatter in (0.0, 4.0):
            path = Path(folder, f"{scatter}.sth")
            learning = Learning(n_neighbors=15, sample_size=200, scatter=scatter)
            with Collection.create(path, texts[:500], learning=learning) as made:
                learned[f"collection-{scatter:g}-corpus"] = made.encode(texts[:500])
                learned[f"collection-{scatter:g}-unseen"] = made.encode(texts[500:])
        learning = Learning(n_neighbors=15, recipe="neighbors", scatter=2.0)
        with Collection.create(Path(folder, "v.sth"), vectors=dense[:500], learning=learning) as made:
            learned["collection-vectors-unseen"] = made.encode(dense_unseen)
    return learned


def baseline(name: str):
    from sthash import baselines

    return getattr(baselines, name)(16)


def blas() -> str:
    """The kernels that BLAS chose for this processor; sums in another order may turn a bit that lies at its median."""
    return ",".join(sorted(str(library.get("architecture")) for library in threadpool_info()))


@pytest.fixture(scope="module")
def learned() -> dict[str, np.ndarray]:
    return learn_all()


def names() -> list[str]:
    with np.load(GOLDEN) as golden:
        return [name for name in golden.files if name != "blas"] if GOLDEN.exists() else []


@pytest.mark.parametrize("name", names() if GOLDEN.exists() else [])
def test_codes_are_what_they_were(learned, name):
    with np.load(GOLDEN) as golden:
        expected, same_processor = golden[name], str(golden["blas"]) == blas()
    differing = np.bitwise_count(learned[name] ^ expected).sum()
    if not same_processor and name.startswith(ROTATED):
        pytest.skip(f"learned with the BLAS kernels of another processor than {blas()}")
    assert differing <= (0 if same_processor else 0.01 * 8 * expected.size)


def test_every_code_has_its_golden_one(learned):
    assert sorted(learned) == sorted(names())


if __name__ == "__main__":
    np.savez_compressed(GOLDEN, blas=blas(), **learn_all())
    sys.stdout.write(f"{GOLDEN}: {len(names())} sets of codes, {sthash.__version__}, {blas()}\n")
