"""Scores of codes as the paper reports them: Hamming balls at every code length and radius, and rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sthash.codes import Codes
from sthash.evaluation.measures import average_precision, correct_votes, f1, precision, precision_at, query_f1, recall
from sthash.evaluation.relevance import Relevance
from sthash.evaluation.significance import standard_error
from sthash.evaluation.tallies import Tally, tally

LENGTHS = tuple(range(4, 65, 4))
RADII = (0, 1, 2, 3)


@dataclass(frozen=True)
class BallScore:
    """Averages over the queries for one code length and radius.

    Attributes
    ----------
    precision, recall, f1 : float
        As the authors compute them: an empty answer has precision 1, a query without relevant documents has recall 1,
        and F1 is that of the two averages.
    precision_strict, f1_strict : float
        The same, but an empty answer has precision 0.
    answered : float
        Share of the queries that retrieve at least one document.
    accuracy : float or None
        Share of the queries whose label has the majority in the ball; None if relevance is not by topic.
    mean_f1, mean_f1_error : float
        Mean of the queries' own F1, and its standard error over the queries.
    """

    n_bits: int
    radius: int
    precision: float
    recall: float
    f1: float
    precision_strict: float
    f1_strict: float
    answered: float
    accuracy: float | None
    mean_f1: float
    mean_f1_error: float


@dataclass(frozen=True)
class RankingScore:
    """Averages over the queries for one code length. The corpus is ranked by distance; ties count in expectation.

    The errors are the standard errors of the two means over the queries.
    """

    n_bits: int
    k: int
    precision_at_k: float
    mean_average_precision: float
    precision_error: float
    average_precision_error: float


@dataclass(frozen=True)
class Scores:
    """All scores of the codes of one method under one definition of relevance."""

    balls: tuple[BallScore, ...]
    rankings: tuple[RankingScore, ...]

    def ball(self, n_bits: int, radius: int) -> BallScore:
        """Look up the score at one code length and radius."""
        for score in self.balls:
            if (score.n_bits, score.radius) == (n_bits, radius):
                return score
        raise KeyError(f"no score at n_bits={n_bits}, radius={radius}")


def score(
    corpus: Codes,
    queries: Codes,
    relevance: Relevance,
    *,
    lengths: Sequence[int] = LENGTHS,
    radii: Sequence[int] = RADII,
    k: int = 100,
) -> Scores:
    """Score codes at every length and radius, and their ranking at every length.

    Parameters
    ----------
    corpus, queries : packed codes
        A shorter code is a prefix of them.
    relevance : Neighbors, Topics or SharedLabels
    lengths : increasing code lengths in bits
    radii : radii of the Hamming balls, inclusive
    k : cut-off of the ranking's precision

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import Topics, score
    >>> corpus, queries = np.array([[0b0011], [0b0111], [0b1100]], np.uint8), np.array([[0b0011]], np.uint8)
    >>> topics = Topics(np.array([0, 1, 1]), np.array([0]))
    >>> scores = score(corpus, queries, topics, lengths=[4], radii=[1], k=1)
    >>> scores.ball(4, 1).precision, scores.ball(4, 1).recall, scores.rankings[0].precision_at_k
    (0.5, 1.0, 1.0)
    """
    if not len(queries):
        raise ValueError("queries is empty. An average needs at least one query.")
    if any(radius < 0 for radius in radii):
        raise ValueError(f"radii={list(radii)} must not be negative.")
    tallies = tally(corpus, queries, relevance, lengths)
    return Scores(
        tuple(score_ball(seen, radius) for seen in tallies for radius in radii),
        tuple(score_ranking(seen, k) for seen in tallies),
    )


def score_ball(seen: Tally, radius: int) -> BallScore:
    """Averages within one radius."""
    lenient, strict = (float(precision(seen, radius, empty).mean()) for empty in (1.0, 0.0))
    completeness = float(recall(seen, radius).mean())
    each = query_f1(seen, radius)
    return BallScore(
        n_bits=seen.n_bits,
        radius=radius,
        precision=lenient,
        recall=completeness,
        f1=f1(lenient, completeness),
        precision_strict=strict,
        f1_strict=f1(strict, completeness),
        answered=float(seen.found[:, : radius + 1].any(axis=1).mean()),
        accuracy=None if seen.votes is None else float(correct_votes(seen, radius).mean()),
        mean_f1=float(each.mean()),
        mean_f1_error=standard_error(each),
    )


def score_ranking(seen: Tally, k: int) -> RankingScore:
    """Averages of the ranking."""
    early, whole = precision_at(seen, k), average_precision(seen)
    means = float(early.mean()), float(whole.mean())
    return RankingScore(seen.n_bits, k, *means, standard_error(early), standard_error(whole))
