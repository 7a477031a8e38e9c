"""What the tests of faults share: a folder in memory."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where that can be had: a killed process leaves what it has written, synced or not."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=MEMORY, prefix="sthash-tests-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
