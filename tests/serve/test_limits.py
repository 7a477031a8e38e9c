"""Limits of heads, bodies and answers. Each of these once took gigabytes of memory."""

import json
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sthash import Client, Collection
from sthash.serve import Limits, bodies, limits
from sthash.serve.errors import ApiError
from support.connections import answer, connect

MEGABYTE = 10**6


def code(response):
    return response.status_code, response.json()["error"]["code"]


@pytest.fixture(scope="module")
def server(built, tmp_path_factory, server_of):
    path = shutil.copy(built, tmp_path_factory.mktemp("limits") / "some.sth")
    with server_of(path) as server:
        yield server


# Heads

HEADS = {
    "many headers": b"a:b\r\n",
    "one long header": b"a" * 1000,
    "a long path": None,
}


@pytest.mark.parametrize("kind", HEADS)
def test_an_endless_head_is_refused(server, kind):
    before = server.memory()
    start = b"GET /" if kind == "a long path" else b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y"
    unit = b"x" * 1000 if kind == "a long path" else HEADS[kind]
    if kind == "many headers":
        start += b"\r\n"

    def attack(_):
        sent = 0
        with connect(server) as connection:
            try:
                connection.sendall(start)
                for _ in range(20):
                    connection.sendall(unit * (MEGABYTE // len(unit)))
                    sent += 1
            except OSError:
                pass
            return sent

    with ThreadPoolExecutor(8) as threads:
        sent = list(threads.map(attack, range(8)))
    assert max(sent) < 20
    assert server.memory() - before < 60 * MEGABYTE
    with Client(server.url) as client:
        assert len(client) == 300


def test_a_head_that_is_too_large_gets_its_reason(server):
    for head in (
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\na: " + b"b" * 40_000 + b"\r\n\r\n",
        b"GET /" + b"b" * 40_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ):
        with connect(server) as connection:
            connection.sendall(head)
            assert answer(connection) == (431, "head_too_large")
    with connect(server) as connection:  # the longest that is allowed
        connection.sendall(
            b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\na: " + b"b" * 32_000 + b"\r\n\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_headers_after_a_chunked_body_count_too(server):
    start = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    start += b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    for trailer in (b"a: b\r\n" * 10_000, b"a: " + b"b" * 300_000):
        before = server.memory()
        with connect(server) as connection:
            try:
                connection.sendall(start + trailer)
                connection.sendall(trailer)
            except OSError:
                pass
            status, _ = answer(connection)
            assert status in (431, None)
        assert server.memory() - before < 20 * MEGABYTE


def test_requests_that_are_sent_ahead_are_bounded(server):
    before = server.memory()
    with connect(server) as connection:
        try:
            for _ in range(20):
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 5000)
            received = b""
            while part := connection.recv(1 << 16):
                received += part
        except OSError:
            pass
    assert server.memory() - before < 30 * MEGABYTE


# Bodies


def test_the_weight_of_a_body_bounds_its_values():
    """Python takes no more memory for what a body says than its weight."""

    def size(value):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        keys = sum(map(sys.getsizeof, value)) if isinstance(value, dict) else 0
        return sys.getsizeof(value) + keys + sum(map(size, inner))

    for content in (
        [{}] * 1000,
        [[] for _ in range(1000)],
        [{"a": number} for number in range(1000)],
        [[[]] for _ in range(1000)],
        [number / 7 for number in range(1000)],
        list(range(10**6, 10**6 + 1000)),
        ["ab"] * 1000,
        [{"key": str(number), "metadata": {"n": number}} for number in range(1000)],
    ):
        body = json.dumps(content, separators=(",", ":")).encode()
        assert size(json.loads(body)) <= bodies.weigh(body) + 4 * len(body)


def test_bodies_of_tiny_values_are_refused_before_they_are_parsed(server):
    before = server.memory()
    many = 3 * limits.MAX_JSON_CONTAINERS
    for path, body in {
        "/encode": b'{"texts":[' + b"{}," * many + b"{}]}",
        "/search_many": b'{"texts":[' + b"[]," * many + b"[]]}",
        "/documents": b'{"documents":[{"metadata":{"a":[' + b"{}," * many + b"{}]}}]}",
        "/delete": b'{"keys":[' + b"1," * (limits.MAX_JSON_VALUES + 1) + b"1]}",
    }.items():
        with connect(server) as connection:
            connection.sendall(
                b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                % (path.encode(), len(body))
            )
            connection.sendall(body)
            assert answer(connection) == (413, "too_many_values"), path
    assert server.memory() - before < 60 * MEGABYTE


def test_brackets_in_texts_are_no_values(api):
    text = "[{,:" * 240_000 + '\\" [' * 5000
    response = api.post("/documents", json={"documents": [{"key": "code", "text": text}]})
    assert response.status_code == 200
    assert api.get("/documents/code").json()["text"] == text
    assert bodies.weigh(json.dumps([text] * 10).encode()) < 10**4
    assert bodies.weigh(b'"' + b'\\"' * 10**6) == 0  # a string that does not end
    with pytest.raises(ApiError, match="values"):
        bodies.weigh(b'["\\\\",' + b"[]," * 300_000)


def test_other_encodings_are_refused(api):
    for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-32-be"):
        body = json.dumps({"text": "kitten"}).encode(encoding)
        response = api.post("/search", content=body, headers={"content-type": "application/json"})
        assert code(response) == (400, "invalid_json")


def test_bodies_share_one_memory(path, app_of):
    api = app_of(path, {"all_bodies_bytes": 100_000})
    assert api.post("/search", json={"text": "kitten"}).status_code == 200
    assert code(api.post("/encode", json={"texts": ["kitten"] * 9000})) == (503, "overloaded")
    assert api.post("/search", json={"text": "kitten"}).status_code == 200


# Answers


@pytest.fixture
def large(path):
    """A collection with 40 documents of 100,000 characters, which are 600,000 bytes of JSON each."""
    with Collection.open(path) as collection:
        collection.add([{"key": f"large-{number}", "text": "kitten " + "猫" * 100_000} for number in range(40)])
    return path


def test_a_page_ends_before_it_is_too_large(large, app_of):
    api = app_of(large, {"answer_bytes": 2 * MEGABYTE})
    found, after = [], -1
    while after is not None:
        response = api.get(f"/documents?after={after}&limit=1000")
        assert len(response.content) < 2.1 * MEGABYTE
        found += [row["key"] for row in response.json()["documents"]]
        after = response.json()["next"]
    with Collection.open(large) as collection:
        assert found == [document.key for document in collection]


def test_answers_that_are_too_large_are_refused(large, app_of):
    api = app_of(large, {"answer_bytes": 2 * MEGABYTE})
    for response in (
        api.post("/search", json={"text": "猫猫", "k": 40}),
        api.post("/search", json={"text": "猫猫", "k": 40, "view": True}),
        api.post("/search", json={"key": "large-0", "k": 40}),
        api.post("/search_many", json={"texts": ["猫猫"] * 5, "k": 2}),
    ):
        assert code(response) == (422, "answer_too_large")
    assert len(api.post("/search", json={"text": "猫猫", "k": 2}).json()["hits"]) == 2
    # What a phrase reads is no answer: its words are in 40 large documents, in this order in none.
    with Collection.open(large) as collection:
        collection.add([{"key": "phrase", "text": "猫 kitten sits"}])
    (hit,) = api.post("/search", json={"text": '"猫 kitten"', "k": 40}).json()["hits"]
    assert hit["key"] == "phrase"
    tiny = app_of(large, {"answer_bytes": 10_000})
    assert code(tiny.get("/documents/large-0")) == (422, "answer_too_large")
    assert code(tiny.get("/documents?after=299")) == (422, "answer_too_large")
    assert tiny.get("/documents/d1").status_code == 200
    assert tiny.get("/map").status_code == 422
    assert app_of(large).get("/map").status_code == 200


def test_the_map_and_duplicates_keep_no_texts(large, app_of):
    api = app_of(large, {"answer_bytes": 200_000})
    assert len(api.get("/map").json()["keys"]) == 340
    assert max(map(len, api.get("/duplicates").json()["groups"])) >= 40


def test_large_answers_share_one_memory(large, server_of, wait_until):
    request = b"GET /documents?after=299&limit=40 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with server_of(large, all_answers_bytes=30 * MEGABYTE, send_seconds=2) as server:
        with connect(server) as slow, connect(server) as other:
            slow.sendall(request)
            assert slow.recv(100).startswith(b"HTTP/1.1 200")
            other.sendall(request)
            assert other.recv(100).startswith(b"HTTP/1.1 503")
            with Client(server.url) as client:
                assert client.search("kitten", k=1)[0].key  # 600,000 bytes still fit
        # The answer of a client that does not read is given up.

        def again():
            with connect(server) as connection:
                connection.sendall(request)
                return connection.recv(100).startswith(b"HTTP/1.1 200")

        wait_until(again, 20)


# The documentation


def test_the_documentation_lists_every_limit():
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", page, re.MULTILINE))
    units = {"KiB": 2**10, "MiB": 2**20, "s": 1}

    def number(said):
        value, _, unit = said.replace(",", "").partition(" ")
        return float(value) * units.get(unit, 1)

    constants = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert {name: number(said) for name, said in rows.items()} == constants | vars(Limits())
