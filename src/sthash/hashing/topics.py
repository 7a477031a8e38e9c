"""The recipe ``topics``: codes that bring documents of one topic together.

It is the paper's framework with its last steps in another order, and repeated:

1. Take the eigenvectors of the neighbor graph, each scaled by (1 − λ)³, and scale rows to unit length. The row of a
   document is its place among topics.
2. Learn a linear map from the vectors to these places by ridge regression with strong regularization. What it predicts
   for a document from the other documents alone is smoother than the eigenvectors, and equally good for the corpus and
   for unseen documents.
3. Build a wider graph of the predicted places with landmarks; its eigenvectors are better places. Predict them as in
   step 2, and repeat, `ROUNDS` times in total.
4. Only now make bits: rotate frames of the predicted places by iterative quantization, and cut them at zero, or as near
   to zero as leaves each bit on for 42 to 58 % of the corpus.

A document of the corpus gets about the code that it would get if it were left out of the regressions. All settings
below were chosen on held-out training documents of the paper's three corpora (docs/better-codes.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.hashing.embedding import TooFewDocumentsError
from sthash.hashing.landmarks import landmark_rows
from sthash.hashing.linear_hash import LinearHash
from sthash.hashing.ridge import LeftOut, left_out_predictions
from sthash.hashing.rotation import quantizing_frames, rotation_rows
from sthash.hashing.subspace import spectral_subspace
from sthash.vectors.checks import check_lengths
from sthash.vectors.lengths import scaled_rows, squared_norms, unit_rows

Array = npt.NDArray[np.float64]

# Together with the probes of `left_out_predictions` they fill whole SIMD registers.
COMPONENTS = 44
SCALING_POWER = 3
ROUNDS = 3
ALPHA, RIDGE_TOLERANCE = 8.0, 0.1
LEAST_ON, MOST_ON = 0.42, 0.58
LEAST_JOINED = 3
# Rows are scaled before they are squared, so only a weight itself must fit into single precision.
SHORTEST, LONGEST = 1e-21, 1e20


class TopicCodes(NamedTuple):
    """What the recipe learns: the hash function, and the places and bits of the corpus."""

    function: LinearHash
    places: Array
    bits: Bits


def learn_topic_codes(X: Vectors, W: Any, n_bits: int, rng: np.random.Generator, threads: int | None) -> TopicCodes:
    """Learn ``n_bits`` linear functions from the rows of X and their graph W, in which every row has a neighbor."""
    n = X.shape[0]
    if n < LEAST_JOINED:
        raise TooFewDocumentsError(
            f"recipe='topics' needs at least {LEAST_JOINED} documents with neighbors, got {n}. "
            "Bring more documents, or raise n_neighbors."
        )
    # Rows have unit length on average, so that one strength of regularization fits all corpora.
    squares = squared_norms(X)
    check_lengths(squares, SHORTEST, LONGEST)
    length = float(np.sqrt(squares.mean())) or 1.0
    weights, places = topic_places(scaled_rows(X, np.full(n, 1 / length)), W, rng, threads)
    with one_blas_thread():
        directions = quantizing_frames(unit_rows(places[rotation_rows(n)]), n_bits, rng)
        values = places @ directions
    thresholds = balanced_thresholds(values)
    # A blank document lies at the origin. Thresholds are made non-negative, so that its bits are all off.
    signs = np.where(thresholds < 0, -1.0, 1.0)
    function = LinearHash(threads=threads)
    function.weights_ = (weights @ (directions * signs / length)).astype(np.float32)
    function.intercept_ = (-thresholds * signs).astype(np.float32)
    return TopicCodes(function, places, values * signs > thresholds * signs)


def topic_places(X: Vectors, W: Any, rng: np.random.Generator, threads: int | None) -> LeftOut:
    """Learn a linear map to places among topics, and the places of the corpus: steps 1 to 3."""

    def predicted(targets: Array) -> LeftOut:
        return left_out_predictions(X, targets, ALPHA, rng, tol=RIDGE_TOLERANCE, threads=threads)

    with one_blas_thread():
        learned = predicted(spectral_rows(W, threads))
        for _ in range(ROUNDS):
            learned = predicted(landmark_rows(learned.predictions, COMPONENTS, rng, threads))
    return learned


def spectral_rows(W: Any, threads: int | None) -> Array:
    """Return rows of unit length, made of the first eigenvectors of the graph scaled by (1 − λ)³."""
    values, vectors = spectral_subspace(W, min(COMPONENTS, W.shape[0] - 2), threads=threads)
    rows: Array = unit_rows(vectors * np.maximum(1 - values, 0) ** SCALING_POWER)
    return rows


def balanced_thresholds(values: Array) -> Array:
    """Return one threshold per column: the value nearest to zero that leaves the share of ones within the limits."""
    lowest, highest = np.quantile(values, [1 - MOST_ON, 1 - LEAST_ON], axis=0)
    return np.asarray(np.clip(0.0, lowest, highest))
