"""Pairs of texts that are similar enough: an exact join of their sets of shingles by prefix filtering.

R. Vernica, M. J. Carey, C. Li. Efficient Parallel Set-Similarity Joins Using MapReduce. SIGMOD 2010: the shingles of
a text are put in order, the rarest first. Its prefix is cut where too few follow to reach the threshold. Two similar
texts therefore share a shingle of both prefixes, which is the join key. How many shingles follow it in both texts
bounds what they have in common (C. Xiao, W. Wang, X. Lin, J. X. Yu. Efficient Similarity Joins for Near Duplicate
Detection. WWW 2008); few pairs are left to compare.

Executors cut texts into shingles with the kernels of one machine. All that follows is Spark's own; only pairs of texts
that are compared by their wording go through a kernel once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from sthash.checks import check_whole
from sthash.duplicates.comparable_rows import Shingler, shingled_rows, weighted_rows, wording_rows
from sthash.duplicates.measures import LOW_THRESHOLD, SAMPLED_ROWS, Measure, check_measure, refuse_most_pairs
from sthash.duplicates.options import SHINGLE_WORDS, DuplicateOptions, Protect
from sthash.spark.arrow import refuse_nulls, texts
from sthash.spark.columns import check_columns, is_text, kept, quoted
from sthash.spark.corpus_statistics import draw
from sthash.spark.prefixes import (
    ROUNDING,
    TEXTS_AT_ONCE,
    alike_rows,
    end_of,
    entries_of,
    folded,
    lists_of,
    prefixes_of,
    ranked,
    sharing_prefixes,
)
from sthash.spark.weighted_terms import cosines, counted_terms, weighted_prefixes, weighted_terms
from sthash.spark.worded_pairs import worded_pairs

if TYPE_CHECKING:
    import numpy.typing as npt

# Only shingles of boilerplate are in the prefixes of more texts.
LONGEST_LIST = 5000


def similar_texts(
    dataset: DataFrame,
    threshold: float | None = None,
    *,
    measure: Measure | None = None,
    id_col: str,
    text_col: str = "text",
    score_col: str = "score",
    shingle_words: int = SHINGLE_WORDS,
    protect: Protect | None = None,
    longest_list: int = LONGEST_LIST,
) -> DataFrame:
    """Find all pairs of texts that are similar enough, as `sthash.near_duplicates` does on one machine.

    `connected_groups` joins the pairs to groups. Nothing is collected to the driver. If the context has a checkpoint
    directory, intermediate tables go there; otherwise they are persisted on the executors until the cache is cleared
    (``spark.catalog.clearCache()``) or the session ends.

    Parameters
    ----------
    dataset : DataFrame
        With a column of texts and a column of ids, which are unique.
    threshold : float, optional
        Least similarity of a pair. Default: 0.75 for wording, 0.9 for cosine, 0.8 for the others.
    measure : {"wording", "jaccard", "containment", "cosine"}, default="wording"
        As in `sthash.near_duplicates`. ``wording`` compares all words, in pairs of neighbors, and short texts by their
        characters. ``jaccard``: the number of word shingles that both texts have, divided by the number that at least
        one has. ``containment``: the share of the shingles of one text that the other one has. ``cosine``: of the
        TF-IDF weights of their terms.
    id_col, text_col : str
        Columns of the ids and the texts.
    score_col : str
        Column of the similarities.
    shingle_words : int, default=5
        Number of words of a shingle.
    protect : {"numbers"}, optional
        For wording: keep all texts apart that differ in a number.
    longest_list : int
        All texts that share a rare shingle are compared, unless they are more than this. See the notes.

    Returns
    -------
    pairs : DataFrame
        With the columns ``idA`` and ``idB``, the smaller id first, and the similarity. For containment the contained
        text comes first. A text with the same shingles or terms as others is paired with the one that has the smallest
        id, and is in no other pair. Texts without words are in no pair.

    Notes
    -----
    The pairs are exactly those that reach the threshold, unless more than ``longest_list`` texts share one of the
    rarest shingles of a text, as texts from one template may do. Such texts are sorted by the smallest hash of their
    shingles (min-wise hashing), and each is compared with those next to it, which are likely to be the most similar
    ones, and with the first that has the same hash: pairs are missing there, and a group may be split. For
    containment each is compared with ``longest_list`` of the others.

    Examples
    --------
    Near-verbatim copies, in groups::

        groups = connected_groups(similar_texts(table, 0.8, id_col="id"))
    """
    DuplicateOptions(threshold, measure, shingle_words=shingle_words, protect=protect)  # checked
    measure, threshold = check_measure(measure or "wording", threshold)
    check_whole("longest_list", longest_list, least=2)
    check_columns(dataset, [id_col])
    if not is_text(dataset, text_col):
        raise TypeError(f"column {text_col!r} has vectors. Pass a column of texts, or join codes by hamming_self_join.")
    if threshold < LOW_THRESHOLD:
        _refuse_most_pairs(dataset, text_col, threshold, measure, shingle_words)
    if measure == "wording":
        pairs = worded_pairs(dataset, id_col, text_col, threshold, longest_list, keep_numbers=protect == "numbers")
        return pairs.withColumnRenamed("score", score_col)
    if measure == "cosine":
        sets = kept(folded(counted_terms(dataset, id_col, text_col), "items", "counts"))
        rows = kept(weighted_terms(sets, dataset.count()))
        found = cosines(_sharing_terms(rows, threshold, longest_list), rows)
    else:
        sets = kept(folded(_sets(dataset, id_col, text_col, shingle_words), "items"))
        rows = kept(ranked(sets.where(F.col("id") == F.col("first")), threshold))
        candidates = sharing_prefixes if measure == "jaccard" else _containing
        found = _verified(candidates(rows, threshold, longest_list), rows, measure)
    copies = sets.where(F.col("id") != F.col("first"))
    copies = copies.select(F.col("first").alias("idA"), F.col("id").alias("idB"), F.lit(1.0).alias("score"))
    pairs = found.where(F.col("score") >= threshold).union(copies)
    return pairs.withColumnRenamed("score", score_col)


def _refuse_most_pairs(dataset: DataFrame, name: str, threshold: float, measure: Measure, shingle_words: int) -> None:
    """Refuse a low threshold that very many of the pairs reach, by a sample."""
    count = dataset.count()

    def scores(_: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        drawn = texts(draw(dataset, name, count, SAMPLED_ROWS, seed=0), name)
        if measure == "cosine":
            sample = weighted_rows(drawn, None, threads=1)
        elif measure == "wording":
            sample = wording_rows(drawn, threads=1)
        else:
            sample = shingled_rows(drawn, shingle_words, threads=1)
        return sample.scores(sample.firsts_of_documents, measure)

    refuse_most_pairs(count, threshold, scores)


def _sets(dataset: DataFrame, id_col: str, text_col: str, shingle_words: int) -> DataFrame:
    """Return the shingles of each text that has words: id, items."""

    def shingled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shingler = Shingler(shingle_words, threads=1)
        for whole in batches:
            for start in range(0, whole.num_rows, TEXTS_AT_ONCE):
                batch = whole.slice(start, TEXTS_AT_ONCE)
                refuse_nulls(batch.column(0), id_col)
                bounds, items = shingler(texts(batch.column(1), text_col))
                yield pa.RecordBatch.from_arrays([batch.column(0), lists_of(bounds, items)], ["id", "items"])

    columns = dataset.select(F.col(quoted(id_col)).alias("id"), F.col(quoted(text_col)).alias("text"))
    kind = StructType([StructField("id", columns.schema["id"].dataType), StructField("items", ArrayType(LongType()))])
    return columns.mapInArrow(shingled, kind).where(F.size("items") > 0)


def _sharing_terms(rows: DataFrame, threshold: float, longest: int) -> DataFrame:
    """Return the pairs that may reach this cosine: idA, idB."""
    listed = weighted_prefixes(rows, threshold)
    listed = listed.withColumn("length", F.count(F.lit(1)).over(Window.partitionBy("item")))
    short = listed.where(F.col("length").between(2, longest))
    a, b = (short.select("item", *(F.col(n).alias(f"{n}{end}") for n in ("id", "reach"))) for end in "AB")
    # From the first term that both have on, both must be long enough.
    pairs = a.join(b, "item").where(F.col("idA") < F.col("idB"))
    pairs = pairs.where(F.col("reachA") * F.col("reachB") >= threshold - ROUNDING).select("idA", "idB")
    return pairs.union(alike_rows(listed.where(F.col("length") > longest), rows)).distinct()


def _containing(rows: DataFrame, threshold: float, longest: int) -> DataFrame:
    """Return the pairs of which the second may have this share of the items of the first: idA, idB."""
    order = F.row_number().over(Window.partitionBy("item").orderBy("id"))
    lists = entries_of(rows, F.col("items")).withColumn("order", order).where(F.col("order") <= longest)
    needed = F.col("sizeA") * threshold - ROUNDING
    pairs = end_of(prefixes_of(rows), "A").join(end_of(lists, "B"), "item").where(F.col("idA") != F.col("idB"))
    return pairs.where(F.least("reachA", "reachB") >= needed).select("idA", "idB").distinct()


def _verified(pairs: DataFrame, rows: DataFrame, measure: Measure) -> DataFrame:
    """Compare the sets of pairs: idA, idB, score."""
    for end in "AB":
        names = [F.col(name).alias(f"{name}{end}") for name in ("id", "size", "items")]
        pairs = pairs.join(rows.select(*names), f"id{end}")
    pairs = pairs.withColumn("shared", F.size(F.array_intersect("itemsA", "itemsB")))
    whole = F.col("sizeA")
    if measure == "jaccard":
        whole = F.col("sizeA") + F.col("sizeB") - F.col("shared")
    return pairs.select("idA", "idB", (F.col("shared") / whole).alias("score"))
