"""Other choices for a stage of Self-Taught Hashing, and how much each one matters.

The paper mentions several: another number of neighbors in the graph, the ratio cut instead of the normalized one, a
graph of all similarities instead of the nearest, other penalties of the SVMs, other ways to the codes of unseen
documents. Each is a variant in ``variants.yaml``, and is measured like a method. Factories that take ``n_bits`` are
here for those that settings in a file cannot express.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from sthash.arrays import Vectors
from sthash.blas import one_blas_thread
from sthash.codes import Bits
from sthash.evaluation.ball import score
from sthash.evaluation.relevance import Relevance, nearest_neighbors
from sthash.hashing import LinearEmbedding, LinearSVMBank, NystromExtension, SelfTaughtHashing
from sthash.hashing.filtered import degrees_of
from sthash.reproduction.conditions import Method
from sthash.reproduction.corpora import CorpusSplit
from sthash.reproduction.estimators import encode, make
from sthash.vectors.lengths import unit_rows

Array = npt.NDArray[np.float64]

# The ratio cut needs the inverse of L, which is singular: this share of the mean degree is added to its diagonal.
SHIFT = 1e-6
# Documents that an exhaustive search finds for each query.
WANTED = 25


def measure_variant(
    data: CorpusSplit, method: Method, variants: Mapping[str, Any], protocol: Mapping[str, Any]
) -> dict[str, Any]:
    """Score a variant at a few lengths, for topics and for several numbers of wanted neighbors."""
    scores: dict[str, list[dict[str, Any]]] = {}
    seconds = {}
    for group in method.groups(variants["lengths"]):
        found = encode(make(method, group[-1]), group[-1], *data.rows(method.rows), method.title)
        seconds = {"fit": found.fit_seconds, "encode": found.encode_seconds, "search": _search_seconds(data)}
        relevances: dict[str, Relevance] = {"topics": data.topics}
        relevances |= {str(k): data.neighbors(k) for k in sorted(variants["wanted"], reverse=True)}
        for name, relevance in relevances.items():
            measured = score(
                found.corpus,
                found.queries,
                relevance,
                lengths=group,
                radii=protocol["radii"],
                k=protocol["ranking"],
            )
            for ranking in measured.rankings:
                balls = [asdict(ball) for ball in measured.balls if ball.n_bits == ranking.n_bits]
                scores.setdefault(name, []).append({**asdict(ranking), "balls": balls})
    return {"scores": scores, "seconds": seconds}


def _search_seconds(data: CorpusSplit) -> float:
    """Time an exhaustive search: each query is compared with the whole corpus."""
    start = time.perf_counter()
    nearest_neighbors(data.train, data.test, min(WANTED, data.train.shape[0]))
    return time.perf_counter() - start


def nystrom(n_bits: int) -> SelfTaughtHashing:
    """Return Self-Taught Hashing whose stage 2 extends the eigenmap through the edges of the unseen document."""
    return SelfTaughtHashing(n_bits, hash_function=NystromExtension())


def linear_extension(n_bits: int) -> SelfTaughtHashing:
    """Return Self-Taught Hashing whose stage 2 approximates the eigenmap linearly, as in LPI."""
    return SelfTaughtHashing(n_bits, hash_function=LinearEmbedding())


def hinge_machines(n_bits: int) -> SelfTaughtHashing:
    """Return Self-Taught Hashing whose machines have the plain hinge loss of the paper's formula."""
    return SelfTaughtHashing(n_bits, hash_function=LinearSVMBank(loss="hinge"))


def formula_machines(n_bits: int) -> SelfTaughtHashing:
    """Return Self-Taught Hashing whose machines solve the paper's formula: the plain hinge loss, weighed by C / n."""
    return SelfTaughtHashing(n_bits, hash_function=MeanLossBank(loss="hinge"))


class MeanLossBank(LinearSVMBank):
    """Machines whose penalty C is shared by all rows: each has C / n."""

    def fit(self, X: Vectors, bits: Bits, **more: Any) -> Self:
        """Learn to predict each column of ``bits`` from the rows of X."""
        return super().fit(X, bits, **more | {"sample_weight": np.full(X.shape[0], 1 / X.shape[0])})


def ratio_cut(n_bits: int) -> SelfTaughtHashing:
    """Return Self-Taught Hashing on the eigenvectors of L itself."""
    return SelfTaughtHashing(n_bits, embedding=ratio_cut_eigenmap)


def global_similarity(n_bits: int) -> SelfTaughtHashing:
    """Return Self-Taught Hashing on the graph that joins all documents by their cosines."""
    return SelfTaughtHashing(n_bits, embedding=GlobalEigenmap())


def ratio_cut_eigenmap(W: Any, n_components: int) -> Array:
    """Embed the nodes of a graph by the smallest non-constant solutions of L v = λ v: without the degrees.

    They come from a Cholesky factor of the whole matrix, so that memory grows with the square of the number of nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.reproduction.variants import ratio_cut_eigenmap
    >>> W = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    >>> W[2, 3] = W[3, 2] = 0.1
    >>> values = ratio_cut_eigenmap(W, 1).ravel()
    >>> bool((values[:3] * values[3:] < 0).all())
    True
    """
    W = sp.csr_array(W, dtype=np.float64)
    degrees = degrees_of(W)
    joined = np.flatnonzero(degrees > 0)
    L = -W[joined][:, joined].toarray()
    n = len(joined)
    L[np.arange(n), np.arange(n)] += degrees[joined] + SHIFT * degrees[joined].mean()
    with one_blas_thread():
        factor = scipy.linalg.cho_factor(L, lower=True, overwrite_a=True, check_finite=False)

        def solve(v: Array) -> Array:
            found = scipy.linalg.cho_solve(factor, v.ravel() - v.mean(), check_finite=False)
            return np.asarray(found - found.mean())

        vectors = _largest(solve, n, n_components)[1]
    embedding = np.zeros((W.shape[0], n_components))
    embedding[joined] = vectors
    return embedding


class GlobalEigenmap:
    """The Laplacian eigenmap of the graph that joins each document to all others, by their cosines.

    The matrix of the cosines is never formed: its product with a vector is two products with the rows. The graph of
    the nearest neighbors only says which documents take part.
    """

    def from_vectors(self, X: Vectors, W: Any, n_components: int) -> Array:
        """Embed the rows of X."""
        rows = unit_rows(X).astype(np.float64)
        filled = np.asarray((rows * rows).sum(axis=1)).ravel()
        degrees = rows @ np.asarray(rows.sum(axis=0)).ravel() - filled
        joined = degrees_of(sp.csr_array(W)) > 0
        if (degrees[joined] <= 0).any():
            raise ValueError("a global graph needs positive sums of cosines. Use term weights, which are not negative.")
        inverse = np.where(joined, 1 / np.sqrt(np.where(joined, degrees, 1)), 0)
        trivial = np.where(joined, np.sqrt(np.where(joined, degrees, 0)), 0)
        trivial /= np.linalg.norm(trivial)
        turned = sp.csr_array(rows.T) if sp.issparse(rows) else rows.T

        def product(v: Array) -> Array:
            scaled = inverse * (v.ravel() - trivial * (trivial @ v.ravel()))
            found = inverse * (rows @ (turned @ scaled) - filled * scaled)
            return np.asarray(found - trivial * (trivial @ found))

        with one_blas_thread():
            vectors = _largest(product, len(degrees), n_components)[1]
        return vectors * inverse[:, None]


def _largest(product: Any, n: int, k: int) -> tuple[Array, Array]:
    start = np.random.default_rng(0).standard_normal(n)
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    if k >= n - 1:
        raise ValueError(f"{k} dimensions need at least {k + 2} documents with neighbors, got {n}.")
    values, vectors = eigsh(operator, k=k, which="LA", v0=start, tol=1e-6)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
