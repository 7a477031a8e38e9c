"""Pairs of texts that are worded alike: candidates by prefix filtering, as for shingles; a kernel compares them.

A text has two sets, of pairs of words and of runs of characters; see ``join/wording.hpp``. Two texts are compared by
pairs of words if both have some, else by runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, LongType, StructField, StructType

from sthash import _core
from sthash.duplicates.comparable_rows import COMMON_ITEMS, bounds_of, wording_sets
from sthash.spark.arrow import refuse_nulls, texts
from sthash.spark.columns import kept, quoted
from sthash.spark.prefixes import TEXTS_AT_ONCE, folded, lists_of, ranked, sharing_prefixes

if TYPE_CHECKING:
    import numpy.typing as npt

_KINDS = ("pairs", "runs")


def worded_pairs(
    dataset: DataFrame, id_col: str, text_col: str, threshold: float, longest: int, *, keep_numbers: bool
) -> DataFrame:
    """Return the pairs of texts whose wording is similar enough: idA, idB, score."""
    columns = dataset.select(F.col(quoted(id_col)).alias("id"), F.col(quoted(text_col)).alias("text"))
    sets = kept(folded(_sets(columns, id_col, text_col), "main"))
    chosen = sets.where(F.col("id") == F.col("first"))
    found = None
    for kind, common in zip(_KINDS, COMMON_ITEMS, strict=True):
        own = chosen.where(F.size(kind) > 0).select("id", F.col(kind).alias("items"))
        rows = kept(ranked(own, threshold, common))
        candidates = sharing_prefixes(rows, threshold, longest, common)
        found = candidates if found is None else found.union(candidates).distinct()
    pairs = _compared(found, columns, threshold, text_col, keep_numbers=keep_numbers)  # type: ignore[arg-type]
    copies = sets.where(F.col("id") != F.col("first"))
    return pairs.union(copies.select(F.col("first").alias("idA"), F.col("id").alias("idB"), F.lit(1.0).alias("score")))


def _sets(columns: DataFrame, id_col: str, text_col: str) -> DataFrame:
    """Return the sets of each text that has words: id, main, pairs, runs; ``main`` tells copies."""

    def worded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for whole in batches:
            for start in range(0, whole.num_rows, TEXTS_AT_ONCE):
                batch = whole.slice(start, TEXTS_AT_ONCE)
                refuse_nulls(batch.column(0), id_col)
                indptr, items, _, _ = wording_sets(texts(batch.column(1), text_col), threads=1)
                sizes = np.diff(indptr).reshape(-1, 2)
                of_pairs = np.repeat(np.tile([True, False], len(sizes)), sizes.ravel())
                lists = [
                    lists_of(bounds_of(sizes[:, place]), items[of_pairs == (place == 0)])
                    for place in range(len(_KINDS))
                ]
                yield pa.RecordBatch.from_arrays([batch.column(0), *lists], ["id", *_KINDS])

    hashes = ArrayType(LongType())
    fields = [StructField("id", columns.schema["id"].dataType), *(StructField(kind, hashes) for kind in _KINDS)]
    main = F.when(F.size("pairs") > 0, F.col("pairs")).otherwise(F.col("runs"))
    return columns.mapInArrow(worded, StructType(fields)).withColumn("main", main).where(F.size("main") > 0)


def _compared(
    pairs: DataFrame, columns: DataFrame, threshold: float, text_col: str, *, keep_numbers: bool
) -> DataFrame:
    """Compare the texts of pairs: idA, idB, score."""

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            both: list[Any] = [None] * (2 * batch.num_rows)
            both[::2], both[1::2] = (texts(batch.column(name), text_col) for name in ("textA", "textB"))
            scores: npt.NDArray[np.float64] = _core.wording_scores(
                *wording_sets(both, threads=1), keep_numbers=keep_numbers
            )
            own = batch.select(["idA", "idB"]).append_column("score", pa.array(scores))
            yield own.filter(pa.array(scores >= threshold))

    for end in "AB":
        pairs = pairs.join(columns.select(*(F.col(name).alias(f"{name}{end}") for name in ("id", "text"))), f"id{end}")
    kind = columns.schema["id"].dataType
    fields = [StructField("idA", kind), StructField("idB", kind), StructField("score", DoubleType())]
    return pairs.select("idA", "idB", "textA", "textB").mapInArrow(scored, StructType(fields))
