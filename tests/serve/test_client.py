"""A served collection gives the answers of the file; each test runs against both."""

import inspect
import shutil
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import sthash
from sthash import Client, Collection, Document, Learning, ServiceError, VectorOptions
from sthash.collection import DocumentCollection
from sthash.serve import limits
from support.corpus import make_documents
from support.factories import random_vectors

TEXTS = ["a kitten with fur and a paw", "the captain and the crew", "zebra"]
ODD_KEYS = ["..", ".", "a/b/../c", "/", "%2e%2e", "a?b=c#d", "ключ", "🐈 \u202e", "<script>", "a\x00b", " "]


@pytest.fixture(params=["file", "service"])
def one(request, path, server_of):
    if request.param == "file":
        with Collection.open(path) as opened:
            yield opened
    else:
        with server_of(path) as server, Client(server.url) as client:
            yield client


@pytest.fixture(scope="module", params=["cosine", "ip"])
def metric(request):
    return request.param


@pytest.fixture(scope="module", params=["codes", "no codes"])
def vectors(tmp_path_factory, request, metric):
    rows = random_vectors(200, 12)
    path = tmp_path_factory.mktemp("vectors") / "dense.sth"
    documents = [Document(f"v{place}", "", "ab"[place % 2]) for place in range(200)]
    learning = Learning(n_bits=8, n_neighbors=5) if request.param == "codes" else None
    Collection.create(
        path, documents, vectors=rows, learning=learning, vector_options=VectorOptions(metric=metric)
    ).close()
    return path, rows, metric


@pytest.fixture
def both(path, server_of):
    with server_of(path) as server, Client(server.url) as client, Collection.open(path) as collection:
        yield collection, client


def test_searches_agree(both):
    collection, client = both
    for options in (
        {},
        {"k": 3},
        {"radius": 2},
        {"rerank": False},
        {"where": {"parity": 1}},
        {"where": {"number": [3, 5, 7], "parity": {1}}},
        {"factor": 2, "k": 1},
        {"explain": True},
        {"k": np.int64(2)},
    ):
        for text in TEXTS:
            assert client.search(text, **options) == collection.search(text, **options)
        assert client.search(key="d7", **options) == collection.search(key="d7", **options)
        assert client.search_many(TEXTS, **options) == collection.search_many(TEXTS, **options)
    assert client.search_many([]) == collection.search_many([]) == []


def test_the_rest_agrees(both):
    collection, client = both
    assert len(client) == len(collection) == 300
    assert client.n_bits == collection.n_bits
    assert client.get("d3") == collection.get("d3")
    assert list(client) == list(collection)
    assert "d3" in client
    assert "nobody" not in client
    assert 3 not in client
    assert np.array_equal(client.encode(TEXTS), collection.encode(TEXTS))
    assert client.encode([]).shape == (0, 2)
    for options in ({}, {"voting": "distance"}, {"radius": 3}, {"k": 5}):
        assert client.classify(TEXTS[0], **options) == sthash.classify(collection, TEXTS[0], **options)
    assert client.near_duplicates().groups == sthash.near_duplicates(collection).groups
    ours, theirs = client.near_duplicates(0.8, radius=2), sthash.near_duplicates(collection, 0.8, radius=2)
    assert ours.groups == theirs.groups
    assert ours.groups
    assert ours.dropped("longest") == theirs.dropped("longest")
    assert list(ours.deduplicated()) == list(theirs.deduplicated())
    info = collection.info()
    assert client.info() == {"name": "some"} | {name: value for name, value in info.items() if name != "path"}


def test_vectors_agree(vectors, server_of):
    path, rows, metric = vectors
    with server_of(path) as server, Client(server.url) as client, Collection.open(path) as collection:
        assert client.search(rows[3], 4) == collection.search(rows[3], 4)
        assert client.search(rows[3], 4).ranking == client.info()["metric"] == metric
        assert client.search_many(rows[:5], 4) == collection.search_many(rows[:5], 4)
        assert client.search(rows[3], 4).strategy == "cells"
        assert client.search(key="v3", k=4) == collection.search(key="v3", k=4)
        assert client.n_bits == collection.n_bits
        if client.n_bits:
            assert np.array_equal(client.encode(rows), collection.encode(rows))
            assert client.search(rows[3], 4, radius=3) == collection.search(rows[3], 4, radius=3)
        else:
            for one in (client, collection):
                for ask in (lambda one=one: one.encode(rows), lambda one=one: one.search(rows[3], radius=3)):
                    with pytest.raises(ValueError, match="this collection has no codes"):
                        ask()
        assert client.classify(rows[3], 5) == collection.classify(rows[3], 5)
        assert client.add([{"key": "new"}], vectors=rows[:1]) == 1
        assert ["v0", "new"] in client.near_duplicates(0.99).groups
        assert client.near_duplicates(0.6).pairs == collection.near_duplicates(0.6).pairs
        assert "new" in [hit.key for hit in client.search(rows[0], 10)]
        if metric == "ip":
            assert client.add([{"key": "zero"}], vectors=[[0] * 12]) == 1
        else:
            assert client.add([{"key": "huge"}], vectors=[[1e30] * 12]) == 1
            with pytest.raises(ValueError, match="must not be zero"):
                client.add([{"key": "zero"}], vectors=[[0] * 12])
        assert client.search("text") == collection.search("text") == []
        for bad in (rows[0, :3], [float("nan")] * 12):
            with pytest.raises((ValueError, TypeError)) as theirs:
                collection.search(bad)
            with pytest.raises(theirs.type):
                client.search(bad)


def test_changes(one):
    assert one.add(make_documents(5, first=1000)) == 5
    assert (
        one.upsert(["no key", {"key": "d1", "text": "kitten fur", "label": "changed", "metadata": {"a": [1, None]}}])
        == 2
    )
    assert len(one) == 306
    assert one.get("d1") == Document("d1", "kitten fur", "changed", {"a": [1, None]})
    assert one.search("kitten fur", 1)[0].key == "d1"
    assert one.delete("d1") == 1
    assert one.delete(["d2", "d3", "d2"]) == 2
    assert one.delete(["d2", "d4"], missing_ok=True) == 1
    assert len(one) == 302
    assert "d1" not in one


def test_keys_are_only_names(one):
    for key in ODD_KEYS:
        document = Document(key, "a kitten", None, {})
        one.add([document])
        assert key in one
        assert one.get(key) == document
        assert key not in {hit.key for hit in one.search(key=key, k=300)}
        assert one.delete(key) == 1
        assert len(one) == 300


def classify(one, *arguments, **options):
    """Classify by a method of the client, or by the function over a collection."""
    method = one.classify if isinstance(one, Client) else partial(sthash.classify, one)
    return method(*arguments, **options)


def near_duplicates(one, **options):
    """Find near-duplicates by a method of the client, or by the function over a collection."""
    method = one.near_duplicates if isinstance(one, Client) else partial(sthash.near_duplicates, one)
    return method(**options)


def test_errors_are_of_the_same_kind(one):
    for wrong, error in (
        (lambda: one.get("nobody"), KeyError),
        (lambda: one.delete(["d1", "nobody"]), KeyError),
        (lambda: one.search(key="nobody"), KeyError),
        (lambda: one.search("a", k=0), ValueError),
        (lambda: one.search("a", radius=-1), ValueError),
        (lambda: one.search(), TypeError),
        (lambda: one.search("a", key="d1"), TypeError),
        (lambda: one.search([1.0, 2.0]), TypeError),
        (lambda: one.search_many(["a", [1.0]]), TypeError),
        (lambda: one.search("a", where={"a": {"b": 1}}), (TypeError, ValueError)),
        (lambda: one.search("a", where=3), TypeError),
        (lambda: one.add([{"key": "d1"}]), ValueError),
        (lambda: one.add([{"key": "x"}, {"key": "x"}]), ValueError),
        (lambda: one.add([{"key": "x", "color": "red"}]), ValueError),
        (lambda: one.add("one text"), TypeError),
        (lambda: one.add([3]), TypeError),
        (lambda: one.add(["a"], vectors=[[1.0]]), TypeError),
        (lambda: one.add([{"metadata": {"a": object()}}]), (ValueError, TypeError)),
        (lambda: classify(one, "a", voting="by coin"), ValueError),
        (lambda: near_duplicates(one, radius=-1), ValueError),
        (lambda: near_duplicates(one, threshold=2), ValueError),
    ):
        with pytest.raises(error):
            wrong()
    assert len(one) == 300
    assert "d1" in one


def test_one_of_several_collections(path, tmp_path, server_of):
    shutil.copy(path, tmp_path / "other.sth")
    with server_of(tmp_path) as server:
        with Client(server.url) as nameless, pytest.raises(ServiceError, match="several") as error:
            nameless.search("a kitten")
        assert error.value.code == "collection_needed"
        with Client(server.url, collection="other") as client:
            client.delete("d1")
            assert len(client) == 299
        with Client(server.url, collection="some") as client:
            assert len(client) == 300


def test_who_does_not_answer():
    with Client("http://127.0.0.1:9") as client, pytest.raises(ServiceError, match="Check that sth serve runs there"):
        client.search("a")


def test_who_answers_otherwise(tmp_path):
    import threading
    from http.server import HTTPServer, SimpleHTTPRequestHandler

    class Other(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            with (
                Client(f"http://127.0.0.1:{other.server_port}") as client,
                pytest.raises(ServiceError, match="not as sth serve does"),
            ):
                client.info()
        finally:
            other.shutdown()
            thread.join()


def test_the_client_has_the_methods_of_every_collection():
    shared = {name for name in vars(DocumentCollection) if inspect.isfunction(getattr(DocumentCollection, name))}
    shared -= {"__init__", "__subclasshook__"}
    assert {"search", "search_many", "export", "__len__"} <= shared
    for name in shared | {"info", "part_sizes"}:
        parameters = [
            [
                (given.name, given.kind, given.default)
                for given in inspect.signature(getattr(kind, name)).parameters.values()
            ]
            for kind in (Client, Collection)
        ]
        assert parameters[0] == parameters[1], name
    assert sthash.Client is Client


def test_the_parts_of_the_file(both):
    collection, client = both
    assert client.part_sizes() == collection.part_sizes()
    assert list(client.part_sizes()) == list(collection.part_sizes())
    assert client.part_sizes()["texts"] > 0


def test_the_limits_need_no_web_framework():
    program = (
        "import sys, sthash.client, sthash.serve.limits; print({'fastapi', 'pydantic', 'uvicorn'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_many_queries_go_in_requests_that_the_server_accepts(both):
    collection, client = both
    many = TEXTS * 20
    for k in (1, 999):
        assert limits.queries_per_request(k) * k <= limits.MAX_TOTAL_HITS
        assert client.search_many(many, k) == collection.search_many(many, k)
