"""A forked process can use the collections of its parent, or is told that it cannot; it never hangs."""

import subprocess
import sys

import pytest

from sthash import Collection, Learning
from support.corpus import make_documents
from support.programs import ENVIRONMENT

BUSY = """
import os, signal, sys, threading
from sthash import Collection, Document
collection = Collection.open(sys.argv[1])
over = threading.Event()
def change():
    number = 0
    while not over.is_set():
        collection.upsert([Document(f"x{number % 50}", "kitten fur")])
        collection.search("kitten", 3)
        number += 1
thread = threading.Thread(target=change)
thread.start()
ends = []
for round in range(25):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            assert collection.search("kitten", 3)
            if round % 5 == 0:
                collection.upsert([Document(f"child{round}", "ship")])
            collection.close()
            os._exit(0)
        except BaseException as error:
            sys.stderr.write(f"{error!r}\\n")
            os._exit(1)
    ends.append(os.waitpid(child, 0)[1])
over.set()
thread.join()
print(set(ends), collection.check().documents, sum(f"child{round}" in collection for round in range(25)))
"""
STUCK = """
import os, signal, sys, threading
from sthash import Collection, CollectionError
from sthash.collection.file import forks
forks.WAIT_SECONDS = 0.05
collection = Collection.open(sys.argv[1])
inside, over = threading.Event(), threading.Event()
def stay():
    with collection.snapshot():
        inside.set()
        over.wait()
thread = threading.Thread(target=stay)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    for use in (lambda: collection.search("kitten"), lambda: Collection.open(sys.argv[1])):
        try:
            use()
        except CollectionError as error:
            print(error, flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
over.set()
thread.join()
print(status, len(collection.search("kitten", 3)))
"""


@pytest.fixture
def path(tmp_path):
    Collection.create(tmp_path / "c.sth", make_documents(100), learning=Learning(n_bits=8, n_neighbors=5)).close()
    return tmp_path / "c.sth"


def run(program, path):
    command = [sys.executable, "-W", "ignore", "-c", program, path]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)


def test_forks_while_another_thread_is_inside(path):
    result = run(BUSY, path)
    assert result.returncode == 0, result.stderr
    ends, documents, of_children = result.stdout.rsplit(maxsplit=2)
    assert ends == "{0}", result.stderr
    assert of_children == "5"
    assert int(documents) <= 100 + 50 + 5


def test_forks_that_cannot_wait_any_longer(path):
    result = run(STUCK, path)
    assert result.returncode == 0, result.stderr
    first, second, last = result.stdout.splitlines()
    assert "forked while another thread" in first
    assert "forked while another thread" in second
    assert last == "0 3"
