"""Limits of the work: the time of a job, whose worker is then free, and the files that are open."""

import contextlib
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sthash import Client, Collection, HammingIndex
from sthash.deadline import check_time, time_limit
from sthash.duplicates.similarity_join import SimilarPairs
from sthash.serve import limits, read_routes, workers


def code(response):
    return response.status_code, response.json()["error"]["code"]


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
        query = "SELECT count(*) FROM documents AS a, documents AS b, documents AS c, documents AS d, documents AS e"
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

    def slow(*_, **__):
        begun.set()
        release.wait(20)
        left, right = np.array([0, 2]), np.array([1, 3])
        return SimilarPairs(left, right, np.ones(2), copies=0, complete=True)

    monkeypatch.setattr(read_routes, "compared", slow)
    with ThreadPoolExecutor(1) as threads:
        question = threads.submit(api.get, "/duplicates")
        assert begun.wait(20)
        assert api.post("/delete", json={"keys": ["d3"]}).status_code == 200
        assert api.get("/map").status_code == 200
        release.set()
        assert question.result().json()["groups"] == [["d0", "d1"]]  # of the other group only one is left


def test_a_tiny_threshold_is_refused(still):
    assert code(still.get("/duplicates?threshold=0.0001")) == (422, "invalid_request")
    assert still.get("/duplicates?threshold=0.5").status_code == 200


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
    found = []
    for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found += [link] if ".sth" in str(link.readlink()) else []
    return found


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
