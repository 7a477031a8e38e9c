"""One file: what is saved is what is opened, by every version of the format."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from sthash import HammingIndex
from support.index_twin import Twin, assert_same_answers, random_codes

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("n_bits", [5, 64, 72, 1024])
@pytest.mark.parametrize("own_ids", [False, True])
def test_round_trip(tmp_path, n_bits, own_ids, mmap):
    rng = np.random.default_rng(n_bits)
    codes = random_codes(rng, 900, n_bits, clusters=9)
    index, twin = HammingIndex(n_bits), Twin(n_bits)
    ids = rng.permutation(5000)[:900] if own_ids else None
    index.add(codes, ids)
    twin.add(codes, ids)
    index.save(tmp_path / "full.index")
    gone = rng.permutation(sorted(twin.held))[:100]
    index.remove(gone)
    opened = HammingIndex.open(tmp_path / "full.index", mmap=mmap)
    assert opened.n_bits == n_bits
    assert_same_answers(opened, twin, codes[:20], 5, 2)
    twin.remove(gone)
    index.save(str(tmp_path / "holes.index"))
    opened = HammingIndex.open(str(tmp_path / "holes.index"), mmap=mmap)
    assert len(opened) == 800
    assert_same_answers(opened, twin, codes[:20], 5, 2)
    assert opened.add(codes[:1]).tolist() == twin.add(codes[:1])


@pytest.mark.parametrize("mmap", [True, False])
def test_opened_index_changes_and_is_saved_over_its_own_file(tmp_path, mmap):
    path = tmp_path / "own.index"
    rng = np.random.default_rng(0)
    codes = random_codes(rng, 70_000, 24)
    index = HammingIndex(24)
    index.add(codes)
    index.save(path)
    first = HammingIndex.open(path, mmap=mmap)
    first.remove(np.arange(0, 70_000, 2))
    first.add(codes[:3])
    first.update(codes[:1], [1])
    first.save(path)
    again = HammingIndex.open(path, strategy="tables")
    assert again.ids.tolist() == first.ids.tolist() == [*range(1, 70_000, 2), 70_000, 70_001, 70_002]
    assert again.codes([1, 3]).tolist() == codes[[0, 3]].tolist()
    for one, other in zip(first.search(codes[:50], 4), again.search(codes[:50], 4), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [file.name for file in tmp_path.iterdir()] == ["own.index"]


def test_empty_index(tmp_path):
    HammingIndex(7).save(tmp_path / "empty.index")
    opened = HammingIndex.open(tmp_path / "empty.index")
    assert len(opened) == 0
    assert opened.add(np.zeros((2, 1), dtype=np.uint8)).tolist() == [0, 1]


def test_a_failed_save_leaves_the_old_file_and_no_rubbish(tmp_path):
    index = HammingIndex(8)
    index.add(np.zeros((2, 1), dtype=np.uint8))
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        index.save(tmp_path / "folder")
    with pytest.raises(FileNotFoundError):
        index.save(tmp_path / "nowhere" / "x.index")
    with pytest.raises(FileNotFoundError):
        HammingIndex.open(tmp_path / "x.index")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", ["codes.index", "codes-ids.index"])
def test_golden_files(tmp_path, name):
    """Files of version 1 stay readable, and are what is written."""
    rng = np.random.Generator(np.random.PCG64(2010))
    codes = rng.integers(0, 256, (100, 3), dtype=np.uint8)
    codes[:, 2] &= 0b11
    index = HammingIndex(18)
    index.add(codes, np.arange(100) ** 2 if "ids" in name else None)
    opened = HammingIndex.open(shutil.copy(GOLDEN / name, tmp_path))
    assert opened.ids.tolist() == index.ids.tolist()
    assert opened.codes(opened.ids).tolist() == codes.tolist()
    index.save(tmp_path / "new.index")
    assert (tmp_path / "new.index").read_bytes() == (GOLDEN / name).read_bytes()
