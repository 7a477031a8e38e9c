"""The recipe ``embeddings``: plain Hamming codes of dense vectors, such as those of a neural network.

It is the paper's framework with one linear function per bit that is learned from the graph directly:

1. Start from directions whose signs lose little: principal axes, rotated by iterative quantization. More bits than
   dimensions take several frames.
2. Take some documents and some of their neighbors in the graph. Within such a batch, angles and codes both measure how
   near two documents are. A softmax turns both into probabilities, in which distant pairs hardly count.
   Angles order documents as cosines do, and Hamming distances of signs grow in proportion to them.
3. Move the directions and the thresholds such that the codes give the probabilities of the angles (stochastic gradient
   descent with Adam; the loss is their cross entropy). The loss is computed from signs, as
   Hamming distances are. Only its derivative replaces the sign by a hyperbolic tangent.

Without step 3 it is iterative quantization. All settings were chosen on held-out training vectors.

References
----------
Y. Bengio, N. Léonard, A. Courville. Estimating or propagating gradients through stochastic neurons. arXiv:1308.3432.
D. P. Kingma, J. Ba. Adam: a method for stochastic optimization. ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats
from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.hashing.embedding import TooFewDocumentsError
from sthash.hashing.linear_hash import LinearHash
from sthash.hashing.rotation import quantizing_frames
from sthash.vectors.checks import check_lengths
from sthash.vectors.lengths import squared_norms, unit_rows

# Batches: number of documents, and of neighbors of each.
STEPS, ANCHORS, NEIGHBORS = 3000, 32, 16
# A pair that is less close by this share of the standard deviation among all pairs has a probability e times as small.
# Cosines of some models lie between 0 and 1, of others between 0.7 and 1, so that no fixed number fits both.
TEMPERATURE = 0.3
# Rows that the standard deviation is estimated from, and its least value: smaller ones are rounding.
SPREAD_ROWS, LEAST_SPREAD = 1000, 1e-3
# How steep the hyperbolic tangent is, in standard deviations of a margin.
STEEPNESS = 2.0
RATE, WARM_UP, FIRST_DECAY, SECOND_DECAY = 0.01, 20, 0.9, 0.99
LEAST_JOINED = 2
# Rows that the first directions are learned from.
ROTATION_ROWS = 10_000
# Rows are scaled before they are squared, so only a value itself must fit into single precision.
SHORTEST, LONGEST = 1e-21, 1e20


class ContrastCodes(NamedTuple):
    """What the recipe learns: the hash function, and the margins and bits of the corpus."""

    function: LinearHash
    places: Floats
    bits: Bits


@dataclass
class Directions:
    """One direction and one threshold per bit, how sharp both softmax are, and what Adam remembers."""

    weights: Floats  # (d, n_bits)
    intercept: Floats  # (n_bits,)
    sharpness: Floats  # (1,), of the codes
    temperature: float  # of the angles
    moments: list[Floats] = field(default_factory=list)
    squares: list[Floats] = field(default_factory=list)

    def move(self, gradients: tuple[Floats, Floats, Floats], step: int) -> None:
        """Take one step of Adam; steps grow during the warm-up, then shrink along a cosine."""
        values = (self.weights, self.intercept, self.sharpness)
        if not self.moments:
            self.moments, self.squares = ([np.zeros_like(value) for value in values] for _ in range(2))
        rate = RATE * min(1.0, (step + 1) / WARM_UP) * 0.5 * (1 + np.cos(np.pi * step / STEPS))
        # The sharpness is some tens, the others about one.
        for place, (value, gradient, own) in enumerate(zip(values, gradients, (rate, rate, 10 * rate), strict=True)):
            first, second = self.moments[place], self.squares[place]
            first += (1 - FIRST_DECAY) * (gradient - first)
            second += (1 - SECOND_DECAY) * (gradient * gradient - second)
            size = np.sqrt(second / (1 - SECOND_DECAY ** (step + 1))) + 1e-10
            value -= np.float32(own / (1 - FIRST_DECAY ** (step + 1))) * (first / size)


def learn_contrast_codes(
    X: Any,
    W: Any,
    n_bits: int,
    rng: np.random.Generator,
    threads: int | None,
    report: Callable[[int, int], None] | None = None,
) -> ContrastCodes:
    """Learn ``n_bits`` linear functions from the rows of dense X and their graph W, in which every row has a neighbor.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import knn_graph
    >>> from sthash.hashing.contrast import learn_contrast_codes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 8))
    >>> learn_contrast_codes(X, knn_graph(X, 10), 16, rng, 1).bits.shape
    (100, 16)
    """
    if W.shape[0] < LEAST_JOINED:
        raise TooFewDocumentsError(
            f"recipe='embeddings' needs at least {LEAST_JOINED} vectors with neighbors, got {W.shape[0]}. "
            "Bring more vectors, or raise n_neighbors."
        )
    # Rows have unit length on average, so that one learning rate fits all corpora.
    lengths = squared_norms(X)
    check_lengths(lengths, SHORTEST, LONGEST)
    length = float(np.sqrt(lengths.mean())) or 1.0
    rows = (np.asarray(X, dtype=np.float64) / length).astype(np.float32)
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    rows -= mean
    with one_blas_thread():
        directions = first_directions(rows, mean, n_bits, rng)
        for step, batch in enumerate(batches(W, rng)):
            directions.move(gradients_of(directions, rows[batch], mean), step)
            if report is not None and step % 50 == 0:
                report(step, STEPS)
        intercept = directions.intercept - mean @ directions.weights
    # A blank document lies at the origin. Intercepts are made non-positive, so that its bits are all off.
    signs = np.where(intercept > 0, -1, 1).astype(np.float32)
    function = LinearHash(threads=threads)
    function.weights_ = np.ascontiguousarray(directions.weights * signs / np.float32(length))
    function.intercept_ = intercept * signs
    margins = np.asarray(function.decision_function(X), dtype=np.float32)
    return ContrastCodes(function, margins, margins > 0)


def first_directions(rows: Floats, mean: Floats, n_bits: int, rng: np.random.Generator) -> Directions:
    """Return rotated principal axes, such that margins have the standard deviation one, and the temperatures."""
    some = evenly_spaced(rows, ROTATION_ROWS)
    frames = quantizing_frames(some, n_bits, rng)
    deviations = (some @ frames).std(axis=0)
    weights: Floats = np.ascontiguousarray(frames / np.where(deviations > 1e-6, deviations, 1.0), dtype=np.float32)
    few = evenly_spaced(rows, SPREAD_ROWS)
    temperature = TEMPERATURE * spread(closeness(few + mean))
    sharpness = np.full(1, 1 / (TEMPERATURE * spread(agreements(signs_of(few @ weights)))), dtype=np.float32)
    return Directions(weights, np.zeros(n_bits, dtype=np.float32), sharpness, temperature)


def evenly_spaced(rows: Floats, most: int) -> Floats:
    """Return at most ``most`` of the rows, evenly spaced."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)]


def spread(pairs: Floats) -> float:
    """Return the standard deviation among pairs of different rows."""
    return max(float(pairs[~np.eye(len(pairs), dtype=bool)].std()), LEAST_SPREAD)


def closeness(rows: Floats) -> Floats:
    """Return how close the directions of rows are: 1 if they are equal, 0 at right angles, -1 if opposite."""
    units = unit_rows(rows)
    return np.asarray(1 - np.float32(2 / np.pi) * np.arccos(np.clip(units @ units.T, -1, 1)))


def signs_of(margins: Floats) -> Floats:
    """Return the bits as 1 and -1."""
    return np.where(margins > 0, 1, -1).astype(np.float32)


def agreements(signs: Floats) -> Floats:
    """Return how much bits agree: 1 if all are equal, -1 if all differ."""
    return np.asarray((signs @ signs.T) / np.float32(signs.shape[1]))


def batches(W: Any, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the numbers of documents that are drawn at random, and of some of their neighbors."""
    n = W.shape[0]
    for _ in range(STEPS):
        anchors = rng.choice(n, min(n, ANCHORS), replace=False)
        first, last = W.indptr[anchors, None], W.indptr[anchors + 1, None]
        places = first + (rng.random((len(anchors), NEIGHBORS)) * (last - first)).astype(np.int64)
        yield np.unique(np.concatenate([anchors, W.indices[places].ravel()]))


def gradients_of(directions: Directions, rows: Floats, mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the gradients of the cross entropy within a batch of centered rows."""
    n, n_bits = len(rows), directions.weights.shape[1]
    wanted = softmax(closeness(rows + mean) / np.float32(directions.temperature))
    margins = rows @ directions.weights + directions.intercept
    bits = signs_of(margins)
    agreement = agreements(bits)
    errors = (softmax(directions.sharpness * agreement) - wanted) / np.float32(n)
    bent = np.tanh(np.float32(STEEPNESS) * margins)
    of_bits = (directions.sharpness / np.float32(n_bits)) * ((errors + errors.T) @ bits)
    of_margins = of_bits * (1 - bent * bent) * np.float32(STEEPNESS)
    return rows.T @ of_margins, of_margins.sum(axis=0), np.sum(errors * agreement, keepdims=True).ravel()


def softmax(logits: Floats) -> Floats:
    """Return the probabilities of each row for all others."""
    np.fill_diagonal(logits, -np.inf)
    most = logits.max(axis=1, keepdims=True)
    powers = np.exp(logits - np.where(np.isfinite(most), most, 0))
    return np.asarray(powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-30))
