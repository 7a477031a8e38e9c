"""How good rankings are, by relevance judgments: nDCG, recall, MRR, MAP and precision, as trec_eval computes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash.evaluation.significance import bootstrap_interval, paired_test

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]

MEASURES = ("nDCG@10", "recall@100", "MRR@10", "MAP@100")
_ALIASES = {"ndcg": "nDCG", "recall": "recall", "r": "recall", "mrr": "MRR", "rr": "MRR", "map": "MAP", "ap": "MAP"}
_ALIASES |= {"precision": "precision", "p": "precision"}


@dataclass(frozen=True)
class Measure:
    """One measure: its name and how many documents of a ranking it looks at; None for all."""

    kind: str
    cutoff: int | None = None

    @classmethod
    def of(cls, name: str) -> Measure:
        """Return the measure of a name such as ``nDCG@10``, ``recall@100`` (``R@100``), ``MRR`` (``RR``), ``MAP``."""
        parts = re.fullmatch(r"([A-Za-z]+)(?:@([0-9]{1,9}))?", name.strip())
        kind = _ALIASES.get(parts[1].lower()) if parts else None
        cutoff = int(parts[2]) if parts and parts[2] else None
        if kind is None or cutoff == 0 or (cutoff is None and kind in ("recall", "precision")):
            raise ValueError(
                f"{name!r} is not a measure. Use nDCG, MRR or MAP, alone or with a cutoff such as nDCG@10, "
                "or recall or precision with a cutoff such as recall@100."
            )
        return cls(kind, cutoff)

    def __str__(self) -> str:
        return self.kind if self.cutoff is None else f"{self.kind}@{self.cutoff}"

    def __call__(self, ranked: Sequence[str], judged: Mapping[str, int]) -> float:
        """Return the value of one ranking, by the grades of the judged documents."""
        gains = np.array([max(judged.get(key, 0), 0) for key in ranked[: self.cutoff]], dtype=np.float64)
        ideal = np.sort([grade for grade in judged.values() if grade > 0])[::-1].astype(np.float64)
        if not len(ideal) or not gains.any():
            return 0.0
        return _KINDS[self.kind](gains, ideal, self.cutoff)


def _ndcg(gains: npt.NDArray[np.float64], ideal: npt.NDArray[np.float64], cutoff: int | None) -> float:
    best = ideal[:cutoff]
    return float(gains @ _discounts(len(gains)) / (best @ _discounts(len(best))))


def _discounts(n: int) -> npt.NDArray[np.float64]:
    return 1.0 / np.log2(np.arange(2, n + 2))


def _recall(gains: npt.NDArray[np.float64], ideal: npt.NDArray[np.float64], _cutoff: int | None) -> float:
    return np.count_nonzero(gains) / len(ideal)


def _precision(gains: npt.NDArray[np.float64], _ideal: npt.NDArray[np.float64], cutoff: int | None) -> float:
    return np.count_nonzero(gains) / (cutoff or len(gains))


def _reciprocal_rank(gains: npt.NDArray[np.float64], _ideal: npt.NDArray[np.float64], _cutoff: int | None) -> float:
    return 1.0 / (int(np.argmax(gains > 0)) + 1)


def _average_precision(gains: npt.NDArray[np.float64], ideal: npt.NDArray[np.float64], _cutoff: int | None) -> float:
    places = np.flatnonzero(gains > 0) + 1
    return float((np.arange(1, len(places) + 1) / places).sum() / len(ideal))


_KINDS: dict[str, Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64], int | None], float]] = {
    "nDCG": _ndcg,
    "recall": _recall,
    "precision": _precision,
    "MRR": _reciprocal_rank,
    "MAP": _average_precision,
}


@dataclass(frozen=True)
class RunScore:
    """One measure of a run: a value per judged query, their mean, and its confidence interval.

    Attributes
    ----------
    measure : str
    mean : float
    low, high : float
        Bounds of the 95 % confidence interval of the mean: percentiles of 10,000 bootstrap samples of the queries.
    values : array
        One per judged query, in the order of the judgments.
    """

    measure: str
    mean: float
    low: float
    high: float
    values: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """One measure of two runs on the same queries.

    Attributes
    ----------
    measure : str
    difference : float
        Mean of the first run minus mean of the second.
    low, high : float
        Bounds of its 95 % confidence interval.
    p_value : float
        Of a two-sided paired randomization test: how often a difference this large comes about if the two runs swap
        their values at random, query by query.
    better, worse : int
        Number of queries on which the first run has the larger, or the smaller, value.
    """

    measure: str
    difference: float
    low: float
    high: float
    p_value: float
    better: int
    worse: int


def evaluate_run(run: Run, qrels: Qrels, measures: Sequence[str] = MEASURES) -> list[RunScore]:
    """Measure rankings by relevance judgments.

    Documents are ranked by score; of equal scores, the larger key comes first, as in trec_eval. Every judged query
    counts: one that the run does not answer has the value 0. Documents that are not judged are not relevant.

    Parameters
    ----------
    run : mapping
        Query id → document key → score.
    qrels : mapping
        Query id → document key → grade; grades above 0 are relevant.
    measures : sequence of str
        ``nDCG``, ``recall``, ``MRR``, ``MAP`` and ``precision``, with a cutoff such as ``nDCG@10``. The names of
        ir-measures (``R``, ``RR``, ``AP``, ``P``) are understood too.

    Examples
    --------
    >>> from sthash.evaluation import evaluate_run
    >>> run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 1.0}}
    >>> qrels = {"q1": {"b": 1}, "q2": {"b": 1}}
    >>> [(score.measure, score.mean) for score in evaluate_run(run, qrels, ["MRR", "recall@1"])]
    [('MRR', 0.75), ('recall@1', 0.5)]
    """
    wanted = [Measure.of(name) for name in measures]
    if not qrels:
        raise ValueError("there are no judged queries. Give at least one.")
    rankings = [ranked_keys(run.get(query, {})) for query in qrels]
    scores = []
    for measure in wanted:
        pairs = zip(rankings, qrels.values(), strict=True)
        values = np.array([measure(ranked, judged) for ranked, judged in pairs])
        scores.append(RunScore(str(measure), float(values.mean()), *bootstrap_interval(values), values))
    return scores


def compare_runs(run: Run, other: Run, qrels: Qrels, measures: Sequence[str] = MEASURES) -> list[Comparison]:
    """Test whether one run is better than another, query by query; see `evaluate_run` for the arguments.

    References
    ----------
    M. D. Smucker, J. Allan and B. Carterette, "A comparison of statistical significance tests for information
    retrieval evaluation", CIKM 2007.

    Examples
    --------
    >>> from sthash.evaluation import compare_runs
    >>> qrels = {str(query): {"right": 1} for query in range(20)}
    >>> good = {query: {"right": 1.0} for query in qrels}
    >>> (found,) = compare_runs(good, {}, qrels, ["MRR"])
    >>> found.difference, found.better, found.p_value < 0.001
    (1.0, 20, True)
    """
    comparisons = []
    for ours, theirs in zip(evaluate_run(run, qrels, measures), evaluate_run(other, qrels, measures), strict=True):
        differences = ours.values - theirs.values
        better, worse = int((differences > 0).sum()), int((differences < 0).sum())
        test = paired_test(ours.values, theirs.values)
        comparisons.append(Comparison(ours.measure, test.difference, test.low, test.high, test.p_value, better, worse))
    return comparisons


def ranked_keys(scores: Mapping[str, float]) -> list[str]:
    """Return keys by descending score, in single precision; of equal scores, the larger key comes first."""
    return sorted(sorted(scores, reverse=True), key=lambda key: -float(np.float32(scores[key])))
