"""Lists of postings in memory: made of parts and of pending documents, and safe from any bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sthash import _core
from support.postings import Corpus, ask, make_corpus, twin

WINDOW = 4096  # documents that the kernel looks at together
BM25 = {"k1": 1.5, "b": 0.75}


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


def test_lists_that_were_let_go_come_back_with_pending_documents():
    corpus = make_corpus(WINDOW + 500, [0.3, 0.01, 0.9], gaps=2)
    cut = WINDOW + 100
    lists, packed = _core.PostingLists(corpus.ids, corpus.lengths), corpus.packed(0, cut)
    empty = lists.nbytes
    for column in range(3):
        lists.put(column, [packed[column]])
    lists.put_counts(*corpus.rows(cut), corpus.ids[cut:])
    query = ([0, 1, 2], [1, 2, 3])
    lists.positions(2)
    first = ask(lists, [query], 30, corpus.mean_length)
    whole = lists.nbytes
    assert lists.evict(1 << 30, first=int(corpus.ids[cut])).tolist() == []
    assert lists.document_frequency(1) == np.count_nonzero(corpus.counts[:, 1])
    # The search has asked for the heaviest term first; column 1 was asked for again.
    gone = lists.evict(0, first=int(corpus.ids[cut])).tolist()
    assert gone == [2, 0, 1]
    assert not any(map(lists.holds, range(3)))
    assert lists.nbytes - empty < (whole - empty) / 2  # pending documents stay
    for column in range(3):
        lists.put(column, [packed[column]])
        assert lists.positions(column).tolist() == np.flatnonzero(corpus.counts[:, column]).tolist()
    again = ask(lists, [query], 30, corpus.mean_length)
    assert [part.tolist() for part in again] == [part.tolist() for part in first]


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
    for mean_length in (-1.0, np.nan, np.inf, 1e-310):
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


def test_wrong_changes_are_refused_and_change_nothing():
    lists = make_corpus(20, [0.5, 0.5]).lists()
    rows = np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32)
    before = [part.tolist() for part in lists.pack()]
    assert lists.next_id == 20
    for ids, lengths, why in (
        ([19], [1], "Id 19 is not greater than all before"),
        ([2**63 - 1], [1], "below 2"),
        ([20], [-1], "negative"),
        ([20], [1, 1], "one length"),
        ([20, 21], [1, 1], "as many ids as rows"),
    ):
        with pytest.raises(ValueError, match=why):
            lists.add(*rows, np.array(ids, np.int64), np.array(lengths, np.int32))
    for positions in ([20], [-1], [3, 3]):
        with pytest.raises(ValueError, match="no document at position"):
            lists.remove(np.array(positions, np.int32))
    assert (lists.n_documents, lists.live) == (20, 20)
    assert [part.tolist() for part in lists.pack()] == before
    lists.remove(np.array([3], np.int32))
    with pytest.raises(ValueError, match="no document at position 3"):
        lists.remove(np.array([4, 3], np.int32))
    assert lists.live == 19
    with pytest.raises(ValueError, match="one number per document"):
        lists.search(
            *(np.array([0, 1]), np.array([0], np.int32), np.ones(1, np.float32)),
            **(BM25 | {"k": 3, "mean_length": 1.0, "allowed": None, "threads": 1}),
            ranks=np.zeros(19, np.uint32),
        )


def test_wrong_lists_are_not_loaded():
    lists = make_corpus(20, [0.5]).lists()
    for columns, content, offsets, why in (
        ([0], [0], [0, 1], "they are here already"),
        ([1, 1], [0, 0], [0, 1, 2], "they are here already"),
        ([-1], [0], [0, 1], "numbered from 0"),
        ([1], [0], [0, 2], "out of range"),
        ([1], [0], [1, 0], "out of range"),
        ([1], [128], [0, 1], "ends within a number"),
        ([1], [40], [0, 1], "number is too large"),
        ([1], [0], [0], "one entry more"),
    ):
        with pytest.raises(ValueError, match=why):
            lists.load(np.array(columns, np.int32), np.array(content, np.uint8), np.array(offsets, np.int64))
    assert lists.pack()[0].tolist() == [0]
