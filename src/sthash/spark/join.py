"""Joins in Hamming space, exact for a radius: pigeonhole bands are the join keys.

Equal codes are joined once: what is compared are the distinct codes. Each goes to the buckets of its bands. A task
gathers some buckets and hands their codes to the kernels of `HammingIndex`. A bucket with too many codes is cut into
blocks, which are compared block by block, in as many tasks as there are pairs of blocks.

Codes become rows again at the end. Many rows with one code would then be paired all with all: joins refuse that, or
take the first row for all of them, unless all pairs are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sthash.checks import check_whole
from sthash.spark.bands import BOTH, LEFT, RIGHT, Bands, find_links, find_pairs
from sthash.spark.columns import check_codes, check_columns, check_no_stream, quoted

if TYPE_CHECKING:
    import pyarrow as pa

# Codes that one task compares all with all in about a second.
BLOCK = 200_000
# Rows with one code that are paired all with all.
MOST_COPIES = 1000
# A bucket has too many codes if this many of them are in a sample of all codes.
_SAMPLED = 1000


def hamming_join(
    a: DataFrame,
    b: DataFrame,
    radius: int,
    *,
    n_bits: int,
    code_col: str = "code",
    dist_col: str = "distCol",
    most_copies: int | None = MOST_COPIES,
    block: int = BLOCK,
) -> DataFrame:
    """Find all pairs of rows of two tables whose codes are at most ``radius`` bits apart.

    Columns that are not used afterwards are not sent: select the ids from the result, and only ids are joined.

    Parameters
    ----------
    a, b : DataFrame
        With a binary column of codes.
    radius : int
    n_bits : int
        Bits of a code.
    code_col, dist_col : str
        Column of the codes, and of the distances.
    most_copies : int or None
        If more than so many rows of ``a`` have one code, and more than so many rows of ``b`` have a code that is near,
        raise an error when the result is computed: each of them would be paired with each. None allows any number.
    block : int
        Codes beyond which a bucket is cut into blocks.

    Returns
    -------
    pairs : DataFrame
        With the columns ``datasetA`` and ``datasetB``, structs of the rows, and the distance.
    """
    bands = _checked(radius, n_bits, block)
    _check_copies(most_copies)
    sides = []
    for side, name in ((a, "A"), (b, "B")):
        check_no_stream(side)
        check_codes(side, code_col)
        rows = F.struct(*(F.col(quoted(column)) for column in side.columns)).alias(f"dataset{name}")
        sides.append(side.select(rows, F.col(quoted(code_col)).alias(f"code{name}")))
    codes = sides[0].select(F.col("codeA").alias("code"), F.lit(LEFT).cast("byte").alias("side")).distinct()
    codes = codes.union(
        sides[1].select(F.col("codeB").alias("code"), F.lit(RIGHT).cast("byte").alias("side")).distinct()
    )
    pairs = _pairs(_tasks(codes, bands, block), bands)
    if most_copies is not None:
        pairs = _refusing_copies(pairs, sides, most_copies)
    joined = pairs.join(sides[0], "codeA").join(sides[1], "codeB")
    return joined.select("datasetA", "datasetB", F.col("distance").alias(dist_col))


def hamming_self_join(
    dataset: DataFrame,
    radius: int,
    *,
    n_bits: int,
    id_col: str,
    code_col: str = "code",
    dist_col: str = "distCol",
    most_copies: int | None = MOST_COPIES,
    block: int = BLOCK,
) -> DataFrame:
    """Find all pairs of rows of a table whose codes are at most ``radius`` bits apart, each pair once.

    Parameters
    ----------
    dataset : DataFrame
        With a binary column of codes and a column of ids, which are unique.
    radius, n_bits, code_col, dist_col, block
        See `hamming_join`.
    id_col : str
    most_copies : int or None
        Where more rows than this have the same code, the one with the smallest id stands for all of them: each other is
        paired with it alone. None pairs all with all: 20,000 rows then make 200 million pairs.

    Returns
    -------
    pairs : DataFrame
        With the columns ``idA`` and ``idB``, the smaller id first, and the distance.
    """
    bands = _checked(radius, n_bits, block)
    _check_copies(most_copies)
    check_no_stream(dataset)
    check_codes(dataset, code_col)
    check_columns(dataset, [id_col])
    rows = dataset.select(F.col(quoted(id_col)).alias("id"), F.col(quoted(code_col)).alias("code"))
    to_first = None
    if most_copies is not None:
        first = rows.groupBy("code").agg(F.min("id").alias("first"), F.count(F.lit(1)).alias("copies"))
        marked = rows.join(first.where(F.col("copies") > most_copies).drop("copies"), "code", "left")
        others = marked.where(F.col("id") != F.col("first"))
        to_first = others.select(F.col("first").alias("idA"), F.col("id").alias("idB"), F.lit(0).alias(dist_col))
        rows = marked.where(F.col("first").isNull() | (F.col("id") == F.col("first"))).select("id", "code")
    pairs = code_pairs(rows.select("code"), bands, block)
    equal = rows.select(F.col("code").alias("codeA"), F.col("code").alias("codeB"), F.lit(0).alias("distance"))
    equal = equal.groupBy("codeA", "codeB", "distance").count().where("count > 1").drop("count")
    ends = [rows.select(F.col("id").alias(f"id{end}"), F.col("code").alias(f"code{end}")) for end in "AB"]
    joined = pairs.union(equal).join(ends[0], "codeA").join(ends[1], "codeB")
    # Codes have no order, but ids do; of the pairs of equal codes, which come in both orders, one is kept.
    joined = joined.where((F.col("distance") > 0) | (F.col("idA") < F.col("idB")))
    smaller, greater = F.least("idA", "idB"), F.greatest("idA", "idB")
    found = joined.select(smaller.alias("idA"), greater.alias("idB"), F.col("distance").alias(dist_col))
    return found if to_first is None else found.union(to_first)


def code_pairs(codes: DataFrame, bands: Bands, block: int = BLOCK) -> DataFrame:
    """Return the pairs of different codes within the radius, each once: codeA, codeB, distance."""
    return _pairs(_tasks(_both(codes), bands, block), bands)


def code_links(codes: DataFrame, bands: Bands, block: int = BLOCK) -> DataFrame:
    """Return links that join the same codes as the pairs do, but only as many as needed: code, root."""

    def links(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return find_links(batches, bands)

    return _tasks(_both(codes), bands, block).mapInArrow(links, "code binary, root binary")


def _refusing_copies(pairs: DataFrame, sides: list[DataFrame], most: int) -> DataFrame:
    """Let a pair of codes raise an error that many rows have on both sides."""
    for side, name in zip(sides, "AB", strict=True):
        counts = side.groupBy(f"code{name}").agg(F.count(F.lit(1)).alias(f"copies{name}"))
        pairs = pairs.join(counts.where(F.col(f"copies{name}") > most), f"code{name}", "left")
    message = F.format_string(
        "%d rows of one table and %d of the other have codes within the radius, and each would be paired with each. "
        "Join one row of each code, dropDuplicates, or the ids of one table, hamming_self_join; all pairs: "
        "most_copies=None (maxCopies).",
        "copiesA",
        "copiesB",
    )
    too_many = F.col("copiesA").isNotNull() & F.col("copiesB").isNotNull()
    return pairs.where(F.when(too_many, F.raise_error(message).cast("boolean")).otherwise(F.lit(True)))


def _check_copies(most_copies: int | None) -> None:
    if most_copies is not None:
        check_whole("most_copies", most_copies)


def _both(codes: DataFrame) -> DataFrame:
    return codes.distinct().select("code", F.lit(BOTH).cast("byte").alias("side"))


def _pairs(tasks: DataFrame, bands: Bands) -> DataFrame:
    def pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return find_pairs(batches, bands)

    return tasks.mapInArrow(pairs, "codeA binary, codeB binary, distance int")


def _tasks(codes: DataFrame, bands: Bands, block: int) -> DataFrame:
    """Send codes to the tasks that compare them: band, cell, side, code.

    Codes of a band that come to one task form one cell, so that the kernels have much to do at once; each block of a
    bucket that was cut is a cell of its own.
    """
    rows = _spread(codes, bands)
    rows = rows.join(F.broadcast(_too_large(codes, bands, block)), "bucket", "left")
    rows = rows.withColumn("blocks", F.coalesce("blocks", F.lit(1)))
    own = F.pmod(F.xxhash64("code"), F.col("blocks"))
    rows = rows.withColumn("own", own).withColumn("other", F.explode(F.expr("sequence(0L, blocks - 1L)")))
    first, second, side = _places()
    rows = rows.withColumn("task", F.xxhash64("bucket", first, second)).withColumn("side", side)
    cell = F.when(F.col("blocks") > 1, F.col("task")).otherwise(F.lit(0).cast("long"))
    # The expressions are set out before the exchange: only what the tasks read is sent.
    sent = rows.select("task", "band", cell.alias("cell"), F.col("side").cast("byte"), "code").repartition("task")
    return sent.select("band", "cell", "side", "code")


def _places() -> tuple[Column, Column, Column]:
    """Which pair of blocks a row goes to, and on which side it stands there."""
    own, other, side = F.col("own"), F.col("other"), F.col("side")
    within = side == BOTH
    first = F.when(within, F.least(own, other)).when(side == LEFT, own).otherwise(other)
    second = F.when(within, F.greatest(own, other)).when(side == LEFT, other).otherwise(own)
    stands = F.when(within & (own < other), LEFT).when(within & (own > other), RIGHT).otherwise(side)
    return first, second, stands


def _spread(codes: DataFrame, bands: Bands) -> DataFrame:
    def spread(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return bands.spread(batches)

    return codes.mapInArrow(spread, "band int, bucket long, side byte, code binary")


def _too_large(codes: DataFrame, bands: Bands, block: int) -> DataFrame:
    """Return the buckets with more than ``block`` codes, by a sample, and into how many blocks to cut them.

    What is in the sample depends on the codes alone: however often Spark makes it, it is the same.
    """
    share = min(1.0, _SAMPLED / block)
    limit = block * share
    some = codes.where(F.pmod(F.xxhash64("code", F.lit("sample")), F.lit(1 << 20)) < int(share * (1 << 20)))
    counts = _spread(some, bands).groupBy("bucket").count().where(F.col("count") > limit)
    return counts.select("bucket", F.ceil(F.col("count") / limit).alias("blocks"))


def _checked(radius: int, n_bits: int, block: int) -> Bands:
    check_whole("radius", radius, least=0)
    check_whole("n_bits", n_bits)
    check_whole("block", block)
    return Bands(n_bits, min(radius, n_bits))
