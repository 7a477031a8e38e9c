"""The recipe ``kernel_topics``: topical codes of dense vectors.

It is the recipe ``topics`` with two changes for vectors of a few hundred dimensions, such as embeddings or images:

1. *Curved hash functions.* A linear map of so few numbers cannot follow the eigenvectors of a graph. The regressions
   therefore start from the Gaussian kernel values of a vector with `ANCHORS` of the corpus (ridge regression in the
   span of their kernels, the Nyström method of Williams and Seeger 2001). Each document is predicted exactly as if it
   had been left out.
2. *Smoothing by the spectrum.* Eigenvectors are scaled by a power of 1 − λ. It is such that the `SLOW`-th of them keeps
   the share `KEPT`, and at most `MOST_SMOOTHING`. Where a corpus falls apart into topics, the first eigenvalues are
   close to zero and the later ones are not; then the power is large, and what remains are the topics. Where it does
   not, nearly nothing is smoothed away.

How the settings were chosen is said in docs/better-codes.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Floats
from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.hashing.embedding import TooFewDocumentsError
from sthash.hashing.kernel_hash import KernelHash, kernel_values
from sthash.hashing.landmarks import LEAST_PLACED, landmark_pairs
from sthash.hashing.rotation import quantizing_frames, rotation_rows
from sthash.hashing.signs import settled
from sthash.hashing.subspace import spectral_subspace
from sthash.hashing.topics import balanced_thresholds
from sthash.vectors.lengths import unit_rows

Array = npt.NDArray[np.float64]

ANCHORS = 1000
# Width of the kernel, relative to the mean squared distance of neighbors.
WIDTH = 2.0
# Widths below this are rounding: all neighbors are equal.
LEAST_WIDTH = 1e-4
COMPONENTS = 44
ROUNDS = 2
SLOW, KEPT, MOST_SMOOTHING = 10, 0.8, 8.0
ALPHA = 0.5
# Directions of the kernel whose variance is a smaller share of the largest one are rounding.
LEAST_VARIANCE = 1e-5
# A document's own target counts at most this much in its prediction.
MOST_SHARE = 0.999
LEAST_JOINED = 3


class KernelCodes(NamedTuple):
    """What the recipe learns: the hash function, and the places and bits of the corpus."""

    function: KernelHash
    places: Array
    bits: Bits


class KernelRidge:
    """Ridge regression in the span of the kernels of some rows, for any number of targets in turn."""

    def __init__(self, X: Floats, width: float, rng: np.random.Generator, threads: int | None) -> None:
        self.anchors = unit_rows(X[np.sort(rng.permutation(np.flatnonzero(X.any(axis=1)))[:ANCHORS])])
        values, vectors = np.linalg.eigh(kernel_values(self.anchors, self.anchors, width, threads).astype(np.float64))
        kept = values > LEAST_VARIANCE * values[-1]
        self.whitening = vectors[:, kept] / np.sqrt(values[kept])
        self.rows: Array = kernel_values(X, self.anchors, width, threads) @ self.whitening
        self.inverse = np.linalg.inv(self.rows.T @ self.rows + ALPHA * np.eye(self.rows.shape[1]))
        shares = np.einsum("ij,ij->i", self.rows @ self.inverse, self.rows)
        self.shares = np.minimum(shares, MOST_SHARE)[:, None]

    def fit(self, targets: Array) -> tuple[Array, Array]:
        """Return the weights of the anchors, and what each row gets from the others alone."""
        weights = self.inverse @ (self.rows.T @ targets)
        return self.whitening @ weights, (self.rows @ weights - self.shares * targets) / (1 - self.shares)


def learn_kernel_codes(X: Any, W: Any, n_bits: int, rng: np.random.Generator, threads: int | None) -> KernelCodes:
    """Learn ``n_bits`` kernel functions from the rows of dense X and their graph W, in which every row has a neighbor.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import knn_graph
    >>> from sthash.hashing.kernel_topics import learn_kernel_codes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 8)).astype(np.float32)
    >>> learn_kernel_codes(X, knn_graph(X, 10), 16, rng, 1).bits.shape
    (100, 16)
    """
    if W.shape[0] < LEAST_JOINED:
        raise TooFewDocumentsError(
            f"recipe='kernel_topics' needs at least {LEAST_JOINED} vectors with neighbors, got {W.shape[0]}. "
            "Bring more vectors, or raise n_neighbors."
        )
    rows: Floats = unit_rows(np.asarray(X, dtype=np.float32))
    width = WIDTH * max(mean_squared_distance(rows, W), LEAST_WIDTH)
    with one_blas_thread():
        ridge = KernelRidge(rows, width, rng, threads)
        values, vectors = spectral_subspace(W, min(COMPONENTS, W.shape[0] - 2), threads=threads)
        weights, places = ridge.fit(smoothed(values, vectors))
        for _ in range(ROUNDS):
            if np.count_nonzero(places.any(axis=1)) < LEAST_PLACED:
                break
            Z, values, vectors = landmark_pairs(settled(places), COMPONENTS, rng, threads)
            weights, places = ridge.fit(smoothed(values, vectors, Z))
        directions = quantizing_frames(unit_rows(places[rotation_rows(len(places))]), n_bits, rng)
        margins = places @ directions
    thresholds = balanced_thresholds(margins)
    function = KernelHash(threads=threads)
    function.anchors_, function.width_ = ridge.anchors, np.array([width])
    function.weights_ = np.ascontiguousarray(weights @ directions, dtype=np.float32)
    function.intercept_ = -thresholds.astype(np.float32)
    return KernelCodes(function, places, margins > thresholds)


def mean_squared_distance(rows: Floats, W: sp.csr_array) -> float:
    """Return the mean squared distance between neighbors in the graph."""
    starts = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    step = 1 << 16
    total = 0.0
    for first in range(0, len(starts), step):
        edge = slice(first, first + step)
        total += float(((rows[starts[edge]] - rows[W.indices[edge]]).astype(np.float64) ** 2).sum())
    return total / max(len(starts), 1)


def smoothed(values: npt.NDArray[Any], vectors: npt.NDArray[Any], average: Any = None) -> Array:
    """Return rows of unit length, made of eigenvectors that are scaled by a power of 1 − λ; averaged by Z, if given."""
    slow = np.clip(1 - values, 0.0, 1.0)
    reference = float(slow[min(SLOW, len(slow)) - 1])
    power = MOST_SMOOTHING if reference >= 1 else min(np.log(KEPT) / np.log(max(reference, 1e-6)), MOST_SMOOTHING)
    scaled = vectors * slow**power
    rows: Array = unit_rows(scaled if average is None else average @ scaled)
    return rows
