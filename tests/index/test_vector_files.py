"""Files of an index of embeddings: what was saved is read again, and what was damaged or made up is refused.

``python tests/index/test_vector_files.py`` writes the golden files anew; do it only when the format changes on purpose.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sthash
from sthash import VectorIndex, model_file
from sthash.index.cells import CellCoder
from sthash.model_file import ModelFileError

GOLDEN = Path(__file__).with_name("golden")
ARRAYS = ["centers", "lengths", "signs", "scales", "margins", "steps", "ids", "cells", "packed", "vectors"]
EFFORT = [f"effort.{name}" for name in ("depths", "probes", "in_cells", "ratios", "in_candidates")]


@pytest.fixture
def saved(index: VectorIndex, tmp_path: Path) -> Path:
    index.save(tmp_path / "index")
    return tmp_path / "index"


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings and the arrays of a file."""
    header, arrays = model_file._read(path)
    return header["config"], arrays


def test_one_file_holds_everything(vectors: Any, index: VectorIndex, saved: Path) -> None:
    assert [file.name for file in saved.parent.iterdir()] == ["index"]
    for again in (VectorIndex.open(saved), VectorIndex.open(saved, mmap=False), sthash.load(saved)):
        assert again.ids.tolist() == index.ids.tolist()
        for exact in (False, True):
            for one, other in zip(
                again.search(vectors[:9], exact=exact), index.search(vectors[:9], exact=exact), strict=True
            ):
                np.testing.assert_array_equal(one, other)


def test_vectors_stay_in_the_file(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(9000, 16)).astype(np.float32)
    made = VectorIndex.build(rows, n_bytes=4)
    made.save(tmp_path / "index")
    assert VectorIndex.open(tmp_path / "index").stats.vector_bytes == 0
    opened = VectorIndex.open(tmp_path / "index")
    opened.remove(np.arange(0, 9000, 2))  # far more than a quarter
    opened.add(rows[:2])
    assert opened.stats.vector_bytes == 2 * 64
    opened.save(tmp_path / "index")  # over the file that is mapped
    again = VectorIndex.open(tmp_path / "index")
    assert again.ids.tolist() == opened.ids.tolist() == [*range(1, 9000, 2), 9000, 9001]
    for one, other in zip(again.search(rows[:50], exact=True), opened.search(rows[:50], exact=True), strict=True):
        np.testing.assert_array_equal(one, other)


def test_memory_mapped_rows_are_referred_to(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(5000, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.save(tmp_path / "rows.npy", rows)
    made = VectorIndex.build(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert made.stats.vector_bytes == 0
    assert made.search(rows[:30], 1)[0][:, 0].tolist() == list(range(30))


@pytest.mark.parametrize("name", ["vectors-cosine-float16", "vectors-ip-int8"])
def test_golden_files(name: str, tmp_path: Path) -> None:
    """Files of format 1 stay readable, and are what is written."""
    golden = VectorIndex.open(shutil.copy(GOLDEN / f"{name}.index", tmp_path))
    with np.load(GOLDEN / f"{name}-answers.npz") as answers:
        for exact in (False, True):
            ids, scores = golden.search(answers["queries"], 5, probes=2, candidates=20, exact=exact)
            np.testing.assert_array_equal(ids, answers["exact_ids" if exact else "ids"])
            np.testing.assert_array_equal(scores, answers["exact_scores" if exact else "scores"])
    golden.save(tmp_path / "new")
    assert (tmp_path / "new").read_bytes() == (GOLDEN / f"{name}.index").read_bytes()
    assert golden.add(np.ones((1, golden.coder.n_features))).tolist() == [1000]


def test_what_was_changed_is_saved(vectors: Any, own: VectorIndex, tmp_path: Path) -> None:
    own.add(vectors[:3])
    own.add(vectors[:1], [77_000])
    own.remove([0, 1, 77_000])
    own.save(tmp_path / "index")
    again = VectorIndex.open(tmp_path / "index")
    assert len(again) == 1201
    assert (again.search(vectors[:30])[0] == own.search(vectors[:30])[0]).all()
    assert again.add(vectors[:1]).tolist() == [77_001]


def test_every_truncation_and_every_extra_byte_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for length in [*range(0, len(content), 997), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            VectorIndex.open(saved)
    saved.write_bytes(content + b"\0")
    with pytest.raises(ModelFileError):
        VectorIndex.open(saved)


def test_every_changed_byte_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content), 300).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1
        saved.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            VectorIndex.open(saved)


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", ARRAYS + EFFORT)
def test_arrays_of_another_shape_or_type_are_refused(saved: Path, name: str, mmap: bool) -> None:
    config, arrays = contents(saved)
    there = arrays[name]
    longer = np.concatenate([there, there[:1] if len(there) else np.ones(1, there.dtype)])
    for wrong in (longer, there.astype(np.float64), there.reshape(-1, 1, 1), None):
        broken = {**arrays, name: wrong}
        model_file.write(saved, "VectorIndex", config, {key: a for key, a in broken.items() if a is not None})
        with pytest.raises(ModelFileError, match="is not a valid VectorIndex"):
            VectorIndex.open(saved, mmap=mmap)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cells", -1),
        ("cells", 16),
        ("cells", 2**31 - 1),
        ("ids", -1),
        ("ids", 5),
        ("ids", 2**63 - 1),
        ("lengths", np.nan),
        ("lengths", -1),
        ("signs", np.inf),
        ("signs", 1e30),
        ("scales", 0),
        ("margins", np.nan),
        ("margins", -1),
    ],
)
def test_values_that_lead_astray_are_refused(saved: Path, name: str, value: Any) -> None:
    config, arrays = contents(saved)
    arrays[name] = arrays[name].copy()
    arrays[name].reshape(-1)[1] = value
    model_file.write(saved, "VectorIndex", config, arrays)
    with pytest.raises(ModelFileError, match="is not a valid VectorIndex"):
        VectorIndex.open(saved)


@pytest.mark.parametrize(
    "change", [{"metric": "l2"}, {"precision": "int8"}, {"precision": 3}, {"max_id": 5}, {"max_id": 2**64}]
)
def test_settings_that_do_not_fit_are_refused(saved: Path, change: dict[str, Any]) -> None:
    config, arrays = contents(saved)
    model_file.write(saved, "VectorIndex", {**config, **change}, arrays)
    with pytest.raises(ModelFileError, match="is not a valid VectorIndex"):
        VectorIndex.open(saved)


def test_vectors_at_an_odd_address_are_read_instead_of_mapped(saved: Path, vectors: Any, index: VectorIndex) -> None:
    content = saved.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    saved.write_bytes(struct.pack("<Q", length + 1) + content[8 : 8 + length] + b" " + content[8 + length :])
    opened = VectorIndex.open(saved)
    assert (opened.search(vectors[:9])[1] == index.search(vectors[:9])[1]).all()


def test_a_mapped_file_that_changes_is_noticed(saved: Path, vectors: Any, tmp_path: Path) -> None:
    opened = VectorIndex.open(saved)
    os.utime(saved, ns=(0, 0))
    for use in (
        lambda: opened.search(vectors[:1]),
        lambda: opened.vectors([0]),
        lambda: opened.save(tmp_path / "copy"),
    ):
        with pytest.raises(ModelFileError, match="changed while it was mapped"):
            use()
    assert not (tmp_path / "copy").exists()


def test_other_files_are_refused(tmp_path: Path) -> None:
    for content in (b"", b"\x93NUMPY", b"\0" * 5000):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ModelFileError):
            VectorIndex.open(tmp_path / "other")
    sthash.SelfTaughtHashing(n_bits=8, n_neighbors=5).fit(np.random.default_rng(0).normal(size=(60, 8))).save(
        tmp_path / "hasher"
    )
    with pytest.raises(ModelFileError, match="holds a SelfTaughtHashing"):
        VectorIndex.open(tmp_path / "hasher")
    with pytest.raises(FileNotFoundError):
        VectorIndex.open(tmp_path / "nowhere")


KILLED = """
import os, signal, sys
import numpy as np
from sthash import VectorIndex
index = VectorIndex.build(np.random.default_rng(1).normal(size=(300, 8)), n_bytes=4)
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
index.save(sys.argv[1])
"""


def test_a_kill_leaves_the_old_file(saved: Path, vectors: Any, index: VectorIndex) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(saved)], check=False)
    assert done.returncode == -9
    assert (VectorIndex.open(saved).search(vectors[:9])[0] == index.search(vectors[:9])[0]).all()
    index.save(saved)
    assert [file.name for file in saved.parent.iterdir()] == ["index"]  # what was left is gone


def test_a_coder_is_restored_from_its_arrays(index: VectorIndex, vectors: Any) -> None:
    coder = CellCoder.restored(index.coder.arrays(), "cosine", "float32")
    other = VectorIndex(coder)
    assert len(other) == 0
    assert (other.search(vectors[:2])[0] == -1).all()
    other.add_encoded(index.coder.encode(vectors), np.arange(1200) + 5)
    how: dict[str, Any] = {"probes": 8, "candidates": 100}
    assert (other.search(vectors[:50], **how)[0] == index.search(vectors[:50], **how)[0] + 5).all()
    for name in coder.arrays():
        arrays = coder.arrays()
        del arrays[name]
        with pytest.raises(ValueError, match=f"no array {name}"):
            CellCoder.restored(arrays, "cosine", "float32")


def test_rows_of_another_coder_are_refused(own: VectorIndex, index: VectorIndex, vectors: Any) -> None:
    encoded = own.coder.encode(vectors[:5])
    for wrong in (
        index.coder.encode(vectors[:5]),
        dataclasses.replace(encoded, cells=encoded.cells[:4]),
        dataclasses.replace(encoded, cells=encoded.cells + 16),
        dataclasses.replace(encoded, cells=encoded.cells - 16),
        dataclasses.replace(encoded, vectors=encoded.vectors.astype(np.float16)),
        dataclasses.replace(encoded, packed=encoded.packed.astype(np.int16)),
    ):
        with pytest.raises(ValueError, match="Encode the vectors with the coder"):
            own.add_encoded(wrong)
    assert len(own) == 1200


def write_golden_files() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(20, 12))[rng.integers(0, 20, 1000)] + 0.5 * rng.normal(size=(1000, 12))
    queries = (rows[:20] + 0.1).astype(np.float32)
    for metric, precision in (("cosine", "float16"), ("ip", "int8")):
        made = VectorIndex.build(rows, metric=metric, precision=precision, n_bytes=4, n_cells=8)  # type: ignore[arg-type]
        made.save(GOLDEN / f"vectors-{metric}-{precision}.index")
        how: dict[str, Any] = {"probes": 2, "candidates": 20}
        (ids, scores), (exact_ids, exact_scores) = (made.search(queries, 5, exact=exact, **how) for exact in (0, 1))
        answers = {"ids": ids, "scores": scores, "exact_ids": exact_ids, "exact_scores": exact_scores}
        np.savez(GOLDEN / f"vectors-{metric}-{precision}-answers.npz", queries=queries, **answers)


if __name__ == "__main__":
    write_golden_files()
