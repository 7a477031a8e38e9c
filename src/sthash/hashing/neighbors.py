"""The recipe ``neighbors``: codes that keep the original nearest neighbors close.

It is the paper's framework with another way from the graph to the bits:

1. Take three times as many eigenvectors as bits, from `spectral_subspace`. It mixes the later ones with their
   successors, which preserves more neighborhoods than the same number of exact eigenvectors does.
2. Replace the values of each eigenvector by normal scores of their ranks. Most eigenvectors have large values for a few
   documents only. What distinguishes the others is the order of their small values; the paper's median cut keeps it,
   and a rotation of the plain values would lose it.
3. Scale each column by a power of 1 − λ, and each row to unit length. Short codes prefer the smooth eigenvectors; long
   codes use them nearly equally.
4. If vectors are short, as embeddings are, add the vectors themselves as further columns, centered and with the larger
   weight, because a few hundred numbers then hold most of what determines the cosines.
5. Take as many principal axes as bits (twice as many for short vectors), and rotate them by iterative quantization. Cut
   at zero, or as near to zero as leaves each bit on for 42 to 58 % of the corpus.

Hash functions are those of the paper: one linear support vector machine per bit. All settings were chosen on held-out
training documents of the paper's three corpora (docs/better-codes.md).
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
# The power of 1 − λ is one up to this code length; for longer codes it decreases in proportion.
SMOOTH_BITS = 32
# The largest number of dimensions of a short vector, and the share of such vectors in the squared length of a row.
SHORT, VECTOR_SHARE = 1024, 0.8
# With short vectors the bits choose their directions among more principal axes than there are bits.
SHORT_AXES_PER_BIT = 2
# Values of an eigenvector that differ by less than this share of the largest count as equal: a graph of several
# components has eigenvectors that are constant on each component, except for rounding.
EQUAL_SHARE = 1e-5


def neighbor_places(
    W: Any, n_bits: int, rng: np.random.Generator, X: Vectors | None = None, threads: int | None = None
) -> Array:
    """Place the nodes of a graph such that the signs of ``n_bits`` coordinates keep neighbors together.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Symmetric, no negative entries.
    n_bits : int
        At most the number of nodes with edges, minus two.
    rng : numpy Generator
        Gives the start of the rotation.
    X : sparse or dense matrix of shape (n, m), optional
        The vectors that the graph was built from; used if they are short.
    threads : int or None, default=None
        None takes one per available core. The result does not depend on it.

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
    """Replace the values of each column by normal quantiles of their ranks; equal values get equal quantiles.

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
    """Return bits that are on above zero, or above the value nearest to zero that leaves the column balanced."""
    bits: Bits = places > balanced_thresholds(places)
    return bits
