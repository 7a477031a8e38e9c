"""The recipe for topics: codes that bring documents of one topic together.

The paper's framework with its last steps in another order, and taken several times:

1. The neighbour graph's eigenvectors, each scaled by (1 − λ)³, rows of unit length: a document's place among topics.
2. A linear map from the vectors to these places, by well-regularised ridge regression. What it predicts for a document
   from the others alone is smoother than the eigenvectors, and as good for the corpus as for unseen documents.
3. A wider graph among the predicted places, through landmarks; its eigenvectors are better places. They are
   predicted anew as in step 2, and so on, `ROUNDS` times.
4. Only then bits: frames of the predicted places, turned by iterative quantisation, cut at zero, or as near to it as
   leaves every bit on for 42 to 58 % of the corpus.

A document of the corpus gets about the code that it would get had it been left out of the regressions. All settings
below were chosen on held-out training documents of the paper's three corpora (docs/better-codes.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.hashing.landmarks import landmark_rows
from sthash.hashing.linear_hash import LinearHash
from sthash.hashing.ridge import LeftOut, left_out_predictions
from sthash.hashing.rotation import quantizing_frames
from sthash.hashing.subspace import spectral_subspace
from sthash.rows import Vectors, scaled_rows, squared_norms, unit_rows

Array = npt.NDArray[np.float64]

# With the probes of `left_out_predictions` they fill the lanes of the products.
COMPONENTS = 44
SCALING_POWER = 3
ROUNDS = 3
ALPHA, RIDGE_TOLERANCE = 8.0, 0.1
LEAST_ON, MOST_ON = 0.42, 0.58
LEAST_JOINED = 3


class TopicCodes(NamedTuple):
    """What the recipe learns: the hash function, where it places the corpus, and the corpus's bits."""

    function: LinearHash
    places: Array
    bits: Bits


def learn_topic_codes(X: Vectors, W: Any, n_bits: int, rng: np.random.Generator, threads: int | None) -> TopicCodes:
    """Learn ``n_bits`` linear functions from the rows of X and their graph W, in which every row has a neighbour."""
    n = X.shape[0]
    if n < LEAST_JOINED:
        raise ValueError(
            f"recipe='topics' needs at least {LEAST_JOINED} documents with neighbours, got {n}; "
            "bring more documents, or raise n_neighbors."
        )
    # Rows of unit length on average, so that one strength of regularisation fits all.
    length = float(np.sqrt(squared_norms(X).mean())) or 1.0
    weights, places = topic_places(scaled_rows(X, np.full(n, 1 / length)), W, rng, threads)
    with one_blas_thread():
        directions = quantizing_frames(unit_rows(places), n_bits, rng)
        values = places @ directions
    thresholds = balanced_thresholds(values)
    # A blank document lies at the origin: with every threshold above it, or at it, its bits are all off.
    signs = np.where(thresholds < 0, -1.0, 1.0)
    function = LinearHash(threads=threads)
    function.weights_ = (weights @ (directions * signs / length)).astype(np.float32)
    function.intercept_ = (-thresholds * signs).astype(np.float32)
    return TopicCodes(function, places, values * signs > thresholds * signs)


def topic_places(X: Vectors, W: Any, rng: np.random.Generator, threads: int | None) -> LeftOut:
    """Learn a linear map to places among topics, and place the corpus: steps 1 to 3."""

    def predicted(targets: Array) -> LeftOut:
        return left_out_predictions(X, targets, ALPHA, rng, tol=RIDGE_TOLERANCE, threads=threads)

    with one_blas_thread():
        learnt = predicted(spectral_rows(W, threads))
        for _ in range(ROUNDS):
            learnt = predicted(landmark_rows(learnt.predictions, COMPONENTS, rng, threads))
    return learnt


def spectral_rows(W: Any, threads: int | None) -> Array:
    """Rows of unit length, from the graph's first eigenvectors scaled by (1 − λ)³."""
    values, vectors = spectral_subspace(W, min(COMPONENTS, W.shape[0] - 2), threads=threads)
    rows: Array = unit_rows(vectors * np.maximum(1 - values, 0) ** SCALING_POWER)
    return rows


def balanced_thresholds(values: Array) -> Array:
    """Zero, or as near to it as leaves each column's bit on for a share of rows within the limits."""
    lowest, highest = np.quantile(values, [1 - MOST_ON, 1 - LEAST_ON], axis=0)
    return np.asarray(np.clip(0.0, lowest, highest))
