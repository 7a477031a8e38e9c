"""A collection that is served: in this process, or by a server of its own."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sthash import Collection
from sthash.serve import Limits, Settings, create_app
from support.corpus import make_documents


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "some.sth"
    Collection.create(path, make_documents(300), n_bits=16, n_neighbors=10, recipe="paper").close()
    return path


@pytest.fixture
def path(built, tmp_path):
    return Path(shutil.copy(built, tmp_path / "some.sth"))


def served(source, limits=None, **settings):
    """Serve a file or a folder in this process."""
    app = create_app(Settings(Path(source), limits=Limits(**(limits or {})), **settings))
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


@pytest.fixture
def app_of():
    """Serve a file or a folder in this process; the limits and keys may be given."""
    with ExitStack() as opened:
        yield lambda *arguments, **settings: opened.enter_context(served(*arguments, **settings))


@pytest.fixture
def api(path, app_of):
    return app_of(path)


@pytest.fixture(scope="session")
def still(built):
    """For tests that change nothing."""
    with served(built) as client:
        yield client


SERVE = """
import json, logging, sys
from pathlib import Path
from sthash.serve import Limits, Settings, serve
source, limits = sys.argv[1], json.loads(sys.argv[2])
logging.basicConfig(level=logging.WARNING)
serve(Settings(Path(source), port=0, limits=Limits(**limits)), lambda address: print(address, flush=True))
"""


class Server:
    """A server in a process of its own."""

    def __init__(self, process, url):
        self.process = process
        self.url = url
        self.address = ("127.0.0.1", int(url.rpartition(":")[2]))

    def memory(self):
        """Most bytes that it has held so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])

    def end(self, seconds=20):
        """Ask it to end; give its status and what it wrote to standard error."""
        self.process.terminate()
        _, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, errors


@contextmanager
def running(source, **limits):
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(source), json.dumps(limits)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "default"},
    )
    try:
        url = process.stdout.readline().strip()
        assert url, process.stderr.read()
        yield Server(process, url)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def server_of():
    """Serve a file or a folder by a process of its own."""
    return running


def wait_until(condition, seconds=10):
    """Wait for something that other processes or threads do."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


@pytest.fixture(name="wait_until")
def wait_until_fixture():
    return wait_until
