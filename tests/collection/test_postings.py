"""Lists of postings in memory, and the exact search by BM25: against a twin that adds up all scores."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sthash import _core

WINDOW = 4096  # documents that the kernel looks at together
BM25 = {"k1": 1.5, "b": 0.75}


@dataclass(frozen=True)
class Corpus:
    """Counts per document and column, ids and lengths of the documents."""

    counts: npt.NDArray[np.int32]
    ids: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]

    @property
    def mean_length(self):
        return float(self.lengths.mean()) if len(self.lengths) else 0.0

    def rows(self, begin=0, end=None):
        counts = self.counts[begin:end]
        rows, columns = np.nonzero(counts)
        indptr = np.searchsorted(rows, np.arange(len(counts) + 1))
        return indptr, columns.astype(np.int32), counts[rows, columns]

    def packed(self, begin=0, end=None):
        """Give the list of each column."""
        n_columns = self.counts.shape[1]
        parts = _core.pack_postings(*self.rows(begin, end), self.ids[begin:end], n_columns=n_columns, threads=1)
        columns, content, offsets = parts
        spans = itertools.pairwise(offsets)
        return {int(column): content[a:b].tobytes() for column, (a, b) in zip(columns, spans, strict=True)}

    def lists(self):
        lists, packed = _core.PostingLists(self.ids, self.lengths), self.packed()
        for column in range(self.counts.shape[1]):
            lists.put(column, [packed[column]] if column in packed else [])
        return lists


def make_corpus(n, shares, seed=0, gaps=1):
    """Make up a corpus; each column occurs in a share of the documents."""
    rng = np.random.default_rng(seed)
    counts = rng.geometric(0.5, (n, len(shares))) * (rng.random((n, len(shares))) < shares)
    ids = np.cumsum(rng.integers(1, gaps + 1, n)) - 1
    lengths = counts.sum(axis=1) + rng.integers(0, 30, n)
    return Corpus(counts.astype(np.int32), ids.astype(np.int64), lengths.astype(np.int32))


def twin(corpus, columns, weights, k, k1=1.5, b=0.75, mean_length=None, allowed=None):
    """Add up all scores: impacts, products and sums are float32, by falling weight, then by column."""
    mean_length = corpus.mean_length if mean_length is None else mean_length
    merged = {}
    for column, weight in zip(columns, weights, strict=True):
        merged[int(column)] = np.float32(merged.get(int(column), np.float32(0)) + np.float32(weight))
    scores = np.zeros(len(corpus.ids), dtype=np.float32)
    per_word = k1 * b / mean_length if mean_length > 0 else 0.0
    for column, weight in sorted(merged.items(), key=lambda pair: (-pair[1], pair[0])):
        counts = corpus.counts[:, column].astype(np.float64)
        with np.errstate(invalid="ignore"):
            impacts = counts * (k1 + 1) / (counts + k1 * (1 - b) + per_word * corpus.lengths)
        scores += weight * np.where(counts > 0, impacts, 0).astype(np.float32)
    if allowed is not None:
        scores[allowed == 0] = 0
    order = np.argsort(-scores, kind="stable")[:k]
    order = order[scores[order] > 0]
    missing = k - len(order)
    return np.append(order, [-1] * missing), np.append(scores[order], np.zeros(missing, np.float32))


def ask(lists, queries, k, mean_length, k1=1.5, b=0.75, allowed=None, threads=1):
    """Search queries, which are pairs of columns and weights."""
    indptr = np.cumsum([0, *(len(columns) for columns, _ in queries)], dtype=np.int64)
    columns = np.array([column for columns, _ in queries for column in columns], dtype=np.int32)
    weights = np.array([weight for _, weights in queries for weight in weights], dtype=np.float32)
    settings = {"k1": k1, "b": b, "mean_length": mean_length, "allowed": allowed, "threads": threads}
    return lists.search(indptr, columns, weights, k=k, **settings)


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


# The lists


def test_lists_come_in_parts_without_the_deleted():
    corpus = make_corpus(1000, [0.3, 0.01, 1.0], gaps=4)
    live = np.random.default_rng(1).random(1000) < 0.6
    kept = Corpus(corpus.counts[live], corpus.ids[live], corpus.lengths[live])
    lists = _core.PostingLists(kept.ids, kept.lengths)
    parts = [corpus.packed(0, 400), corpus.packed(400, 401), corpus.packed(401)]
    for column in range(3):
        assert not lists.holds(column)
        lists.put(column, [part[column] for part in parts if column in part])
        assert lists.holds(column)
        lists.put(column, [])  # it is held already
        assert lists.positions(column).tolist() == np.flatnonzero(kept.counts[:, column]).tolist()
        assert lists.positions(column).dtype == np.int32
        assert lists.document_frequency(column) == np.count_nonzero(kept.counts[:, column])
    query = ([0, 1, 2], [1, 2, 3])
    positions, scores = ask(lists, [query], 30, kept.mean_length)
    expected = twin(kept, *query, 30)
    assert positions[0].tolist() == expected[0].tolist()
    assert scores[0].tolist() == expected[1].tolist()


@pytest.mark.parametrize("lists_first", [True, False])
def test_pending_documents_are_added(lists_first):
    corpus = make_corpus(WINDOW + 500, [0.3, 0.01, 0.9], gaps=2)
    lists, packed, cut = _core.PostingLists(corpus.ids, corpus.lengths), corpus.packed(0, WINDOW + 100), WINDOW + 100
    query = ([0, 1, 2], [1, 2, 3])
    if not lists_first:
        lists.put_counts(*corpus.rows(cut), corpus.ids[cut:])
        assert not lists.holds(0)
    for column in range(3):
        lists.put(column, [packed[column]])
    if lists_first:
        ask(lists, [query], 30, corpus.mean_length)
        lists.put_counts(*corpus.rows(cut, cut + 200), corpus.ids[cut : cut + 200])
        lists.put_counts(*corpus.rows(cut + 200), corpus.ids[cut + 200 :])
    positions, scores = ask(lists, [query], 30, corpus.mean_length)
    expected = twin(corpus, *query, 30)
    assert positions[0].tolist() == expected[0].tolist()
    assert scores[0].tolist() == expected[1].tolist()
    with pytest.raises(ValueError, match=r"column 0 .* before the end of the list"):
        lists.put_counts(np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32), corpus.ids[:1])


def test_pending_documents_that_are_not_live_are_left_out():
    lists = _core.PostingLists(np.array([5, 9]), np.array([1, 1], np.int32))
    rows = np.array([0, 1, 2, 3]), np.array([7, 7, 7], np.int32), np.array([1, 2, 3], np.int32)
    lists.put_counts(*rows, np.array([4, 9, 11]))
    lists.put(7, [])
    assert lists.positions(7).tolist() == [1]


def test_a_posting_takes_seven_bytes():
    corpus = make_corpus(20_000, [0.2, 0.5])
    lists = corpus.lists()
    before = _core.PostingLists(corpus.ids, corpus.lengths).nbytes
    ask(lists, [([0, 1], [1, 1])], 10, 10.0)
    assert (lists.nbytes - before) / np.count_nonzero(corpus.counts) < 7.3


# Bad input


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        ([b"\x80"], "ends within a number"),
        ([b"\x00\x01"], "ends within a number"),
        ([b"\x80\x00"], "longer than it needs to be"),
        ([b"\xff" * 10], "too large"),
        ([b"\xfe" + b"\xff" * 8 + b"\x01"] * 2, "too large|ascend"),
        ([b"\x00", b"\x00"], "ids do not ascend from part to part"),
        ([b"\x08", b"\x00"], "ids do not ascend from part to part"),
        ([b"\x01\xff\xff\xff\xff\x0f"], "count is too large"),
    ],
)
def test_malformed_lists_are_refused_with_their_column(contents, why):
    lists = _core.PostingLists(np.arange(9), np.ones(9, np.int32))
    with pytest.raises(ValueError, match=rf"column 3 are malformed: .*({why})"):
        lists.put(3, contents)
    assert not lists.holds(3)


@given(st.lists(st.binary(max_size=20), max_size=3))
def test_any_bytes_are_refused_or_are_a_list(contents):
    lists = _core.PostingLists(np.arange(0, 300, 3), np.ones(100, np.int32))
    try:
        lists.put(1, contents)
    except ValueError as error:
        assert "column 1 are malformed" in str(error)  # noqa: PT017 both ways are right
    else:
        positions = lists.positions(1)
        assert (np.diff(positions) > 0).all()
        assert ((positions >= 0) & (positions < 100)).all()
        assert np.isfinite(ask(lists, [([1], [1])], 5, 1.0)[1]).all()


def test_damaged_lists_never_crash():
    """Bytes of true lists with a few bits flipped, bytes lost, and ids that reach behind the last one."""
    corpus = make_corpus(3000, [0.2, 0.01], gaps=3)
    rng = np.random.default_rng(0)
    for column, content in corpus.packed().items():
        for _ in range(150):
            damaged = bytearray(content[: rng.integers(1, len(content) + 1)])
            for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
                damaged[place] ^= 1 << rng.integers(8)
            lists = _core.PostingLists(corpus.ids[::2], corpus.lengths[::2])
            try:
                lists.put(column, [bytes(damaged)])
            except ValueError:
                continue
            positions = lists.positions(column)
            assert (np.diff(positions) > 0).all()
            assert len(positions) == 0 or positions[-1] < 1500
            ask(lists, [([column], [1])], 10, 5.0)


def test_bad_arguments_are_refused():
    lists = make_corpus(20, [0.5, 0.5]).lists()
    with pytest.raises(ValueError, match="column 2 are not in memory"):
        ask(lists, [([2], [1])], 3, 1.0)
    with pytest.raises(ValueError, match="column 9 are not in memory"):
        lists.positions(9)
    with pytest.raises(ValueError, match="numbered from 0"):
        lists.put(-1, [])
    with pytest.raises(TypeError, match="must be bytes"):
        lists.put(5, ["text"])
    for weight in (-1, np.nan, np.inf, 1e31):
        with pytest.raises(ValueError, match="Query 1 has the weight"):
            ask(lists, [([0], [1]), ([1], [weight])], 3, 1.0)
    for settings in ({"k1": -1}, {"k1": np.inf}, {"b": 1.5}, {"b": -0.1}, {"b": np.nan}):
        with pytest.raises(ValueError, match="BM25 needs"):
            ask(lists, [([0], [1])], 3, 1.0, **settings)
    for mean_length in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="mean length"):
            ask(lists, [([0], [1])], 3, mean_length)
    with pytest.raises(ValueError, match="one byte per document"):
        ask(lists, [([0], [1])], 3, 1.0, allowed=np.ones(19, np.uint8))
    for indptr in ([0, 3], [-1, 1], [1, 0], [0, 2**62]):
        with pytest.raises(ValueError, match="query 0 are out of range"):
            lists.search(
                np.array(indptr),
                np.array([0], np.int32),
                np.array([1], np.float32),
                k=3,
                mean_length=1.0,
                allowed=None,
                threads=1,
                **BM25,
            )
    for ids, lengths, why in (([3, 3], [1, 1], "ascend"), ([1], [1, 1], "one length"), ([1], [-1], "negative")):
        with pytest.raises(ValueError, match=why):
            _core.PostingLists(np.array(ids, np.int64), np.array(lengths, np.int32))
