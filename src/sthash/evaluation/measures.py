"""The measures. Each takes a `Tally` and gives one value per query, to be averaged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sthash.evaluation.tallies import Tally

__all__ = ["average_precision", "correct_votes", "f1", "precision", "precision_at", "query_f1", "recall"]


def precision(seen: Tally, radius: int, empty: float = 1.0) -> npt.NDArray[np.float64]:
    r"""Give the share of the retrieved documents that are relevant, for each query.

    .. math:: P = \frac{|\text{retrieved} \cap \text{relevant}|}{|\text{retrieved}|}

    Documents within `radius`, inclusive, are retrieved. A query that retrieves nothing gets `empty`: 1 as in the
    authors' code, or 0, so that an empty answer does not count as a good one.
    """
    retrieved = seen.found[:, : radius + 1].sum(axis=1)
    hits = seen.relevant[:, : radius + 1].sum(axis=1)
    return np.where(retrieved > 0, hits / np.maximum(retrieved, 1), empty)


def recall(seen: Tally, radius: int) -> npt.NDArray[np.float64]:
    r"""Give the share of the relevant documents that are retrieved, for each query.

    .. math:: R = \frac{|\text{retrieved} \cap \text{relevant}|}{|\text{relevant}|}

    Documents within `radius`, inclusive, are retrieved. A query without relevant documents gets 1, as in the authors'
    code.
    """
    hits = seen.relevant[:, : radius + 1].sum(axis=1)
    relevant = seen.relevant.sum(axis=1)
    return np.where(relevant > 0, hits / np.maximum(relevant, 1), 1.0)


def f1(precision: float, recall: float) -> float:
    r"""F1 of two averages, as the authors compute it; not the average of the queries' F1.

    .. math:: F_1 = \frac{2 P R}{P + R}

    0 if both are 0.

    Examples
    --------
    >>> from sthash.evaluation.measures import f1
    >>> f1(0.5, 1.0), f1(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    total = precision + recall
    return 2.0 * precision * recall / total if total > 0 else 0.0


def query_f1(seen: Tally, radius: int) -> npt.NDArray[np.float64]:
    r"""Give the F1 of each query's answer within `radius`; its mean over the queries is not that of `f1`.

    .. math:: F_1 = \frac{2 |\text{retrieved} \cap \text{relevant}|}{|\text{retrieved}| + |\text{relevant}|}

    0 if nothing relevant is retrieved, so also for an empty answer.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import Topics, tally
    >>> from sthash.evaluation.measures import query_f1
    >>> corpus, queries = np.array([[0b11], [0b01], [0b00]], np.uint8), np.array([[0b11]], np.uint8)
    >>> (seen,) = tally(corpus, queries, Topics(np.array([1, 1, 2]), np.array([1])), [2])
    >>> query_f1(seen, 0), query_f1(seen, 1)
    (array([0.66666667]), array([1.]))
    """
    retrieved = seen.found[:, : radius + 1].sum(axis=1)
    hits = seen.relevant[:, : radius + 1].sum(axis=1)
    relevant = seen.relevant.sum(axis=1)
    return np.asarray(2.0 * hits / np.maximum(retrieved + relevant, 1))


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


def correct_votes(seen: Tally, radius: int) -> npt.NDArray[np.float64]:
    r"""Give 1 for each query whose label is the majority label of the documents within `radius`, else 0.

    .. math:: \left[\, y = \operatorname{arg\,max}_c |\{d \in \text{retrieved} : y_d = c\}| \,\right]

    Of labels with equally many documents the smallest wins; an empty ball is wrong. The mean is the accuracy.
    """
    if seen.votes is None or seen.labels is None:
        raise ValueError("votes need labels. Use tally with Topics as the relevance.")
    correct: npt.NDArray[np.bool_] = seen.votes[:, min(radius, seen.n_bits)] == seen.labels
    return correct.astype(np.float64)
