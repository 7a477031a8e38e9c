"""Terms of texts with their TF-IDF weights, for joins by cosine: the kernels of one machine count, Spark weighs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

from sthash import _core
from sthash.spark.arrow import refuse_nulls, texts
from sthash.spark.columns import quoted
from sthash.text.options import TextOptions

# Offsets of an Arrow list have 31 bits: this many texts have far fewer terms.
_TEXTS_AT_ONCE = 1000
_ROUNDING = 1e-9


class TermHasher:
    """Turns texts into hashes of their terms, which do not depend on other texts, and how often each occurs.

    Examples
    --------
    >>> from sthash.spark.weighted_terms import TermHasher
    >>> indptr, hashes, counts = TermHasher()(["a cat and cats", "the dog", ""])
    >>> indptr.tolist(), counts.tolist()
    ([0, 1, 2, 2], [2, 1])
    """

    def __init__(self) -> None:
        self._analyzer = TextOptions().analyzer()
        self._words, self._terms = _core.WordTable(), _core.WordTable()
        self._term_of = np.zeros(0, dtype=np.int32)
        self._hashes = np.zeros(0, dtype=np.uint64)

    def __call__(self, batch: list[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
        """Return row bounds, hashes, ascending in each row, and counts."""
        starts, words = self._words.scan(batch, threads=1)
        new = self._words.words_from(len(self._term_of))
        self._term_of = np.concatenate([self._term_of, self._terms.add(*self._analyzer.terms(new))])
        self._hashes = np.concatenate([self._hashes, self._terms.hashes_from(len(self._hashes))])
        indptr, terms, counts = _core.count_terms(
            starts, words, term_of=self._term_of, n_terms=len(self._hashes), threads=1
        )
        hashes = self._hashes[terms]
        order = np.lexsort((hashes, np.repeat(np.arange(len(batch)), np.diff(indptr))))
        return indptr, hashes[order], counts[order]


def counted_terms(dataset: DataFrame, id_col: str, text_col: str) -> DataFrame:
    """Return the terms of each text that has some: id, items, counts."""

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hasher = TermHasher()
        for whole in batches:
            for start in range(0, whole.num_rows, _TEXTS_AT_ONCE):
                batch = whole.slice(start, _TEXTS_AT_ONCE)
                refuse_nulls(batch.column(0), id_col)
                indptr, hashes, counts = hasher(texts(batch.column(1), text_col))
                offsets = pa.array(indptr.astype(np.int32))
                items = pa.ListArray.from_arrays(offsets, pa.array(hashes.view(np.int64)))
                own = pa.ListArray.from_arrays(offsets, pa.array(counts))
                yield pa.RecordBatch.from_arrays([batch.column(0), items, own], ["id", "items", "counts"])

    chosen = dataset.select(F.col(quoted(id_col)).alias("id"), F.col(quoted(text_col)).alias("text"))
    kind = chosen.schema["id"].dataType
    schema = StructType(
        [
            StructField("id", kind),
            StructField("items", ArrayType(LongType())),
            StructField("counts", ArrayType(IntegerType())),
        ]
    )
    return chosen.mapInArrow(counted, schema).where(F.size("items") > 0)


def weighted_terms(rows: DataFrame, n_documents: int) -> DataFrame:
    """Return the terms of each row that others have too, the rarest first, of rows of unit length: id, items, weights.

    ``rows`` has the columns id, items, counts and first; rows that are equal to their first one only count for the
    frequencies of the terms.
    """
    spread = rows.select("id", "first", F.explode(F.arrays_zip("items", "counts")).alias("term"))
    spread = spread.select("id", "first", F.col("term.items").alias("item"), F.col("term.counts").alias("count"))
    is_first = F.col("id") == F.col("first")
    frequencies = spread.groupBy("item").agg(
        F.count(F.lit(1)).alias("frequency"), F.count(F.when(is_first, 1)).alias("sharing")
    )
    weight = (1 + F.log("count")) * F.log(F.lit(float(n_documents)) / F.col("frequency"))
    weighted = spread.where(is_first).join(frequencies, "item").withColumn("weight", weight).where("weight > 0")
    shared = F.when(F.col("sharing") > 1, F.struct("sharing", "item", "weight"))
    ranked = weighted.groupBy("id").agg(
        F.sqrt(F.sum(F.col("weight") * F.col("weight"))).alias("norm"),
        F.array_sort(F.collect_list(shared)).alias("ranked"),
    )
    weights = F.transform("ranked.weight", lambda own: own / F.col("norm"))
    return ranked.select("id", F.col("ranked.item").alias("items"), weights.alias("weights"))


def weighted_prefixes(rows: DataFrame, threshold: float) -> DataFrame:
    """Return the terms of each row by which a similar one is found: id, place, item, reach.

    The reach is the length of what begins with the term.
    """
    entries = rows.select("id", F.posexplode(F.arrays_zip("items", "weights")).alias("place", "term"))
    following = Window.partitionBy("id").orderBy(F.desc("place"))
    rest = F.sqrt(F.sum(F.col("term.weights") * F.col("term.weights")).over(following))
    entries = entries.withColumn("reach", rest).where(F.col("reach") >= threshold - _ROUNDING)
    return entries.select("id", "place", F.col("term.items").alias("item"), "reach")


def cosines(pairs: DataFrame, rows: DataFrame) -> DataFrame:
    """Compare the rows of pairs: idA, idB, score."""
    for end in "AB":
        names = [F.col(name).alias(f"{name}{end}") for name in ("id", "items", "weights")]
        pairs = pairs.join(rows.select(*names), f"id{end}")
    pairs = pairs.withColumn("ours", F.map_from_arrays("itemsA", "weightsA"))
    products = F.transform(
        F.arrays_zip("itemsB", "weightsB"),
        lambda term: term["weightsB"] * F.coalesce(F.element_at("ours", term["itemsB"]), F.lit(0.0)),
    )
    score = F.aggregate(products, F.lit(0.0), lambda total, product: total + product)
    return pairs.select("idA", "idB", F.when(score > 1 - 1e-6, 1.0).otherwise(score).alias("score"))
