"""Whether one method is better than another, or was lucky: tests over single decisions, and over queries.

A system decides for every query and every corpus document whether to retrieve the document. A decision is right if it
retrieves a relevant document or does not retrieve another one. Only the decisions on which exactly one of two systems
is right distinguish them. If the systems were equally good, each of these decisions would be the toss of a fair coin.

The test treats decisions as independent. They are not: those of one query share its code, and those on one document
share that document's. So the p-values are far too small; they tell the direction of a difference, not how sure it is.

`paired_test` compares one value per query instead. Queries are a sample of all queries, so they are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from sthash.codes import Codes, distances, prefix
from sthash.evaluation.relevance import Relevance
from sthash.evaluation.tallies import check_codes

CONFIDENCE = 0.95
RESAMPLES = 10_000
_CELLS = 1 << 20  # decisions, or numbers drawn, held at once
_SMALLEST = 1e-290  # below it double precision is not enough, and the logarithm is computed directly


@dataclass(frozen=True)
class SignTest:
    """Outcome of a one-sided micro sign test of system A against system B.

    Attributes
    ----------
    a_right, b_right : int
        Decisions on which only A, or only B, was right.
    p_value : float
        Probability of at least `a_right` heads in ``a_right + b_right`` tosses of a fair coin: small if A is
        better. It is 0 where it is too small for a float.
    log10_p_value : float
        Its decimal logarithm, which is exact for any counts.
    """

    a_right: int
    b_right: int
    p_value: float
    log10_p_value: float


def micro_sign_test(
    a: tuple[Codes, Codes],
    b: tuple[Codes, Codes],
    relevance: Relevance,
    *,
    n_bits: int = 16,
    radius: int = 1,
) -> SignTest:
    """Test whether system A decides better than system B within a Hamming ball.

    Parameters
    ----------
    a, b : pairs of packed codes
        Codes of the corpus and of the queries, as each system has them.
    relevance : Neighbors, Topics or SharedLabels
    n_bits : code length; longer codes are cut to it
    radius : radius of the ball, inclusive

    References
    ----------
    Y. Yang and X. Liu, "A re-examination of text categorization methods", SIGIR 1999: the s-test.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import Topics, micro_sign_test
    >>> topics = Topics(np.array([0, 0, 1, 1]), np.array([0]))
    >>> queries = np.array([[0]], np.uint8)
    >>> good, bad = np.array([[0], [0], [7], [7]], np.uint8), np.array([[7], [7], [0], [0]], np.uint8)
    >>> micro_sign_test((good, queries), (bad, queries), topics, n_bits=3)
    SignTest(a_right=4, b_right=0, p_value=0.0625, log10_p_value=-1.2041199826559248)
    """
    if n_bits < 1 or radius < 0:
        raise ValueError(f"n_bits={n_bits} must be positive and radius={radius} must not be negative.")
    for corpus, queries in (a, b):
        check_codes(corpus, queries, relevance, n_bits)
    a_right = b_right = 0
    step = max(1, _CELLS // max(relevance.n_corpus, 1))
    for start in range(0, relevance.n_queries, step):
        stop = min(start + step, relevance.n_queries)
        by_a, by_b = (_within(corpus, queries[start:stop], n_bits, radius) for corpus, queries in (a, b))
        # Where the two differ exactly one is right: A, if it agrees with the truth.
        differ = by_a ^ by_b
        only_a = int(np.count_nonzero(differ & (by_a == relevance.mask(start, stop))))
        a_right += only_a
        b_right += int(np.count_nonzero(differ)) - only_a
    return sign_test(a_right, b_right)


@dataclass(frozen=True)
class PairedTest:
    """Outcome of a two-sided test of the mean difference A − B over the queries.

    Attributes
    ----------
    difference, low, high : float
        The mean difference, and its bootstrap interval of 95 %.
    p_value : float
        Share of random signs of the differences with which their mean is at least as far from 0.
    """

    difference: float
    low: float
    high: float
    p_value: float


def paired_test(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> PairedTest:
    """Test whether the means of two values per query differ, by randomization (Fisher; Smucker et al., CIKM 2007).

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation.significance import paired_test
    >>> found = paired_test(np.full(50, 0.6), np.full(50, 0.5))
    >>> print(round(found.difference, 3), found.p_value < 0.001)
    0.1 True
    """
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise ValueError(f"a and b must hold one value per query, got shapes {a.shape} and {b.shape}.")
    differences = a - b
    return PairedTest(float(differences.mean()), *bootstrap_interval(differences), randomization_test(differences))


def standard_error(values: npt.NDArray[np.float64]) -> float:
    """Return the standard error of the mean; 0 for a single value.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation.significance import standard_error
    >>> standard_error(np.array([0.0, 1.0]))
    0.5
    """
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def bootstrap_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Bootstrap the confidence interval of a mean; the same values always give the same interval."""
    n, rng = len(values), np.random.default_rng(0)
    step = max(1, _CELLS // n)
    sizes = [min(step, RESAMPLES - start) for start in range(0, RESAMPLES, step)]
    means = np.concatenate([values[rng.integers(n, size=(size, n))].mean(axis=1) for size in sizes])
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def randomization_test(differences: npt.NDArray[np.float64]) -> float:
    """Give the share of random signs with which the sum is at least as far from 0."""
    differing = differences[differences != 0]
    if not len(differing):
        return 1.0
    rng, seen, extreme = np.random.default_rng(0), abs(differing.sum()) - 1e-12, 0
    step = max(1, _CELLS // len(differing))
    for start in range(0, RESAMPLES, step):
        size = (min(step, RESAMPLES - start), len(differing))
        extreme += int((np.abs(rng.choice([-1.0, 1.0], size=size) @ differing) >= seen).sum())
    return (extreme + 1) / (RESAMPLES + 1)


def sign_test(a_right: int, b_right: int) -> SignTest:
    """Test one-sided and exactly whether A wins more than half of the decisions that tell A and B apart.

    Without any such decision the p-value is 1.

    Examples
    --------
    >>> from sthash.evaluation import sign_test
    >>> sign_test(9, 1).p_value
    0.0107421875
    >>> sign_test(900_000, 100_000).p_value, round(sign_test(900_000, 100_000).log10_p_value)
    (0.0, -159851)
    """
    if a_right < 0 or b_right < 0:
        raise ValueError(f"a_right={a_right} and b_right={b_right} are counts and must not be negative.")
    if a_right == 0:
        return SignTest(a_right, b_right, 1.0, 0.0)
    p_value = float(special.betainc(a_right, b_right + 1, 0.5))
    log10 = math.log10(p_value) if p_value > _SMALLEST else _log_tail(a_right, b_right) / math.log(10)
    return SignTest(a_right, b_right, p_value if p_value > _SMALLEST else 10.0**log10, log10)


def _log_tail(heads: int, tails: int) -> float:
    """Give ln P(X >= heads) of a fair binomial, for heads well above tails.

    Each further term is the last one times (tails - j) / (heads + 1 + j) < 1, so the sum is short.
    """
    total = heads + tails
    first = special.gammaln(total + 1) - special.gammaln(heads + 1) - special.gammaln(tails + 1) - total * math.log(2)
    term, rest = 1.0, 0.0
    for j in range(tails):
        term *= (tails - j) / (heads + 1 + j)
        rest += term
        if term < 1e-17 * (1.0 + rest):
            break
    return float(first + math.log1p(rest))


def _within(corpus: Codes, queries: Codes, n_bits: int, radius: int) -> npt.NDArray[np.bool_]:
    """Tell which corpus codes lie within the radius of each query."""
    within: npt.NDArray[np.bool_] = distances(prefix(queries, n_bits), prefix(corpus, n_bits)) <= radius
    return within
