"""The recipe ``auto``: which recipe finds rows of the same topic, measured on held-out rows.

A sample of the corpus is divided into rows to learn from and rows to query with. Each recipe that takes such rows
learns from the first, and its score is the precision of the codes that are nearest to those of the second. Relevant
rows are those of the same category. Without categories they are those of the same cluster: spectral clustering of the
graph of all sampled rows, held-out ones included (Ng, Jordan and Weiss, NIPS 2001).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.cluster import KMeans

from sthash import codes
from sthash.arrays import Vectors
from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.hashing.embedding import TooFewDocumentsError
from sthash.hashing.filtered import degrees_of
from sthash.hashing.graph import knn_graph
from sthash.hashing.subspace import spectral_subspace
from sthash.vectors.lengths import is_sparse, unit_rows

SPARSE_RECIPES = ("paper", "topics", "neighbors")
DENSE_RECIPES = (*SPARSE_RECIPES, "embeddings", "kernel_topics")
# Size of the sample, the share of it that is held out, and how many rows that is at most.
MOST_ROWS, HELD_OUT, MOST_QUERIES = 6000, 0.2, 500
# The precision is that of so many nearest codes, or of a tenth of the rows if these are fewer.
DEPTH, DEPTH_SHARE = 100, 0.1
CLUSTERS, TRIES = 20, 2
LEAST_JOINED = 4


def recipe_scores(
    hasher: Any,
    X: Vectors,
    labels: npt.NDArray[Any] | None,
    report: Callable[[int, int], None] | None = None,
) -> dict[str, float]:
    """Return the precision of each recipe at the code length of a `SelfTaughtHashing`, on held-out rows of X.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import SelfTaughtHashing
    >>> from sthash.hashing.choice import recipe_scores
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5, 16)).repeat(60, axis=0) + 0.5 * rng.normal(size=(300, 16))
    >>> sorted(recipe_scores(SelfTaughtHashing(8, recipe="auto"), X, None))
    ['embeddings', 'kernel_topics', 'neighbors', 'paper', 'topics']
    """
    rng = np.random.default_rng(0)
    sample = rng.permutation(X.shape[0])[:MOST_ROWS]
    n_queries = min(MOST_QUERIES, int(HELD_OUT * len(sample)))
    if len(sample) - n_queries < hasher.n_bits + 2 or n_queries == 0:
        raise TooFewDocumentsError(
            f"recipe='auto' holds out a fifth of the documents, which leaves {len(sample) - n_queries} of "
            f"{len(sample)}; n_bits={hasher.n_bits} needs {hasher.n_bits + 2}. Name a recipe, or bring more documents."
        )
    queries, known = np.sort(sample[:n_queries]), np.sort(sample[n_queries:])
    k = max(1, min(DEPTH, int(DEPTH_SHARE * len(known))))
    if labels is None:
        own = clusters(X[np.concatenate([queries, known])], hasher)
        relevant = own[:n_queries, None] == own[n_queries:]
    else:
        relevant = labels[queries][:, None] == labels[known]
    recipes = SPARSE_RECIPES if is_sparse(X) else DENSE_RECIPES
    scores: dict[str, float] = {}
    for place, recipe in enumerate(recipes):
        if report is not None:
            report(place, len(recipes))
        tried = clone(hasher).set_params(recipe=recipe)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tried.fit(X[known])
        scores[recipe] = precision_at(tried.codes_, tried.transform(X[queries]), relevant, hasher.n_bits, k)
    return scores


def clusters(X: Vectors, hasher: Any) -> npt.NDArray[Any]:
    """Return the cluster of each row: k-means of the rows of a Laplacian eigenmap, scaled to unit length."""
    W = knn_graph(X, hasher.n_neighbors, random_state=0, threads=hasher.threads)
    n_joined = int((degrees_of(W) > 0).sum())
    if n_joined < LEAST_JOINED:
        raise TooFewDocumentsError(
            f"recipe='auto' needs at least {LEAST_JOINED} documents with neighbors in its sample, got {n_joined}. "
            "Name a recipe, or bring more documents."
        )
    n_clusters = min(CLUSTERS, n_joined - 2)
    vectors = spectral_subspace(W, n_clusters, threads=hasher.threads).vectors
    with one_blas_thread():
        found: npt.NDArray[Any] = KMeans(n_clusters, n_init=TRIES, random_state=0).fit_predict(unit_rows(vectors))
    return found


def precision_at(corpus: codes.Codes, queries: codes.Codes, relevant: Bits, n_bits: int, k: int) -> float:
    """Return the mean share of relevant rows among the k nearest codes; ties count in expectation."""
    signs, own = (np.where(codes.unpack(part, n_bits), 1, -1).astype(np.int32) for part in (corpus, queries))
    distances = (n_bits - own @ signs.T) // 2
    found = 0.0
    for distance, wanted in zip(distances, relevant, strict=True):
        rows = np.bincount(distance, minlength=n_bits + 1)
        hits = np.bincount(distance, weights=wanted, minlength=n_bits + 1)
        taken = np.clip(k - (np.cumsum(rows) - rows), 0, rows)
        found += float((hits * taken / np.maximum(rows, 1)).sum())
    return found / (k * len(queries))
