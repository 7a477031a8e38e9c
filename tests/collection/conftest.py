"""The collection that most tests of this folder start from."""

import pytest

from sthash import Collection, Learning
from support.corpus import make_documents


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "some.sth"
    Collection.create(path, make_documents(300), learning=Learning(n_bits=16, n_neighbors=10)).close()
    return path
