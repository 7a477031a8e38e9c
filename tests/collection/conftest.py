"""A built collection, copied for each test that wants one."""

import shutil
from pathlib import Path

import pytest

from sthash import Collection
from support.corpus import make_documents


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "some.sth"
    Collection.create(path, make_documents(300), n_bits=16, n_neighbors=10).close()
    return path


@pytest.fixture
def path(built, tmp_path):
    return Path(shutil.copy(built, tmp_path / "some.sth"))


@pytest.fixture
def collection(path):
    with Collection.open(path) as opened:
        yield opened
