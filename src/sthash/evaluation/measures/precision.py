"""Precision within a Hamming ball."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sthash.evaluation.tallies import Tally


def precision(seen: Tally, radius: int, empty: float = 1.0) -> npt.NDArray[np.float64]:
    r"""Give the share of the retrieved documents that are relevant, for each query.

    .. math:: P = \frac{|\text{retrieved} \cap \text{relevant}|}{|\text{retrieved}|}

    Documents within `radius`, inclusive, are retrieved. A query that retrieves nothing gets `empty`: 1 as the authors
    have it, or 0, so that an empty answer does not count as a good one.
    """
    retrieved = seen.found[:, : radius + 1].sum(axis=1)
    hits = seen.relevant[:, : radius + 1].sum(axis=1)
    return np.where(retrieved > 0, hits / np.maximum(retrieved, 1), empty)
