"""Spark: documents encoded and joined with themselves, growth, shuffle, and the time against Spark's own MinHashLSH.

All runs are on this machine, in local mode with all cores. Vocabulary and model are learnt once, from all documents.
"Pairs of codes" are of distinct codes: equal ones are joined once. ``python spark.py duel`` or ``growth`` runs a part.
"""

import json
import lzma
import os
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from all_pairs import exact_pairs

os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

from pyspark.ml import Pipeline
from pyspark.ml.feature import HashingTF, MinHashLSH, RegexTokenizer, StopWordsRemover
from pyspark.sql import SparkSession

from sthash.reproduction.datasets import data_dir
from sthash.spark import SelfTaughtHashing, near_duplicates
from sthash.spark.bands import Bands
from sthash.spark.join import code_pairs

BITS, RADIUS, LEARN_ON = 64, 3, 10_000
DUEL, MIN_COSINE = 20_000, 0.9
# Jaccard distance below which MinHashLSH gives a pair, and its hash tables: one finds fewer pairs than we, two more.
JACCARD_DISTANCE, TABLES = 0.4, (1, 2)


def texts():
    """Read the descriptions of vulnerabilities and packages, in random order."""
    found = []
    for name in ("cve.jsonl.xz", "debian_packages.jsonl.xz"):
        with lzma.open(data_dir() / name, "rt", encoding="utf-8") as file:
            found += [json.loads(line)["text"] for line in file]
    return [found[place] for place in np.random.default_rng(0).permutation(len(found))]


def session(folder):
    """Start Spark with all cores; its REST interface, on the loopback device, tells what was shuffled."""
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "6g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "16",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[*]").appName("sthash")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def shuffled(spark):
    """Bytes written to shuffles so far."""
    context = spark.sparkContext
    address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(address) as answer:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


class Step:
    """Seconds, shuffled bytes and result of a step."""

    seconds = 0.0
    shuffle = 0
    pairs = ()


@contextmanager
def measured(spark):
    """Measure a step."""
    step = Step()
    before, start = shuffled(spark), time.perf_counter()
    yield step
    step.seconds = time.perf_counter() - start
    time.sleep(0.5)  # the figures of the last stage arrive a moment later
    step.shuffle = shuffled(spark) - before


def growth(spark, model, table):
    """Encode and join ever more documents."""
    columns = f"{'codes':>9} {'pairs of codes':>15} {'join':>8} {'shuffle':>9} {'groups':>8}"
    print(f"\n{'documents':>10} {'encoded/s':>10} {columns}")
    total = table.count()
    for size in (total // 4, total // 2, total):
        part = table.where(f"id < {size}").cache()
        part.count()
        with measured(spark) as encoding:
            encoded = model.transform(part).select("id", "code").cache()
            encoded.count()
        codes = encoded.select("code").distinct().count()
        with measured(spark) as joining:
            pairs = code_pairs(encoded.select("code"), Bands(BITS, RADIUS)).count()
        with measured(spark) as grouping:
            near_duplicates(encoded, RADIUS, n_bits=BITS, id_col="id").count()
        print(
            f"{size:>10,} {size / encoding.seconds:>10,.0f} {codes:>9,} {pairs:>15,} {joining.seconds:>6.1f} s "
            f"{joining.shuffle / 1e6:>6.1f} MB {grouping.seconds:>6.1f} s",
            flush=True,
        )
        encoded.unpersist()
        part.unpersist()


def duel(spark, model, table):
    """Find near-duplicate pairs of documents by both, from raw text, and compare them with exact cosine."""
    part = table.where(f"id < {DUEL}").cache()
    rows = [row["text"] for row in part.orderBy("id").collect()]
    true = exact_pairs(sp.csr_array(model.learnt.vectorizer.transform(rows)), MIN_COSINE)
    print(
        f"\n{DUEL:,} documents, {len(true):,} pairs with cosine >= {MIN_COSINE} by brute force; from raw text to pairs"
    )
    report(ours(spark, model, part), true, f"sthash, radius {RADIUS}")
    mine = report(ours(spark, model, part, checked=True), true, f"sthash, radius {RADIUS}, checked")
    for tables in TABLES:
        other = report(theirs(spark, part, tables), true, f"MinHashLSH, {tables} table{'s' * (tables > 1)}")
        ratios = other.seconds / mine.seconds, other.shuffle / mine.shuffle
        print(f"    ratio to sthash, checked: {ratios[0]:.1f} in time, {ratios[1]:.1f} in shuffled bytes", flush=True)
    part.unpersist()


def ours(spark, model, part, checked=False):
    """Encode and join; check the pairs by cosine, as MinHashLSH does by Jaccard, or do not."""
    with measured(spark) as step:
        encoded = model.transform(part).cache()
        pairs = model.approxSimilarityJoin(encoded, encoded, RADIUS + 1).where("datasetA.id < datasetB.id")
        if checked:
            pairs = pairs.where(model.cosine("datasetA.text", "datasetB.text") >= MIN_COSINE)
        step.pairs = pairs.selectExpr("datasetA.id idA", "datasetB.id idB").collect()
    encoded.unpersist()
    return step


def theirs(spark, part, tables):
    """Hash and join as Spark's documentation shows it, without stop words, which all texts share."""
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\W+")
    rarer = StopWordsRemover(inputCol="words", outputCol="rarer")
    terms = HashingTF(inputCol="rarer", outputCol="features", binary=True)
    lsh = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=tables, seed=0)
    with measured(spark) as step:
        prepared = Pipeline(stages=[words, rarer, terms]).fit(part).transform(part).where("size(rarer) > 0")
        prepared = prepared.select("id", "features").cache()
        joined = lsh.fit(prepared).approxSimilarityJoin(prepared, prepared, JACCARD_DISTANCE, "distance")
        pairs = joined.where("datasetA.id < datasetB.id")
        step.pairs = pairs.selectExpr("datasetA.id idA", "datasetB.id idB").collect()
    prepared.unpersist()
    return step


def report(step, true, name):
    """Print a line on a step."""
    found = {(row["idA"], row["idB"]) for row in step.pairs}
    both = len(found & true)
    print(
        f"  {name:<25} {step.seconds:>7.1f} s {step.shuffle / 1e6:>8.1f} MB shuffled {len(found):>9,} pairs   "
        f"precision {both / max(len(found), 1):.3f}   recall {both / len(true):.3f}",
        flush=True,
    )
    return step


def main():
    """Learn, then measure."""
    documents = texts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = pa.array(np.arange(len(documents)))
        pq.write_table(pa.table({"id": numbers, "text": documents}), folder / "table.parquet", row_group_size=20_000)
        spark = session(folder)
        try:
            table = spark.read.parquet(str(folder / "table.parquet")).repartition(8).cache()
            table.count()
            with measured(spark) as learning:
                estimator = SelfTaughtHashing(inputCol="text", numBits=BITS, sampleSize=LEARN_ON, idCol="id")
                model = estimator.fit(table)
            terms = len(model.learnt.vectorizer.vocabulary_)
            print(f"{len(documents):,} documents, {terms:,} terms counted, learnt on {LEARN_ON:,}: ", end="")
            print(f"{learning.seconds:.1f} s, {learning.shuffle / 1e6:.1f} MB shuffled", flush=True)
            for part in sys.argv[1:] or ("duel", "growth"):
                {"duel": duel, "growth": growth}[part](spark, model, table)
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
