"""Segments and records: after any changes they hold what a plain dict holds, and forged ones are refused."""

import itertools
from contextlib import contextmanager

import numpy as np
import pytest

from sthash.collection import CollectionError
from sthash.collection.file import documents, records, segments
from sthash.collection.file.records import Records
from sthash.collection.file.segments import IDS, Segments
from sthash.collection.file.store import MOST_IDS, Store

WIDTH = 6


@contextmanager
def new_store(path):
    """A file with tables and no documents."""
    store = Store(path, "rwc")
    documents.lay_out(store, {})
    store.finish()
    store.close()
    store = Store(path)
    yield store
    store.close()


@pytest.fixture
def store(tmp_path):
    with new_store(tmp_path / "c.sth") as made:
        yield made


@pytest.fixture
def small(monkeypatch):
    """A few records become a segment, and a few segments are as large as one may be."""
    monkeypatch.setattr(records, "MOST_PENDING", 10)
    monkeypatch.setattr(records, "SEGMENT_BYTES", 100 * WIDTH)


def content_of(ids, salt=0):
    """Records that say whose they are."""
    made = np.zeros((len(ids), WIDTH), dtype=np.uint8)
    made[:, :4] = np.asarray(ids, dtype="<u4").view(np.uint8).reshape(-1, 4)
    made[:, 4] = salt
    return made


def put(kept, ids, expected, salt=0):
    own = np.array(ids, dtype=np.int64)
    kept.put(own, content_of(own, salt))
    expected |= dict(zip(own.tolist(), content_of(own, salt).tolist(), strict=True))


def assert_holds(store, expected):
    kept = Records(store, "codes", WIDTH)
    ids, content = kept.all()
    assert dict(zip(ids.tolist(), content.tolist(), strict=True)) == expected
    assert ids.tolist() == kept.ids().tolist() == sorted(expected)
    kept.verify(ids)
    chosen = ids[::3]
    assert kept.at(chosen).tolist() == [expected[number] for number in chosen.tolist()]
    middle = int(ids[len(ids) // 2]) if len(ids) else 0
    later = {
        number: row for own, rows in kept.parts(middle) for number, row in zip(own.tolist(), rows.tolist(), strict=True)
    }
    assert {number: row for number, row in expected.items() if number > middle}.items() <= later.items()
    assert later.items() <= expected.items()


@pytest.mark.parametrize("seed", range(6))
def test_random_changes(store, small, seed):
    rng, expected, next_id, seen = np.random.default_rng(seed), {}, 0, {}
    for step in range(60):
        with store.writing():
            kept = Records(store, "codes", WIDTH)
            for _ in range(rng.integers(1, 4)):
                match rng.integers(4):
                    case 0 | 1:
                        count = int(rng.choice([1, 3, 9, 30, 150]))
                        ids = np.cumsum(rng.integers(1, rng.choice([2, 4]) + 0, count)) + next_id
                        put(kept, ids, expected, step % 250)
                        next_id = int(ids[-1]) + 1
                    case 2 if expected:
                        share = rng.choice([0.02, 0.3, 1.0], p=[0.6, 0.35, 0.05])
                        gone = [number for number in expected if rng.random() < share]
                        kept.remove(np.array([*gone, next_id + 5], dtype=np.int64))  # one that was never there
                        for number in gone:
                            del expected[number]
                    case 3 if rng.random() < 0.05:
                        kept.clear()
                        expected.clear()
            kept.settle()
        with store.reading():
            assert_holds(store, expected)
            held = Segments(store, "codes").all()
            for segment in held:  # what has a number never changes
                assert seen.setdefault(segment.number, segment) == segment
            for left, right in itertools.pairwise(held):
                assert left.last < right.first
            pending = store.value("SELECT count(*) FROM pending")
            assert pending <= records.MOST_PENDING
            live = sum(len(Segments(store, "codes").live_ids(segment)) for segment in held)
            assert live + pending == len(expected)
            # A segment that lost more than a quarter of its documents is written again.
            assert all(4 * len(Segments(store, "codes").live_ids(each)) >= 3 * each.size for each in held)
    assert len(seen) > 20


def test_a_change_that_is_undone_leaves_nothing(store, small):
    expected = {}
    with store.writing():
        kept = Records(store, "codes", WIDTH)
        put(kept, range(50), expected)
        kept.settle()
    with store.reading():
        before = Segments(store, "codes").all()

    def change():
        with store.writing():
            kept = Records(store, "codes", WIDTH)
            kept.remove(np.arange(0, 50, 2))
            kept.put(np.arange(50, 90), content_of(np.arange(50, 90)))
            kept.settle()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change()
    with store.reading():
        assert_holds(store, expected)
        assert Segments(store, "codes").all() == before


def test_segments_of_like_size_become_one_and_large_ones_stay(store, small):
    expected = {}
    for first in range(0, 600, 11):
        with store.writing():
            kept = Records(store, "codes", WIDTH)
            put(kept, range(first, first + 11), expected)
            kept.settle()
        with store.reading():
            sizes = [segment.size for segment in Segments(store, "codes").all()]
        assert len(sizes) <= 3 + first // 60
        assert max(sizes) <= 100
    with store.reading():
        assert_holds(store, expected)


def test_kinds_do_not_touch_each_other(store, small):
    with store.writing():
        codes, lengths = Records(store, "codes", WIDTH), Records(store, "lengths", WIDTH)
        for kept in (codes, lengths):
            kept.put(np.arange(30), content_of(np.arange(30)))
            kept.put(np.arange(30, 33), content_of(np.arange(30, 33)))
            kept.settle()
        codes.remove(np.array([3, 31]))
        lengths.clear()
        codes.settle()
        lengths.settle()
    with store.reading():
        assert Records(store, "codes", WIDTH).ids().tolist() == [n for n in range(33) if n not in (3, 31)]
        assert Records(store, "lengths", WIDTH).ids().tolist() == []
        assert {kind for _, kind, *_ in store.rows("segments")} == {"codes"}


def test_records_that_are_not_there(store, small):
    with store.writing():
        kept = Records(store, "codes", WIDTH)
        kept.put(np.arange(0, 40, 2), content_of(np.arange(0, 40, 2)))
        kept.settle()
    with store.reading():
        kept = Records(store, "codes", WIDTH)
        assert kept.at(np.zeros(0, np.int64)).shape == (0, WIDTH)
        for wanted in ([3], [2, 3], [38, 39], [1000]):
            with pytest.raises(CollectionError, match="it has codes of"):
                kept.at(np.array(wanted))


def test_numbers_are_never_given_again(store, small):
    with store.writing():
        for turn in range(3):
            kept = Records(store, "codes", WIDTH)
            kept.put(np.arange(20) + 20 * turn, content_of(np.arange(20)))
            kept.settle()
            assert [segment.number for segment in Segments(store, "codes").all()] == [turn]
            kept.clear()


def test_the_last_place(store, small):
    """Ids up to the largest that the format has."""
    ids = np.array([0, MOST_IDS - 3, MOST_IDS - 1])
    for count in (3, 30):
        with store.writing():
            kept = Records(store, "codes", WIDTH)
            kept.clear()
            own = np.concatenate([ids[:1], np.arange(count) + 1, ids[1:]])
            kept.put(own, content_of(own % (1 << 32)))
            kept.settle()
        with store.reading():
            assert Records(store, "codes", WIDTH).ids().tolist() == own.tolist()


# Forged files: their checksums are right, but what they say is not


def forge(store, table, *row):
    with store.writing():
        store.put(table, *row)


@pytest.fixture
def filled(store, small):
    """One segment without gaps, one with gaps and deletions, and some pending records."""
    with store.writing():
        kept = Records(store, "codes", WIDTH)
        kept.put(np.arange(60), content_of(np.arange(60)))
        kept.settle()
        own = np.arange(60, 96, 3)
        kept.put(own, content_of(own))
        kept.settle()
        kept.remove(np.array([63]))
        kept.put(np.arange(200, 205), content_of(np.arange(200, 205)))
        kept.settle()
    with store.reading():
        assert [segment.size for segment in Segments(store, "codes").all()] == [60, 12]
    return store


def refused(store, match):
    """Every way to read the records refuses them."""
    with store.reading():
        kept = Records(store, "codes", WIDTH)
        with pytest.raises(CollectionError, match=match):
            kept.all()
        with pytest.raises(CollectionError):
            kept.verify(np.arange(3))


@pytest.mark.parametrize(
    "row",
    [
        (0, "codes", 0, 1 << 51, 1 << 50, 10),  # more documents than the file has space for
        (0, "codes", 0, 1 << 51, (1 << 51) + 2, 10),
        (0, "codes", 5, 2, 3, 10),
        (0, "codes", -5, 59, 60, 10),
        (0, "codes", 0, 61, 60, 10),  # over the next one
        (0, "codes", 0, 59, 0, 10),
        (0, "codes", 0, 59, 61, 10),
        (0, "codes", 0, 59, 60, -1),
        (0, "codes", 0, MOST_IDS, 60, 10),
        (-1, "codes", 0, 59, 60, 10),
        (1 << 30, "codes", 0, 59, 60, 10),
        (7, "codes", 0, 59, 60, 10),  # twice the same documents
    ],
)
def test_forged_segments(filled, row):
    forge(filled, "segments", *row)
    refused(filled, "segments")


def test_a_size_that_is_not_that_of_the_content(filled):
    forge(filled, "segments", 0, "codes", 0, 58, 59, 10)
    refused(filled, "a segment of codes has the wrong size")
    forge(filled, "segments", 0, "codes", 0, 59, 59, 10)
    refused(filled, "a segment")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 8,
        np.arange(60, 72).astype("<i8").tobytes(),
        np.array([60, 60, *range(66, 96, 3)], dtype="<i8").tobytes(),
        np.array([*range(60, 93, 3), 1 << 60], dtype="<i8").tobytes(),
        np.array([-1, *range(63, 96, 3)], dtype="<i8").tobytes(),
    ],
)
def test_forged_ids(filled, content):
    forge(filled, "parts", 1 << segments.PART_BITS | IDS, content)
    refused(filled, "ids of its documents")


def test_a_part_that_is_missing(filled):
    with filled.writing():
        filled.execute("DELETE FROM parts WHERE place = 0")
    refused(filled, "wrong size")


@pytest.mark.parametrize("content", [b"", b"\0", b"\0" * 9])
def test_forged_deletions(filled, content):
    forge(filled, "deletions", 1 << segments.PART_BITS, 1, content)
    refused(filled, "deletions of a segment have the wrong size")


@pytest.mark.parametrize("size", [0, WIDTH - 1, WIDTH + 1])
def test_forged_pending_records(filled, size):
    forge(filled, "pending", records.KINDS["codes"] << 52 | 202, b"\0" * size)
    refused(filled, "record of codes has the wrong size")


def test_forged_numbers_of_deletions(filled):
    forge(filled, "deletions", 1 << segments.PART_BITS, 2, b"\x02\0")
    with filled.reading(), pytest.raises(CollectionError, match="how many of its documents"):
        Segments(filled, "codes").verify()
    forge(filled, "deletions", 1 << segments.PART_BITS | 1, 1, b"\x01")  # a chunk that there is not
    refused(filled, "deletions of a segment have the wrong size")


@pytest.mark.parametrize("gaps", [1, 3])
def test_deletions_are_in_chunks(store, monkeypatch, gaps):
    monkeypatch.setattr(segments, "CHUNK", 16)
    monkeypatch.setattr(records, "MOST_PENDING", 10)
    ids, expected = np.arange(0, 100 * gaps, gaps), {}
    with store.writing():
        kept = Records(store, "codes", WIDTH)
        put(kept, ids, expected)
        kept.settle()
    for gone in (ids[[3, 4, 40]], ids[[5, 99]], ids[:1]):
        with store.writing():
            Records(store, "codes", WIDTH).remove(gone)
        for number in gone.tolist():
            del expected[number]
        with store.reading():
            assert_holds(store, expected)
    with store.reading():
        rows = store.execute("SELECT place & 255, size FROM deletions").fetchall()
        assert rows == [(0, 4), (2, 1), (6, 1)]
