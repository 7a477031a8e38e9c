"""Which documents are relevant: the nearest neighbors in the original space, or those with the same topic or label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sthash.vectors.lengths import unit_rows

DIGITS = 12  # of a cosine of dense rows
_CELLS = 1 << 22  # similarities held at once by nearest_neighbors: 32 MiB of float64


@dataclass(frozen=True)
class Neighbors:
    """The corpus documents ``indices[j]`` are relevant to query j.

    Parameters
    ----------
    indices : integer array of shape (n_queries, k)
        Positions in the corpus, each at most once per row; -1 fills the rows of queries with fewer than k.
    n_corpus : int
        Size of the corpus.
    """

    indices: npt.NDArray[Any]
    n_corpus: int

    def __post_init__(self) -> None:
        """Check the positions once, so that counting need not check them."""
        indices = np.asarray(self.indices)
        if indices.ndim != 2 or not np.issubdtype(indices.dtype, np.integer):
            raise ValueError(
                f"indices must be a 2-d integer array, got {indices.ndim}-d of {indices.dtype}. "
                "nearest_neighbors() makes one."
            )
        if indices.size and (indices.min() < -1 or indices.max() >= self.n_corpus):
            raise ValueError(
                f"indices must lie in [-1, {self.n_corpus}), found {indices.min()} … {indices.max()}. "
                "They are positions in the corpus."
            )
        ordered = np.sort(indices, axis=1)
        if np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)):
            raise ValueError("indices name a document twice in one row. Name every document once.")
        object.__setattr__(self, "indices", indices.astype(np.int64))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.indices)

    def mask(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Relevance of every corpus document to queries ``start:stop``, one row per query."""
        rows, columns = np.nonzero(self.indices[start:stop] >= 0)
        relevant = np.zeros((stop - start, self.n_corpus), dtype=bool)
        relevant[rows, self.indices[start + rows, columns]] = True
        return relevant


@dataclass(frozen=True)
class Topics:
    """The corpus documents with the label of a query are relevant to it.

    Parameters
    ----------
    corpus, queries : integer arrays of shape (n_corpus,) and (n_queries,)
        One label per document. If no corpus document has the label of a query, nothing is relevant to that query.
    """

    corpus: npt.NDArray[Any]
    queries: npt.NDArray[Any]

    def __post_init__(self) -> None:
        """Check the labels once."""
        for name in ("corpus", "queries"):
            labels = np.asarray(getattr(self, name))
            if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
                raise ValueError(
                    f"{name} must be a 1-d array of integer labels, got {labels.ndim}-d of {labels.dtype}. "
                    "np.unique(..., return_inverse=True) turns names into integers."
                )
            object.__setattr__(self, name, labels.astype(np.int64))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.queries)

    @property
    def n_corpus(self) -> int:
        """Size of the corpus."""
        return len(self.corpus)

    def mask(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Relevance of every corpus document to queries ``start:stop``, one row per query."""
        same: npt.NDArray[np.bool_] = self.queries[start:stop, None] == self.corpus
        return same


@dataclass(frozen=True)
class SharedLabels:
    """The corpus documents that share at least one label with a query are relevant to it.

    Parameters
    ----------
    corpus, queries : sparse or dense arrays of shape (n_corpus, n_labels) and (n_queries, n_labels)
        Not zero where a document has a label. Nothing is relevant to a query without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import SharedLabels
    >>> SharedLabels(np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0, 0, 1], [1, 1, 0]])).mask(0, 2)
    array([[ True, False],
           [ True,  True]])
    """

    corpus: Any
    queries: Any

    def __post_init__(self) -> None:
        """Check the labels once."""
        for name in ("corpus", "queries"):
            given = getattr(self, name)
            if np.ndim(given) != 2 and not sparse.issparse(given):
                raise ValueError(f"{name} must be a 2-d array, one column per label, got {np.ndim(given)}-d.")
            object.__setattr__(self, name, sparse.csr_array(given != 0, dtype=np.float32))
        if self.corpus.shape[1] != self.queries.shape[1]:
            raise ValueError(
                f"corpus has {self.corpus.shape[1]} labels, queries has {self.queries.shape[1]}. Both need the same."
            )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.queries.shape[0])

    @property
    def n_corpus(self) -> int:
        """Size of the corpus."""
        return int(self.corpus.shape[0])

    def mask(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Relevance of every corpus document to queries ``start:stop``, one row per query."""
        shared: npt.NDArray[np.bool_] = (self.queries[start:stop] @ self.corpus.T).toarray() > 0
        return shared


Relevance = Neighbors | Topics | SharedLabels


def nearest_neighbors(train: Any, test: Any, k: int) -> npt.NDArray[np.int64]:
    """Find the k training documents of largest cosine to each test document, nearest first.

    The search is exact, in double precision. Of equal cosines the smaller position comes first; cosines of dense rows
    are equal if they differ by rounding only. A document without terms has cosine 0 to all others.

    Parameters
    ----------
    train, test : arrays or sparse arrays of shape (n, m) and (q, m)
    k : int

    Returns
    -------
    integer array of shape (q, k)
        Positions in `train`.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import nearest_neighbors
    >>> nearest_neighbors(np.array([[0, 1], [1, 1], [2, 0]]), np.array([[3, 0], [1, 1]]), k=2)
    array([[2, 1],
           [1, 0]])
    """
    dense = not (sparse.issparse(train) or sparse.issparse(test))
    as_unit_rows = _unit_dense_rows if dense else _unit_sparse_rows
    train, test = as_unit_rows(train), as_unit_rows(test)
    if train.shape[1] != test.shape[1]:
        raise ValueError(f"train has {train.shape[1]} columns, test has {test.shape[1]}. Both need the same columns.")
    if not 1 <= k <= train.shape[0]:
        raise ValueError(f"k={k} must lie between 1 and the {train.shape[0]} training documents.")
    columns = train.T if dense else sparse.csc_array(train.T)
    nearest = np.empty((test.shape[0], k), dtype=np.int64)
    step = max(1, _CELLS // train.shape[0])
    for start in range(0, test.shape[0], step):
        found = test[start : start + step] @ columns
        # BLAS may add up equal rows in another order.
        similarities = np.round(found, DIGITS) if dense else found.toarray()
        for row, cosines in enumerate(similarities, start=start):
            least = np.partition(cosines, -k)[-k]
            candidates = np.flatnonzero(cosines >= least)
            nearest[row] = candidates[np.argsort(-cosines[candidates], kind="stable")[:k]]
    return nearest


def _unit_dense_rows(vectors: Any) -> Any:
    return unit_rows(np.asarray(vectors, dtype=np.float64))


def _unit_sparse_rows(vectors: Any) -> Any:
    rows = sparse.csr_array(vectors, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    return unit_rows(rows)
