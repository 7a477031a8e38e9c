"""What all tests share: a collection to change, the data sets and Spark, if they are here, and programs run apart."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sthash import Collection
from sthash.reproduction.datasets import DatasetError, data_dir
from support.components import chromium, require, set_java_home
from support.factories import copied

set_java_home()
# Spark starts Java by a fork. With a connection to Milvus open, gRPC's handlers for forks can kill the child before it
# becomes Java (https://github.com/grpc/grpc/issues/43055).
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

# The same examples on every run, no deadline: a slow machine must not make a test fail.
settings.register_profile("sthash", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sthash")

# A shell that starts the tests in the background has them, and the processes that they interrupt, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def needs() -> Callable[..., None]:
    """Skip a test that needs files of the paper's corpora where they are missing, even in CI."""

    def check(*names: str) -> None:
        try:
            folder = data_dir()
        except DatasetError as error:
            pytest.skip(str(error))
        for name in names:
            if not (folder / name).is_file():
                pytest.skip(f"{name} is not in {folder}; set STHASH_DATA")

    return check


@pytest.fixture(scope="session")
def needs_spark() -> None:
    """Skip a test where Spark cannot run."""
    require("PySpark", "Java")


@pytest.fixture(scope="session")
def spark(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """One session for all tests of a process, with two threads: a process can have no second one."""
    from support.spark import session

    with session("local[2]", tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One Chromium for all tests of a process: it can have no second driver."""
    require("Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=["--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    """A copy of the file `built`, which each folder or file of tests defines, for a test that changes it."""
    return copied(built, tmp_path)


@pytest.fixture
def collection(path: Path) -> Iterator[Collection]:
    """The collection of `path`, open."""
    with Collection.open(path) as opened:
        yield opened


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Run a piece of Python in a process of its own and return what it printed."""

    def run(source: str, **environment: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", source],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run
