"""Who may read a file that is written anew: whoever could before, and links stay links."""

import os
import sys

import numpy as np
import pytest

from sthash import Collection, HammingIndex
from sthash.files import replacing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o7777


def save_index(path):
    index = HammingIndex(8)
    index.add(np.zeros((1, 1), np.uint8))
    index.save(path)


def save_notes(path):
    with replacing(path) as temporary:
        temporary.write_text("private")


def make_collection(path):
    Collection.create(path, ["a", "b"], overwrite=True).close()


@pytest.mark.parametrize("write", [save_index, save_notes, make_collection])
def test_a_private_file_stays_private_and_a_link_stays_a_link(tmp_path, write):
    path, link = tmp_path / "file", tmp_path / "link"
    write(path)
    assert mode(path) == 0o644
    path.chmod(0o600)
    write(path)
    assert mode(path) == 0o600
    link.symlink_to(path.name)
    write(link)
    assert link.is_symlink()
    assert mode(path) == 0o600


def test_the_temporary_file_is_as_private_as_the_file_it_replaces(tmp_path):
    path = tmp_path / "file"
    path.touch(0o600)
    with replacing(path) as temporary:
        assert mode(temporary) == 0o600


def test_a_link_to_no_file_yet_makes_that_file(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("file")
    save_notes(link)
    assert link.is_symlink()
    assert (tmp_path / "file").read_text() == "private"


def test_a_copy_is_as_private_as_its_source(tmp_path):
    path, copy = tmp_path / "file", tmp_path / "copy"
    make_collection(path)
    path.chmod(0o600)
    with Collection.open(path) as collection:
        collection.copy_to(copy)
        assert mode(copy) == 0o600
