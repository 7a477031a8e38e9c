"""Harmonic mean of precision and recall."""

from __future__ import annotations


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
