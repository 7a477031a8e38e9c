"""Precision of the first k documents of a Hamming ranking."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sthash.evaluation.tallies import Tally


def precision_at(seen: Tally, k: int) -> npt.NDArray[np.float64]:
    r"""Expect the share of relevant documents among the k nearest codes, for each query.

    Documents at the same distance come in random order. Of the :math:`n_d` documents at distance d, of which
    :math:`r_d` are relevant, :math:`m_d = \min(n_d, \max(0, k - n_0 - \dots - n_{d-1}))` come first:

    .. math:: E[P@k] = \frac{1}{k} \sum_d m_d \frac{r_d}{n_d}

    It is a share of k even if the corpus is smaller.
    """
    if k < 1:
        raise ValueError(f"k={k} must be at least 1.")
    found = seen.found.astype(np.int64)
    before = np.cumsum(found, axis=1) - found
    taken = np.clip(k - before, 0, found)
    hits: npt.NDArray[np.float64] = (taken * seen.relevant / np.maximum(found, 1)).sum(axis=1)
    return hits / k
