"""The recipe for topics: codes that bring documents of one topic together.

The paper's framework with its last steps in another order, and its first ones taken twice:

1. The neighbour graph's eigenvectors, each scaled by (1 − λ)³, rows of unit length: a document's place among topics.
2. A linear map from the vectors to these places, by well-regularised ridge regression. What it predicts for the corpus
   is smoother than the eigenvectors themselves.
3. A second graph, of wider neighbourhoods, among the predicted places; steps 1 and 2 once more on it.
4. Only then bits: principal axes of the predicted places, rotated by iterative quantisation, cut at zero, or as near to
   it as leaves every bit on for 42 to 58 % of the corpus.

Corpus and unseen documents get their codes from the same linear functions. All settings below were chosen on held-out
training documents of the paper's three corpora.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from sthash.hashing.graph import knn_graph, squared_norms
from sthash.hashing.linear import LinearHash, project
from sthash.hashing.ridge import ridge_map
from sthash.hashing.rotation import quantizing_frames
from sthash.hashing.subspace import spectral_subspace
from sthash.hashing.vectors import Vectors

Array = npt.NDArray[np.float64]

FIRST_COMPONENTS, SECOND_COMPONENTS = 64, 32
SCALING_POWER = 3
FIRST_ALPHA, SECOND_ALPHA = 3.0, 8.0
RIDGE_TOLERANCE = 1e-2
# The second graph joins each document to this share of the corpus.
SECOND_SHARE = 0.02
MOST_SECOND_NEIGHBORS = 200
LEAST_ON, MOST_ON = 0.42, 0.58


class TopicCodes(NamedTuple):
    """What the recipe learns: the hash function, and where it places the corpus."""

    function: LinearHash
    embedding: Array


def learn_topic_codes(
    X: Vectors, W: Any, n_bits: int, n_neighbors: int, rng: np.random.Generator, threads: int | None
) -> TopicCodes:
    """Learn ``n_bits`` linear functions from the rows of X and their first graph W."""
    n = X.shape[0]
    scale = float(squared_norms(X).mean())
    places = spectral_rows(W, FIRST_COMPONENTS, threads)
    first = ridge_map(X, places, FIRST_ALPHA * scale, tol=RIDGE_TOLERANCE, threads=threads)
    rough = project(X, first, threads)
    k = min(max(n_neighbors, min(round(SECOND_SHARE * n), MOST_SECOND_NEIGHBORS)), n - 1)
    wider = knn_graph(rough, k, threads=threads)
    places = spectral_rows(wider, SECOND_COMPONENTS, threads)
    second = ridge_map(X, places, SECOND_ALPHA * scale, tol=RIDGE_TOLERANCE, threads=threads)
    places = project(X, second, threads).astype(np.float64)
    with threadpool_limits(limits=1, user_api="blas"):
        directions = quantizing_frames(unit_rows(places), n_bits, rng)
        values = places @ directions
    thresholds = balanced_thresholds(values)
    # A blank document lies at the origin: with every threshold above it, or at it, its bits are all off.
    signs = np.where(thresholds < 0, -1.0, 1.0)
    function = LinearHash()
    function.weights_ = (second @ (directions * signs)).astype(np.float32)
    function.intercept_ = (-thresholds * signs).astype(np.float32)
    return TopicCodes(function, places)


def spectral_rows(W: Any, n_components: int, threads: int | None) -> Array:
    """Rows of unit length, from the graph's first eigenvectors scaled by (1 − λ)³; zero for nodes without edges."""
    joined = int((np.asarray(W.sum(axis=1)).ravel() > 0).sum())
    values, vectors = spectral_subspace(W, min(n_components, joined - 2), threads=threads)
    return unit_rows(vectors * np.maximum(1 - values, 0) ** SCALING_POWER)


def unit_rows(rows: Array) -> Array:
    """Scale rows to unit length; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


def balanced_thresholds(values: Array) -> Array:
    """Zero, or as near to it as leaves each column's bit on for a share of rows within the limits."""
    lowest, highest = np.quantile(values, [1 - MOST_ON, 1 - LEAST_ON], axis=0)
    return np.asarray(np.clip(0.0, lowest, highest))
