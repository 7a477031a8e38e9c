"""A damaged index file ends in a clear error or a correct index, never in a crash or a wrong answer."""

import shutil
import struct

import numpy as np
import pytest

from sthash import HammingIndex
from support.index_twin import random_codes

HEADER = 4096


@pytest.fixture(params=["default ids", "own ids"])
def saved(request, tmp_path):
    rng = np.random.default_rng(0)
    codes = random_codes(rng, 150, 70, clusters=4)
    index = HammingIndex(70)
    index.add(codes, None if request.param == "default ids" else np.sort(rng.permutation(9999)[:150]))
    index.save(tmp_path / "good.index")
    wanted = index.search(codes[:14], 6)
    return (tmp_path / "good.index").read_bytes(), codes[:14], wanted, tmp_path / "bad.index"


def clear_error_or_right_answer(path, queries, wanted):
    """Whether the damage was noticed; if not, the answers must be right."""
    noticed = []
    for mmap in (True, False):
        try:
            answers = HammingIndex.open(path, mmap=mmap).search(queries, 6)
        except ValueError as error:
            noticed.append("bad.index" in str(error))
        else:
            for one, other in zip(answers, wanted, strict=True):
                np.testing.assert_array_equal(one, other)
            noticed.append(False)
    assert noticed[0] == noticed[1]
    return noticed[0]


def test_the_good_file_is_good(saved):
    content, queries, wanted, path = saved
    path.write_bytes(content)
    assert not clear_error_or_right_answer(path, queries, wanted)


def test_every_truncation(saved):
    content, queries, wanted, path = saved
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert clear_error_or_right_answer(path, queries, wanted), length
    for extra in (b"\0", b"x" * 4096):
        path.write_bytes(content + extra)
        assert clear_error_or_right_answer(path, queries, wanted)


def test_two_thousand_changed_bytes(saved):
    content, queries, wanted, path = saved
    rng = np.random.default_rng(1)
    # Half of them where the fields and the codes are: most of the header is padding.
    places = np.concatenate([rng.integers(0, len(content), 1000), rng.integers(HEADER, len(content), 936), range(64)])
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        assert clear_error_or_right_answer(path, queries, wanted), place


def test_nothing_of_a_damaged_mapped_file_is_ever_used(saved):
    content, queries, _, path = saved
    path.write_bytes(content[:HEADER] + bytes([content[HEADER] ^ 1]) + content[HEADER + 1 :])
    index = HammingIndex.open(path)
    assert len(index) == 150
    for use in (
        lambda: index.search(queries, 1),
        lambda: index.count(queries, 1),
        lambda: index.codes([0]),
        lambda: index.ids,
        lambda: 0 in index,
        lambda: index.add(queries),
        lambda: index.remove([0]),
        lambda: index.build_tables(),
        lambda: list(index.pairs(1)),
        lambda: index.save(path.with_name("copy.index")),
    ):
        with pytest.raises(ValueError, match="checksum of its codes is wrong"):
            use()
    assert not path.with_name("copy.index").exists()


@pytest.mark.parametrize("content", [b"", b"STHHAMIX", b"\0" * 5000, b"PK\3\4" * 2000])
def test_other_files(tmp_path, content):
    path = tmp_path / "other.index"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not an index"):
        HammingIndex.open(path)


def test_a_later_version_says_so(saved):
    content, _, _, path = saved
    path.write_bytes(content[:8] + struct.pack("<I", 2) + content[12:])
    with pytest.raises(ValueError, match="has version 2, but this release reads version 1"):
        HammingIndex.open(path)


def test_folder(tmp_path):
    with pytest.raises(IsADirectoryError):
        HammingIndex.open(tmp_path)


@pytest.fixture
def opened(tmp_path):
    """An index, its queries and the right answers, and the path of its file."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (20_000, 8), dtype=np.uint8)
    index = HammingIndex(64)
    index.add(codes)
    index.save(tmp_path / "x.index")
    return codes, index.search(codes[:3], 2), tmp_path / "x.index"


def other_index(path, count):
    index = HammingIndex(64)
    index.add(np.random.default_rng(1).integers(0, 256, (count, 8), dtype=np.uint8))
    index.save(path)
    return path


def truncate(path):
    with path.open("r+b") as file:
        file.truncate(HEADER)


CHANGES = {
    "truncated": truncate,
    "a smaller one copied over it": lambda path: shutil.copyfile(other_index(path.with_name("y"), 10), path),
    "one of the same size copied over it": lambda path: shutil.copyfile(other_index(path.with_name("y"), 20_000), path),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_may_change_once_it_is_open(opened, change):
    codes, wanted, path = opened
    index = HammingIndex.open(path, mmap=False)
    change(path)
    for one, other in zip(index.search(codes[:3], 2), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_mapped_file_that_changes_is_noticed(opened, change, used):
    """It ended the process (SIGBUS), or gave answers of the other file."""
    codes, _, path = opened
    index = HammingIndex.open(path)
    pairs = index.pairs(20) if used else None
    if used:
        index.search(codes[:3], 2)
        next(pairs)
        index.remove([5])
    change(path)
    for use in (
        lambda: index.search(codes[:3], 2),
        lambda: index.search(codes[:3], 2, allowed=[1, 2]),
        lambda: index.count(codes[:3], 9),
        lambda: index.ids,
        lambda: index.codes([0]),
        lambda: 0 in index,
        lambda: index.add(codes[:1]),
        lambda: index.build_tables(),
        lambda: index.save(path.with_name("copy")),
        lambda: next(pairs if used else index.pairs(3)),
    ):
        with pytest.raises(ValueError, match="changed while it was mapped"):
            use()
    assert not path.with_name("copy").exists()


def test_readers_of_a_mapped_file_keep_it_when_it_is_replaced_or_deleted(opened):
    codes, wanted, path = opened
    index = HammingIndex.open(path)
    other_index(path, 10)
    for _ in range(2):
        for one, other in zip(index.search(codes[:3], 2), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        path.unlink(missing_ok=True)
    other_index(path, 10)
    assert len(HammingIndex.open(path)) == 10


def test_things_that_are_no_files():
    for mmap in (True, False):
        with pytest.raises(ValueError, match="is not an index"):
            HammingIndex.open("/dev/zero", mmap=mmap)
