"""The collections that the contract suites run over."""

import pytest

from sthash import Collection
from support.collections import COLLECTIONS, build, copy_of


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("contract") / "some.sth")


@pytest.fixture(scope="session")
def milvus_lite(tmp_path_factory):
    """One Milvus Lite for all tests, because it takes its time to start."""
    from sthash.milvus.milvus_server import MilvusServer

    server = MilvusServer(str(tmp_path_factory.mktemp("lite") / "milvus.db"), "", 60)
    yield server.uri
    server.close()


@pytest.fixture(scope="module")
def file(built):
    """The file, whose answers are those that all must give."""
    with Collection.open(built) as opened:
        yield opened


@pytest.fixture(scope="module", params=COLLECTIONS)
def still(request, built, tmp_path_factory):
    """For tests that change nothing."""
    with copy_of(built, tmp_path_factory.mktemp("still"), request.param, request) as collection:
        yield collection


@pytest.fixture(params=COLLECTIONS)
def changing(request, built, tmp_path):
    with copy_of(built, tmp_path, request.param, request) as collection:
        yield collection
