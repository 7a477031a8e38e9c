"""A collection that is served: in this process, or by a server of its own."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sthash.serve import Limits, Settings, create_app
from support.corpus import make_documents
from support.factories import create_collection
from support.server import running


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "some.sth"
    create_collection(path, make_documents(300), n_bits=16, n_neighbors=10, recipe="paper").close()
    return path


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
