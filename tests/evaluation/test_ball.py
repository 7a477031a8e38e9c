"""The fast scores against plain loops: many ties, empty answers and empty relevance sets."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from sthash import codes
from sthash.evaluation import Neighbors, SharedLabels, Topics, score, tally
from sthash.evaluation.measures import average_precision, correct_votes, precision_at


def plain_distance(a, b, n_bits):
    return sum(int(a[p]) != int(b[p]) for p in range(n_bits))


def plain_ball(corpus, queries, relevant, labels, n_bits, radius):
    """Averages by the definition: sets, one query after the other."""
    lenient, strict, recalls, votes, answered = [], [], [], [], []
    for j, query in enumerate(queries):
        retrieved = {i for i, code in enumerate(corpus) if plain_distance(code, query, n_bits) <= radius}
        hits = retrieved & relevant[j]
        lenient.append(len(hits) / len(retrieved) if retrieved else 1.0)
        strict.append(len(hits) / len(retrieved) if retrieved else 0.0)
        recalls.append(len(hits) / len(relevant[j]) if relevant[j] else 1.0)
        answered.append(bool(retrieved))
        if labels is not None:
            found = [labels[0][i] for i in retrieved]
            majority = min(set(found), key=lambda label: (-found.count(label), label)) if found else None
            votes.append(majority == labels[1][j])
    p, s, r = (sum(values) / len(values) for values in (lenient, strict, recalls))
    return {
        "precision": p,
        "recall": r,
        "f1": 2 * p * r / (p + r) if p + r else 0.0,
        "precision_strict": s,
        "f1_strict": 2 * s * r / (s + r) if s + r else 0.0,
        "answered": sum(answered) / len(answered),
        "accuracy": sum(votes) / len(votes) if labels is not None else None,
    }


def plain_groups(corpus, query, relevant, n_bits):
    """Relevance of the documents at each distance that occurs, nearest first."""
    order = sorted((plain_distance(code, query, n_bits), i) for i, code in enumerate(corpus))
    return [[i in relevant for _, i in group] for _, group in itertools.groupby(order, key=lambda pair: pair[0])]


def plain_precision_at(ranking, k):
    return Fraction(sum(ranking[:k]), k)


def plain_average_precision(ranking):
    places = [place for place, hit in enumerate(ranking, start=1) if hit]
    if not places:
        return Fraction(0)
    return sum(Fraction(rank, place) for rank, place in enumerate(places, start=1)) / len(places)


def every_order(groups):
    """All rankings that the ties allow, each equally likely."""
    for choice in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield list(itertools.chain.from_iterable(choice))


def random_case(seed, n_corpus=60, n_queries=25, n_bits=20, kind="topics"):
    """Few distinct codes, so ties abound; some far-off queries, and some to which nothing is relevant."""
    rng = np.random.default_rng(seed)
    centers = rng.random((5, n_bits)) < 0.5
    corpus = centers[rng.integers(5, size=n_corpus)] ^ (rng.random((n_corpus, n_bits)) < 0.06)
    queries = centers[rng.integers(5, size=n_queries)] ^ (rng.random((n_queries, n_bits)) < 0.06)
    queries[:4] = rng.random((4, n_bits)) < 0.5
    labels = None
    if kind == "topics":
        labels = rng.choice([-3, 2, 7], size=n_corpus), rng.choice([-3, 2, 7, 11], size=n_queries)
        relevance = Topics(*labels)
        relevant = [{i for i in range(n_corpus) if labels[0][i] == label} for label in labels[1]]
    elif kind == "labels":
        given = [rng.random((n, 4)) < 0.3 for n in (n_corpus, n_queries)]
        given[1][5] = False
        relevance = SharedLabels(*given)
        relevant = [{i for i in range(n_corpus) if any(given[0][i] & row)} for row in given[1]]
    else:
        indices = np.array([rng.permutation(n_corpus)[:6] for _ in range(n_queries)])
        indices[rng.random(indices.shape) < 0.3] = -1
        indices[5] = -1
        relevance = Neighbors(indices, n_corpus)
        relevant = [{int(i) for i in row if i >= 0} for row in indices]
    assert any(not chosen for chosen in relevant)
    return corpus, queries, relevance, relevant, labels


@pytest.mark.parametrize("kind", ["topics", "neighbors", "labels"])
@pytest.mark.parametrize("seed", range(4))
def test_balls_equal_plain_loops(seed, kind):
    corpus, queries, relevance, relevant, labels = random_case(seed, kind=kind)
    lengths, radii = [1, 3, 8, 13, 20], [0, 1, 2, 5, 30]
    scores = score(codes.pack(corpus), codes.pack(queries), relevance, lengths=lengths, radii=radii, k=7)
    assert [(ball.n_bits, ball.radius) for ball in scores.balls] == list(itertools.product(lengths, radii))
    assert scores.ball(20, 0).answered < 1
    for ball in scores.balls:
        expected = plain_ball(corpus, queries, relevant, labels, ball.n_bits, ball.radius)
        for name, value in expected.items():
            assert getattr(ball, name) == (None if value is None else pytest.approx(value, abs=1e-12)), name


@pytest.mark.parametrize("kind", ["topics", "neighbors", "labels"])
def test_blocks_do_not_show(monkeypatch, kind):
    corpus, queries, relevance, _, _ = random_case(9, kind=kind)
    whole = tally(codes.pack(corpus), codes.pack(queries), relevance, [4, 20])
    monkeypatch.setattr("sthash.evaluation.tallies._CELLS", 200)
    pieces = tally(codes.pack(corpus), codes.pack(queries), relevance, [4, 20])
    for one, other in zip(whole, pieces, strict=True):
        for name in ("found", "relevant", "votes", "labels"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_codes_longer_than_a_byte_can_count():
    rng = np.random.default_rng(0)
    corpus, queries = rng.random((9, 300)) < 0.5, rng.random((3, 300)) < 0.5
    queries[0] = ~corpus[0]
    topics = Topics(np.zeros(9, dtype=int), np.zeros(3, dtype=int))
    (seen,) = tally(codes.pack(corpus), codes.pack(queries), topics, [300])
    assert seen.found[0, 300] == 1
    for j, query in enumerate(queries):
        distances = [plain_distance(code, query, 300) for code in corpus]
        np.testing.assert_array_equal(seen.found[j], np.bincount(distances, minlength=301))


@pytest.mark.parametrize("kind", ["topics", "neighbors", "labels"])
@pytest.mark.parametrize("seed", range(3))
def test_rankings_are_the_mean_over_all_orders_of_ties(seed, kind):
    corpus, queries, relevance, relevant, _ = random_case(seed, n_corpus=7, n_queries=9, n_bits=4, kind=kind)
    (seen,) = tally(codes.pack(corpus), codes.pack(queries), relevance, [4])
    for j, query in enumerate(queries):
        orders = list(every_order(plain_groups(corpus, query, relevant[j], 4)))
        mean = sum(map(plain_average_precision, orders)) / len(orders)
        assert average_precision(seen)[j] == pytest.approx(float(mean), abs=1e-12)
        for k in (1, 2, 5, 7, 10):
            mean = sum(plain_precision_at(order, k) for order in orders) / len(orders)
            assert precision_at(seen, k)[j] == pytest.approx(float(mean), abs=1e-12)


def test_long_rankings_equal_the_sum_over_places():
    rng = np.random.default_rng(3)
    corpus, queries = rng.random((3000, 16)) < 0.5, rng.random((4, 16)) < 0.5
    labels = rng.integers(3, size=3000), np.array([0, 1, 2, 3])
    (seen,) = tally(codes.pack(corpus), codes.pack(queries), Topics(*labels), [16])
    for j in range(4):
        expected, nearer, nearer_relevant = 0.0, 0, 0
        for n, r in zip(seen.found[j].tolist(), seen.relevant[j].tolist(), strict=True):
            for i in range(1, n + 1):
                others = (i - 1) * (r - 1) / (n - 1) if n > 1 else 0.0
                expected += r / n * (nearer_relevant + 1 + others) / (nearer + i)
            nearer, nearer_relevant = nearer + n, nearer_relevant + r
        expected = expected / nearer_relevant if nearer_relevant else 0.0
        assert average_precision(seen)[j] == pytest.approx(expected, rel=1e-11)


def test_average_precision_equals_scikit_learn_without_ties():
    rng = np.random.default_rng(1)
    corpus = np.tril(np.ones((65, 64), dtype=bool), k=-1)  # document i is at distance i from the query
    queries = np.zeros((20, 64), dtype=bool)
    indices = np.array([rng.permutation(65)[:12] for _ in queries])
    (seen,) = tally(codes.pack(corpus), codes.pack(queries), Neighbors(indices, 65), [64])
    for j, row in enumerate(indices):
        truth = np.isin(np.arange(65), row)
        assert average_precision(seen)[j] == pytest.approx(average_precision_score(truth, -np.arange(65)), abs=1e-12)
        assert precision_at(seen, 10)[j] == pytest.approx(truth[:10].mean())


def test_equal_votes_go_to_the_smallest_label():
    topics = Topics(np.array([9, 9, 5, 5, 1]), np.array([5, 9]))
    codes_ = np.zeros((5, 1), dtype=np.uint8), np.zeros((2, 1), dtype=np.uint8)
    (seen,) = tally(*codes_, topics, [8])
    assert correct_votes(seen, 0).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"corpus": np.zeros((3, 1))}, "corpus must be a 2-d uint8 array"),
        ({"queries": np.zeros((3, 1), dtype=np.uint8)}, "queries has 3 codes, but relevance is given for 2"),
        ({"lengths": [4, 9]}, "corpus has codes of 1 bytes; 9 bits need 2"),
        ({"lengths": [4, 4]}, "must be positive and increasing"),
        ({"lengths": []}, "must be positive and increasing"),
        ({"lengths": [0, 4]}, "must be positive and increasing"),
        ({"radii": [-1]}, "must not be negative"),
        ({"k": 0}, "k=0 must be at least 1"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {
        "corpus": np.zeros((3, 1), dtype=np.uint8),
        "queries": np.zeros((2, 1), dtype=np.uint8),
        "relevance": Topics(np.zeros(3, dtype=int), np.zeros(2, dtype=int)),
        "lengths": [4, 8],
    }
    with pytest.raises(ValueError, match=message):
        score(**(arguments | change))


def test_an_average_over_no_query_is_refused():
    nothing = np.zeros((0, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="queries is empty"):
        score(np.zeros((3, 1), dtype=np.uint8), nothing, Topics(np.zeros(3, dtype=int), np.zeros(0, dtype=int)))


def test_votes_need_labels():
    one = np.zeros((1, 1), dtype=np.uint8)
    (seen,) = tally(one, one, Neighbors(np.array([[0]]), 1), [8])
    with pytest.raises(ValueError, match="tally with Topics"):
        correct_votes(seen, 1)
