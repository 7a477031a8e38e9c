"""Files of an index of embeddings: what was saved is read again, also from before; what was made up is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sthash
from sthash import VectorIndex
from sthash.index.vectors import STORED
from sthash.model_file import ModelFileError

GOLDEN = Path(__file__).with_name("golden")


def test_files(vectors: Any, index: VectorIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    with pytest.raises(FileNotFoundError, match="Pass the vectors"):
        VectorIndex.load(tmp_path / "index")
    np.save(tmp_path / "vectors.npy", vectors)
    again = VectorIndex.load(tmp_path / "index", np.load(tmp_path / "vectors.npy", mmap_mode="r"))
    assert (again.search(vectors[:9])[0] == index.search(vectors[:9])[0]).all()
    assert len(again) == 1200
    assert again.nbytes == index.nbytes
    with pytest.raises(ValueError, match="1200 vectors of 37 values"):
        VectorIndex.load(tmp_path / "index", vectors[:5])
    with pytest.raises(ValueError, match="no vectors yet"):
        sthash.load(tmp_path / "index").search(vectors[:1])


@pytest.mark.parametrize(
    ("name", "probes", "kind"), [("vectors-1", 4, ("ip", "int8")), ("vectors-2", 2, ("cosine", "float16"))]
)
def test_golden_files(name: str, probes: int, kind: Any) -> None:
    golden = VectorIndex.load(GOLDEN / name)
    with np.load(GOLDEN / f"{name}-answers.npz") as answers:
        ids, scores = golden.search(answers["queries"], 5, probes=probes, candidates=20)
        np.testing.assert_array_equal(ids, answers["ids"])
        np.testing.assert_array_equal(scores, answers["scores"])
    assert (golden.metric, golden.precision, len(golden)) == (*kind, 299)


def test_the_first_files_have_no_margins() -> None:
    golden = VectorIndex.load(GOLDEN / "vectors-1")
    assert not len(golden._arrays["margins"])
    assert golden.add(np.ones((1, golden.vectors.shape[1]))).tolist() == [300]


def test_margins_of_a_file_are_not_negative(index: VectorIndex, tmp_path: Path) -> None:
    VectorIndex({**index._arrays, "margins": -index._arrays["margins"]}, n_rows=1200).save(tmp_path / "index")
    with pytest.raises(ModelFileError, match="margins are not"):
        sthash.load(tmp_path / "index")


@pytest.mark.parametrize("name", sorted(STORED))
def test_files_that_were_made_up(index: VectorIndex, vectors: Any, tmp_path: Path, name: str) -> None:
    broken = VectorIndex(dict(index._arrays), n_rows=1200)
    there = index._arrays[name]
    broken._arrays[name] = np.concatenate([there, there[:1] if len(there) else np.ones(1, there.dtype)])
    broken.save(tmp_path / "index")
    with pytest.raises((ValueError, ModelFileError)):
        VectorIndex.load(tmp_path / "index", vectors).search(vectors[:1])


@pytest.mark.parametrize("name", ["lengths", "signs", "scales", "margins"])
def test_numbers_of_a_file_are_finite(index: VectorIndex, tmp_path: Path, name: str) -> None:
    broken = VectorIndex({**index._arrays, name: np.full_like(index._arrays[name], np.nan)}, n_rows=1200)
    broken.save(tmp_path / "index")
    with pytest.raises(ModelFileError, match=f"{name} is not finite"):
        sthash.load(tmp_path / "index")


def test_ids_and_sizes_of_a_made_up_file_lead_nowhere(index: VectorIndex, vectors: Any) -> None:
    for name, value in (("ids", 1200), ("ids", -5), ("sizes", 10_000), ("sizes", -1), ("starts", -1)):
        arrays = {key: array.copy() for key, array in index._arrays.items()}
        arrays[name][0] = value
        with pytest.raises(ValueError, match="Build the index again"):
            VectorIndex(arrays, n_rows=1200, vectors=vectors)


def test_what_was_changed_is_saved(vectors: Any, own: VectorIndex, tmp_path: Path) -> None:
    own.add(vectors[:3])
    own.remove([0, 1])
    own.save(tmp_path / "index", vectors=True)
    again = VectorIndex.load(tmp_path / "index")
    assert len(again) == 1201
    assert (again.search(vectors[:30])[0] == own.search(vectors[:30])[0]).all()
    assert again.add(vectors[:1]).tolist() == [1203]
