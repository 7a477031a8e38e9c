"""Restricted Boltzmann machines, trained by contrastive divergence: the layers of `StackedRBMHashing`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.baselines.matrices import dense

Array = npt.NDArray[np.float32]


@dataclass
class RBM:
    """Weights (visible × hidden) and the biases of both sides."""

    weights: Array
    visible: Array
    hidden: Array


@dataclass(frozen=True)
class Descent:
    """How a machine is trained: stochastic gradient with momentum and weight decay, in minibatches."""

    learning_rate: float
    epochs: int
    batch_size: int
    momentum: float = 0.9
    early_momentum: float = 0.5
    early_epochs: int = 5
    weight_decay: float = 2e-4


def train_rbm(
    cases: Vectors, rbm: RBM, descent: Descent, rng: np.random.Generator, *, word_counts: bool
) -> list[float]:
    """Train a machine in place by one step of contrastive divergence; return the reconstruction error of each epoch.

    ``cases`` holds one visible vector per row. With ``word_counts`` they are counts, modeled by the constrained Poisson
    distribution: the expected counts are the document's length times a softmax over the terms. Otherwise they are
    probabilities of binary units. Hidden units are sampled when they drive the reconstruction; everywhere else,
    and for the visible units, expectations are used, which lowers the variance (Hinton 2010).
    """
    n = cases.shape[0]
    parts = (rbm.weights, rbm.visible, rbm.hidden)
    speeds = [np.zeros_like(part) for part in parts]
    errors = []
    for epoch in range(descent.epochs):
        momentum = descent.early_momentum if epoch < descent.early_epochs else descent.momentum
        error = 0.0
        for batch in minibatches(n, descent.batch_size, rng):
            data = dense(cases[batch])
            hidden = sigmoid(data @ rbm.weights + rbm.hidden)
            sample = (rng.random(hidden.shape, dtype=np.float32) < hidden).astype(np.float32)
            activation = sample @ rbm.weights.T + rbm.visible
            lengths = data.sum(axis=1, keepdims=True)
            model = softmax(activation) * lengths if word_counts else sigmoid(activation)
            hidden_model = sigmoid(model @ rbm.weights + rbm.hidden)
            difference = data - model
            error += float(np.einsum("ij,ij->", difference, difference))
            gradients = (
                data.T @ hidden - model.T @ hidden_model,
                difference.sum(axis=0),
                (hidden - hidden_model).sum(axis=0),
            )
            for part, speed, gradient in zip(parts, speeds, gradients, strict=True):
                gradient *= np.float32(1 / len(batch))
                if part is rbm.weights:
                    gradient -= np.float32(descent.weight_decay) * part
                gradient *= np.float32(descent.learning_rate)
                speed *= np.float32(momentum)
                speed += gradient
                part += speed
        errors.append(error / n)
    return errors


def minibatches(n: int, size: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the cases of an epoch in random order, ``size`` at a time."""
    order = rng.permutation(n)
    for first in range(0, n, size):
        yield order[first : first + size]


def sigmoid(x: Array) -> Array:
    """Logistic function, without overflow; may overwrite its argument."""
    np.multiply(x, np.float32(0.5), out=x)
    np.tanh(x, out=x)
    x += np.float32(1)
    x *= np.float32(0.5)
    return x


def softmax(x: Array) -> Array:
    """Softmax over each row; may overwrite its argument."""
    x -= x.max(axis=1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=1, keepdims=True)
    return x
