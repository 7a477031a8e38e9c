"""Codes of unseen documents by the Nyström extension: stage 2 without learning."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sthash.arrays import Vectors
from sthash.checks import check_whole
from sthash.codes import Bits
from sthash.hashing.binarizer import separating_thresholds
from sthash.hashing.corpus_products import corpus_arrays, corpus_from, product_blocks
from sthash.model_file import check_array
from sthash.vectors.checks import check_vectors, check_width
from sthash.vectors.lengths import squared_norms


class NystromExtension(BaseEstimator):  # type: ignore[misc]
    """Extend the Laplacian eigenmap to an unseen document through its edges to the corpus.

    An eigenvector has W v = μ D v with μ = 1 − λ. Its value at a node is therefore the mean over the node's
    neighbors, divided by μ. The same is required of an unseen document x:

        v(x) = Σ_j w(x, x_j) v_j / (μ Σ_j w(x, x_j)),

    with the edges that the graph would give it: w(x, x_j) is their cosine if x_j is among the ``n_neighbors``
    nearest of x, or if x would be among those of x_j. The threshold is that of the corpus. Every document of the
    corpus is compared, so it costs as much as an exhaustive search. For that reason the paper rejects it for search.

    A document at a right angle to the whole corpus gets the code whose bits are all off. The extension is made for the
    default graph (`knn_graph` by cosine) and the default embedding.

    Parameters
    ----------
    n_neighbors : int, default=25
        The same as that of the graph.

    Attributes
    ----------
    corpus_ : the training rows
    embedding_ : array of float64, shape (n, n_bits)
        The eigenvectors, divided by μ.
    reach_ : array of float64, shape (n,)
        Cosine of each document with its ``n_neighbors``-th neighbor.
    thresholds_ : array of float64, shape (n_bits,)

    References
    ----------
    Y. Bengio et al. Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering. NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import SelfTaughtHashing
    >>> from sthash.hashing import NystromExtension
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> hasher = SelfTaughtHashing(n_bits=8, n_neighbors=10, hash_function=NystromExtension(n_neighbors=10))
    >>> hasher.fit(X).transform(X[:3]).shape
    (3, 1)
    """

    def __init__(self, n_neighbors: int = 25) -> None:
        self.n_neighbors = n_neighbors

    def extend(self, X: Vectors, W: Any, embedding: npt.NDArray[Any], bits: Bits) -> Self:
        """Take over the corpus, its graph and its embedding; the bits give the thresholds."""
        check_whole("n_neighbors", self.n_neighbors)
        W = sp.csr_array(W, dtype=np.float64)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        eigenvalues = (embedding * (W @ embedding)).sum(axis=0) / (degrees @ embedding**2)
        thresholds = separating_thresholds(np.asarray(embedding, dtype=np.float64), bits)
        self.corpus_ = check_vectors(X)
        self.embedding_ = embedding / eigenvalues
        self.reach_ = np.array([_nth_largest(W.data[a:b], self.n_neighbors) for a, b in pairwise(W.indptr)])
        self.thresholds_ = thresholds
        return self

    def decision_function(self, X: Vectors) -> npt.NDArray[np.float64]:
        """Return the extended eigenvectors less their thresholds, shape (n, n_bits)."""
        if not hasattr(self, "embedding_"):
            raise NotFittedError(
                "this NystromExtension is not fitted yet. Call extend, or fit the hasher that holds it."
            )
        X = check_vectors(X)
        check_width(X, self.corpus_.shape[1])
        margins = np.zeros((X.shape[0], self.embedding_.shape[1]))
        own, others = (np.sqrt(squared_norms(part)) for part in (X, self.corpus_))
        for rows, products in product_blocks(X, self.corpus_):
            cosines = products / np.maximum(own[rows, None] * others, np.finfo(np.float64).tiny)
            margins[rows] = self._extended(cosines)
        return margins

    def _extended(self, cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        k = min(self.n_neighbors, cosines.shape[1])
        nth = np.partition(cosines, -k, axis=1)[:, -k]
        edges = np.where((cosines >= nth[:, None]) | (cosines >= self.reach_), np.maximum(cosines, 0), 0)
        degrees = edges.sum(axis=1)
        places = (edges @ self.embedding_) / np.where(degrees > 0, degrees, 1)[:, None]
        return np.where(degrees[:, None] > 0, places - self.thresholds_, 0.0)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        names = ("embedding", "reach", "thresholds")
        return {**corpus_arrays(self.corpus_), **{name: getattr(self, f"{name}_") for name in names}}

    def _set_arrays(self, arrays: dict[str, npt.NDArray[Any]], n_features: int, n_bits: int) -> None:
        check_whole("n_neighbors", self.n_neighbors)
        self.corpus_ = corpus_from(arrays, n_features)
        n = self.corpus_.shape[0]
        for name, shape in (("embedding", (n, n_bits)), ("reach", (n,)), ("thresholds", (n_bits,))):
            check_array(arrays, name, np.float64, shape)
            setattr(self, f"{name}_", arrays[name])


def _nth_largest(weights: npt.NDArray[np.float64], n: int) -> float:
    """Return the n-th largest weight; if there are fewer, any cosine above zero is near enough."""
    return float(np.partition(weights, -n)[-n]) if len(weights) >= n else float(np.finfo(np.float64).tiny)
