"""Spark: documents encoded and joined with themselves, against Spark's own MinHashLSH.

All runs are on this machine, in local mode with all cores. Vocabulary and model are learned once, from all documents.
Parts: ``join`` (near-duplicate pairs from raw text, and their quality), ``growth`` (ever more documents), ``texts``
(groups of texts with common shingles, beside those of one machine), ``rows`` (ten million rows, or ``--rows N``, of
which 30 % are nulls and 20 % have one content; on a driver and two executors, each a process). "Pairs of codes" are of
distinct codes: equal ones are joined once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

import pyspark
from pyspark.ml import Pipeline
from pyspark.ml.feature import HashingTF, MinHashLSH, RegexTokenizer, StopWordsRemover
from pyspark.sql import SparkSession

import data
import sthash
from harness import OURS, Run, compare, main
from sthash.spark import SelfTaughtHashing, connected_groups, hamming_self_join, near_duplicates, similar_texts
from sthash.spark.bands import Bands
from sthash.spark.join import code_pairs
from timing import Timing, timed

BITS, RADIUS, SAMPLE_SIZE = 64, 3, 10_000
JOINED, MIN_COSINE = 20_000, 0.9
# Jaccard distance below which MinHashLSH gives a pair, and its hash tables: one finds fewer pairs than we, two more.
JACCARD_DISTANCE, TABLES = 0.4, (1, 2)
SHINGLED, MIN_JACCARD, MIN_WORDING = 100_000, 0.8, 0.75
# Of each ten rows of the part `rows`, so many have no text, and so many one and the same.
NULLS, FREQUENT = 3, 2
EXECUTOR_MIB = 2048
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "6g",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
QUICK_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True)
class Step:
    """A step on Spark: its timing, with its result, the bytes that it shuffled, and the rows that it read."""

    timing: Timing
    shuffled: int
    read: int


@dataclass(frozen=True)
class Learned:
    """A session with a table of documents and a model learned from it."""

    spark: Any
    table: Any
    model: Any
    learning: Step

    def vectors(self, texts: list[str]) -> sp.csr_array:
        """Give the vectors that the model makes of texts."""
        return self.model.model.encode(texts).rows.to_scipy()


def total_of_stages(spark: Any, what: str) -> int:
    """Sum of a figure over all stages so far, from the REST interface."""
    context = spark.sparkContext
    address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(address) as answer:
        return sum(stage[what] for stage in json.load(answer))


def measured(spark: Any, work: Callable[[], Any]) -> Step:
    """Measure a step."""
    figures = "shuffleWriteBytes", "inputRecords"
    before = [total_of_stages(spark, figure) for figure in figures]
    timing = timed(work)
    time.sleep(0.5)  # the figures of the last stage arrive a moment later
    shuffled, read = (total_of_stages(spark, figure) - old for figure, old in zip(figures, before, strict=True))
    return Step(timing.by_the_clock(), shuffled, read)


@contextmanager
def session(run: Run, texts: list[str]) -> Iterator[tuple[Any, Any]]:
    """Start Spark with all cores, and give it a table of texts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = pa.array(np.arange(len(texts)))
        pq.write_table(pa.table({"id": numbers, "text": texts}), folder / "table.parquet", row_group_size=20_000)
        builder = SparkSession.builder.master("local[*]").appName("sthash")
        settings = SETTINGS | run.choose({}, QUICK_SETTINGS)
        settings |= {"spark.local.dir": str(folder), "spark.sql.shuffle.partitions": run.choose("16", "2")}
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        try:
            table = spark.read.parquet(str(folder / "table.parquet")).repartition(run.choose(8, 2)).cache()
            table.count()
            yield spark, table
        finally:
            spark.stop()


@contextmanager
def learned(run: Run) -> Iterator[Learned]:
    """Learn a model in a session."""
    found = data.descriptions(run.quick)
    with session(run, [*found.queries, *found.texts]) as (spark, table):
        size = run.choose(SAMPLE_SIZE, 300)
        estimator = SelfTaughtHashing(inputCol="text", numBits=BITS, sampleSize=size, idCol="id")
        learning = measured(spark, lambda: estimator.fit(table))
        yield Learned(spark, table, learning.timing.result, learning)


def learning_row(run: Run, here: Learned) -> None:
    """Tell what learning took."""
    details = {"MB shuffled": here.learning.shuffled / 1e6}
    setting = {"documents": here.table.count(), "sample": run.choose(SAMPLE_SIZE, 300)}
    run.add(compare("learn", "learn", {OURS: here.learning.timing}, setting=setting, details=details))


def join(run: Run) -> None:
    """Find near-duplicate pairs of documents from raw text, and compare them with exact cosine."""
    with learned(run) as here:
        learning_row(run, here)
        part = here.table.where(f"id < {run.choose(JOINED, 300)}").cache()
        texts = [row["text"] for row in part.orderBy("id").collect()]
        true = data.exact_pairs(here.vectors(texts), MIN_COSINE)
        steps = {
            "unchecked": our_pairs(here, part, checked=False),
            "checked": our_pairs(here, part, checked=True),
            **{f"MinHashLSH, tables {tables}": their_pairs(here.spark, part, tables) for tables in TABLES},
        }
        quality = {name: described(step, true) for name, step in steps.items()}
        setting = {"documents": len(texts), "radius": RADIUS, "true pairs": len(true)}
        run.add(
            compare(
                "unchecked",
                "near-duplicate pairs, by codes alone",
                {OURS: steps["unchecked"].timing},
                setting=setting,
                details=quality["unchecked"],
            )
        )
        for tables in TABLES:
            peer = f"MinHashLSH, tables {tables}"
            theirs = {f"their {key}": value for key, value in quality[peer].items()}
            run.add(
                compare(
                    f"checked-tables-{tables}",
                    "near-duplicate pairs, checked",
                    {OURS: steps["checked"].timing, peer: steps[peer].timing},
                    setting=setting,
                    details=quality["checked"] | theirs,
                )
            )


def described(step: Step, true: set[tuple[int, int]]) -> dict[str, Any]:
    """Describe the pairs of a step, and what it shuffled."""
    found = {(row["idA"], row["idB"]) for row in step.timing.result}
    return {"MB shuffled": step.shuffled / 1e6, "pairs": len(found), **data.precision_and_recall(found, true)}


def our_pairs(here: Learned, part: Any, *, checked: bool) -> Step:
    """Encode and join; check the pairs by cosine, as MinHashLSH does by Jaccard, or do not."""
    encoded = here.model.transform(part).cache()

    def work() -> Any:
        pairs = here.model.approxSimilarityJoin(encoded, encoded, RADIUS + 1).where("datasetA.id < datasetB.id")
        if checked:
            pairs = pairs.where(here.model.cosine("datasetA.text", "datasetB.text") >= MIN_COSINE)
        return pairs.selectExpr("datasetA.id idA", "datasetB.id idB").collect()

    step = measured(here.spark, work)
    encoded.unpersist()
    return step


def their_pairs(spark: Any, part: Any, tables: int) -> Step:
    """Hash and join as Spark's documentation shows it, without stop words, which all texts share."""
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\W+")
    rarer = StopWordsRemover(inputCol="words", outputCol="rarer")
    terms = HashingTF(inputCol="rarer", outputCol="features", binary=True)
    lsh = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=tables, seed=0)

    def work() -> Any:
        prepared = Pipeline(stages=[words, rarer, terms]).fit(part).transform(part).where("size(rarer) > 0")
        prepared = prepared.select("id", "features").cache()
        joined = lsh.fit(prepared).approxSimilarityJoin(prepared, prepared, JACCARD_DISTANCE, "distance")
        pairs = joined.where("datasetA.id < datasetB.id")
        found = pairs.selectExpr("datasetA.id idA", "datasetB.id idB").collect()
        prepared.unpersist()
        return found

    return measured(spark, work)


def growth(run: Run) -> None:
    """Encode and join ever more documents."""
    with learned(run) as here:
        learning_row(run, here)
        total = here.table.count()
        for size in run.choose((total // 4, total // 2, total), (total,)):
            part = here.table.where(f"id < {size}").cache()
            part.count()
            grow(run, here, part, size)
            part.unpersist()


def grow(run: Run, here: Learned, part: Any, size: int) -> None:
    """Encode, join and group some documents."""
    encoded = here.model.transform(part).select("id", "code").cache()
    encoding = measured(here.spark, encoded.count)
    codes = encoded.select("code").distinct().count()
    joining = measured(here.spark, lambda: code_pairs(encoded.select("code"), Bands(BITS, RADIUS)).count())
    grouping = measured(here.spark, lambda: near_duplicates(encoded, RADIUS, n_bits=BITS, id_col="id").count())
    setting = {"documents": size, "bits": BITS, "radius": RADIUS}
    encoded_rate = {OURS: encoding.timing.per(size)}
    run.add(compare(f"encode-{size}", "encode", encoded_rate, "documents/s", setting=setting))
    details = {
        "distinct codes": codes,
        "pairs of codes": joining.timing.result,
        "MB shuffled": joining.shuffled / 1e6,
    }
    run.add(compare(f"join-{size}", "self-join of codes", {OURS: joining.timing}, setting=setting, details=details))
    run.add(compare(f"group-{size}", "groups of near-duplicates", {OURS: grouping.timing}, setting=setting))
    encoded.unpersist()


def rows(run: Run) -> None:
    """Learn, encode, join and group many rows as data is, on two executors."""
    n = run.choose(run.arguments.rows, 2000)
    texts = data.descriptions(run.quick).texts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows", texts, n)
        os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
        builder = SparkSession.builder.master(f"local-cluster[2,1,{EXECUTOR_MIB}]").appName("sthash")
        settings = SETTINGS | {
            "spark.local.dir": str(folder / "spark"),
            "spark.executor.memory": f"{EXECUTOR_MIB}m",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": run.choose("32", "2"),
            # On a machine that does other things, too, a silent executor is not a lost one.
            "spark.worker.timeout": "1200",
            "spark.network.timeout": "1200s",
            "spark.executor.heartbeatInterval": "60s",
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        try:
            row_steps(run, spark, str(folder), n)
        finally:
            spark.stop()


def row_steps(run: Run, spark: Any, folder: str, n: int) -> None:
    """Measure each step, and what the driver takes."""
    table = spark.read.parquet(f"{folder}/rows")
    setting = {"rows": n, "bits": BITS, "radius": RADIUS, "nulls": NULLS / 10, "one content": FREQUENT / 10}

    def add(name: str, what: str, step: Step, **details: Any) -> Any:
        details |= {
            "MB shuffled": step.shuffled / 1e6,
            "passes": round(step.read / n, 2),
            "MiB driver": driver_mib(spark),
        }
        run.add(compare(name, what, {OURS: step.timing}, setting=setting, details=details))
        return step.timing.result

    estimator = SelfTaughtHashing(
        inputCol="text", numBits=BITS, sampleSize=run.choose(100_000, 300), idCol="id", handleInvalid="skip"
    )
    model = add("learn", "learn", measured(spark, lambda: estimator.fit(table)))
    encoded = model.transform(table).select("id", "code")
    add("encode", "encode and write", measured(spark, lambda: encoded.write.parquet(f"{folder}/codes")))
    codes = spark.read.parquet(f"{folder}/codes")
    pairs = code_pairs(codes.select("code"), Bands(BITS, RADIUS))
    step = measured(spark, pairs.count)
    add("join", "self-join of codes", step, **{"pairs of codes": step.timing.result})
    step = measured(spark, lambda: near_duplicates(codes, RADIUS, n_bits=BITS, id_col="id").count())
    add("group", "groups of near-duplicates", step, **{"rows in groups": step.timing.result})
    of_rows = hamming_self_join(codes, 0, n_bits=BITS, id_col="id")
    step = measured(spark, of_rows.count)
    add("copies", "pairs of rows with equal codes", step, **{"pairs of rows": step.timing.result})


def write_rows(folder: Path, texts: list[str], n: int) -> None:
    """Write rows in files: two texts of different documents make one that is in no other row."""
    folder.mkdir()
    size = 100_000
    for number, start in enumerate(range(0, n, size)):
        ids = range(start, min(start + size, n))
        made = [
            None if row % 10 < NULLS else texts[0] if row % 10 < NULLS + FREQUENT else mixed(texts, row) for row in ids
        ]
        pq.write_table(pa.table({"id": list(ids), "text": pa.array(made, pa.string())}), folder / f"{number}.parquet")


def mixed(texts: list[str], row: int) -> str:
    """Put the first half of one text before the second half of another."""
    first, second = texts[row % len(texts)], texts[row * 7919 // 10 % len(texts)]
    return first[: len(first) // 2] + second[len(second) // 2 :]


def driver_mib(spark: Any) -> float:
    """Return the largest memory that the driver has taken: Java's process and this one."""
    java = spark.sparkContext._gateway.proc.pid
    children = Path(f"/proc/{java}/task/{java}/children").read_text().split()
    most = 0
    for process in (os.getpid(), java, *children):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            # Executors are children of the driver here; they are no part of it.
            if line.startswith("VmHWM") and b"CoarseGrained" not in Path(f"/proc/{process}/cmdline").read_bytes():
                most += int(line.split()[1])
    return most / 1024


def options(parser: argparse.ArgumentParser) -> None:
    """Add the number of rows."""
    parser.add_argument("--rows", type=int, default=10_000_000)


def similar(run: Run) -> None:
    """Group texts that are similar, and compare the groups with those of one machine."""
    for measure, threshold in (("wording", MIN_WORDING), ("jaccard", MIN_JACCARD), ("cosine", MIN_COSINE)):
        similar_by(run, measure, threshold)


def similar_by(run: Run, measure: Any, threshold: float) -> None:
    """Do so by one measure."""
    documents = data.vulnerabilities(run.quick)[:SHINGLED]
    here = timed(lambda: sthash.near_duplicates(documents, threshold, measure=measure)).by_the_clock()
    with session(run, documents) as (spark, table):

        def work() -> Any:
            return connected_groups(similar_texts(table, threshold, measure=measure, id_col="id")).collect()

        there = measured(spark, work)
    groups: dict[int, list[int]] = {}
    for row in sorted(there.timing.result):
        groups.setdefault(row["group"], []).append(row["id"])
    details = {
        "groups": len(groups),
        "groups on one machine": len(here.result.groups),
        "equal": sorted(groups.values()) == sorted(here.result.groups),
        "MB shuffled": there.shuffled / 1e6,
    }
    setting = {"documents": len(documents), measure: threshold}
    timings = {OURS: there.timing, "one machine": here}
    run.add(compare(f"texts-{measure}", "groups of similar texts", timings, setting=setting, details=details))


if __name__ == "__main__":
    parts = {"join": join, "growth": growth, "texts": similar, "rows": rows}
    main(__file__, __doc__, parts, peers=["pyspark", "pyarrow", "pandas"], options=options)
