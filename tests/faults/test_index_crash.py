"""Indexes of embeddings that are saved over each other: the disk is full, or has the content later than the name."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sthash import VectorIndex, files

ROWS, WIDTH = 20_000, 8


def rows_of(version: int) -> Any:
    return np.random.default_rng(version).normal(size=(ROWS, WIDTH)).astype(np.float32)


def version_in(path: Path) -> int:
    """Return which of the two indexes a file holds; all of its vectors must be found where they are."""
    index = VectorIndex.open(path)
    rows = index.vectors(np.arange(ROWS))
    for version in (0, 1):
        expected = rows_of(version)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        if np.allclose(rows, expected, atol=1e-6):
            assert (index.search(expected[:200], 1, exact=True)[0][:, 0] == np.arange(200)).mean() > 0.98
            return version
    raise AssertionError("the vectors are those of no index that was saved")


@pytest.fixture(scope="module")
def versions(tmp_path_factory: Any) -> list[Path]:
    folder = tmp_path_factory.mktemp("versions")
    for version in (0, 1):
        VectorIndex.build(rows_of(version), n_bytes=4).save(folder / str(version))
    return [folder / "0", folder / "1"]


def test_a_full_disk_leaves_the_old_index(versions: list[Path], tmp_path: Path) -> None:
    path, new = tmp_path / "index", VectorIndex.open(versions[1])
    VectorIndex.open(versions[0]).save(path)
    size, limits = path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing raises OSError
    try:
        for room in (1, size // 2, size - 1):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
            with pytest.raises(OSError, match="too large"):
                new.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert version_in(path) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


def test_the_disk_has_the_new_index_before_it_has_its_name(
    versions: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut, what was renamed is whole: its content is synced first, and the folder afterwards."""
    path, synced = tmp_path / "index", list[tuple[str, int]]()
    VectorIndex.open(versions[0]).save(path)
    sync = files.sync
    monkeypatch.setattr(files, "sync", lambda own: (synced.append((own.suffix, version_in(path))), sync(own)))
    VectorIndex.open(versions[1]).save(path)
    assert synced == [(files.SUFFIX, 0), ("", 1)]
