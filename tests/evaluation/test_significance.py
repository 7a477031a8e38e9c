"""The sign test against exact integers, and its counts against plain loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sthash import codes
from sthash.evaluation import Neighbors, Topics, micro_sign_test, sign_test


def exact_log10(heads, tails):
    """The tail as a fraction of big integers, rounded once at the end."""
    total = heads + tails
    term = math.comb(total, heads)
    tail = 0
    for k in range(heads, total + 1):
        tail += term
        term = term * (total - k) // (k + 1)
    return math.log10(tail) - total * math.log10(2), Fraction(tail, 2**total)


@pytest.mark.parametrize(
    ("a", "b"),
    [(0, 5), (5, 0), (1, 1), (9, 1), (3, 8), (60, 40), (40, 60), (1000, 999), (1500, 900), (4000, 3700)],
)
def test_p_values_are_exact(a, b):
    log10, tail = exact_log10(a, b)
    test = sign_test(a, b)
    assert test.p_value == pytest.approx(float(tail), rel=1e-11)
    assert test.log10_p_value == pytest.approx(log10, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize(("a", "b"), [(1200, 0), (3000, 100), (5000, 1500), (2600, 600)])
def test_logarithms_go_on_where_floats_end(a, b):
    log10, _ = exact_log10(a, b)
    assert log10 < -290
    assert sign_test(a, b).log10_p_value == pytest.approx(log10, rel=1e-11)


def test_hundreds_of_millions_of_decisions():
    # The normal tail with continuity correction is close to the binomial one at this size.
    a, b = 200_005_000, 199_995_000
    z = (a - 0.5 - (a + b) / 2) / math.sqrt((a + b) / 4)
    assert sign_test(a, b).p_value == pytest.approx(math.erfc(z / math.sqrt(2)) / 2, rel=1e-5)
    assert sign_test(b, a).p_value == pytest.approx(1 - sign_test(a, b).p_value, abs=1e-4)
    assert sign_test(3 * a, b).log10_p_value < -1e6


def test_no_difference_proves_nothing():
    assert sign_test(0, 0).p_value == 1.0
    assert sign_test(0, 0).log10_p_value == 0.0


def test_counts_must_not_be_negative():
    with pytest.raises(ValueError, match="b_right=-1"):
        sign_test(3, -1)


@pytest.mark.parametrize("n_bits", [3, 8, 11, 16])
@pytest.mark.parametrize("by_topic", [True, False])
def test_counts_equal_plain_loops(monkeypatch, by_topic, n_bits):
    monkeypatch.setattr("sthash.evaluation.significance._CELLS", 100)
    rng = np.random.default_rng(n_bits)
    a, b = ([rng.random((size, 16)) < 0.5 for size in (40, 15)] for _ in range(2))
    if by_topic:
        relevance = Topics(rng.integers(3, size=40), rng.integers(4, size=15))
    else:
        relevance = Neighbors(np.array([rng.permutation(40)[:5] for _ in range(15)]), 40)
    truth = relevance.mask(0, 15)
    radius = 1 + n_bits // 4
    right = {"a": 0, "b": 0}
    for j in range(15):
        for i in range(40):
            by_a, by_b = (
                sum(corpus[i, p] != queries[j, p] for p in range(n_bits)) <= radius for corpus, queries in (a, b)
            )
            if by_a != by_b:
                right["a" if by_a == truth[j, i] else "b"] += 1
    packed = (tuple(map(codes.pack, a)), tuple(map(codes.pack, b)))
    test = micro_sign_test(*packed, relevance, n_bits=n_bits, radius=radius)
    assert (test.a_right, test.b_right) == (right["a"], right["b"])
    assert min(right.values()) > 0
    other = micro_sign_test(*packed[::-1], relevance, n_bits=n_bits, radius=radius)
    assert (other.a_right, other.b_right) == (right["b"], right["a"])


def test_bad_arguments_are_named():
    pair = np.zeros((2, 1), dtype=np.uint8), np.zeros((1, 1), dtype=np.uint8)
    topics = Topics(np.array([0, 1]), np.array([0]))
    with pytest.raises(ValueError, match="corpus has codes of 1 bytes; 16 bits need 2"):
        micro_sign_test(pair, pair, topics)
    with pytest.raises(ValueError, match="radius=-1"):
        micro_sign_test(pair, pair, topics, n_bits=8, radius=-1)
