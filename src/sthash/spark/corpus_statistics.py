"""Counting over the whole corpus where it lies: vocabulary, document frequencies, and a sample to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sthash.spark.arrow import null_message, texts
from sthash.spark.columns import kept, quoted
from sthash.spark.params import new_vectorizer
from sthash.text.counters import CorpusCounts

# Most bytes of the contents of a sample: half of what Spark lets a driver collect, unless it is told otherwise.
COLLECTED_BYTES = 1 << 29
_SUMMED = ("documents", "occurrences", "nulls", "bytes")


class Counted(NamedTuple):
    """What one pass over a column of texts has counted."""

    counts: CorpusCounts
    n_nulls: int
    mean_length: float


def count_rows(dataset: DataFrame, name: str) -> tuple[int, int]:
    """Count the rows with a value, and those without."""
    n, present = dataset.select(F.count(F.lit(1)), F.count(F.col(quoted(name)))).collect()[0]
    return int(present), int(n - present)


def check_counts(n_rows: int, n_nulls: int, name: str, *, refuses_nulls: bool) -> None:
    """Refuse an empty corpus, and nulls unless they are left out."""
    if n_nulls and refuses_nulls:
        raise ValueError(null_message(n_nulls, name))
    if n_rows == 0:
        raise ValueError("the corpus is empty. Pass at least one document.")


def vector_width(dataset: DataFrame, name: str) -> int:
    """Return the number of values of the vectors of a column, as the first one has them."""
    (vector,) = dataset.select(F.col(quoted(name))).head(1)[0]
    return len(vector)


def count_terms(dataset: DataFrame, name: str, settings: dict[str, Any]) -> Counted:
    """Count the terms of a column of texts in one pass: executors count their parts, and Spark adds them up.

    Terms outside of the limits of the settings, and beyond the largest number of terms, stay where they are; only the
    others come to the driver. Nulls are counted and left out.
    """

    def count_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nulls = n_bytes = 0

        def present() -> Iterator[str]:
            nonlocal nulls, n_bytes
            for batch in batches:
                column = batch.column(0)
                nulls += column.null_count
                n_bytes += pc.sum(pc.binary_length(column)).as_py() or 0
                yield from texts(column.drop_null(), name)

        counts = new_vectorizer(settings, threads=1).count(present())
        yield pa.RecordBatch.from_arrays(
            [
                # The nameless term counts documents, tokens, nulls and bytes.
                pa.array([None, *counts.terms], pa.string()),
                pa.array([counts.n_documents, *counts.document_frequency.tolist()], pa.int64()),
                pa.array([counts.n_tokens, *counts.term_count.tolist()], pa.int64()),
                pa.array([nulls, *[0] * len(counts.terms)], pa.int64()),
                pa.array([n_bytes, *[0] * len(counts.terms)], pa.int64()),
            ],
            ["term", *_SUMMED],
        )

    table = dataset.select(F.col(quoted(name))).mapInArrow(
        count_part, f"term string, {', '.join(f'{column} long' for column in _SUMMED)}"
    )
    table = kept(table.groupBy("term").agg(*(F.sum(column).alias(column) for column in _SUMMED)))
    try:
        totals = table.where(F.col("term").isNull()).collect()
        total = {column: sum(row[column] for row in totals) for column in _SUMMED}
        low, high = settings["min_df"], settings["max_df"]
        low, high = (bound if isinstance(bound, int) else bound * total["documents"] for bound in (low, high))
        named = table.where(F.col("term").isNotNull() & F.col("documents").between(low, high))
        if settings["max_features"] is not None:
            named = named.orderBy(F.desc("occurrences"), "term").limit(settings["max_features"])
        terms = named.select("term", "documents", "occurrences").toArrow()
    finally:
        table.unpersist()
    counts = CorpusCounts(
        np.array(terms["term"].to_pylist(), dtype=object),
        terms["documents"].to_numpy(),
        terms["occurrences"].to_numpy(),
        total["documents"],
        total["occurrences"],
    )
    return Counted(counts, total["nulls"], total["bytes"] / max(1, total["documents"]))


def draw(dataset: DataFrame, name: str, n_rows: int, size: int, seed: int) -> pa.Array:
    """Draw rows at random, and give their column, in an order that depends on nothing but the content.

    The same corpus and seed give the same sample, however the corpus is partitioned.
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
    """Hashes of the contents to take, and how many copies of each.

    The copies of a content get numbers at equal distances from 0 to 1, with a start that depends on its hash; of all
    copies of all contents those with the smallest numbers are taken. So each copy is as likely as any other, and no
    content needs more rows here than the sample has, however many copies of it there are.
    """
    start: Column = F.pmod(F.xxhash64("hash", F.lit(seed)), F.lit(1 << 52)) / F.lit(float(1 << 52))
    most = F.least("count", F.lit(size).cast("long"))
    return (
        rows.groupBy("hash")
        .count()
        .select(
            "hash", "count", start.alias("start"), F.explode(F.sequence(F.lit(0).cast("long"), most - 1)).alias("copy")
        )
        .orderBy((F.col("copy") + F.col("start")) / F.col("count"), "hash", "copy")
        .limit(size)
        .groupBy("hash")
        .agg(F.count(F.lit(1)).alias("times"))
    )
