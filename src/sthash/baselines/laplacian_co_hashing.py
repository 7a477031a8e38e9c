"""Laplacian co-hashing of terms and documents.

The corpus is a bipartite graph: document i and term j are joined with weight A_ij. Its Laplacian eigenmap, with D₁
and D₂ the degrees of documents and terms, comes from the singular value decomposition

    D₁^-½ A D₂^-½ ≈ U S Vᵀ,

whose first triplet (value 1; U ∝ D₁^½ 1, V ∝ D₂^½ 1) is trivial and dropped. Documents lie at the rows of D₁^-½ U,
terms at those of D₂^-½ V, and bit p is on where coordinate p is above its median over the corpus. Since
U S = D₁^-½ A D₂^-½ V, a document lies at the mean of its terms, stretched by 1 / s_p:

    y_p(x) = Σ_j x_j t_jp / (s_p Σ_j x_j),    t = D₂^-½ V,

which also places unseen documents. (Zhang et al. give no other way to fold them in that could be verified here.)

*Rare terms.* The definition normalizes by the degrees of both sides. A term of one or two documents therefore ties
them as strongly as any other term, and if they have several such terms they are nearly a component of their own, whose
singular value is close to 1. Such values come first, and their vectors are near zero for all other documents: a cut at
the median says nothing about these. ``min_df`` leaves rare terms out of learning and encoding; 1 is the bare
definition.

The spectrum of text falls slowly, so a randomized decomposition stopped early gives other codes: here the triplets
are those of a converged Lanczos iteration.

References
----------
D. Zhang, J. Wang, D. Cai, J. Lu. Laplacian co-hashing of terms and documents. ECIR 2010.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.baselines.baseline import Baseline, LearnedArrays, check_rank
from sthash.baselines.decompositions import leading_svd
from sthash.baselines.matrices import document_frequency, inverses, restricted, sums
from sthash.checks import check_whole
from sthash.hashing.binarizer import median_thresholds
from sthash.hashing.linear_hash import project


class LaplacianCoHashing(Baseline):
    """Laplacian co-hashing: bits from the graph that joins documents and terms. A shorter code is a prefix.

    A blank document takes no part in learning and lies at the origin. A term that the corpus does not have counts
    only in the length of an unseen document.

    Parameters
    ----------
    n_bits : int, default=64
        At most the rank of the corpus minus one.
    min_df : int, default=1
        Terms of fewer documents are ignored. On held-out training documents of the three corpora of the experiments, 5
        was best in the mean.
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    codes_ : array of uint8, shape (n, ceil(n_bits / 8))
    terms_ : array of float32, shape (m, n_bits)
        Where the terms lie, stretched by 1 / s; zero for ignored ones.
    thresholds_ : array of float32, shape (n_bits,)
    singular_values_ : array of float64, shape (n_bits,)

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.baselines import LaplacianCoHashing
    >>> X = np.random.default_rng(0).poisson(0.5, size=(100, 20))
    >>> LaplacianCoHashing(n_bits=8).fit(X).transform(X[:2]).shape
    (2, 1)
    """

    _learned_arrays: ClassVar[LearnedArrays] = {
        "terms_": (np.float32, ("m", "l")),
        "thresholds_": (np.float32, ("l",)),
        "singular_values_": (np.float64, ("l",)),
    }

    _non_negative: ClassVar[bool] = True

    def __init__(self, n_bits: int = 64, *, min_df: int = 1, threads: int | None = None) -> None:
        self.n_bits = n_bits
        self.min_df = min_df
        self.threads = threads

    def _learn(self, X: Vectors) -> None:
        check_whole("min_df", self.min_df)
        if self.min_df > 1:
            X = restricted(X, document_frequency(X) >= self.min_df)
        documents, terms = sums(X, axis=1), sums(X, axis=0)
        by_document, by_term = inverses(np.sqrt(documents)), inverses(np.sqrt(terms))
        A = X.astype(np.float64)
        A = (sp.csr_array(A) if sp.issparse(A) else A) * by_document[:, None] * by_term[None, :]
        total = np.sqrt(documents.sum())
        trivial = np.sqrt(documents) / total, np.sqrt(terms) / total
        factors = leading_svd(sp.csr_array(A) if sp.issparse(A) else A, self.n_bits, minus=trivial)
        check_rank(self.n_bits, len(factors.values), X)
        self.singular_values_ = factors.values
        self.terms_ = (by_term[:, None] * factors.right / factors.values).astype(np.float32)
        values = self._places(X)[documents > 0]
        self.thresholds_ = median_thresholds(values)

    def _places(self, X: Vectors) -> npt.NDArray[np.float32]:
        shares = inverses(sums(X, axis=1))
        return project(X, self.terms_, self.threads) * shares[:, None].astype(np.float32)

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        if self.min_df > 1:
            X = restricted(X, np.asarray(self.terms_.any(axis=1)))
        return np.asarray(self._places(X) - self.thresholds_)
