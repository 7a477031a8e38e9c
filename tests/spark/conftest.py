"""A session of Spark in local mode, if there are Java and PySpark."""

import os
import shutil
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def needs_spark() -> None:
    """Skip where Spark cannot run."""
    pytest.importorskip("pyspark", reason="PySpark is not installed; pip install 'sthash[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17, which is not installed")


@pytest.fixture(scope="session")
def spark(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A session with two threads, which listens on the loopback device only."""
    from support.spark import session

    with session("local[2]", tmp_path_factory.mktemp("spark")) as running:
        yield running
