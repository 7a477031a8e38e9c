"""The supervised graph: stage 1, first step, if the categories of the documents are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.checks import check_whole
from sthash.hashing.graph import knn_graph


@dataclass(frozen=True)
class ClassGraph:
    """Join each document to its nearest neighbors of the same category, with the cosine as weight.

    Categories are separate components of the graph, so the first bits distinguish categories and later bits the
    documents in them. In a category of at most ``n_neighbors`` documents, all are joined; a document that is alone in
    its category has no edges.

    Parameters
    ----------
    n_neighbors : int or None, default=25
        None joins all documents of a category with weight 1; the number of edges is quadratic in its size.
    threads : int or None, default=None
        None takes one per available core.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import SelfTaughtHashing
    >>> from sthash.hashing import ClassGraph
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> y = np.arange(60) % 2
    >>> codes = SelfTaughtHashing(n_bits=4, graph=ClassGraph(n_neighbors=10)).fit(X, y).codes_
    >>> set((codes[y == 0] & 1).ravel()) & set((codes[y == 1] & 1).ravel())  # the first bit is the category
    set()
    """

    n_neighbors: int | None = 25
    threads: int | None = None

    def from_labels(self, X: Vectors, y: npt.NDArray[Any]) -> sp.csr_array:
        """Build the graph of the rows of X, whose categories are y."""
        if self.n_neighbors is not None:
            check_whole("n_neighbors", self.n_neighbors)
        rows, columns, weights = [], [], []
        for category in np.unique(y):
            members = np.flatnonzero(y == category)
            if len(members) < 2:
                continue
            part = self._category(X[members]).tocoo()
            rows.append(members[part.row])
            columns.append(members[part.col])
            weights.append(part.data)
        if not rows:
            raise ValueError(
                f"y names no category twice among {len(y)} documents. Pass the categories of the documents."
            )
        places = np.concatenate(rows), np.concatenate(columns)
        W = sp.coo_array((np.concatenate(weights), places), shape=(X.shape[0], X.shape[0]))
        return sp.csr_array(W)

    def _category(self, X: Vectors) -> Any:
        size = X.shape[0]
        if self.n_neighbors is None:
            return sp.csr_array(np.ones((size, size), dtype=np.float32) - np.eye(size, dtype=np.float32))
        return knn_graph(X, min(self.n_neighbors, size - 1), threads=self.threads)
