"""The exact search by BM25 in lists of postings: against a twin that adds up all scores."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sthash import _core
from support.postings import Corpus, ask, make_corpus, twin

WINDOW = 4096  # documents that the kernel looks at together


def assert_equals_twin(corpus, queries, k, **more):
    mean_length = more.pop("mean_length", corpus.mean_length)
    positions, scores = ask(corpus.lists(), queries, k, mean_length, **more)
    more.pop("threads", None)
    assert positions.shape == scores.shape == (len(queries), k)
    for place, (columns, weights) in enumerate(queries):
        true_positions, true_scores = twin(corpus, columns, weights, k, mean_length=mean_length, **more)
        np.testing.assert_array_equal(positions[place], true_positions)
        np.testing.assert_array_equal(scores[place], true_scores)


def random_queries(rng, n_columns, count):
    """Make queries of 0 to 6 columns, some repeated, with the weights of words or with weights that tie."""
    sizes = rng.integers(0, 7, count)
    kinds = [lambda size: rng.random(size) * 10, lambda size: rng.integers(0, 3, size), np.ones]
    return [(rng.integers(0, n_columns, size), kinds[rng.integers(3)](size)) for size in sizes]


# The search


@pytest.mark.parametrize("k", [1, 7, 10, 100, 1000])
@pytest.mark.parametrize("filtered", [False, True])
def test_a_large_corpus_equals_the_twin(k, filtered):
    shares = [0.0001, 0.001, 0.002, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0]
    corpus = make_corpus(3 * WINDOW + 77, shares, gaps=3)
    rng = np.random.default_rng(k)
    allowed = (rng.random(len(corpus.ids)) < 0.1).astype(np.uint8) * 7 if filtered else None
    idf = -np.log(np.array(shares)) + 0.1
    queries = random_queries(rng, len(shares), 20)
    for size in (1, 2, 3, 5, 10):
        columns = rng.choice(len(shares), size, replace=False)
        queries.append((columns, idf[columns]))
    assert_equals_twin(corpus, queries, k, allowed=allowed, threads=2)


def test_documents_in_an_order_that_has_meaning():
    """A term is in one region of the positions only, or ever more frequent."""
    corpus = make_corpus(2 * WINDOW + 5, [0.3, 0.3, 0.3, 0.05], seed=2)
    counts = corpus.counts.copy()
    counts[: WINDOW + 9, 0] = 0
    counts[100:, 1] = 0
    counts[:, 2] *= np.random.default_rng(3).random(len(counts)) < np.linspace(0, 1, len(counts)) ** 4
    corpus = Corpus(counts, corpus.ids, corpus.lengths)
    queries = [(columns, np.arange(len(columns), 0, -1)) for columns in itertools.permutations(range(4))]
    for k in (3, 50):
        assert_equals_twin(corpus, queries, k)


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 60))
def test_a_small_corpus_equals_the_twin(seed, n, k):
    rng = np.random.default_rng(seed)
    corpus = make_corpus(n, rng.random(5) ** 2, seed=seed, gaps=int(rng.integers(1, 4)))
    allowed = rng.integers(0, 2, n).astype(np.uint8) if seed % 2 else None
    k1, b = rng.choice([0, 0.9, 1.2, 2]), rng.choice([0, 0.4, 0.75, 1])
    assert_equals_twin(corpus, random_queries(rng, 5, 4), k, k1=float(k1), b=float(b), allowed=allowed)


@pytest.mark.parametrize("k", [1, 10, 300])
@pytest.mark.parametrize("seed", range(3))
def test_optional_columns_equal_the_twin(k, seed):
    shares = [0.9, 0.5, 0.3, 0.02, 0.01, 0.7, 0.001, 0.05]
    corpus, rng = make_corpus(12_000, shares, seed=seed), np.random.default_rng(seed)
    queries = [(rng.choice(len(shares), size, replace=False), rng.random(size) * 3) for size in (1, 2, 3, 5, 8)]
    queries.append((np.array([3, 0, 3]), np.ones(3)))  # optional only where it is repeated
    for optional in ([0] * 6, [1] * 6, [1, 1, 2, 3, 6, 2]):
        positions, scores = ask(corpus.lists(), queries, k, corpus.mean_length, optional=optional)
        for query, n_optional, own_positions, own_scores in zip(queries, optional, positions, scores, strict=True):
            expected = twin(corpus, *query, k, optional=n_optional)
            np.testing.assert_array_equal(own_positions, expected[0])
            np.testing.assert_array_equal(own_scores, expected[1])


def test_optional_columns_are_checked():
    corpus = make_corpus(10, [0.5, 0.5])
    query = [([0, 1], [1.0, 1.0])]
    for optional, message in (([3], "fewer columns"), ([-1], "fewer columns"), ([0, 0], "one number per query")):
        with pytest.raises(ValueError, match=message):
            ask(corpus.lists(), query, 3, corpus.mean_length, optional=optional)


def test_equal_scores_come_by_position():
    n = 2 * WINDOW + 10
    corpus = Corpus(np.ones((n, 2), np.int32), np.arange(n), np.full(n, 2, np.int32))
    for k in (1, 10, 64, 1000):
        for columns in ([0], [0, 1]):
            positions, scores = ask(corpus.lists(), [(columns, np.ones(len(columns)))], k, 2.0)
            assert positions[0].tolist() == list(range(k))
            assert len(set(scores[0].tolist())) == 1


def test_large_counts_and_lengths():
    corpus = make_corpus(300, [0.5, 0.9], seed=4)
    counts = corpus.counts.copy()
    counts[::7] *= 254
    counts[::11] *= 255
    counts[5] = 2**31 - 1
    corpus = Corpus(counts, corpus.ids, np.where(np.arange(300) % 5, corpus.lengths, 2**31 - 1).astype(np.int32))
    assert_equals_twin(corpus, [([0, 1], [1, 2]), ([0], [1e30]), ([1], [1e-45])], 300)


def test_a_query_of_ten_thousand_terms():
    n, n_columns = 600, 10_000
    rng = np.random.default_rng(5)
    corpus = make_corpus(n, np.full(n_columns, 0.01), seed=5)
    assert_equals_twin(corpus, [(np.arange(n_columns), rng.random(n_columns))], 20)


def test_no_document_has_score_0_and_nothing_is_made_up():
    corpus = make_corpus(50, [0.5, 0.0, 0.2])
    lists = corpus.lists()
    positions, scores = ask(lists, [([1], [3]), ([], []), ([0, 2], [0, 0]), ([2], [1])], 60, 30.0)
    assert (positions[:3] == -1).all()
    assert (scores[:3] == 0).all()
    found = lists.document_frequency(2)
    assert (positions[3] >= 0).sum() == found == np.count_nonzero(corpus.counts[:, 2])
    nobody = np.zeros(50, np.uint8)
    assert (ask(lists, [([0], [1])], 5, 30.0, allowed=nobody)[0] == -1).all()
    assert ask(lists, [([0], [1])], 0, 30.0)[0].shape == (1, 0)
    assert ask(lists, [], 5, 30.0)[0].shape == (0, 5)
    assert ask(_core.PostingLists(np.empty(0, np.int64), np.empty(0, np.int32)), [([], [])], 2, 0.0)[0].tolist() == [
        [-1, -1]
    ]


def test_settings_can_change_from_search_to_search():
    corpus = make_corpus(500, [0.5, 0.1])
    lists = corpus.lists()
    for k1, b, mean_length in ((1.5, 0.75, 20.0), (0.9, 0.4, 20.0), (1.5, 0.75, 21.0), (1.5, 0.75, 20.0)):
        positions, scores = ask(lists, [([0, 1], [1, 2])], 9, mean_length, k1=k1, b=b)
        expected = twin(corpus, [0, 1], [1, 2], 9, k1, b, mean_length)
        assert positions[0].tolist() == expected[0].tolist()
        assert scores[0].tolist() == expected[1].tolist()


def test_threads_and_paths_do_not_change_a_bit(run_python):
    source = """
import hashlib, numpy as np
from sthash import _core
rng = np.random.default_rng(0)
n, shares = 9000, np.array([.001, .01, .05, .1, .3, .6, .9])
counts = (rng.geometric(.6, (n, 7)) * (rng.random((n, 7)) < shares)).astype(np.int32)
rows, columns = np.nonzero(counts)
indptr = np.searchsorted(rows, np.arange(n + 1))
parts = indptr, columns.astype(np.int32), counts[rows, columns]
columns, content, offsets = _core.pack_postings(*parts, np.arange(n), n_columns=7, threads={threads})
lists = _core.PostingLists(np.arange(n), counts.sum(axis=1, dtype=np.int32))
for place, column in enumerate(columns):
    lists.put(int(column), [content[offsets[place]:offsets[place + 1]].tobytes()])
queries = np.array([rng.choice(7, 4, replace=False) for _ in range(100)], dtype=np.int32).ravel()
settings = dict(k1=1.2, b=.7, mean_length=5.0, allowed=None, threads={threads})
for k in (10, 200):
    positions, scores = lists.search(np.arange(0, 401, 4), queries, -np.log(shares)[queries].astype(np.float32), k=k,
                                     **settings)
    print(hashlib.sha256(positions.tobytes() + scores.tobytes()).hexdigest())
"""
    seen = {
        run_python(source.format(threads=threads), STHASH_SIMD=path)
        for path in _core.simd_paths()
        for threads in (1, 3)
    }
    assert len(seen) == 1


def test_searches_and_changes_at_the_same_time():
    corpus = make_corpus(6000, np.linspace(0.01, 0.5, 20))
    lists, packed = _core.PostingLists(corpus.ids, corpus.lengths), corpus.packed()

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            columns = rng.choice(20, 3, replace=False)
            for column in columns.tolist():
                if not lists.holds(column):
                    lists.put(column, [packed[column]])
            b = float(rng.choice([0.5, 0.75]))
            positions, scores = ask(lists, [(columns, [3, 2, 1])], 10, 50.0, b=b)
            expected = twin(corpus, columns, [3, 2, 1], 10, b=b, mean_length=50.0)
            if (positions[0] != expected[0]).any() or (scores[0] != expected[1]).any() or not lists.nbytes:
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
