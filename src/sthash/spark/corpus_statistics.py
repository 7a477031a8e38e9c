"""Counting over the whole corpus where it lies: vocabulary, document frequencies, and a sample to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sthash.spark.arrow import null_message, texts
from sthash.spark.columns import quoted
from sthash.spark.params import new_vectorizer
from sthash.text.counters import CorpusCounts

# Most bytes of the contents of a sample: half of what Spark lets a driver collect, unless it is told otherwise.
COLLECTED_BYTES = 1 << 29


def count_rows(dataset: DataFrame, name: str) -> int:
    """Count the rows; refuse nulls and an empty corpus."""
    column = F.col(quoted(name))
    n, present = dataset.select(F.count(F.lit(1)), F.count(column)).collect()[0]
    if present < n:
        raise ValueError(null_message(n - present, name))
    if n == 0:
        raise ValueError("the corpus is empty. Pass at least one document.")
    return int(n)


def mean_length(dataset: DataFrame, name: str) -> float:
    """Return the mean number of bytes of a column of texts."""
    (mean,) = dataset.select(F.avg(F.octet_length(F.col(quoted(name))))).collect()[0]
    return float(mean or 0.0)


def vector_width(dataset: DataFrame, name: str) -> int:
    """Return the number of values of the vectors of a column, as the first one has them."""
    (vector,) = dataset.select(F.col(quoted(name))).head(1)[0]
    return len(vector)


def count_terms(dataset: DataFrame, name: str, n_documents: int, settings: dict[str, Any]) -> CorpusCounts:
    """Count the terms of a column of texts: executors count their parts, and Spark adds them up.

    Terms outside of the limits of the settings stay where they are; only the others come to the driver.
    """

    def count_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = new_vectorizer(settings, threads=1).count(
            text for batch in batches for text in texts(batch.column(0), name)
        )
        yield pa.RecordBatch.from_arrays(
            [
                # The nameless term counts documents and tokens.
                pa.array([None, *counts.terms], pa.string()),
                pa.array([counts.n_documents, *counts.document_frequency.tolist()], pa.int64()),
                pa.array([counts.n_tokens, *counts.term_count.tolist()], pa.int64()),
            ],
            ["term", "documents", "occurrences"],
        )

    low, high = settings["min_df"], settings["max_df"]
    low, high = (bound if isinstance(bound, int) else bound * n_documents for bound in (low, high))
    table = (
        dataset.select(F.col(quoted(name)))
        .mapInArrow(count_part, "term string, documents long, occurrences long")
        .groupBy("term")
        .agg(F.sum("documents").alias("documents"), F.sum("occurrences").alias("occurrences"))
        .where(F.col("term").isNull() | F.col("documents").between(low, high))
        .toArrow()
    )
    nameless = pc.is_null(table["term"])
    total = table.filter(nameless)
    named = table.filter(pc.invert(nameless))
    return CorpusCounts(
        np.array(named["term"].to_pylist(), dtype=object),
        named["documents"].to_numpy(),
        named["occurrences"].to_numpy(),
        total["documents"][0].as_py(),
        total["occurrences"][0].as_py(),
    )


def draw(dataset: DataFrame, name: str, n_rows: int, size: int, seed: int) -> pa.Array:
    """Draw rows at random, and give their column, in an order that depends on nothing but the content.

    The same corpus and seed give the same sample, however the corpus is partitioned: each copy of each content gets a
    number from a hash function, and those with the smallest numbers are taken.
    """
    rows = dataset.select(F.col(quoted(name)).alias("content"))
    rows = rows.select("content", F.xxhash64("content").alias("hash"))
    if n_rows <= size:
        table = rows.toArrow()
        times = np.ones(len(table), dtype=np.int64)
    else:
        table = rows.join(F.broadcast(_chosen(rows, size, seed)), "hash")
        table = (
            table.groupBy("hash").agg(F.first("content").alias("content"), F.first("times").alias("times")).toArrow()
        )
        times = table["times"].to_numpy()
    order = np.argsort(table["hash"].to_numpy(), kind="stable")
    sample = table["content"].take(pa.array(np.repeat(order, times[order])))
    return sample.combine_chunks()


def _chosen(rows: DataFrame, size: int, seed: int) -> DataFrame:
    """Hashes of the contents to take, and how many copies of each."""
    number: Column = F.xxhash64("hash", "copy", F.lit(seed))
    return (
        rows.groupBy("hash")
        .count()
        .select("hash", F.explode(F.sequence(F.lit(1).cast("long"), "count")).alias("copy"))
        .orderBy(number, "hash", "copy")
        .limit(size)
        .groupBy("hash")
        .agg(F.count(F.lit(1)).alias("times"))
    )
