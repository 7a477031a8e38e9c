"""Sets in order of rarity, and the pairs of them that share an item of both prefixes: what joins of texts start from.

See `sthash.spark.text_join`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    import numpy.typing as npt

# Offsets of an Arrow list have 31 bits: this many texts have far fewer shingles.
TEXTS_AT_ONCE = 1000
ROUNDING = 1e-9
# For shingles with longer lists: shingles per text (the rarest), hashes, and neighbors to compare with.
_MOST_SHINGLES, _HASHES, _NEIGHBORS = 2, 2, 8


def lists_of(bounds: npt.NDArray[np.int64], items: npt.NDArray[np.uint64]) -> pa.ListArray:
    """Return hashes as lists, given their bounds."""
    return pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), pa.array(items.view(np.int64)))


def folded(sets: DataFrame, *same: str) -> DataFrame:
    """Add the smallest id that has the same in these columns: first."""
    return sets.withColumn("first", F.min("id").over(Window.partitionBy(*same)))


def ranked(sets: DataFrame, threshold: float, common: float = 0) -> DataFrame:
    """Return the items of each set that others have too, the rarest first: id, size, items, prefix.

    ``size`` is that of the whole set. A similar set has one of the first ``prefix`` items. If there are ``common``
    items that all sets have besides, one item of each set stands for the whole of it and does not count.
    """
    size = F.size("items") - F.lit(int(common > 0)) + F.lit(common)
    spread = sets.select("id", size.alias("size"), F.explode("items").alias("item"))
    frequency = spread.groupBy("item").agg(F.count(F.lit(1)).alias("frequency")).where("frequency > 1")
    shared = spread.join(frequency, "item").groupBy("id", "size")
    rows = shared.agg(F.array_sort(F.collect_list(F.struct("frequency", "item"))).alias("ranked"))
    needed = F.greatest(F.ceil(F.col("size") * threshold - common - ROUNDING), F.lit(1))
    prefix = F.greatest(F.size("ranked") - needed + 1, F.lit(0)).cast("int")
    return rows.select("id", "size", F.col("ranked.item").alias("items"), prefix.alias("prefix"))


def entries_of(rows: DataFrame, items: Column) -> DataFrame:
    """Return some of the items of each row: id, size, place, item, reach. The reach counts it and those after it."""
    places = rows.select("id", "size", F.size("items").alias("count"), F.posexplode(items).alias("place", "item"))
    return places.select("id", "size", "place", "item", (F.col("count") - F.col("place")).alias("reach"))


def prefixes_of(rows: DataFrame) -> DataFrame:
    """Return the items of the prefixes of rows, as `entries_of` does."""
    return entries_of(rows, F.slice("items", F.lit(1), F.col("prefix")))


def sharing_prefixes(rows: DataFrame, threshold: float, longest: int, common: float = 0) -> DataFrame:
    """Return the pairs that may reach this Jaccard similarity: idA, idB."""
    listed = prefixes_of(rows).withColumn("length", F.count(F.lit(1)).over(Window.partitionBy("item")))
    short = listed.where(F.col("length").between(2, longest))
    a, b = end_of(short, "A"), end_of(short, "B")
    smaller, larger = F.least("sizeA", "sizeB"), F.greatest("sizeA", "sizeB")
    needed = (F.col("sizeA") + F.col("sizeB")) * (threshold / (1 + threshold)) - common - ROUNDING
    pairs = a.join(b, "item").where(F.col("idA") < F.col("idB")).where(smaller >= larger * threshold - ROUNDING)
    # From the first item that both have on, both must have enough of them left.
    pairs = pairs.where(F.least("reachA", "reachB") >= needed).select("idA", "idB")
    return pairs.union(alike_rows(listed.where(F.col("length") > longest), rows)).distinct()


def alike_rows(entries: DataFrame, rows: DataFrame) -> DataFrame:
    """Return pairs of rows that share an item of many rows, and are likely to be similar: idA, idB."""
    rank = F.row_number().over(Window.partitionBy("id").orderBy("place"))
    some = entries.withColumn("rank", rank).where(F.col("rank") <= _MOST_SHINGLES).select("id", "item")
    hashes = [_smallest_hash("items", seed) for seed in range(_HASHES)]
    hashed = some.join(rows.select("id", "items"), "id")
    hashed = hashed.select("id", "item", F.posexplode(F.array(*hashes)).alias("seed", "hash"))
    order = Window.partitionBy("item", "seed").orderBy("hash", "id")
    following = (F.lead("id", step).over(order) for step in range(1, _NEIGHBORS + 1))
    # Texts of a template often have one hash. The first of them, if similar, joins them all in few rounds.
    first = F.min("id").over(Window.partitionBy("item", "seed", "hash"))
    pairs = hashed.select("id", F.array(first, *following).alias("others"))
    pairs = pairs.select("id", F.explode("others").alias("other")).where(F.col("other") != F.col("id"))
    return pairs.select(F.least("id", "other").alias("idA"), F.greatest("id", "other").alias("idB"))


def _smallest_hash(items: str, seed: int) -> Column:
    return F.array_min(F.transform(items, lambda item: F.xxhash64(item, F.lit(seed))))


def end_of(table: DataFrame, end: str) -> DataFrame:
    """Return entries with the name of an end of a pair in their columns."""
    return table.select("item", *(F.col(name).alias(f"{name}{end}") for name in ("id", "size", "reach")))
