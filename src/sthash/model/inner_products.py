"""Vectors whose lengths count: how documents, and the queries that look for large inner products, get their codes.

Documents are hashed as unit rows. A row gets one more column, which brings it to a common length: the cosines with
queries, which have 0 there, then order the rows as inner products do (Bachrach et al., 2014). That length is one that
few rows exceed; these keep their directions only. A single row that is a thousand times as long as all others would
otherwise leave them no room.

Queries are distributed differently from documents, so hash functions learned from documents do not suit them.
Instead, least squares from the bits of documents to their rows learn what each bit tells about inner products, and that
is the weight of the bit for a query. Long rows count more in this, because they have the large inner products; and the
mean row is subtracted in part, which prefers long rows where the bits are undecided.

References
----------
Y. Bachrach et al. Speeding up the Xbox recommender system using a Euclidean transformation for inner-product spaces.
RecSys 2014.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sthash.arrays import Floats
from sthash.model.encoded import Margins
from sthash.vectors.lengths import completed_rows, squared_norms

# The share of rows that are at most as long as the common length; the part of the mean row that is subtracted from
# queries; and the ridge of least squares, per row. Chosen on embeddings and on an SVD of package descriptions.
SHARE_WITHIN, MEAN_PART, RIDGE = 0.999, 0.1, 1e-3
ROWS_TOGETHER = 8192
LEAST_TOTAL = 1e-30


@dataclass(frozen=True)
class InnerProducts:
    """Rows of any length as a hasher learns from them.

    Attributes
    ----------
    length : float
        The common length.
    rows : array of float32, shape (n, d + 1)
        Unit rows, with the column that brings them to the common length.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.model.inner_products import InnerProducts
    >>> InnerProducts.of(np.array([[3, 4], [3, 0]], dtype=np.float32)).rows
    array([[0.6, 0.8, 0. ],
           [0.6, 0. , 0.8]], dtype=float32)
    """

    length: float
    rows: Floats

    @classmethod
    def of(cls, rows: Floats) -> InnerProducts:
        """Make unit rows of rows of any length."""
        lengths = np.sqrt(squared_norms(rows))
        length = float(np.quantile(lengths, SHARE_WITHIN, method="higher")) if len(rows) else 0.0
        return cls(length, completed_rows(rows, length))

    def query_weights(self, n_bits: int, margins: Callable[[Floats], Margins]) -> Floats:
        """Return the weights of the bits for unit queries with 1 as their last value.

        Parameters
        ----------
        n_bits : int
        margins : callable
            Gives the margins of some of the rows.

        Returns
        -------
        weights : array of float32, shape (d + 1, n_bits)
        """
        from sthash.blas import one_blas_thread  # which a search does not need

        with one_blas_thread():
            sums = np.zeros((n_bits + 1, n_bits + self.rows.shape[1] + 1))
            for start in range(0, len(self.rows), ROWS_TOGETHER):
                rows = self.rows[start : start + ROWS_TOGETHER]
                bits, ones = np.where(margins(rows) > 0, 1.0, -1.0), np.ones((len(rows), 1))
                counts = np.sqrt(squared_norms(rows[:, :-1]))[:, None]
                sums += np.hstack([bits, ones]).T @ (counts * np.hstack([bits, rows, ones]))
            total = max(sums[-1, -1], LEAST_TOTAL)
            covariances = sums[:n_bits, :-1] - np.outer(sums[:n_bits, -1], sums[-1, :-1]) / total
            of_bits, of_rows = covariances[:, :n_bits], covariances[:, n_bits:]
            decoder = np.linalg.solve(of_bits + RIDGE * total * np.eye(n_bits), of_rows)
            weights = np.vstack([decoder[:, :-1].T, -MEAN_PART * decoder @ self.rows.mean(axis=0, dtype=np.float64)])
        # Only the relations between bits matter.
        return np.ascontiguousarray(weights / (np.abs(weights).max() or 1.0), dtype=np.float32)
