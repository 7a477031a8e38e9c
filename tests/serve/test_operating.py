"""What an operator needs: life and readiness, keys that change, proxies, logs, metrics, several processes."""

import asyncio
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from sthash.deadline import check_time
from sthash.serve import Key, Limits, Settings, read_routes, searcher
from sthash.serve import batcher as batches
from sthash.serve.fair import FairQueue
from sthash.serve.logs import JsonFormatter
from sthash.serve.workers import Worker

STH = Path(sys.executable).with_name("sth")
READ, OTHER, WRITE = "read-secret", "other-secret", "write-secret"


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def error(response):
    return response.status_code, response.json()["error"]["code"]


# Fair shares


def test_clients_take_turns():
    queue = FairQueue()
    for client, item in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)]:
        queue.put(client, item)
    assert [queue.pop() for _ in range(3)] == [1, 4, 5]
    queue.put_back("d", 7)
    assert [queue.pop() for _ in range(len(queue))] == [7, 2, 6, 3]


def test_a_long_list_of_queries_lets_other_searches_in_between(path, app_of, monkeypatch):
    api = app_of(path)
    order, begun, release = [], threading.Event(), threading.Event()

    def recording(name, module):
        answer = module.answer

        def recorded(snapshot, queries, options):
            order.append((name, len(queries)))
            if len(order) == 1:
                begun.set()
                assert release.wait(20)
            return answer(snapshot, queries, options)

        monkeypatch.setattr(module, "answer", recorded)

    recording("many", read_routes)
    recording("one", batches)
    monkeypatch.setattr(read_routes, "MAX_SLICE", 8)
    queue = api.app.state.catalog.find(None).search_worker._jobs
    with ThreadPoolExecutor(2) as threads:
        many = threads.submit(api.post, "/search_many", json={"texts": ["a kitten"] * 20})
        assert begun.wait(20)
        one = threads.submit(api.post, "/search", json={"text": "a kitten"})
        while not len(queue):
            time.sleep(0.001)
        release.set()
        assert one.result().status_code == many.result().status_code == 200
    assert order[:2] == [("many", 4), ("one", 1)]
    assert sum(count for name, count in order if name == "many") == 20
    assert many.result().json()["answers"] == [one.result().json()["hits"]] * 20


def test_searches_do_not_wait_for_a_slow_one(path, app_of, monkeypatch):
    """Neither a search nor a list of searches that takes long holds up others: it goes on among the slow requests."""
    api = app_of(path)
    assert api.post("/search", json={"text": "a kitten"}).status_code == 200  # what must be read once has been read
    release, threads_of = threading.Event(), []
    for module in (read_routes, batches):
        answer = module.answer

        def slowly(snapshot, queries, options, answer=answer):
            if "slow" in queries[0]:
                threads_of.append(threading.current_thread().name)
                while not release.is_set():
                    check_time()
            return answer(snapshot, queries, options)

        monkeypatch.setattr(module, "answer", slowly)
    with ThreadPoolExecutor(2) as threads:
        slow = [
            threads.submit(api.post, "/search", json={"text": "slow"}),
            threads.submit(api.post, "/search_many", json={"texts": ["slow"] * 10}),
        ]
        while len(threads_of) < 3:
            assert api.post("/search", json={"text": "a kitten"}).status_code == 200
        release.set()
        assert [one.result().status_code for one in slow] == [200, 200]
    assert len(slow[1].result().json()["answers"]) == 10


def test_what_all_searches_need_is_read_among_the_quick_ones(path, monkeypatch):
    """A search that has to read something first is cut short; later ones must not be cut short for ever."""
    monkeypatch.setattr(searcher, "QUICK_SECONDS", 0.05)
    monkeypatch.setattr(searcher, "CLEARLY_QUICK_SECONDS", 0.3)
    workers = [Worker(name, path, 9, Limits()) for name in ("quick", "slow")]
    search, have_read, ran = searcher.Searcher(*workers, 30.0), set(), []

    def job(snapshot):
        place = threading.current_thread().name
        ran.append(place)
        if place not in have_read:
            for _ in range(100):
                check_time()
                time.sleep(0.01)
            have_read.add(place)

    async def ask():
        await search.run(len)  # from now on the state is known
        for _ in range(20):
            ran.clear()
            await search.run(job)
            if ran == ["sthash-quick_0"]:
                return True
        return False

    with ThreadPoolExecutor(1) as thread:  # this one has a running loop where a browser was tested before
        assert thread.submit(lambda: asyncio.run(ask())).result()
    for worker in workers:
        worker.close()


def test_requests_wait_for_their_turn_before_they_are_refused(path, app_of, monkeypatch, wait_until):
    api = app_of(path, {"in_flight": 1, "waiting": 1})
    release = threading.Event()
    monkeypatch.setattr("sthash.Collection.info", lambda _: release.wait(20) and {})
    gate = api.app.middleware_stack
    while not hasattr(gate, "_gate"):
        gate = gate.app
    gate = gate._gate
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(api.get, "/stats")
        wait_until(lambda: gate.inside == 1)
        second = threads.submit(api.get, "/stats")
        wait_until(lambda: gate._waiting == 1)
        refused = api.get("/stats")
        assert error(refused) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1
        release.set()
        assert first.result().status_code == second.result().status_code == 200
    assert gate.inside == 0


def test_whoever_waits_too_long_gets_an_answer(path, app_of, monkeypatch, wait_until):
    api = app_of(path, {"in_flight": 1, "waiting_seconds": 0.05})
    release = threading.Event()
    monkeypatch.setattr("sthash.Collection.info", lambda _: release.wait(20) and {})
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(api.get, "/stats")
        wait_until(lambda: "sthash_in_flight 1.0" in api.get("/metrics").text)
        assert error(api.get("/stats")) == (503, "overloaded")
        release.set()
        assert first.result().status_code == 200
    assert api.get("/random").status_code == 200  # the place is free again


# Life and readiness


@pytest.fixture
def folder(built, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("news", "posts"):
        shutil.copy(built, folder / f"{name}.sth")
    return folder


def test_health_looks_at_no_file(folder, app_of, monkeypatch):
    api = app_of(folder)
    monkeypatch.setattr(Path, "glob", None)
    monkeypatch.setattr(Path, "stat", None)
    assert api.get("/health").json()["status"] == "ok"


def test_ready_means_that_every_collection_answers(folder, app_of, wait_until):
    api = app_of(folder, read_key=READ)
    assert api.get("/ready").json() == {"status": "ready", "collections": 2}
    (folder / "news.sth").write_bytes(b"garbage" * 10_000)
    wait_until(lambda: api.get("/ready").status_code == 503)
    answer = api.get("/ready")
    assert error(answer) == (503, "not_ready")
    assert "1 of 2" in answer.text
    assert "news" not in answer.text  # strangers learn no names
    assert "news (collection_unavailable)" in api.get("/ready", headers=bearer(READ)).text
    assert api.get("/health").status_code == 200
    (folder / "news.sth").unlink()
    wait_until(lambda: api.get("/ready").json() == {"status": "ready", "collections": 1})


def test_a_collection_in_use_is_tried_by_a_search(path, app_of, monkeypatch, wait_until):
    api = app_of(path)
    assert api.get("/random").status_code == 200
    monkeypatch.setattr("sthash.serve.catalog.answer_like", lambda *_: 1 / 0)
    assert api.get("/ready").status_code == 500


def test_head_is_get_without_a_body(still):
    for address in ("/", "/health", "/stats", "/documents?limit=3", "/search?text=kitten", "/nothing", "/docs"):
        whole, head = still.get(address), still.head(address)
        assert (head.status_code, head.content) == (whole.status_code, b"")
        if "took_ms" not in whole.text:
            assert head.headers["content-length"] == whole.headers["content-length"]
            assert head.headers["content-type"] == whole.headers["content-type"]


# Keys


def test_several_keys_and_keys_for_some_collections(folder, app_of):
    keys = (
        Key.of("posts", READ, collections=["posts"]),
        Key.of("all", OTHER),
        Key.of("writer", WRITE, may_write=True, collections=["posts"]),
    )
    api = app_of(folder, keys=keys)
    assert api.get("/stats?collection=news", headers=bearer(OTHER)).status_code == 200
    assert error(api.get("/stats", headers=bearer(OTHER))) == (400, "collection_needed")
    for key in (READ, WRITE):  # for these there is only one
        assert api.get("/stats", headers=bearer(key)).json()["name"] == "posts"
        assert error(api.get("/stats?collection=news", headers=bearer(key))) == (404, "no_such_collection")
        listed = api.get("/collections", headers=bearer(key)).json()
        assert ([row["name"] for row in listed["collections"]], listed["default"]) == (["posts"], "posts")
    new = {"documents": [{"key": "new", "text": "a kitten"}]}
    assert error(api.post("/documents?collection=posts", json=new, headers=bearer(READ))) == (403, "key_may_not_write")
    assert error(api.post("/documents?collection=news", json=new, headers=bearer(WRITE))) == (404, "no_such_collection")
    assert api.post("/documents", json=new, headers=bearer(WRITE)).status_code == 200
    assert api.get("/collections").json()["collections"] == []


FILE = """
trusted_proxies = ["10.0.0.0/8"]
[limits]
in_flight = 7
[[keys]]
name = "blog"
key = "a-blog-secret"
[[keys]]
name = "desk"
sha256 = "{digest}"
may = "write"
collections = ["news"]
"""


def test_a_settings_file(tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text(FILE.format(digest=hashlib.sha256(WRITE.encode()).hexdigest()))
    settings = Settings(Path("x.sth"), "0.0.0.0", file=file).read()
    blog, desk = settings.keys
    assert (blog.name, blog.may_write, blog.collections) == ("blog", False, None)
    assert (desk, settings.limits.in_flight) == (Key.of("desk", WRITE, may_write=True, collections=["news"]), 7)
    assert settings.trusted_proxies == ("10.0.0.0/8",)
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("keys = [", "is not valid TOML"),
        ("host = 'x'", "the file has 'host'; it may have keys, limits, trusted_proxies"),
        ("keys = 5", r"keys are written as \[\[keys\]\]"),
        ("[[keys]]\nkey = 'long-enough'", "needs a name"),
        ("[[keys]]\nname = 'a'", "needs either key or sha256"),
        ("[[keys]]\nname = 'a'\nkey = 'short'", "a must have at least 8"),
        ("[[keys]]\nname = 'a'\nsha256 = 'xyz'", "not 64 hexadecimal digits"),
        ("[[keys]]\nname = 'a'\nkey = 'long-enough'\nmay = 'all'", "may='all'"),
        ("[[keys]]\nname = 'a'\nkey = 'long-enough'\nrole = 'x'", "has 'role'"),
        ("[[keys]]\nname = 'a'\nkey = 'long-enough'\ncollections = 'news'", "names of collections"),
        ("[[keys]]\nname='a'\nkey='long-enough'\n[[keys]]\nname='b'\nkey='long-enough'", "a and b must differ"),
        ("[[keys]]\nname='a'\nkey='long-enough'\n[[keys]]\nname='a'\nkey='long-enough2'", "two keys have the name 'a'"),
        ("[limits]\nin_flihgt = 5", "has 'in_flihgt'"),
        ("[limits]\nseconds = 'x'", "seconds='x' must be a positive number"),
        ("trusted_proxies = ['proxy.example']", "'proxy.example' is no address"),
        ("", "set read_key"),
    ],
)
def test_a_settings_file_that_is_wrong_is_refused(tmp_path, content, message):
    file = tmp_path / "serve.toml"
    file.write_text(content)
    with pytest.raises(ValueError, match=message):
        Settings(Path("x.sth"), "0.0.0.0", file=file).read()


# Proxies and logs


def test_a_proxy_may_offer_the_server_below_a_path(path, app_of):
    api = app_of(path, prefix="/find/it")
    for address in ("/find/it/stats", "/stats"):  # whether or not the proxy takes it off
        assert api.get(address).json()["name"] == "some"
    for address in ("/find/it/", "/find/it/page/main.js", "/find/it/docs", "/find/it/collections"):
        assert api.get(address).status_code == 200
    bare = api.get("/find/it", follow_redirects=False)
    assert (bare.status_code, bare.headers["location"]) == (308, "/find/it/")
    assert api.get("/find/item/stats").status_code == 404
    assert api.get("/find/it/openapi.json").json()["servers"] == [{"url": "/find/it"}]
    for page in (api.get("/").text, api.get("/docs").text):
        assert 'href="/' not in page
        assert 'src="/' not in page


@pytest.fixture
def requests(caplog):
    """What the access log says."""
    caplog.set_level(logging.INFO, "sthash.serve.access")
    return lambda: [json.loads(record.message) for record in caplog.records if record.name == "sthash.serve.access"]


def test_the_log_names_client_key_collection_and_error(folder, app_of, requests):
    api = app_of(folder, keys=(Key.of("blog", READ),), trusted_proxies=("10.0.0.0/8",))
    api.get("/stats?collection=news", headers=bearer(READ) | {"x-request-id": "from-the-proxy:1"})
    api.get("/documents/nothing?collection=posts", headers=bearer(READ) | {"x-request-id": "no spaces\x7f please"})
    fine, missing = requests()
    assert (fine["id"], fine["key"], fine["collection"], fine["error"]) == ("from-the-proxy:1", "blog", "news", None)
    assert (missing["collection"], missing["error"], missing["status"]) == ("posts", "no_such_document", 404)
    assert len(missing["id"]) == 12
    assert READ not in json.dumps(requests())


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "client"),
    [
        ((), "10.0.0.1", "203.0.113.9", "10.0.0.1"),
        (("10.0.0.0/8",), "10.0.0.1", "203.0.113.9", "203.0.113.9"),
        (("10.0.0.0/8",), "192.0.2.1", "203.0.113.9", "192.0.2.1"),
        (("10.0.0.0/8",), "10.0.0.1", "6.6.6.6, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (("10.0.0.0/8",), "10.0.0.1", "", "10.0.0.1"),
        (("10.0.0.0/8",), "10.0.0.1", "6.6.6.6, evil\n", "unknown"),
        (("10.0.0.0/8",), "10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        (("10.0.0.0/8",), "10.0.0.1", "203.0.113.9:5678", "203.0.113.9"),
        (("unix",), None, "203.0.113.9", "203.0.113.9"),
        ((), None, "203.0.113.9", None),
    ],
)
def test_only_trusted_proxies_are_believed(trusted, peer, forwarded, client):
    from sthash.serve.addresses import TrustedProxies

    scope = {"client": None if peer is None else (peer, 1), "headers": [(b"x-forwarded-for", forwarded.encode())]}
    assert TrustedProxies(trusted).client_of(scope) == client


def test_problems_are_logged_as_json(path, app_of, caplog):
    api = app_of(path)
    path.write_bytes(b"garbage" * 10_000)
    api.get("/stats", headers={"x-request-id": "r-1"})
    (record,) = [record for record in caplog.records if record.name == "sthash.serve"]
    told = json.loads(JsonFormatter().format(record))
    assert (told["level"], told["collection"], told["error"]) == ("error", "some", "collection_unavailable")
    assert told["time"].endswith("Z")


# Processes


def start(*words, **environment):
    process = subprocess.Popen(
        [STH, "serve", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    line = process.stderr.readline()
    assert " at " in line, line + process.stderr.read()
    return process, next(word for word in line.split() if word.startswith(("http://", "unix:")))


def end(process):
    process.terminate()
    return process.communicate(timeout=30)


def test_sighup_reads_keys_again_and_cuts_nothing_off(path, tmp_path, wait_until):
    file, socket = tmp_path / "serve.toml", tmp_path / "socket"

    def write(*keys):
        file.write_text("".join(f'[[keys]]\nname = "{name}"\nkey = "{key}"\n' for name, key in keys))

    write(("old", READ))
    process, address = start(path, "--settings", file, "--socket", socket)
    assert address == f"unix:{socket}"
    assert socket.stat().st_mode & 0o777 == 0o660
    try:
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(socket)), base_url="http://localhost") as http:

            def status(key):
                return http.get("/random", headers=bearer(key)).status_code

            assert (status(READ), status(OTHER)) == (200, 401)
            sent = threading.Event()

            def slowly():
                yield b'{"text": '
                process.send_signal(signal.SIGHUP)
                sent.wait(20)
                yield b'"a kitten"}'

            def post():
                with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(socket)), base_url="http://localhost") as own:
                    headers = bearer(READ) | {"content-type": "application/json"}
                    return own.post("/search", content=slowly(), headers=headers).status_code

            write(("new", OTHER))
            with ThreadPoolExecutor(1) as threads:
                begun_before = threads.submit(post)
                wait_until(lambda: status(OTHER) == 200)
                assert status(READ) == 401
                sent.set()
                assert begun_before.result() == 200
            file.write_text("keys = 5")
            process.send_signal(signal.SIGHUP)
            while "the settings stay as they are" not in (line := process.stderr.readline()):
                assert line
            assert json.loads(line)["error"] == "invalid_settings"
            assert status(OTHER) == 200
    finally:
        out, _ = end(process)
    assert process.returncode == 0
    assert {row["client"] for row in map(json.loads, out.splitlines())} == {None}
    assert not socket.exists()


def test_several_processes_share_an_address_limits_and_metrics(path, wait_until):
    process, url = start(path, "--workers", 2, "--port", 0)

    def pids():
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def ask():
        with httpx2.Client(base_url=url, timeout=60) as http:
            return http.post("/search", json={"text": "a kitten"}).status_code

    def metric(name):
        with httpx2.Client(base_url=url, timeout=60) as http:
            lines = http.get("/metrics").text.splitlines()
        return [float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)]

    try:
        before = pids()
        assert len(before) == 2
        assert [ask() for _ in range(30)] == [200] * 30
        assert sum(metric('sthash_requests_total{collection="some",method="POST"')) == 30
        assert metric("sthash_documents") == [300]
        assert len(metric("process_resident_memory_bytes")) == 1
        process.send_signal(signal.SIGHUP)
        os.kill(int(before[0]), signal.SIGKILL)
        time.sleep(0.1)
        assert [ask() for _ in range(10)] == [200] * 10
        assert sum(metric('sthash_requests_total{collection="some",method="POST"')) == 40
        wait_until(lambda: len(pids()) == 2 and pids() != before, 30)
        assert process.poll() is None
    finally:
        _, errors = end(process)
    assert process.returncode == 0
    assert "another one takes its place" in errors
    assert all(not Path(f"/proc/{pid}").exists() for pid in before)


def test_processes_take_turns_at_changes(path, tmp_path):
    """A slow reader in one process, and a change in another: searches must not wait for either."""
    from sthash.serve.workers import Turns

    one, other = Turns(tmp_path / "turns"), Turns(tmp_path / "turns")
    with one.taken(1), pytest.raises(TimeoutError), other.taken(0.05):
        pass
    with other.taken(1):
        pass


def test_a_socket_that_is_in_use_is_not_taken(path, tmp_path):
    socket = tmp_path / "socket"
    socket.write_text("a file")
    refused = subprocess.run([STH, "serve", path, "--socket", socket], capture_output=True, text=True)
    assert refused.returncode == 1
    assert "is not a socket" in refused.stderr
    assert socket.read_text() == "a file"
