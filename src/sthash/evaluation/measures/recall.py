"""Recall within a Hamming ball."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sthash.evaluation.tallies import Tally


def recall(seen: Tally, radius: int) -> npt.NDArray[np.float64]:
    r"""Give the share of the relevant documents that are retrieved, for each query.

    .. math:: R = \frac{|\text{retrieved} \cap \text{relevant}|}{|\text{relevant}|}

    Documents within `radius`, inclusive, are retrieved. A query without relevant documents gets 1, as the authors have
    it.
    """
    hits = seen.relevant[:, : radius + 1].sum(axis=1)
    relevant = seen.relevant.sum(axis=1)
    return np.where(relevant > 0, hits / np.maximum(relevant, 1), 1.0)
