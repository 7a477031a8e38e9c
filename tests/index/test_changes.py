"""Adding, removing and updating; and that whatever fails changes nothing."""

import numpy as np
import pytest

from sthash import HammingIndex
from support.index_twin import Twin, assert_same_answers, random_codes

N_BITS = 40


@pytest.fixture
def codes():
    return random_codes(np.random.default_rng(0), 6000, N_BITS, clusters=40)


def both(codes, ids=None):
    index, twin = HammingIndex(N_BITS), Twin(N_BITS)
    assert index.add(codes, ids).tolist() == twin.add(codes, ids)
    return index, twin


def check(index, twin, codes):
    assert len(index) == len(twin)
    assert index.ids.tolist() == sorted(twin.held)
    assert_same_answers(index, twin, codes[:20], 8, 3)
    assert_same_answers(index, twin, codes[:2], 8, 3)
    some = sorted(twin.held)[:: max(1, len(twin) // 50)]
    assert [row.tobytes() for row in index.codes(some)] == [twin.held[i] for i in some]


def test_default_ids_go_on_from_the_greatest_ever(codes):
    index, twin = both(codes[:10])
    index.remove([9])
    twin.remove([9])
    assert index.add(codes[10:12]).tolist() == twin.add(codes[10:12]) == [10, 11]
    assert index.add(codes[12:13], [100]).tolist() == twin.add(codes[12:13], [100])
    assert index.add(codes[13:14]).tolist() == twin.add(codes[13:14]) == [101]
    check(index, twin, codes)


def test_ids_given_in_any_order_and_added_one_by_one(codes):
    ids = np.random.default_rng(1).permutation(50_000)[:600]
    index, twin = HammingIndex(N_BITS), Twin(N_BITS)
    for code, key in zip(codes[:600], ids, strict=True):
        index.add(code[None], [key])
        twin.add(code[None], [key])
    check(index, twin, codes)


@pytest.mark.parametrize("own_ids", [False, True])
def test_removed_codes_are_gone_and_their_ids_can_return(codes, own_ids):
    rng = np.random.default_rng(2)
    ids = rng.permutation(20_000)[: len(codes)] if own_ids else None
    index, twin = both(codes, ids)
    for share in (0.1, 0.2, 0.5, 0.9):  # far enough to be compacted, twice
        gone = rng.permutation(sorted(twin.held))[: int(len(twin) * share)]
        index.remove(gone)
        twin.remove(gone)
        assert not any(int(i) in index for i in gone[:50])
        check(index, twin, codes)
        index.add(codes[: len(gone) // 2], gone[: len(gone) // 2])
        twin.add(codes[: len(gone) // 2], gone[: len(gone) // 2])
        check(index, twin, codes)
    assert index.stats.dead <= max(1024, (len(index) + index.stats.dead) // 4)


def test_everything_can_be_removed(codes):
    index, twin = both(codes)
    index.build_tables()
    index.remove(np.arange(len(codes)))
    twin.remove(np.arange(len(codes)))
    check(index, twin, codes)
    index.add(codes[:5])
    twin.add(codes[:5])
    check(index, twin, codes)


@pytest.mark.parametrize("strategy", ["auto", "scan", "tables"])
def test_update_replaces_codes_in_place(codes, strategy):
    rng = np.random.default_rng(3)
    index, twin = HammingIndex(N_BITS, strategy=strategy), Twin(N_BITS)
    index.add(codes)
    twin.add(codes)
    for _ in range(4):
        ids = rng.permutation(len(codes))[:2000]
        fresh = random_codes(rng, 2000, N_BITS, clusters=10)
        index.update(fresh, ids)
        twin.update(fresh, ids)
        check(index, twin, codes)


def test_contains_takes_anything(codes):
    index, _ = both(codes[:5])
    assert 4 in index
    assert np.int32(4) in index
    for stranger in (5, -1, 2**63, "4", 4.0, None):
        assert stranger not in index


@pytest.mark.parametrize("own_ids", [None, [7, 3, 5, 1, 9]])
def test_what_fails_changes_nothing(codes, own_ids):
    index, twin = both(codes[:5], own_ids)
    there = sorted(twin.held)
    failures = [
        (ValueError, "in the index already or given twice", lambda: index.add(codes[:2], [50, there[1]])),
        (ValueError, "given twice", lambda: index.add(codes[:3], [50, 51, 50])),
        (KeyError, "999 is not in the index", lambda: index.remove([there[0], 999])),
        (ValueError, "given twice", lambda: index.remove([there[0], there[1], there[0]])),
        (KeyError, "999 is not in the index", lambda: index.update(codes[:2], [there[0], 999])),
        (ValueError, "given twice", lambda: index.update(codes[:2], [there[0], there[0]])),
        (KeyError, "999", lambda: index.codes([there[0], 999])),
    ]
    for error, message, action in failures:
        with pytest.raises(error, match=message):
            action()
        check(index, twin, codes)
    index.add(codes[5:7], [50, 51])
    twin.add(codes[5:7], [50, 51])
    check(index, twin, codes)


def test_greatest_id_leaves_no_default_ids(codes):
    index, twin = both(codes[:1], [2**63 - 1])
    with pytest.raises(ValueError, match="No ids are left"):
        index.add(codes[:1])
    index.add(codes[1:2], [3])
    twin.add(codes[1:2], [3])
    check(index, twin, codes)


def test_memory_a_code():
    codes = random_codes(np.random.default_rng(4), 300_000, 64)
    index = HammingIndex(64)
    index.add(codes)
    stats = index.stats
    assert (stats.code_bytes + stats.id_bytes) / len(index) <= 9
    index.build_tables()
    stats = index.stats
    assert (stats.code_bytes + stats.id_bytes + stats.table_bytes) / len(index) <= 64
    index = HammingIndex(64)
    index.add(codes, np.random.default_rng(5).permutation(len(codes)))
    stats = index.stats
    assert (stats.code_bytes + stats.id_bytes) / len(index) <= 40
