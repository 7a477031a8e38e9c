"""Classification by the majority of a Hamming ball."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sthash.evaluation.tallies import Tally


def correct_votes(seen: Tally, radius: int) -> npt.NDArray[np.float64]:
    r"""Give 1 for each query whose label is the majority label of the documents within `radius`, else 0.

    .. math:: \left[\, y = \operatorname{arg\,max}_c |\{d \in \text{retrieved} : y_d = c\}| \,\right]

    Of labels with equally many documents the smallest wins; an empty ball is wrong. The mean is the accuracy.
    """
    if seen.votes is None or seen.labels is None:
        raise ValueError("votes need labels. Use tally with Topics as the relevance.")
    correct: npt.NDArray[np.bool_] = seen.votes[:, min(radius, seen.n_bits)] == seen.labels
    return correct.astype(np.float64)
