"""What goes wrong around a server: clients that are slow, rude or too many, files that go, and its own end."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from sthash import Client, Collection
from sthash.serve import visualization
from support.connections import answer, connect

SEARCH = json.dumps({"text": "a kitten with fur", "k": 3}).encode()


def head(path="/search", method="POST", **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture(scope="module")
def strict(built, tmp_path_factory, server_of):
    """A server with short patience and little room."""
    path = shutil.copy(built, tmp_path_factory.mktemp("strict") / "some.sth")
    limits = {"header_seconds": 1, "body_seconds": 1, "body_bytes": 100_000, "connections": 20, "idle_seconds": 2}
    with server_of(path, **limits) as server:
        yield server


def fine(server):
    """Whether a search is answered; for a moment the server may be busy with what came before."""
    for _ in range(50):
        response = httpx2.post(f"{server.url}/search", content=SEARCH, headers={"content-type": "application/json"})
        if response.status_code != 503:
            break
        time.sleep(0.1)
    return response.is_success


def test_a_declared_gigabyte_is_refused_unread(strict):
    before = strict.memory()
    with connect(strict) as connection:
        connection.sendall(head(content_length=2**30))
        assert answer(connection) == (413, "too_large")
    with connect(strict) as connection:
        connection.sendall(head(content_length=10**30))
        assert answer(connection)[0] in (400, 413)
    assert strict.memory() - before < 50e6
    assert fine(strict)


def test_an_undeclared_gigabyte_is_refused_while_it_comes(strict):
    before = strict.memory()
    sent = 0
    with connect(strict) as connection:
        connection.sendall(head(transfer_encoding="chunked"))
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            while sent < 2**30:
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
    assert sent < 2**30
    assert strict.memory() - before < 50e6
    assert fine(strict)


def test_a_client_that_reads_while_it_sends_hears_why(strict):
    def endless():
        for _ in range(16_384):
            yield b" " * 65_536

    response = httpx2.post(
        f"{strict.url}/search", content=endless(), headers={"content-type": "application/json"}, timeout=20
    )
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "too_large"


def test_slow_heads_and_bodies_are_cut_off(strict):
    with connect(strict) as silent, connect(strict) as slow_head, connect(strict) as slow_body:
        slow_body.sendall(head(content_length=len(SEARCH)) + SEARCH[:5])
        start = time.monotonic()
        for letter in "POST /search":
            slow_head.sendall(letter.encode())
            time.sleep(0.05)
        assert answer(slow_body) == (408, "body_too_slow")
        assert answer(slow_head) == (None, None)
        assert answer(silent) == (None, None)
        assert time.monotonic() - start < 15
    assert fine(strict)


def test_half_closed_and_broken_off(strict):
    with connect(strict) as connection:
        connection.sendall(head(content_length=len(SEARCH)) + SEARCH)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        while connection.recv(65536):
            pass
    with connect(strict) as connection:
        connection.sendall(head(content_length=len(SEARCH)) + SEARCH[:5])
        connection.shutdown(socket.SHUT_WR)
        assert answer(connection)[1] in (None, "body_too_slow", "cut_short")
    for _ in range(20):
        with connect(strict) as connection:
            connection.sendall(head(content_length=len(SEARCH)) + SEARCH)
    assert fine(strict)


def test_what_is_not_http(strict):
    for garbage in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"hello\r\n\r\n", b"\x00" * 100):
        with connect(strict) as connection:
            connection.sendall(garbage)
            assert answer(connection) == (400, "invalid_http")
    with connect(strict) as connection:
        connection.sendall(head(method="GET", path="/health", upgrade="websocket", connection="close, Upgrade"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    assert fine(strict)


def test_one_connection_too_many(strict, wait_until):
    held = [connect(strict) for _ in range(20)]
    try:
        with connect(strict) as connection:
            assert answer(connection) == (503, "overloaded")
    finally:
        for connection in held:
            connection.close()
    wait_until(lambda: fine(strict))


def test_several_requests_on_one_connection_at_once(strict):
    with connect(strict) as connection:
        connection.sendall(
            (head(content_length=len(SEARCH)) + SEARCH) * 3 + head(method="GET", path="/x", connection="close")
        )
        received = b""
        while part := connection.recv(65536):
            received += part
    assert received.count(b"HTTP/1.1 200") == 3
    assert received.count(b"HTTP/1.1 404") == 1


def test_beyond_what_it_bears_it_says_so_at_once(path, app_of, monkeypatch):
    api = app_of(path, {"in_flight": 2, "waiting": 0})
    release = threading.Event()
    monkeypatch.setattr(visualization, "corpus_map", lambda *_: release.wait(20) and {})
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(api.get, "/map") for _ in range(2)]
        while api.get("/metrics").text.find("sthash_in_flight 2.0") < 0:
            assert not any(future.done() for future in waiting)
            time.sleep(0.01)
        response = api.get("/stats")
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "overloaded"
        assert int(response.headers["retry-after"]) >= 1
        assert api.get("/health").status_code == 200
        release.set()
        assert [future.result().status_code for future in waiting] == [200, 200]
    assert api.get("/random").status_code == 200


def test_neither_slow_questions_nor_changes_hold_up_searches(path, app_of, monkeypatch, wait_until):
    monkeypatch.setattr("sthash.serve.workers.WAIT_SECONDS", 0.5)  # whoever has to wait, fails
    api = app_of(path)
    begun, release = threading.Event(), threading.Event()

    def slow(snapshot, _):
        assert len(snapshot) == 300  # from here on this reader holds its state of the file
        begun.set()
        release.wait(20)
        return {}

    monkeypatch.setattr(visualization, "corpus_map", slow)
    with ThreadPoolExecutor(2) as threads:
        question = threads.submit(api.get, "/map")
        assert begun.wait(20)
        change = threads.submit(api.post, "/documents", json={"documents": [{"key": "new", "text": "a kitten"}]})
        wait_until(lambda: "sthash_in_flight 2.0" in api.get("/metrics").text)
        for _ in range(10):
            assert api.post("/search", json={"text": "a kitten"}).status_code == 200
        assert not change.done()
        release.set()
        assert question.result().status_code == change.result().status_code == 200
    assert api.get("/documents/new").status_code == 200


def test_a_file_that_goes_and_comes_back(path, app_of):
    api = app_of(path)
    search = {"text": "a kitten", "k": 1}
    assert api.post("/search", json=search).status_code == 200
    away = path.with_name("away")
    path.rename(away)
    for response in (
        api.post("/search", json=search),
        api.get("/stats"),
        api.post("/documents", json={"documents": [{"key": "lost"}]}),
    ):
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "collection_unavailable"
        assert str(path.parent) not in response.text
    assert api.get("/collections").json()["collections"][0]["error"] == "collection_unavailable"
    away.rename(path)
    assert api.post("/search", json=search).status_code == 200
    assert api.get("/documents/lost").status_code == 404
    assert api.get("/health").status_code == 200  # the server is alive, whatever becomes of its files


def test_a_file_that_is_replaced_is_taken_up(path, tmp_path, app_of):
    api = app_of(path)
    assert api.get("/stats").json()["documents"] == 300
    other = shutil.copy(path, tmp_path / "other")
    with Collection.open(other) as collection:
        collection.delete([f"d{number}" for number in range(100)])
    Path(other).replace(path)
    assert api.get("/stats").json()["documents"] == 200
    assert api.post("/search", json={"key": "d5"}).status_code == 404
    assert len(api.get("/map").json()["keys"]) == 200
    assert api.post("/documents", json={"documents": [{"key": "new"}]}).status_code == 200
    with Collection.open(path) as collection:
        assert "new" in collection
    path.write_bytes(b"no collection at all" * 1000)
    assert api.get("/stats").status_code == 503
    assert api.post("/documents", json={"documents": [{"key": "new"}]}).status_code == 503


def test_a_file_that_is_replaced_during_a_change_is_not_acknowledged(path, tmp_path, app_of, monkeypatch):
    api = app_of(path)
    other = shutil.copy(path, tmp_path / "other")
    add = Collection.add

    def replaced_meanwhile(self, *arguments, **options):
        count = add(self, *arguments, **options)
        Path(other).replace(path)
        return count

    monkeypatch.setattr(Collection, "add", replaced_meanwhile)
    response = api.post("/documents", json={"documents": [{"key": "new"}]})
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "collection_replaced"


def test_another_process_that_writes_is_seen_and_waited_for(path, app_of, monkeypatch):
    monkeypatch.setattr("sthash.serve.workers.WAIT_SECONDS", 0.3)
    api = app_of(path)
    assert api.get("/stats").json()["documents"] == 300
    with Collection.open(path) as other:
        other.delete("d1")
        assert api.get("/stats").json()["documents"] == 299
        with sqlite3.connect(path) as writer:
            writer.execute("BEGIN IMMEDIATE")
            response = api.post("/documents", json={"documents": [{"key": "new"}]})
            assert response.status_code == 503
            assert response.json()["error"]["code"] == "collection_busy"
            assert api.post("/search", json={"text": "a kitten"}).status_code == 200
        assert api.post("/documents", json={"documents": [{"key": "new"}]}).status_code == 200


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_cannot_be_written(path, app_of):
    path.chmod(0o444)
    response = app_of(path).post("/documents", json={"documents": [{"key": "new"}]})
    assert response.status_code == 503


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_its_end_loses_nothing_acknowledged(path, server_of, sign):
    acknowledged, refused = set(), []
    with server_of(path) as server:

        def write(writer):
            with Client(server.url) as client:
                for number in range(10_000):
                    key = f"{writer}-{number}"
                    try:
                        client.add([{"key": key, "text": "a kitten with fur"}] * 1)
                    except ConnectionError as error:
                        refused.append(error)
                        return
                    acknowledged.add(key)

        with ThreadPoolExecutor(4) as threads:
            for writer in range(4):
                threads.submit(write, writer)
            end = time.monotonic() + 30
            while len(acknowledged) < 40 and time.monotonic() < end:
                time.sleep(0.02)
            server.process.send_signal(sign)
            _, errors = server.process.communicate(timeout=30)
    assert server.process.returncode == 0, errors
    assert "Traceback" not in errors
    assert len(refused) == 4
    with Collection.open(path) as collection:
        assert acknowledged <= {document.key for document in collection}
        assert collection.check()


def test_its_end_finishes_what_is_in_flight(path, server_of):
    with server_of(path) as server, connect(server) as connection:
        connection.sendall(head(content_length=len(SEARCH)) + SEARCH[:5])
        time.sleep(0.3)
        server.process.terminate()
        time.sleep(0.3)
        connection.sendall(SEARCH[5:])
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        assert server.process.wait(20) == 0


def test_a_client_that_does_not_fetch_its_answer(path, server_of, wait_until):
    with Collection.open(path) as collection:
        collection.upsert([{"key": f"long-{number}", "text": "kitten " * 20_000} for number in range(200)])
    with server_of(path, send_seconds=1, in_flight=2) as server:
        lazy = []
        for _ in range(4):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(server.address)
            body = b'{"text": "kitten", "k": 200}'
            connection.sendall(head(content_length=len(body)) + body)
            lazy.append(connection)
            time.sleep(0.3)
        wait_until(lambda: fine(server))
        time.sleep(2)
        lazy[0].settimeout(20)
        received = 0
        try:
            while part := lazy[0].recv(65536):
                received += len(part)
        except ConnectionResetError:
            pass
        assert received < 200 * 7 * 20_000
        for connection in lazy:
            connection.close()
        assert fine(server)
