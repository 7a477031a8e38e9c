"""The recipe for topics, and the rotations it is built on."""

import numpy as np
import pytest
import scipy.sparse as sp

import sthash
from sthash import SelfTaughtHashing, codes
from sthash.evaluation import Topics, score
from sthash.evaluation.datasets import load_reuters21578_counts, tfidf_counts
from sthash.hashing.rotation import quantizing_frames, quantizing_rotation
from sthash.hashing.topics import balanced_thresholds


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=500)
    return (rng.normal(size=(8, 30))[labels] + rng.normal(scale=0.7, size=(500, 30))).astype(np.float32)


@pytest.mark.parametrize("n_bits", [5, 32, 90])
def test_codes_of_the_corpus_are_those_of_unseen_documents(rows, n_bits):
    hasher = SelfTaughtHashing(n_bits, 10, recipe="topics").fit(rows)
    assert (hasher.codes_ == hasher.transform(rows)).all()
    share = codes.unpack(hasher.codes_, n_bits).mean(axis=0)
    assert share.min() >= 0.4
    assert share.max() <= 0.6


def test_same_seed_same_codes_other_seed_other_codes(rows):
    first, again, other = (SelfTaughtHashing(16, 10, recipe="topics", random_state=s).fit(rows) for s in (0, 0, 1))
    assert (first.codes_ == again.codes_).all()
    assert (first.codes_ != other.codes_).any()


def test_blank_and_lonely_documents():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(100, 20))) * (rng.random((100, 20)) < 0.5)
    X = np.hstack([X, np.zeros((100, 1))])
    X[3] = 0
    X[4] = np.eye(21)[20]
    hasher = SelfTaughtHashing(16, 10, recipe="topics").fit(sp.csr_array(X))
    assert (hasher.codes_[3] == 0).all()
    assert (hasher.transform(np.zeros((1, 21))) == 0).all()


def test_save_and_load(rows, tmp_path):
    hasher = SelfTaughtHashing(24, 10, recipe="topics").fit(rows)
    hasher.save(tmp_path / "model")
    again = sthash.load(tmp_path / "model")
    assert again.get_params() == hasher.get_params()
    assert (again.transform(rows) == hasher.codes_).all()
    assert (again.embedding_ == hasher.embedding_).all()


def test_stages_of_ones_own_belong_to_the_papers_recipe(rows):
    with pytest.raises(ValueError, match="recipe='topics' has its own"):
        SelfTaughtHashing(8, 10, recipe="topics", binarizer=lambda e: e > 0).fit(rows)
    with pytest.raises(ValueError, match="recipe='magic' is not known"):
        SelfTaughtHashing(8, 10, recipe="magic").fit(rows)


def test_finds_topics_better_than_the_papers_recipe(needs):
    """On held-out training documents: the test split is for the report alone."""
    needs("reuters21578_counts.mat")
    data = load_reuters21578_counts()
    order = np.random.default_rng(0).permutation(data.train.shape[0])
    seen, held_out = order[:4000], order[4000:]
    X, Q = tfidf_counts(data.train[seen], data.train[held_out])
    topics = Topics(data.train_labels[seen], data.train_labels[held_out])

    def precision(recipe, n_bits):
        hasher = SelfTaughtHashing(n_bits, recipe=recipe).fit(X)
        return score(hasher.codes_, hasher.transform(Q), topics, lengths=(n_bits,)).rankings[0].precision_at_k

    for n_bits in (16, 64):
        assert precision("topics", n_bits) > precision("paper", n_bits) + 0.03


def test_the_loss_of_the_rotation_never_rises():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(300, 12)) * np.linspace(2, 0.2, 12)
    rotation, losses = quantizing_rotation(V, np.linalg.qr(rng.normal(size=(12, 12)))[0], 50)
    assert (np.diff(losses) <= 1e-9).all()
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(12), atol=1e-12)


@pytest.mark.parametrize("n_bits", [3, 8, 11, 24])
def test_frames_are_orthonormal(n_bits):
    rng = np.random.default_rng(1)
    directions = quantizing_frames(rng.normal(size=(100, 8)), n_bits, rng)
    assert directions.shape == (8, n_bits)
    for first in range(0, n_bits, 8):
        frame = directions[:, first : first + 8]
        np.testing.assert_allclose(frame.T @ frame, np.eye(frame.shape[1]), atol=1e-10)


def test_thresholds_stay_near_zero_within_balance():
    values = np.array([[-1.0, 1.0, -3.0], [1.0, 2.0, -2.0]] * 50) + np.linspace(0, 0.1, 100)[:, None]
    thresholds = balanced_thresholds(values)
    assert thresholds[0] == pytest.approx(0, abs=0.1)
    share = (values > thresholds).mean(axis=0)
    assert ((share >= 0.41) & (share <= 0.59)).all()
