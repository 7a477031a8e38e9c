"""The recipe for neighbours: codes that keep the original nearest neighbours close.

The paper's framework, with another way from the graph to the bits:

1. Three times as many eigenvectors as bits, from `spectral_subspace`. It mixes the later ones with their successors,
   which keeps more of who is next to whom than the same number of exact eigenvectors.
2. Each eigenvector's values are replaced by normal scores of their ranks. Most eigenvectors stand out on a few
   documents only; what tells the others apart is in the order of their small values, which the paper's median cut
   keeps and a rotation of the plain values would lose.
3. Each column is scaled by a power of 1 − λ, and rows to unit length. Short codes favour the smooth eigenvectors, long
   codes take them nearly alike.
4. Where vectors are short, such as embeddings, most of what cosines say is in a few hundred numbers: the vectors
   themselves, centred, stand beside the eigenvectors, with the larger weight.
5. Principal axes, as many as bits (twice as many for short vectors), turned by iterative quantisation; bits are cut at
   zero, or as near to it as leaves every bit on for 42 to 58 % of the corpus.

Hash functions are the paper's: a linear support vector machine a bit. All settings were chosen on held-out training
documents of the paper's three corpora (docs/better-codes.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import ndtri
from scipy.stats import rankdata

from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.hashing.rotation import principal_axes, quantizing_frames
from sthash.hashing.subspace import WEAK, spectral_subspace
from sthash.hashing.topics import balanced_thresholds
from sthash.rows import Vectors, unit_rows

Array = npt.NDArray[np.float64]

COMPONENTS_PER_BIT = 3
MOST_COMPONENTS = 512
# The power of 1 − λ is one up to this length, and falls in proportion beyond.
SMOOTH_BITS = 32
# Vectors of at most so many dimensions count as short; their share in the squared length of a row.
SHORT, VECTOR_SHARE = 1024, 0.8
# With short vectors the bits choose their directions among more principal axes than there are bits.
SHORT_AXES_PER_BIT = 2
# Values of an eigenvector that differ by less than this share of the largest are equal: a graph in several pieces has
# eigenvectors that are constant on each, but for rounding.
EQUAL_SHARE = 1e-5


def neighbor_places(
    W: Any, n_bits: int, rng: np.random.Generator, X: Vectors | None = None, threads: int | None = None
) -> Array:
    """Place the nodes of a graph such that the signs of ``n_bits`` coordinates keep neighbours together.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Symmetric, no negative entries.
    n_bits : int
        At most the number of nodes with edges, less two.
    rng : numpy Generator
        Of the rotation's start.
    X : sparse or dense matrix of shape (n, m), optional
        The vectors that the graph was built from, which take part if they are short.
    threads : int or None, default=None
        None takes one a core. The result does not depend on it.

    Returns
    -------
    places : array of shape (n, n_bits)
        Zero for nodes without edges.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import knn_graph
    >>> from sthash.hashing.neighbors import neighbor_places
    >>> rng = np.random.default_rng(0)
    >>> neighbor_places(knn_graph(rng.normal(size=(100, 8)), 10), 16, rng).shape
    (100, 16)
    """
    joined = np.asarray(W.sum(axis=1)).ravel() > 0
    wanted = min(COMPONENTS_PER_BIT * n_bits, max(MOST_COMPONENTS, n_bits))
    wanted = max(n_bits, min(wanted, int(joined.sum()) - 2))
    values, vectors = spectral_subspace(W, wanted, degrees=WEAK, threads=threads)
    scores = normal_scores(vectors[joined]) * np.maximum(1 - values, 0) ** min(1.0, SMOOTH_BITS / n_bits)
    rows, n_axes = unit_rows(scores), n_bits
    if X is not None and X.shape[1] <= SHORT:
        own = unit_rows((X.toarray() if sp.issparse(X) else X)[joined].astype(np.float64))
        own = unit_rows(own - own.mean(axis=0))
        rows = np.hstack([np.sqrt(1 - VECTOR_SHARE) * rows, np.sqrt(VECTOR_SHARE) * own])
        n_axes = SHORT_AXES_PER_BIT * n_bits
    places = np.zeros((len(joined), n_bits))
    with one_blas_thread():
        rows = rows @ principal_axes(rows)[:, :n_axes]
        places[joined] = rows @ quantizing_frames(rows, n_bits, rng)
    return places


def normal_scores(values: Array) -> Array:
    """Replace the values of each column by quantiles of the normal distribution, in their order; equal ones alike.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.neighbors import normal_scores
    >>> print(normal_scores(np.array([[0.0], [900.0], [3.0]])).round(2).ravel())
    [-0.97  0.97  0.  ]
    """
    largest = np.abs(values).max(axis=0)
    steps = np.rint(values / np.where(largest > 0, largest * EQUAL_SHARE, 1))
    return np.asarray(ndtri((rankdata(steps, axis=0) - 0.5) / len(values)))


def balanced_bits(places: Array) -> Bits:
    """Bits on where a coordinate is above zero, or above the value next to it that leaves the column balanced."""
    bits: Bits = places > balanced_thresholds(places)
    return bits
