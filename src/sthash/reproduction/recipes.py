"""Recipes of `SelfTaughtHashing`: the quality of the codes of each recipe, and what they cost.

Two shares are measured among the 100 nearest codes: that of documents on the same topic, and that of the true nearest
neighbors. Codes are ranked by Hamming distance, or by the real-valued margins of the query: the score of a document is
the sum of the margins, each with the sign of the bit. In both rankings ties count in expectation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from sthash import codes
from sthash.codes import Codes
from sthash.evaluation.ball import score
from sthash.evaluation.relevance import Neighbors, Relevance
from sthash.reproduction.conditions import Method
from sthash.reproduction.corpora import CorpusSplit
from sthash.reproduction.estimators import make
from sthash.reproduction.measurements import code_shape

_CELLS = 1 << 23
TOP = 10
AMONG = 100


def known_recipes() -> tuple[str, ...]:
    """Return the recipes of `SelfTaughtHashing`."""
    from sthash.hashing.sth import Recipe

    return get_args(Recipe)


def measure_recipe(
    data: CorpusSplit, recipe: str, recipes: Mapping[str, Any], random_state: int, protocol: Mapping[str, Any]
) -> dict[str, Any]:
    """Measure one recipe at its lengths. With ``prefix`` in its settings, the longest code is learned and cut."""
    settings = recipes["recipes"][recipe]
    method = Method(recipe, recipe, "sthash:SelfTaughtHashing", {"recipe": recipe, "random_state": random_state})
    longest = max(settings["lengths"])
    result: dict[str, Any] = {"lengths": {}}
    whole = None
    for n_bits in sorted(settings["lengths"]):
        if settings.get("prefix") and whole is None:
            whole = _learn(method, longest, data)
        learned = whole or _learn(method, n_bits, data)
        result["lengths"][str(n_bits)] = _measure_codes(
            data, learned, n_bits, protocol, n_bits in recipes["weighted_lengths"]
        )
    return result


def time_recipes(
    data: CorpusSplit, recipes: list[str], n_bits: int, fits: int = 3, encodings: int = 30
) -> dict[str, Any]:
    """Time fitting and encoding of several recipes in turns, under the same load; the best time counts."""
    learned: dict[str, Any] = {}
    best = {recipe: {"fit": np.inf, "encode": np.inf} for recipe in recipes}

    def timed(recipe: str, what: str, function: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = function()
        best[recipe][what] = min(best[recipe][what], time.perf_counter() - start)
        return result

    for recipe in recipes * fits:
        method = Method(recipe, recipe, "sthash:SelfTaughtHashing", {"recipe": recipe})
        learned[recipe] = timed(recipe, "fit", partial(make(method, n_bits).fit, data.train))
    for recipe in recipes * encodings:
        timed(recipe, "encode", partial(learned[recipe].transform, data.test))
    return best


def weighted_hits(
    corpus: Codes, margins: npt.NDArray[Any], relevances: Sequence[Relevance], k: int
) -> npt.NDArray[np.float64]:
    """Expect the number of relevant documents among the k first, ranked by the query's margins; exact.

    Documents with one code tie, so each distinct code is scored once: Σ_p margin_p · (±1 for bit p).

    Returns
    -------
    array of shape (len(relevances), n_queries)

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import Topics
    >>> from sthash.reproduction.recipes import weighted_hits
    >>> corpus = np.array([[0b01], [0b10], [0b10]], dtype=np.uint8)
    >>> weighted_hits(corpus, np.array([[0.1, 2.0]]), [Topics(np.array([0, 1, 0]), np.array([1]))], k=1)
    array([[0.5]])
    """
    distinct, code_of = np.unique(corpus, axis=0, return_inverse=True)
    code_of = code_of.ravel()
    sizes = np.bincount(code_of)
    signs = np.where(codes.unpack(distinct, margins.shape[1]), 1.0, -1.0).T
    nearest = min(k, len(distinct))
    hits = np.empty((len(relevances), len(margins)))
    step = max(1, _CELLS // len(corpus))
    for start in range(0, len(margins), step):
        stop = min(start + step, len(margins))
        scores = margins[start:stop].astype(np.float64) @ signs
        best = np.argpartition(-scores, nearest - 1, axis=1)[:, :nearest]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        n = sizes[best]
        shares = np.clip(k - (np.cumsum(n, axis=1) - n), 0, n) / n
        for place, relevance in enumerate(relevances):
            rows, documents = np.nonzero(relevance.mask(start, stop))
            cells = rows * len(distinct) + code_of[documents]
            relevant = np.bincount(cells, minlength=scores.size).reshape(scores.shape)
            hits[place, start:stop] = (shares * np.take_along_axis(relevant, best, axis=1)).sum(axis=1)
    return hits


def _learn(method: Method, n_bits: int, data: CorpusSplit) -> tuple[Codes, Codes, npt.NDArray[Any]]:
    hasher = make(method, n_bits).fit(data.train)
    margins = hasher.decision_function(data.test)
    return hasher.codes_, codes.pack(margins > 0), margins


def _measure_codes(
    data: CorpusSplit,
    learned: tuple[Codes, Codes, npt.NDArray[Any]],
    n_bits: int,
    protocol: Mapping[str, Any],
    weighted: bool,
) -> dict[str, Any]:
    corpus, queries = (codes.prefix(part, n_bits) for part in learned[:2])
    margins = learned[2][:, :n_bits]
    near: Neighbors = data.neighbors(protocol["neighbors"])
    top = data.neighbors(TOP)
    balls = score(corpus, queries, near, lengths=[n_bits], radii=protocol["radii"]).balls
    share, topics = (
        score(corpus, queries, relevance, lengths=[n_bits], radii=[0], k=AMONG).rankings[0].precision_at_k
        for relevance in (top, data.topics)
    )
    shape = code_shape(corpus, n_bits)
    measured = {
        "precision_at_100": topics,
        "top_10_among_100": share * AMONG / top.indices.shape[1],
        "best_f1": max(ball.f1 for ball in balls),
        "best_f1_strict": max(ball.f1_strict for ball in balls),
        "least_on": shape["least_on"],
        "most_on": shape["most_on"],
    }
    if weighted:
        hits = weighted_hits(corpus, margins, [data.topics, top], AMONG).mean(axis=1)
        measured["weighted_precision_at_100"] = float(hits[0] / AMONG)
        measured["weighted_top_10_among_100"] = float(hits[1] / top.indices.shape[1])
    return measured
