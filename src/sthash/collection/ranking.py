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
from sthash.checks import resolve_threads
from sthash.collection.packed_vectors import PackedVectors

Places = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]
Allowed = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class RankingParameters:
    """Parameters of the ranking; docs/ranking.md says how the defaults were chosen.

    Attributes
    ----------
    k1, b : float
        Of BM25: saturation by term frequency, and normalization by length.
    candidates_per_hit, candidates : int
        So many documents per hit that is asked for, the best by BM25, are ranked once more: at least as many as there
        are seeds, and at most ``candidates`` in all, unless more hits are asked for.
    seeds : int
        How many of the first candidates have a say in the scores of others.
    neighbors : int
        The neighbors of a candidate: so many seeds, the nearest by cosine.
    smoothing : float
        Weight of the mean score of the neighbors.
    feedback_documents : int
        So many first candidates give feedback.
    feedback : float
        Weight of the mean cosine with these.
    """

    k1: float = 1.2
    b: float = 0.6
    candidates_per_hit: int = 5
    candidates: int = 300
    seeds: int = 50
    neighbors: int = 5
    smoothing: float = 0.3
    feedback_documents: int = 10
    feedback: float = 0.1

    def n_candidates(self, k: int) -> int:
        """Return how many documents are ranked once more, if k hits are asked for."""
        return max(k, min(self.candidates, max(self.seeds, self.candidates_per_hit * k)))


DEFAULTS = RankingParameters()


@dataclass(slots=True)
class QueryRows:
    """Queries as the parts of a CSR matrix; a term weighs its inverse frequency times its count in the query."""

    indptr: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    weights: Scores

    def __len__(self) -> int:
        return len(self.indptr) - 1


class RankedPositions(NamedTuple):
    """Positions of documents per query, best first, and their scores. A position of -1 ends a row."""

    positions: Places
    scores: Scores


def inverse_frequencies(frequencies: npt.NDArray[np.int32], n_documents: int) -> Scores:
    """Return the weight of terms: ln(1 + (N - df + ½) / (df + ½)), which is never negative.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.collection.ranking import inverse_frequencies
    >>> inverse_frequencies(np.array([1, 10], dtype=np.int32), 10).round(2)
    array([1.99, 0.05], dtype=float32)
    """
    df = frequencies.astype(np.float64)
    weights: Scores = np.log1p((n_documents - df + 0.5) / (df + 0.5)).astype(np.float32)
    return weights


def rank_by_bm25(
    lists: _core.PostingLists,
    queries: QueryRows,
    mean_length: float,
    k: int,
    *,
    parameters: RankingParameters = DEFAULTS,
    allowed: Allowed | None = None,
    threads: int | None = None,
) -> RankedPositions:
    """Return the k best documents of each query by BM25, exactly; only those whose byte in ``allowed`` is set.

    ``mean_length`` is the mean number of words of a document.
    """
    positions, scores = lists.search(
        queries.indptr,
        queries.columns,
        queries.weights,
        k=k,
        k1=parameters.k1,
        b=parameters.b,
        mean_length=mean_length or 1.0,
        allowed=allowed,
        threads=resolve_threads(threads),
    )
    return RankedPositions(positions, scores)


def rank_by_graph(
    found: RankedPositions,
    vectors: PackedVectors | Callable[[Places], PackedVectors],
    *,
    k: int | None = None,
    parameters: RankingParameters = DEFAULTS,
    threads: int | None = None,
) -> RankedPositions:
    """Rank hits once more, by their neighbors among the first of them.

    Parameters
    ----------
    found : RankedPositions
        The candidates, from `rank_by_bm25`.
    vectors : PackedVectors or callable
        The unit rows of all documents; or what gives those at some positions, which ascend.
    k : int, optional
        Give only so many of the best.
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
