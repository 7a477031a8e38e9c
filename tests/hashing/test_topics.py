"""The recipe for topics, and the rotations it is built on."""

import numpy as np
import pytest
import scipy.sparse as sp

import sthash
from sthash import SelfTaughtHashing, codes
from sthash.evaluation import Topics, score
from sthash.hashing import knn_graph
from sthash.hashing import topics as topics_recipe
from sthash.hashing.rotation import quantizing_frames, quantizing_rotation
from sthash.hashing.topics import balanced_thresholds
from sthash.reproduction.datasets import load_reuters21578_counts, tfidf_counts


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=500)
    return (rng.normal(size=(8, 30))[labels] + rng.normal(scale=0.7, size=(500, 30))).astype(np.float32)


@pytest.mark.parametrize("n_bits", [5, 32, 90])
def test_bits_are_balanced_and_close_to_those_of_unseen_documents(rows, n_bits):
    hasher = SelfTaughtHashing(n_bits, 10, recipe="topics").fit(rows)
    learned, unseen = (codes.unpack(c, n_bits) for c in (hasher.codes_, hasher.transform(rows)))
    assert (learned == unseen).mean() > 0.95
    for bits in (learned, unseen):
        share = bits.mean(axis=0)
        assert share.min() >= 0.4
        assert share.max() <= 0.6


def test_corpus_is_coded_as_if_each_document_had_been_left_out(monkeypatch):
    """Where vectors say nothing about topics, a document's own target must not show in its code."""
    monkeypatch.setattr(topics_recipe, "ROUNDS", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 300)).astype(np.float32)
    topics = np.eye(2)[rng.integers(2, size=400)]
    W = sp.csr_array(topics @ topics.T)
    hasher = SelfTaughtHashing(8, recipe="topics", graph=lambda _: W).fit(X)
    signs = 2.0 * (topics[:, 0] > 0) - 1

    def agreement(coded):
        return np.abs((2.0 * codes.unpack(coded, 8) - 1).T @ signs).max() / 400

    assert agreement(hasher.codes_) < 0.3
    assert agreement(hasher.transform(X)) > agreement(hasher.codes_) + 0.2


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_a_bit(rows, threads):
    first, again = (SelfTaughtHashing(20, 10, recipe="topics", threads=t).fit(rows) for t in (None, threads))
    assert (first.codes_ == again.codes_).all()


def test_two_places_have_two_codes():
    X = np.repeat(np.eye(2), 10, axis=0)
    hasher = SelfTaughtHashing(3, 4, recipe="topics").fit(X)
    assert len(np.unique(hasher.codes_[:10])) == len(np.unique(hasher.codes_[10:])) == 1
    assert hasher.codes_[0] != hasher.codes_[10]


@pytest.mark.parametrize("X", [np.ones((20, 5)), np.arange(1.0, 21)[:, None]], ids=["one place", "one direction"])
def test_documents_that_cannot_be_told_apart_have_one_code(X):
    assert len(np.unique(SelfTaughtHashing(3, 4, recipe="topics").fit(X).codes_)) == 1


@pytest.mark.parametrize("scale", [2.0**-70, 0.25, 2.0**60])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_codes_do_not_depend_on_the_length_of_vectors(rows, scale, kind):
    scaled = rows * np.float32(scale)
    plain, other = (SelfTaughtHashing(16, 10, recipe="topics").fit(kind(X)) for X in (rows, scaled))
    assert (plain.codes_ == other.codes_).all()
    assert (plain.transform(rows) == other.transform(scaled)).all()


def test_short_documents_are_coded_as_well_as_long_ones(rows):
    """A document that weighs little in the regression also had little of its own target to give back."""
    X = rows.copy()
    X[::5] *= 0.01
    hasher = SelfTaughtHashing(32, 10, recipe="topics").fit(X)
    learned, unseen = (codes.unpack(c, 32)[::5] for c in (hasher.codes_, hasher.transform(X)))
    assert (learned == unseen).mean() > 0.95


def test_blank_documents_that_a_graph_joins(rows):
    X = rows.copy()
    X[[3, 8, 90]] = 0
    hasher = SelfTaughtHashing(16, recipe="topics", graph=lambda X: knn_graph(X, 5, metric="euclidean")).fit(X)
    assert (hasher.codes_[[3, 8, 90]] == 0).all()


def test_no_two_documents_are_neighbors():
    with pytest.raises(ValueError, match=r"recipe='topics' needs at least 3 documents with neighbors, got 0\."):
        SelfTaughtHashing(3, 4, recipe="topics").fit(np.eye(20))


@pytest.mark.parametrize("n", [4, 7, 12, 30])
def test_tiny_corpora(n):
    X = np.abs(np.random.default_rng(n).normal(size=(n, 5)))
    hasher = SelfTaughtHashing(2, 2, recipe="topics").fit(X)
    assert hasher.codes_.shape == (n, 1)


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
    assert (again.transform(rows) == hasher.transform(rows)).all()
    assert (again.codes_ == hasher.codes_).all()
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


def test_a_narrow_frame_chooses_its_subspace():
    """The third axis has the largest variance, from a few rows; the first two tell all rows apart by their signs."""
    rng = np.random.default_rng(0)
    V = rng.choice([-1.0, 1.0], size=(500, 3))
    V[:, 2] *= np.where(rng.random(500) < 0.02, 10.0, 0.01)
    start = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    frame, _ = quantizing_rotation(V, start, 50)
    np.testing.assert_allclose(frame.T @ frame, np.eye(2), atol=1e-12)
    assert np.abs(V @ frame).sum() > np.abs(V @ np.eye(3)[:, [2, 0]]).sum()
    assert np.abs(frame[2]).max() < 0.3


@pytest.mark.parametrize("n_bits", [3, 8, 11, 24])
def test_frames_are_orthonormal(n_bits):
    rng = np.random.default_rng(1)
    directions = quantizing_frames(rng.normal(size=(100, 8)), n_bits, rng)
    assert directions.shape == (8, n_bits)
    for first in range(0, n_bits, 8):
        frame = directions[:, first : first + 8]
        np.testing.assert_allclose(frame.T @ frame, np.eye(frame.shape[1]), atol=1e-4)


def test_thresholds_stay_near_zero_within_balance():
    values = np.array([[-1.0, 1.0, -3.0], [1.0, 2.0, -2.0]] * 50) + np.linspace(0, 0.1, 100)[:, None]
    thresholds = balanced_thresholds(values)
    assert thresholds[0] == pytest.approx(0, abs=0.1)
    share = (values > thresholds).mean(axis=0)
    assert ((share >= 0.41) & (share <= 0.59)).all()
