"""The same over the network: a Milvus Lite that listens at an address stands for a server."""

import socket
import warnings

import pytest

pytest.importorskip("milvus_lite", reason="Milvus Lite is not installed: pip install 'sthash[milvus]'")

from sthash.milvus import MilvusCollection


@pytest.fixture
def address(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks pkg_resources, which is deprecated
        from milvus_lite.server import Server
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(str(tmp_path / "served.db"), f"127.0.0.1:{port}")
    assert server.start()
    yield f"http://127.0.0.1:{port}"
    server._p.terminate()
    server._p.wait(10)
    server.stop()


def test_push_and_search(collection, address):
    with MilvusCollection.push(collection, address, "some", token="user:password") as there:
        assert len(there) == len(collection)
        ours = there.search("a cat on deck", 9, rerank=False)
    with MilvusCollection.open(address, "some", collection) as again:
        assert again.search("a cat on deck", 9, rerank=False) == ours
    theirs = collection.search("a cat on deck", 9, rerank=False, explain=False)
    assert [(hit.key, hit.distance) for hit in ours] == [(hit.key, hit.distance) for hit in theirs]
