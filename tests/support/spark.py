"""What the tests on Spark share: sessions, and a small corpus with all kinds of documents."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BITS = 24  # of the codes that Spark learns
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Odd ones: blank, stop words only, duplicates, several scripts, combining marks, characters beyond the first plane.
ODD = [
    "",
    "   \n\t",
    "the of and",
    "naïve café ÅNGSTRÖM",
    "naïve café",
    "Москва и Санкт-Петербург",
    "東京都の天気 は 晴れ",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 👩‍👩‍👧 emoji",
    "word\u0000with nul",
    "same words twice",
    "same words twice",
    "same words twice",
]


def corpus(n: int = 400, seed: int = 0) -> list[str]:
    """Texts of a few topics, with the odd ones among them."""
    rng = np.random.default_rng(seed)
    topics = [[f"topic{topic}word{word}" for word in range(30)] for topic in range(8)]
    common = [f"common{word}" for word in range(60)]
    texts = []
    for place in range(n - len(ODD)):
        own = rng.choice(topics[place % len(topics)], rng.integers(4, 12))
        texts.append(" ".join([*own, *rng.choice(common, rng.integers(2, 8))]))
    return texts[: n // 2] + ODD + texts[n // 2 :]


@contextlib.contextmanager
def session(master: str, folder: Path, **settings: str) -> Iterator[object]:
    """Run a session; ``settings`` have underscores for dots."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    chosen = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "3",
        "spark.default.parallelism": "3",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.ui.showConsoleProgress": "false",
        # Tests are over before compiled code pays.
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": QUICK_JAVA,
        "spark.executor.extraJavaOptions": QUICK_JAVA,
    } | {name.replace("_", "."): value for name, value in settings.items()}
    builder = SparkSession.builder.master(master).appName("sthash tests")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = builder.getOrCreate()
    running.sparkContext.setLogLevel("OFF")
    try:
        yield running
    finally:
        running.stop()
