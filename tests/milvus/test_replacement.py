"""A relearned collection replaces the old one in Milvus behind an alias, without a gap for readers."""

import itertools
import threading

import pytest

from support.components import require

require("Milvus Lite")

from sthash import TextModel
from sthash.milvus import MilvusCollection, MilvusError, milvus_collection
from support.milvus_aliases import AliasProxy


@pytest.fixture
def proxy(lite, uri):
    """A server with aliases, over the Milvus Lite of all tests."""
    from milvus_lite.server_manager import server_manager_instance

    proxy = AliasProxy(f"unix:{server_manager_instance._servers[lite.uri]._uds_path}")
    yield proxy
    proxy.stop()


def keys(hits):
    return [(hit.key, hit.score) for hit in hits]


def test_readers_see_the_old_collection_or_the_new_one(collection, proxy, tmp_path):
    query = "a cat on deck"
    MilvusCollection.push(collection, proxy.address, "some", replace=True).close()
    (first,) = proxy.aliases.values()
    with collection.snapshot() as now:
        now.codes.model.save(tmp_path / "old.model")
    reader = MilvusCollection.open(proxy.address, "some", TextModel.load(tmp_path / "old.model"))
    before, seen, done = keys(reader.search(query)), [], threading.Event()

    def read():
        while not done.is_set():
            seen.append(keys(reader.search(query)))

    readers = threading.Thread(target=read)
    readers.start()
    try:
        collection.relearn(n_bits=20)
        with pytest.raises(MilvusError, match="replace=True"):
            MilvusCollection.push(collection, proxy.address, "some")
        with MilvusCollection.push(collection, proxy.address, "some", replace=True) as there:
            assert there.n_bits == 20
            assert keys(there.search(query)) == keys(
                MilvusCollection.open(proxy.address, "some", collection).search(query)
            )
    finally:
        done.set()
        readers.join()
    assert proxy.aliases["some"] != first
    assert len(seen) > 0
    assert all(answer == before for answer in seen)
    assert keys(reader.search(query)) == before  # it keeps its collection until the next replacement
    collection.relearn(n_bits=24)
    MilvusCollection.push(collection, proxy.address, "some", replace=True).close()
    with pytest.raises(MilvusError):
        reader.search(query)
    reader.close()


def test_an_interrupted_replacement_changes_nothing_and_goes_on(collection, proxy, lite, monkeypatch):
    MilvusCollection.push(collection, proxy.address, "some", replace=True).close()
    first = dict(proxy.aliases)
    collection.relearn(n_bits=20)
    push, calls = milvus_collection.push_documents, itertools.count()

    def interrupted(*arguments):
        push(*arguments)
        if next(calls) == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(milvus_collection, "push_documents", interrupted)
    with pytest.raises(KeyboardInterrupt):
        MilvusCollection.push(collection, proxy.address, "some", replace=True)
    assert proxy.aliases == first
    with MilvusCollection.push(collection, proxy.address, "some", replace=True) as there:
        assert len(there) == len(collection)
        collection.add([{"key": "new", "text": "a cat of its own"}])
        MilvusCollection.push(collection, proxy.address, "some", replace=True).close()
        assert "new" in there  # the same model: nothing to replace
    assert len(lite.call("list_collections")) == 2


def test_what_cannot_be_replaced_is_left_alone(collection, uri, proxy):
    with pytest.raises(MilvusError, match=r"Milvus Lite, which has no aliases.*Push under another name"):
        MilvusCollection.push(collection, uri, "some", replace=True)
    MilvusCollection.push(collection, uri, "some").close()
    with pytest.raises(MilvusError, match=r"'some' is a collection of .*, not an alias"):
        MilvusCollection.push(collection, proxy.address, "some", replace=True)
    with MilvusCollection.open(uri, "some", collection) as there:
        assert len(there) == len(collection)
