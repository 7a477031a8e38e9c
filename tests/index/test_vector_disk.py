"""Indexes of embeddings that are built on disk, from files, tables and batches."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

from sthash import VectorIndex
from sthash.index import disk_build
from sthash.model_file import ModelFileError
from sthash.vectors import batches

N, WIDTH = 5000, 20


@pytest.fixture(scope="module")
def rows() -> Any:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(40, WIDTH))[rng.integers(0, 40, N)] + 0.7 * rng.normal(size=(N, WIDTH))).astype(np.float32)


@pytest.fixture(scope="module")
def files(rows: Any, tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("files")
    np.save(folder / "rows.npy", rows)
    np.save(folder / "doubles.npy", rows.astype(np.float64))
    fixed = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), WIDTH)
    table = pyarrow.table({"key": pyarrow.array(range(N)), "vector": fixed})
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=1000)
    pyarrow.parquet.write_table(
        pyarrow.table({"v": rows[:100].tolist(), "w": rows[:100].tolist()}), folder / "two.parquet"
    )
    return folder


def table_in(folder: Path) -> Any:
    return pyarrow.parquet.read_table(folder / "rows.parquet")


SOURCES: dict[str, Callable[[Any, Path], Any]] = {
    "npy": lambda rows, folder: folder / "rows.npy",
    "name": lambda rows, folder: str(folder / "rows.npy"),
    "doubles": lambda rows, folder: folder / "doubles.npy",
    "parquet": lambda rows, folder: folder / "rows.parquet",
    "mapped": lambda rows, folder: np.load(folder / "rows.npy", mmap_mode="r"),
    "array": lambda rows, folder: rows,
    "generator": lambda rows, folder: (rows[first : first + 70] for first in range(0, N, 70)),
    "list of batches": lambda rows, folder: [rows[:10], rows[10:]],
    "list of vectors": lambda rows, folder: rows.tolist(),
    "table": lambda rows, folder: table_in(folder),
    "record batches": lambda rows, folder: iter(table_in(folder).to_batches(max_chunksize=333)),
    "reader": lambda rows, folder: table_in(folder).to_reader(),
    "pandas": lambda rows, folder: pd.DataFrame({"n": 1, "vector": list(rows)}),
    "polars": lambda rows, folder: pl.DataFrame({"n": range(N), "vector": rows}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_index(name: str, rows: Any, files: Path, tmp_path: Path) -> None:
    index = VectorIndex.build(SOURCES[name](rows, files), n_bytes=4, n_cells=16, path=tmp_path / "index")
    assert [file.name for file in tmp_path.iterdir()] == ["index"]
    assert len(index) == N
    assert index.stats.vector_bytes == 0  # they are in the file
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(index.vectors(range(N)), units, atol=1e-6)
    in_memory = VectorIndex.build(SOURCES[name](rows, files), n_bytes=4, n_cells=16)
    for one, other in zip(index.search(rows[:50], exact=True), in_memory.search(rows[:50], exact=True), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize("metric", ["cosine", "ip"])
def test_it_is_as_good_as_one_that_is_built_in_memory(
    metric: Any, precision: Any, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_build, "BATCH", 256)  # so that there are many
    options: dict[str, Any] = {"metric": metric, "precision": precision, "n_bytes": 8}
    own_ids = np.random.default_rng(1).permutation(10 * N)[:N]
    on_disk = VectorIndex.build(rows, own_ids, path=tmp_path / "index", **options)
    in_memory = VectorIndex.build(rows, own_ids, **options)
    assert on_disk.coder.n_cells == in_memory.coder.n_cells
    truth = in_memory.search(rows[:200], exact=True)[0]
    np.testing.assert_array_equal(on_disk.search(rows[:200], exact=True)[0], truth)
    for index in (on_disk, in_memory, VectorIndex.open(tmp_path / "index")):
        found = index.search(rows[:200], recall=0.9)[0]
        assert np.mean([np.isin(own, true).mean() for own, true in zip(found, truth, strict=True)]) > 0.88
    new = on_disk.add(rows[:2])
    assert new[0] == own_ids.max() + 1
    on_disk.remove(own_ids[:5])
    assert len(on_disk) == N - 3


MEASURED = """
import sys
import numpy as np
from sthash import VectorIndex
def peak():  # ru_maxrss of a new process begins with that of its parent
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) >> 10
rng = np.random.default_rng(0)
VectorIndex.build(rng.normal(size=(3000, 64)), path=sys.argv[1], threads=1)  # what every build loads
before = peak()
batches = (rng.normal(size=(2000, 256)).astype(np.float32) for _ in range(100))
index = VectorIndex.build(batches, n_bytes=8, n_cells=64, path=sys.argv[1], memory="330MB", threads=1)
print(before, peak(), len(index))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="says how much memory was resident")
def test_memory_is_a_limit_that_holds(tmp_path: Path) -> None:
    """200,000 vectors take 195 MiB, and as much again in the file of the index."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, tmp_path / "index"], capture_output=True, text=True, check=True
    )
    before, peak, size = map(int, done.stdout.split())
    assert size == 200_000
    assert peak < 330e6 / 2**20
    assert peak - before < 130  # less than the vectors


def test_too_little_memory_says_what_is_needed(rows: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"5,000 vectors of 20 values takes 2\d\d MiB of memory .* allows 9.5 MiB"):
        VectorIndex.build(rows, path=tmp_path / "index", memory="10MB")
    with pytest.raises(ValueError, match="Pass path="):
        VectorIndex.build(rows, memory="1GB")
    assert not list(tmp_path.iterdir())


BAD: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "NaN": (
        lambda rows, folder: np.where(np.arange(N)[:, None] == 2000, np.nan, rows),
        "vectors 0 to 4,999 must be finite",
    ),
    "zero": (lambda rows, folder: [rows, np.zeros((1, WIDTH))], "vectors 5,000 to 5,000 must not be zero"),
    "other width": (lambda rows, folder: [rows, rows[:, :3]], "to 9,999 must have 20 values, got 3"),
    "none": (lambda rows, folder: [], "no vectors"),
    "no batches": (lambda rows, folder: iter([]), "no vectors"),
    "complex": (lambda rows, folder: rows.astype(complex), "complex numbers"),
    "sparse": (lambda rows, folder: scipy.sparse.csr_array(rows), "dense"),
    "number": (lambda rows, folder: 3.0, "iterable of batches"),
    "dict": (lambda rows, folder: {"a": rows}, "got a dict"),
    "unknown file": (lambda rows, folder: folder / "rows.txt", r"\.npy or \.parquet"),
    "missing file": (lambda rows, folder: folder / "nothing.npy", "No such file"),
    "several columns": (lambda rows, folder: folder / "two.parquet", "'v', 'w'"),
    "no column": (lambda rows, folder: pl.DataFrame({"text": ["a"]}), "name the column of the table"),
    "no vector": (lambda rows, folder: pyarrow.table({"v": [[1.0], None]}), "rows without a vector"),
    "ragged": (lambda rows, folder: pyarrow.table({"v": [[1.0], [1.0, 2.0]]}), "1 to 2 values"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_vectors_are_refused_and_leave_the_old_index(name: str, rows: Any, files: Path, tmp_path: Path) -> None:
    source, message = BAD[name]
    VectorIndex.build(rows[:300], path=tmp_path / "index")
    with pytest.raises((ValueError, TypeError, OSError), match=message):
        VectorIndex.build(source(rows, files), path=tmp_path / "index")
    assert len(VectorIndex.open(tmp_path / "index")) == 300
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


def test_a_file_that_shrinks_or_changes_while_it_is_read_is_an_error(rows: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    for change in (lambda: os.truncate(path, 20_000), lambda: os.utime(path, ns=(1, 1))):
        np.save(path, rows)
        parts = batches.vector_batches(path, 100)
        next(parts)
        change()
        with pytest.raises(ValueError, match="was changed while it was read"):
            list(parts)
    for missing in (1, rows[0].nbytes):  # a part of a row, and a whole one
        np.save(path, rows)
        os.truncate(path, path.stat().st_size - missing)
        with pytest.raises(ValueError, match=rf"ends before row {len(rows) - 1:,} of {len(rows):,}"):
            list(batches.vector_batches(path, 100))
    path.write_bytes(b"not an array")
    with pytest.raises(ValueError, match="cannot be read as a NumPy array"):
        list(batches.vector_batches(path, 100))
    np.save(path, np.asfortranarray(rows))
    with pytest.raises(ValueError, match="Fortran order"):
        list(batches.vector_batches(path, 100))


def test_a_mapped_array_that_changes_is_noticed(rows: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", rows / np.linalg.norm(rows, axis=1, keepdims=True))
    index = VectorIndex.build(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert index.stats.vector_bytes == 0
    assert index.search(rows[5], 1)[0].tolist() == [[5]]
    os.truncate(tmp_path / "rows.npy", 5000)
    with pytest.raises(ModelFileError, match="was changed while it was mapped"):
        index.search(rows[5], 1)


KILLED = """
import sys
import numpy as np
from sthash import VectorIndex
def batches():
    for first in range(1000):
        print(".", end="", flush=True)
        yield np.random.default_rng(first).normal(size=(100, 16))
VectorIndex.build(batches(), path=sys.argv[1])
"""


def test_a_killed_build_and_a_full_disk_leave_the_old_index(rows: Any, tmp_path: Path) -> None:
    path = tmp_path / "index"
    VectorIndex.build(rows[:300], path=path)
    build = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE)
    assert build.stdout is not None
    assert build.stdout.read(20)
    build.send_signal(signal.SIGKILL)
    build.communicate()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        with pytest.raises(OSError, match="too large"):
            VectorIndex.build(rows, path=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert len(VectorIndex.open(path)) == 300
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


OPENED = """
import sys
import numpy as np
from sthash import VectorIndex
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
VectorIndex.open(sys.argv[2])  # what opening loads
before = resident()
index = VectorIndex.open(sys.argv[1])
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="says how much memory is resident")
def test_what_is_mapped_takes_no_memory_after_it_was_verified(rows: Any, tmp_path: Path) -> None:
    VectorIndex.build(rows[:300], path=tmp_path / "small")
    VectorIndex.build(np.tile(rows, (4, 25)), n_bytes=4, path=tmp_path / "large")
    size = (tmp_path / "large").stat().st_size
    source = [sys.executable, "-c", OPENED, tmp_path / "large", tmp_path / "small"]
    assert int(subprocess.run(source, capture_output=True, text=True, check=True).stdout) < size / 4
    assert size > 20_000_000
