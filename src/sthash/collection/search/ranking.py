"""The ranking of typed queries: BM25, improved by what the neighbors of a hit say.

Documents about the same thing are relevant to the same queries (van Rijsbergen's cluster hypothesis). So the score of a
hit is smoothed over the neighborhood graph, the one that Self-Taught Hashing learns from: a hit whose neighbors score
well moves up. The first hits also give feedback: what is like them moves up. docs/ranking.md has the trials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Positions
from sthash.checks import resolve_threads
from sthash.vectors.rows import Rows

Scores = npt.NDArray[np.float32]
Allowed = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class RankingParameters:
    """Parameters of the ranking; docs/ranking.md says how the defaults were chosen.

    Attributes
    ----------
    candidates_per_hit, candidates : int
        The ``candidates_per_hit * k`` best documents by BM25 are re-ranked: at least ``seeds`` and at most
        ``candidates`` of them, or ``k`` if that is more.
    seeds : int
        Number of top candidates that contribute to the scores of others.
    neighbors : int
        Number of nearest seeds, by cosine, that smooth the score of a candidate.
    smoothing : float
        Weight of the mean score of the neighbors.
    feedback_documents : int
        Number of top candidates used for feedback.
    feedback : float
        Weight of the mean cosine with these candidates.
    """

    candidates_per_hit: int = 5
    candidates: int = 300
    seeds: int = 50
    neighbors: int = 5
    smoothing: float = 0.4
    feedback_documents: int = 10
    feedback: float = 0.1

    def n_candidates(self, k: int) -> int:
        """Return the number of documents to re-rank for k hits."""
        return max(k, min(self.candidates, max(self.seeds, self.candidates_per_hit * k)))


DEFAULTS = RankingParameters()


class RankedPositions(NamedTuple):
    """Positions of documents per query, best first, and their scores. A position of -1 ends a row."""

    positions: Positions
    scores: Scores


def rank_by_graph(
    found: RankedPositions,
    vectors: Rows | Callable[[Positions], Rows],
    *,
    k: int | None = None,
    parameters: RankingParameters = DEFAULTS,
    threads: int | None = None,
) -> RankedPositions:
    """Rank hits once more, by their neighbors among the first of them.

    Parameters
    ----------
    found : RankedPositions
        The candidates, ranked by BM25.
    vectors : Rows or callable
        The unit rows of all documents, or a function that returns the rows at ascending positions.
    k : int, optional
        Return only the best k.
    """
    places, used = found.positions, None
    if callable(vectors):
        # Not np.unique, which imports much more of NumPy than a search needs.
        used = np.array(sorted(set(places.ravel().tolist()) - {-1}), dtype=np.int64)
        if len(used) == 0:
            return found
        places = np.where(places < 0, -1, np.searchsorted(used, places))
        vectors = vectors(used)
    ranked, scores = _core.rerank_hits(
        vectors.view(),
        places,
        found.scores,
        k=places.shape[1] if k is None else k,
        seeds=parameters.seeds,
        neighbors=parameters.neighbors,
        smoothing=parameters.smoothing,
        feedback_documents=parameters.feedback_documents,
        feedback=parameters.feedback,
        threads=resolve_threads(threads),
    )
    return RankedPositions(ranked if used is None else np.where(ranked < 0, -1, used[ranked]), scores)
