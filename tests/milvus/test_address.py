"""The same over the network: a Milvus Lite that listens at an address stands for a server."""

import os
import signal
import socket
import warnings

import pytest

from support.components import require

require("Milvus Lite")

from sthash.milvus import MilvusCollection, MilvusError


@pytest.fixture
def server(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks pkg_resources, which is deprecated
        from milvus_lite.server import Server
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(str(tmp_path / "served.db"), f"127.0.0.1:{port}")
    assert server.start()
    yield server
    server._p.terminate()
    server._p.wait(10)
    server.stop()


@pytest.fixture
def address(server):
    return f"http://{server._address}"


def test_a_server_that_no_longer_answers(collection, server, address):
    with MilvusCollection.push(collection, address, "some") as there:
        there._table.server._timeout = 0.5
        os.kill(server._p.pid, signal.SIGSTOP)
        try:
            with pytest.raises(MilvusError, match=f"Milvus at {address} failed at 'search'"):
                there.search("cat")
        finally:
            os.kill(server._p.pid, signal.SIGCONT)
        assert there.upsert(["cat"]) == 1


def test_push_and_search(collection, address):
    with MilvusCollection.push(collection, address, "some", token="user:password") as there:
        assert len(there) == len(collection)
        ours = there.search("a cat on deck", 9, rerank=False)
    with MilvusCollection.open(address, "some", collection) as again:
        assert again.search("a cat on deck", 9, rerank=False) == ours
    theirs = collection.search("a cat on deck", 9, rerank=False)
    assert [(hit.key, hit.distance) for hit in ours] == [(hit.key, hit.distance) for hit in theirs]
