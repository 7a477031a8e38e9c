"""Two rankings of one collection become one, by their ranks.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): in each ranking that has it, a document scores the
weight of the ranking / (5 + rank). Ranks need no common scale, and BM25 and cosines, or inner products, have none.
docs/ranking.md says how weights and offset were chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

# How far down the two rankings are read; and how much less a rank counts than the one before it.
CANDIDATES = 100
RANK_OFFSET = 5
WEIGHTS = (0.6, 0.4)  # of words, and of vectors


def fused(rankings: Sequence[Sequence[int]], k: int) -> list[tuple[int, float]]:
    """Return the k best of all that are in the ranking by words or in that by vectors, with scores; ties by number.

    Examples
    --------
    >>> from sthash.collection.search.fusion import fused
    >>> [number for number, _ in fused([[5, 7, 9], [7, 2]], k=3)]
    [7, 5, 9]
    """
    scores = dict[int, float]()
    for ranking, weight in zip(rankings, WEIGHTS, strict=True):
        for rank, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + weight / (RANK_OFFSET + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
