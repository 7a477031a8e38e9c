"""Codes of unseen documents by a linear map to the embedding: stage 2 as in locality-preserving indexing."""

from __future__ import annotations

from typing import Any, Self

import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.codes import Bits
from sthash.hashing.binarizer import median_thresholds
from sthash.hashing.linear_hash import LinearHash, project
from sthash.hashing.ridge import ridge_map
from sthash.vectors.checks import check_vectors


class LinearEmbedding(LinearHash):
    """Approximate the embedding by a linear function of the vectors, and cut it at its median over the corpus.

    Locality-preserving indexing (He et al. 2004) finds the linear functions y = X w with the smallest
    yᵀ L y / yᵀ D y, through eigenvectors of two large dense matrices. If X w can equal an eigenvector of the graph,
    that w is a solution (Cai et al. 2007). Therefore, as in their spectral regression, w is the ridge regression ::

        min_w |X w − v|² + alpha |w|²

    of each eigenvector v, minus its mean, on the vectors, which takes seconds. The bits themselves are not used.

    Parameters
    ----------
    alpha : float, default=1.0
    threads : int or None, default=None
        None takes one per available core. The weights do not depend on it.

    Attributes
    ----------
    weights_ : array of float32, shape (m, n_bits)
    intercept_ : array of float32, shape (n_bits,)
        Minus the median.

    References
    ----------
    X. He, D. Cai, H. Liu, W.-Y. Ma. Locality preserving indexing for document representation. SIGIR 2004.
    D. Cai, X. He, W. V. Zhang, J. Han. Regularized locality preserving indexing via spectral regression. CIKM 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import SelfTaughtHashing
    >>> from sthash.hashing import LinearEmbedding
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> hasher = SelfTaughtHashing(n_bits=8, n_neighbors=10, hash_function=LinearEmbedding()).fit(X)
    >>> hasher.transform(X[:3]).shape
    (3, 1)
    """

    def __init__(self, alpha: float = 1.0, *, threads: int | None = None) -> None:
        super().__init__(threads=threads)
        self.alpha = alpha

    def extend(self, X: Vectors, W: Any, embedding: npt.NDArray[Any], bits: Bits) -> Self:
        """Learn the linear map from the vectors to the embedding."""
        X = check_vectors(X)
        targets = embedding - embedding.mean(axis=0)
        weights = ridge_map(X, targets, self.alpha, tol=1e-4, threads=self.threads)
        self.intercept_ = -median_thresholds(project(X, weights, self.threads))
        self.weights_ = weights
        return self
