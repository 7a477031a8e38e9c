"""Duplicates by meaning: which cosine is chosen, and what is dropped."""

import random

import numpy as np
import pytest

from sthash import Document
from sthash.duplicates import NoCosineError, cosine_curve, deduplicate


def subjects(count, copies, noise, seed=0, width=48):
    """Vectors of many subjects, of which some are followed by copies with noise."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(20, width))
    rows = centers[rng.integers(20, size=count)] + rng.normal(size=(count, width))
    near = [rows[:copies] + noise * rng.normal(size=(copies, width)) for _ in range(2)]
    return np.concatenate([rows, *near]).astype(np.float32)


@pytest.mark.parametrize(("copies", "noise"), [(300, 0.2), (100, 0.3), (600, 0.3)])
def test_a_cosine_between_neighbors_and_copies(copies, noise):
    count = 1200
    X = subjects(count, copies, noise)
    curve = cosine_curve(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    own = (unit[:copies] * unit[count : count + copies]).sum(axis=1)
    found = unit @ unit.T
    left, right = np.nonzero(np.triu(found >= curve.threshold, 1))
    true = (left < copies) & ((right - left - count) % copies == 0) & (right >= count)
    true |= (left >= count) & (right == left + copies)
    assert true.mean() > 0.85
    assert (own >= curve.threshold).mean() > 0.7
    assert "<- chosen" in str(curve)
    assert curve.by_chance[0] == pytest.approx(curve.n_documents, rel=0.05)


def test_without_copies_none_is_chosen():
    curve = cosine_curve(subjects(1500, 0, 0))
    assert curve.threshold is None
    assert np.abs(curve.found - curve.by_chance).max() < 0.2 * curve.n_documents
    assert "chosen" not in str(curve)
    for X in (np.ones((10, 4)), np.zeros((100, 4)), np.zeros((0, 4))):
        assert cosine_curve(X).threshold is None


WORDS = [first + second for first in "bcdfgh" for second in ("alm", "ero", "ith", "olt", "une")]


def embedder(X):
    """Vectors of the texts whose last word is their number."""
    return lambda texts: X[[int(text.split()[-1]) if text.strip() else 0 for text in texts]]


def test_what_texts_and_embeddings_find():
    X = subjects(400, 50, 0.1, width=47)
    texts = [f"{' '.join(random.Random(n).choices(WORDS, k=14))} {n}" for n in range(len(X))]
    texts += ["", "  "]
    documents = [Document(str(n), text) for n, text in enumerate(texts)]
    with deduplicate(documents, embedder=embedder(X), memory=64 << 20) as found:
        dropped = {int(own.document.key): (int(own.of.key), own.by_meaning, own.score) for own in found.dropped()}
        review = found.review()
        assert 0.6 < found.meanings.cosine < 0.99
    assert set(range(400, 500)) <= set(dropped)
    assert len(dropped) < 110
    assert all(dropped[400 + n][0] == dropped[450 + n][0] == n for n in range(50))
    assert all(by_meaning and score < 1 for _, by_meaning, score in dropped.values())
    assert review.first[0].reasons[0] == "other words"
    with deduplicate(documents) as found:
        assert found.n_dropped == 0


def test_what_decides_keeps_texts_apart():
    texts = ["You have mail.", "You do not have mail.", "There is a letter for you."]
    documents = [Document(str(n), text) for n, text in enumerate(texts)]
    with deduplicate(documents, embedder=lambda own: np.ones((len(own), 3)), cosine=0.9) as found:
        assert [(own.document.key, own.of.key, own.score) for own in found.dropped()] == [("2", "0", 0.999)]
    with deduplicate(documents[:2], embedder=lambda own: np.ones((len(own), 3)), cosine=0.9) as found:
        assert found.n_dropped == 0


def test_bad_input():
    documents = [Document(str(n), f"word{n}") for n in range(30)]
    rows = np.random.default_rng(0).normal(size=(30, 5))
    with pytest.raises(NoCosineError, match=r"such as cosine=0\.95") as error:
        deduplicate(documents, embedder=lambda _: rows)
    assert "by chance" in str(error.value.curve)
    with pytest.raises(ValueError, match="2 rows for 30 texts"):
        deduplicate(documents, embedder=lambda _: rows[:2], cosine=0.9)
    with pytest.raises(ValueError, match="what the embedder returned"):
        deduplicate(documents, embedder=lambda _: rows * np.nan, cosine=0.9)
    with pytest.raises(TypeError, match="about embeddings"):
        deduplicate(documents, cosine=0.9)
    with pytest.raises(ValueError, match="threshold=2"):
        deduplicate(documents, embedder=lambda _: rows, cosine=2)
    with deduplicate([], embedder=lambda _: rows, cosine=0.9) as found:
        assert found.n_documents == 0
