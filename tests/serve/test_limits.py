"""Every limit holds: heads, bodies, answers, times, files, keys. Each of these once took gigabytes or a worker."""

import asyncio
import json
import re
import shutil
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sthash import Client, Collection, HammingIndex
from sthash.deadline import check_time, time_limit
from sthash.serve import Limits, bodies, limits, read_routes, throttle, workers
from sthash.serve.errors import ApiError

MEGABYTE = 10**6
READ, WRITE = "the-read-key", "the-write-key"


def connect(server):
    return socket.create_connection(server.address, timeout=20)


def answer(connection):
    """Read until the server closes; give the status and the code of the error."""
    received = b""
    try:
        while part := connection.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    if not received:
        return None, None
    start, _, body = received.partition(b"\r\n\r\n")
    return int(start.split()[1]), json.loads(body)["error"]["code"]


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
        api.post("/search", json={"text": "kitten", "k": 40}),
        api.post("/search", json={"text": "kitten", "k": 40, "view": True}),
        api.post("/search", json={"key": "large-0", "k": 40}),
        api.post("/search_many", json={"texts": ["kitten"] * 5, "k": 2}),
    ):
        assert code(response) == (422, "answer_too_large")
    assert len(api.post("/search", json={"text": "kitten", "k": 2}).json()["hits"]) == 2
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


# Times


@pytest.mark.parametrize("job", ["kernel", "python", "sqlite"])
def test_work_that_takes_too_long_is_stopped(path, app_of, monkeypatch, job):
    """The worker is free again: a change and another slow question are answered."""
    api = app_of(path, {"seconds": 1})

    def kernels(*_):
        index = HammingIndex(64)
        index.add(np.random.default_rng(0).integers(0, 256, (20_000, 8), dtype=np.uint8))
        while True:
            for _ in index.pairs(40):
                pass

    def python(*_):
        while True:
            check_time()

    def sqlite(snapshot, _):
        query = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        with snapshot._store.clear_errors():
            return snapshot._store.value(query)

    endless = {"kernel": kernels, "python": python, "sqlite": sqlite}[job]
    monkeypatch.setattr("sthash.serve.visualization.corpus_map", endless)
    assert code(api.get("/map")) == (503, "too_slow")
    monkeypatch.undo()
    new = {"documents": [{"key": "new", "text": "a kitten"}]}
    response = api.post("/documents", json=new)
    while response.status_code == 503:  # it may still wait for the last look at the clock
        response = api.post("/documents", json=new)
    assert response.status_code == 200
    assert api.get("/map").status_code == 200


def test_comparing_all_with_all_does_not_hold_up_changes(path, app_of, monkeypatch):
    api = app_of(path)
    begun, release = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        release.wait(20)
        return [[0, 1], [2, 3]]

    monkeypatch.setattr(read_routes, "compared", slow)
    with ThreadPoolExecutor(1) as threads:
        question = threads.submit(api.get, "/duplicates")
        assert begun.wait(20)
        assert api.post("/delete", json={"keys": ["d3"]}).status_code == 200
        assert api.get("/map").status_code == 200
        release.set()
        assert question.result().json() == {"groups": [["d0", "d1"]]}  # of the other group only one is left


def test_a_tiny_threshold_is_refused(still):
    assert code(still.get("/duplicates?min_cosine=0.0001")) == (422, "invalid_request")
    assert still.get("/duplicates?min_cosine=0.5").status_code == 200


def test_a_change_that_takes_too_long_is_undone(path):
    with Collection.open(path) as collection:
        before = [document.key for document in collection]
        with pytest.raises(TimeoutError, match="time limit"), time_limit(0):
            collection.add([{"key": "new", "text": "a kitten"}])
        with pytest.raises(TimeoutError), time_limit(0):
            collection.search("kitten")
        assert [document.key for document in collection] == before
        assert collection.add([{"key": "new", "text": "a kitten"}]) == 1
        assert collection.check()


def test_turns_are_taken_in_order():
    turns, order = workers.Turns(), []

    def take(name):
        with turns.taken(20):
            order.append(name)

    with ThreadPoolExecutor(3) as threads:
        with turns.taken(1):
            with pytest.raises(TimeoutError), turns.taken(0):
                pass
            waiting = []
            for name in "abc":
                waiting.append(threads.submit(take, name))
                while len(turns._queue) <= len(waiting):
                    time.sleep(0.001)
        for one in waiting:
            one.result(20)
    assert order == ["a", "b", "c"]


# Files


@pytest.fixture
def folder(built, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        shutil.copy(built, folder / f"c{number:02}.sth")
    return folder


def open_files(server):
    return [link for link in Path(f"/proc/{server.process.pid}/fd").iterdir() if ".sth" in str(link.readlink())]


def test_a_folder_is_listed_without_keeping_its_files_open(folder, server_of, wait_until):
    with server_of(folder) as server:
        with Client(server.url, collection="c00") as client:
            for _ in range(2):
                listed = client._ask("GET", "/collections")["collections"]
                assert [row["name"] for row in listed] == [f"c{number:02}" for number in range(40)]
                assert {row["documents"] for row in listed} == {300}
        assert open_files(server) == []
        for number in range(40):
            with Client(server.url, collection=f"c{number:02}") as client:
                assert client.search("kitten", k=1)
        wait_until(lambda: len(open_files(server)) <= limits.MAX_OPEN_COLLECTIONS)
        with Client(server.url, collection="c00") as client:
            client.add([{"key": "new", "text": "a kitten"}])
            listed = client._ask("GET", "/collections")["collections"]
            assert [row["documents"] for row in listed[:2]] == [301, 300]


def test_a_folder_may_have_too_many(folder, app_of, monkeypatch, caplog):
    monkeypatch.setattr("sthash.serve.catalog.MAX_COLLECTIONS", 5)
    assert len(app_of(folder).get("/collections").json()["collections"]) == 5
    assert "more than 5" in caplog.text


def test_links_that_leave_the_folder(folder, built, tmp_path, app_of):
    (folder / "outside.sth").symlink_to(built)
    (folder / "inside.sth").symlink_to(folder / "c00.sth")
    (folder / "broken.sth").symlink_to(tmp_path / "nothing.sth")

    def names(api):
        return {row["name"] for row in api.get("/collections").json()["collections"]}

    api = app_of(folder)
    assert "inside" in names(api)
    assert not {"outside", "broken"} & names(api)
    assert code(api.get("/stats?collection=outside")) == (404, "no_such_collection")
    following = app_of(folder, follow_links=True)
    assert "outside" in names(following)
    assert following.get("/stats?collection=outside").status_code == 200
    # A file that becomes a link while it is served is refused as well.
    (folder / "c01.sth").unlink()
    (folder / "c01.sth").symlink_to(built)
    assert code(api.get("/stats?collection=c01")) == (503, "collection_unavailable")
    # Links that the operator names are followed.
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "link.sth").symlink_to(built)
    assert app_of(tmp_path / "link").get("/stats?collection=c02").status_code == 200
    assert app_of(tmp_path / "link.sth").get("/stats").status_code == 200


# Keys


def test_wrong_keys_are_held_back_longer_and_longer():
    now = [0.0]
    brake = throttle.Throttle(10, lambda: now[0])
    assert [brake.count("1.2.3.4") for _ in range(10)] == [0, 0, 0, 0.25, 0.5, 1, 2, 4, 8, 10]
    assert brake.count("1.2.3.5") == 0
    assert [brake.count(f"2001:db8::{number}") for number in range(5)][-1] > 0  # one client has the whole network
    now[0] += throttle.MEMORY_SECONDS + 1
    assert brake.count("1.2.3.4") == 0


def test_many_addresses_take_little_memory_and_are_held_back_together():
    brake = throttle.Throttle(10)
    for number in range(10_000):
        held = brake.count(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert held == 10
    assert len(brake._by_address) <= throttle.MAX_ADDRESSES


def test_the_right_key_does_not_wait(path, app_of, monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    api = app_of(path, read_key=READ, write_key=WRITE)
    right, wrong = ({"authorization": f"Bearer {key}"} for key in (READ, "a-wrong-key"))
    for _ in range(4):
        assert code(api.get("/stats", headers=wrong)) == (401, "key_wrong")
        assert code(api.get("/collections", headers=wrong)) == (401, "key_wrong")
        assert api.get("/stats", headers=right).status_code == 200
        assert code(api.get("/stats")) == (401, "key_needed")
        assert code(api.delete("/documents/d1", headers=right)) == (403, "key_may_not_write")
    assert waits == [0.25, 0.5, 1, 2, 4]


def test_the_limits_are_positive():
    assert all(value > 0 for value in vars(Limits()).values())


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
