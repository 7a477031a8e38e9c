"""Anchor graph hashing, with one or two layers of thresholds.

A few anchors u_1 … u_m, the centers of a k-means clustering, stand for the corpus. Each document is joined to its s
nearest anchors with weights that sum to one,

    Z_ij ∝ exp(−|x_i − u_j|² / t),

and two documents are as similar as the anchors they share: A = Z Λ⁻¹ Zᵀ, Λ = diag(Zᵀ 1), a graph of which every
document has degree one. With the eigenvectors V and eigenvalues σ below 1 of the small matrix M = Λ^-½ Zᵀ Z Λ^-½, the
eigenvectors of A, and their extension to any document, are

    Y = Z W,    W = √n Λ^-½ V Σ^-½.

*One layer*: bit p is on where y_p(x) > 0. *Two layers*: each eigenvector gives a second bit, which halves either side
of the first: it is on where y_p > b⁺ on the positive side, and where y_p < b⁻ on the other. The thresholds minimize
zᵀ L z, L = I − A, over z = (y − b⁺ on the positive side; −y + b⁻ on the other) with 1ᵀz = 0. With ȳ = |y| for the
first terms, μ its mean, and g = 1/n⁺ on the positive and −1/n⁻ on the other side this is one number:

    c = gᵀ L ȳ / gᵀ L g,    b⁺ = μ + c / n⁺,    −b⁻ = μ − c / n⁻.

So l bits take l / 2 eigenvectors. Bits are ordered eigenvector by eigenvector: a shorter code is a prefix.

Settings of the paper: 300 anchors, s = 2, two layers are its better variant. It leaves open the bandwidth t, which is
the squared mean distance to the s-th nearest anchor in the authors' published code, and how k-means is started: here
with documents drawn at random, 10 rounds.

References
----------
W. Liu, J. Wang, S. Kumar, S.-F. Chang. Hashing with graphs. ICML 2011.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.baselines.baseline import Baseline, LearnedArrays, check_rank
from sthash.baselines.matrices import Array, dense, inverses
from sthash.checks import check_whole
from sthash.hashing.linear_hash import project
from sthash.hashing.signs import column_signs
from sthash.vectors.lengths import squared_norms

# Eigenvalues below this are zero, apart from rounding: their vectors have no meaning.
TINY = 1e-9


class AnchorGraphHashing(Baseline):
    """Anchor graph hashing: the eigenvectors of a graph through a few anchors.

    Parameters
    ----------
    n_bits : int, default=64
        At most the number of anchors minus one, per layer.
    layers : {1, 2}, default=2
    n_anchors : int, default=300
        No more are used than there are distinct documents.
    n_nearest : int, default=2
        Anchors that a document is joined to.
    random_state : int, RandomState or None, default=0
        Seed of the first centers of k-means.
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    anchors_ : array of float32, shape (n_anchors, m)
    bandwidth_ : array of float64, shape (1,)
        The t of the kernel.
    weights_ : array of float64, shape (n_anchors, n_vectors)
    splits_ : array of float64, shape (2, n_vectors)
        The thresholds b⁺ and b⁻ of the second layer.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import AnchorGraphHashing
    >>> X = np.random.default_rng(0).normal(size=(300, 16))
    >>> AnchorGraphHashing(n_bits=8, n_anchors=30).fit(X).transform(X[:2]).shape
    (2, 1)
    """

    _learned_arrays: ClassVar[LearnedArrays] = {
        "anchors_": (np.float32, (None, "m")),
        "bandwidth_": (np.float64, (1,)),
        "weights_": (np.float64, (None, None)),
        "splits_": (np.float64, (2, None)),
    }

    def __init__(
        self,
        n_bits: int = 64,
        *,
        layers: int = 2,
        n_anchors: int = 300,
        n_nearest: int = 2,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.layers = layers
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.random_state = random_state
        self.threads = threads

    def _learn(self, X: Vectors) -> None:
        if self.layers not in (1, 2):
            raise ValueError(f"layers={self.layers!r} must be 1 or 2.")
        check_whole("n_nearest", self.n_nearest, 1)
        if check_whole("n_anchors", self.n_anchors, 2) < self.n_nearest:
            raise ValueError(f"n_nearest={self.n_nearest} must be at most n_anchors={self.n_anchors}. Lower n_nearest.")
        self.anchors_ = k_means(X, self.n_anchors, self._generator(), threads=self.threads)
        nearest, distances = self._nearest_anchors(X)
        self.bandwidth_ = np.array([np.sqrt(distances.max(axis=1)).mean() ** 2 or 1.0])
        Z = self._membership(nearest, distances)
        wanted = -(-self.n_bits // self.layers)
        self.weights_, found = anchor_eigenvectors(Z, wanted)
        check_rank(self.n_bits, found * self.layers, X, "layers of eigenvectors of its anchor graph")
        Y = Z @ self.weights_
        self.splits_ = np.array([second_thresholds(Z, y) for y in Y.T]).T if self.layers == 2 else np.zeros((2, 0))

    def _nearest_anchors(self, X: Vectors) -> tuple[npt.NDArray[np.intp], Array]:
        distances = squared_distances(X, self.anchors_, self.threads)
        k = min(self.n_nearest, len(self.anchors_))
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return nearest, np.take_along_axis(distances, nearest, axis=1)

    def _membership(self, nearest: npt.NDArray[np.intp], distances: Array) -> sp.csr_array:
        """Return Z. Subtracting the smallest distance changes no share, and shares of far documents stay finite."""
        kernel = np.exp(-(distances - distances[:, :1]) / self.bandwidth_[0])
        shares = kernel / kernel.sum(axis=1, keepdims=True)
        n, k = nearest.shape
        parts = (shares.ravel(), nearest.ravel(), np.arange(n + 1) * k)
        return sp.csr_array(parts, shape=(n, len(self.anchors_)))

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        Y = self._membership(*self._nearest_anchors(X)) @ self.weights_
        if self.layers == 1:
            return np.asarray(Y)
        above, below = self.splits_
        second = np.where(Y > 0, Y - above, below - Y)
        return np.stack([Y, second], axis=2).reshape(len(Y), -1)[:, : self.n_bits]


def anchor_eigenvectors(Z: sp.csr_array, n_vectors: int) -> tuple[Array, int]:
    """Return W, which takes Z to the leading eigenvectors of the anchor graph (the constant one left out).

    Also returns how many there are: no more than ``n_vectors``.
    """
    n = Z.shape[0]
    mass = np.asarray(Z.sum(axis=0)).ravel()
    scale = inverses(np.sqrt(mass))
    M = scale[:, None] * (Z.T @ Z).toarray() * scale
    trivial = np.sqrt(mass / n)
    # The constant eigenvector is moved out of the way, so that it is not mixed with others of eigenvalue one.
    values, vectors = np.linalg.eigh(M - 2 * np.outer(trivial, trivial))
    values, vectors = values[::-1][:n_vectors], vectors[:, ::-1][:, :n_vectors]
    kept = values > TINY
    values, vectors = values[kept], vectors[:, kept]
    W = np.sqrt(n) * scale[:, None] * vectors * column_signs(vectors) / np.sqrt(values)
    return W, len(values)


def second_thresholds(Z: sp.csr_array, y: Array) -> tuple[float, float]:
    """Return b⁺ and b⁻: how to halve both sides of an eigenvector most smoothly."""
    positive = y > 0
    n_positive, n_other = int(positive.sum()), int((~positive).sum())
    if n_positive == 0 or n_other == 0:
        return 0.0, 0.0
    size = np.abs(y)
    g = np.where(positive, 1 / n_positive, -1 / n_other)
    mass = np.asarray(Z.sum(axis=0)).ravel()
    smooth = g - Z @ (inverses(mass) * (Z.T @ g))
    curvature = float(smooth @ g)
    c = float(smooth @ size) / curvature if curvature > TINY * float(g @ g) else 0.0
    mean = float(size.mean())
    return mean + c / n_positive, -(mean - c / n_other)


def k_means(
    X: Vectors, k: int, rng: np.random.Generator, rounds: int = 10, threads: int | None = None
) -> npt.NDArray[np.float32]:
    """Return the centers of k clusters, or of as many as there are distinct documents among k drawn ones."""
    drawn = X[rng.choice(X.shape[0], size=min(k, X.shape[0]), replace=False)]
    centers = np.unique(dense(drawn), axis=0)
    for _ in range(rounds):
        nearest = squared_distances(X, centers, threads).argmin(axis=1)
        places = (nearest, np.arange(len(nearest)))
        member = sp.csr_array((np.ones(len(nearest)), places), shape=(len(centers), len(nearest)))
        sizes = np.bincount(nearest, minlength=len(centers))
        totals = dense(member @ X)
        # A center without documents does not move.
        moved = np.where(sizes[:, None] > 0, totals / np.maximum(sizes, 1)[:, None], centers).astype(np.float32)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return np.ascontiguousarray(centers, dtype=np.float32)


def squared_distances(X: Vectors, centers: npt.NDArray[np.float32], threads: int | None = None) -> Array:
    """Squared Euclidean distances, rows of X by centers; never negative."""
    products = project(X, np.ascontiguousarray(centers.T), threads)
    return np.maximum(squared_norms(X)[:, None] + squared_norms(centers) - 2 * products.astype(np.float64), 0)
