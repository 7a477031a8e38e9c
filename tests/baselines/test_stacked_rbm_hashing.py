"""Semantic hashing: gradients against finite differences, learning that shows, and what it makes of its input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import codes
from sthash.baselines import StackedRBMHashing
from sthash.baselines.rbm import RBM, Descent, sigmoid, softmax, train_rbm
from sthash.baselines.stacked_rbm_hashing import Adam, autoencoder_gradients


def topics(n=300, m=50, seed=0):
    """Word counts on five topics, and the topics."""
    rng = np.random.default_rng(seed)
    rates = np.random.default_rng(7).gamma(0.3, scale=2, size=(5, m))
    label = np.arange(n) % 5
    return rng.poisson(rates[label]).astype(np.float32), label


def small(**settings):
    defaults = {"n_bits": 8, "hidden_units": (24,), "pretrain_epochs": 15, "finetune_epochs": 30, "batch_size": 20}
    return StackedRBMHashing(**(defaults | settings))


def neighbors_on_topic(packed, label, k=20):
    """Share of the k nearest codes that are on the topic of the query."""
    bits = codes.unpack(packed, 8 * packed.shape[1])
    distances = (bits[:, None] != bits).sum(axis=2).astype(float)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.mean(label[order] == label[:, None])


def test_reconstruction_errors_fall():
    hasher = small().fit(topics()[0])
    errors = hasher.reconstruction_errors_
    assert errors.shape == (2, 15)
    assert errors[0, -1] < 0.9 * errors[0, 0]
    assert errors[1, -1] < errors[1, 0]
    assert hasher.cross_entropies_[-1] < hasher.cross_entropies_[0]
    untaught = small(pretrain_epochs=0).fit(topics()[0])
    assert untaught.cross_entropies_[-1] < untaught.cross_entropies_[0]
    assert hasher.cross_entropies_[0] < untaught.cross_entropies_[-1] - 0.1  # what pre-training is worth


def test_codes_beat_random_ones_on_unseen_documents():
    X, label = topics()
    Q, query_label = topics(seed=1)
    hasher = small().fit(X)
    random = np.random.default_rng(0).integers(256, size=(300, 1), dtype=np.uint8)
    assert neighbors_on_topic(random, label) < 0.3
    assert neighbors_on_topic(hasher.codes_, label) > 0.6
    assert neighbors_on_topic(hasher.transform(Q), query_label) > 0.6


def test_the_median_balances_every_bit():
    hasher = small(pretrain_epochs=3, finetune_epochs=3, threshold="median").fit(topics()[0])
    assert (codes.unpack(hasher.codes_, 8).sum(axis=0) == 150).all()


def test_a_constant_threshold_cuts_the_activities():
    X, _ = topics()
    hasher = small(pretrain_epochs=3, finetune_epochs=3, threshold=0.1).fit(X)
    activities = 1 / (1 + np.exp(-hasher._code_inputs(X).astype(np.float64)))
    assert np.array_equal(codes.unpack(hasher.codes_, 8), activities > 0.1)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_gradients_against_finite_differences(n_layers):
    rng = np.random.default_rng(0)
    sizes = [6, 5, 4, 3][: n_layers + 1]
    shapes = [*pairwise(sizes)]
    shapes += [(b, a) for a, b in reversed(shapes)]
    weights = [rng.normal(scale=0.5, size=shape) for shape in shapes]
    biases = [rng.normal(scale=0.5, size=shape[1]) for shape in shapes]
    data = rng.poisson(1.5, size=(7, 6)).astype(np.float64)
    data[2] = 0  # a blank document
    noise = rng.normal(size=(7, sizes[-1]))

    def loss():
        return autoencoder_gradients(data, weights, biases, n_layers, noise)[0] / len(data)

    gradients = autoencoder_gradients(data, weights, biases, n_layers, noise)[1]
    step = 1e-5
    for part, gradient in zip([*weights, *biases], gradients, strict=True):
        for place in np.ndindex(part.shape):
            value = part[place]
            part[place] = value + step
            upper = loss()
            part[place] = value - step
            lower = loss()
            part[place] = value
            assert gradient[place] == pytest.approx((upper - lower) / (2 * step), abs=1e-6)


def test_contrastive_divergence_by_a_plain_loop():
    """One step on one minibatch, with the sums over units and documents written out."""
    rng = np.random.default_rng(0)
    data = rng.poisson(1.0, size=(4, 5)).astype(np.float32)
    start = rng.normal(scale=0.3, size=(5, 3)).astype(np.float32)
    rbm = RBM(start.copy(), np.zeros(5, np.float32), np.zeros(3, np.float32))
    descent = Descent(0.1, epochs=1, batch_size=4, weight_decay=0.01)
    train_rbm(data, rbm, descent, np.random.default_rng(5), word_counts=True)

    same = np.random.default_rng(5)
    order = same.permutation(4)
    uniform = same.random((4, 3), dtype=np.float32)
    change, visible, hidden_bias = np.zeros((5, 3)), np.zeros(5), np.zeros(3)
    for place, document in enumerate(order):
        v = data[document].astype(np.float64)
        h = 1 / (1 + np.exp(-(v @ start)))
        sample = (uniform[place] < h).astype(float)
        energy = np.exp(start @ sample)
        model = v.sum() * energy / energy.sum()
        h_model = 1 / (1 + np.exp(-(model @ start)))
        change += np.outer(v, h) - np.outer(model, h_model)
        visible += v - model
        hidden_bias += h - h_model
    assert rbm.weights == pytest.approx(start + 0.1 * (change / 4 - 0.01 * start), abs=1e-5)
    assert rbm.visible == pytest.approx(0.1 * visible / 4, abs=1e-5)
    assert rbm.hidden == pytest.approx(0.1 * hidden_bias / 4, abs=1e-5)


def test_adam_by_the_book():
    rng = np.random.default_rng(0)
    part = np.ones(4, dtype=np.float32)
    adam = Adam([part], 0.01)
    mean, square, wanted = np.zeros(4), np.zeros(4), np.ones(4)
    for time in range(1, 6):
        gradient = rng.normal(size=4)
        adam.step([gradient.astype(np.float32)])
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        wanted -= 0.01 * (mean / (1 - 0.9**time)) / (np.sqrt(square / (1 - 0.999**time)) + 1e-8)
        assert part == pytest.approx(wanted, abs=1e-5)


def test_sigmoid_and_softmax_do_not_overflow():
    far = np.array([[-1e4, 0, 1e4]], dtype=np.float32)
    assert sigmoid(far.copy()).tolist() == [[0, 0.5, 1]]
    assert softmax(far.copy()).tolist() == [[0, 0, 1]]


def test_only_the_most_frequent_terms_are_looked_at():
    X, _ = topics()
    hasher = small(max_terms=10, pretrain_epochs=1, finetune_epochs=1).fit(X)
    assert set(hasher.terms_) == set(np.argsort(-X.sum(axis=0), kind="stable")[:10])
    others = np.setdiff1d(np.arange(50), hasher.terms_)
    changed = X.copy()
    changed[:, others] += 3
    assert np.array_equal(hasher.transform(changed), hasher.transform(X))


def test_weights_are_scaled_to_as_many_words_as_there_are_terms():
    X, _ = topics()
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    fast = {"pretrain_epochs": 2, "finetune_epochs": 2}
    by_weight = small(**fast).fit(unit)
    assert not by_weight.counted_[0]
    words = by_weight._words(sp.csr_array(unit))
    assert words.sum(axis=1) == pytest.approx((X > 0).sum(axis=1), rel=1e-4)
    # The length of a row of weights means nothing, that of a row of counts does.
    assert np.array_equal(by_weight.transform(unit * 5), by_weight.transform(unit))
    by_count = small(**fast).fit(X)
    assert by_count.counted_[0]
    assert np.array_equal(by_count._words(X), X)
    assert not small(**fast, rows="weights").fit(X).counted_[0]
    assert small(**fast, rows="counts").fit(unit).counted_[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": "words"}, "rows='words'"),
        ({"hidden_units": (0,)}, "hidden_units=0"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"noise": -1}, "noise=-1"),
        ({"threshold": 1.5}, "threshold=1.5"),
        ({"max_terms": 0}, "max_terms=0"),
    ],
)
def test_refuses_odd_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        small(**settings).fit(topics()[0])
