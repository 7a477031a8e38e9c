"""Average precision of a Hamming ranking."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sthash.evaluation.tallies import Tally


def average_precision(seen: Tally) -> npt.NDArray[np.float64]:
    r"""Expect the average precision of the ranking by distance, for each query.

    Documents at the same distance come in random order. Let N documents, R of them relevant, be nearer than a
    group of n documents with r relevant. The document at place i of the group is relevant with probability
    r / n, and then (i - 1)(r - 1) / (n - 1) relevant ones of its group are expected before it; the group adds

    .. math:: \frac{r}{n} \sum_{i=1}^{n} \frac{R + 1 + (i - 1) s}{N + i}
              = \frac{r}{n} \left[ (R + 1 - (N + 1) s)(H_{N+n} - H_N) + n s \right],
              \quad s = \frac{r - 1}{n - 1}

    with the harmonic numbers H; the sum over the groups is divided by the number of relevant documents. A
    query without relevant documents gets 0. The mean over the queries is MAP.

    References
    ----------
    F. McSherry and M. Najork, "Computing information retrieval performance measures efficiently in the
    presence of tied scores", ECIR 2008.
    """
    n, r = seen.found.astype(np.float64), seen.relevant.astype(np.float64)
    upto = np.cumsum(seen.found, axis=1, dtype=np.int64)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, upto.max(initial=0) + 1))])
    nearer, nearer_relevant = upto - seen.found, np.cumsum(r, axis=1) - r
    s = np.maximum(r - 1, 0) / np.maximum(n - 1, 1)
    span = harmonic[upto] - harmonic[nearer]
    added = r / np.maximum(n, 1) * ((nearer_relevant + 1 - (nearer + 1) * s) * span + n * s)
    relevant = r.sum(axis=1)
    return np.where(relevant > 0, added.sum(axis=1) / np.maximum(relevant, 1), 0.0)
