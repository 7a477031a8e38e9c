"""Near-duplicate groups: connected components of the codes within a radius, found by Spark alone.

R. Kiveris, S. Lattanzi, V. Mirrokni, V. Rastogi, S. Vassilvitskii. Connected Components in MapReduce and Beyond.
SoCC 2014: alternate "large star" and "small star" until nothing changes; the links then point to the smallest member.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from sthash.spark.columns import check_codes, check_columns, check_no_stream, kept, quoted
from sthash.spark.join import BLOCK, _checked, code_links


def near_duplicates(
    dataset: DataFrame,
    radius: int = 3,
    *,
    n_bits: int,
    id_col: str,
    code_col: str = "code",
    group_col: str = "group",
    block: int = BLOCK,
) -> DataFrame:
    """Find connected components of rows whose codes are at most ``radius`` bits apart.

    Nothing is collected to the driver. If the context has a checkpoint directory, intermediate results go there;
    otherwise they are persisted on the executors, and made again if one of those is lost.

    Parameters
    ----------
    dataset : DataFrame
        With a binary column of codes and a column of ids, which are unique.
    radius, n_bits, code_col, block
        See `hamming_join`.
    id_col : str
    group_col : str
        Column of the groups: the smallest id of the group.

    Returns
    -------
    groups : DataFrame
        With the columns ``id_col`` and ``group_col``, for all rows in groups of two or more.
    """
    bands = _checked(radius, n_bits, block)
    check_no_stream(dataset)
    check_codes(dataset, code_col)
    check_columns(dataset, [id_col])
    rows = dataset.select(F.col(quoted(id_col)).alias("id"), F.col(quoted(code_col)).alias("code"))
    roots = components(code_links(rows.select("code"), bands, block))
    rooted = rows.join(roots, "code", "left").select("id", F.coalesce("root", "code").alias("root"))
    found = rooted.groupBy("root").agg(F.min("id").alias("first"), F.count(F.lit(1)).alias("size"))
    grouped = rooted.join(found.where("size > 1"), "root")
    return grouped.select(F.col("id").alias(id_col), F.col("first").alias(group_col))


def connected_groups(
    pairs: DataFrame, *, id_cols: tuple[str, str] = ("idA", "idB"), id_col: str = "id", group_col: str = "group"
) -> DataFrame:
    """Join pairs of ids to groups; for pairs that a join has found and that were checked afterwards.

    Parameters
    ----------
    pairs : DataFrame
    id_cols : pair of str
        Its two columns of ids.
    id_col, group_col : str
        Names of the columns of the result.

    Returns
    -------
    groups : DataFrame
        Every id that is in a pair, and the smallest id of its group.
    """
    check_columns(pairs, id_cols)
    ends = [F.col(quoted(name)).alias(alias) for name, alias in zip(id_cols, ("code", "root"), strict=True)]
    roots = components(pairs.select(*ends).where(F.col("code") != F.col("root")))
    members = roots.union(roots.select("root", "root").distinct())
    return members.select(F.col("code").alias(id_col), F.col("root").alias(group_col))


def components(links: DataFrame) -> DataFrame:
    """Return for each linked code the smallest one that links lead to: code, root. The smallest itself is left out."""
    links, state = _kept(_small_star(_large_star(links)))
    while True:
        stepped, after = _kept(_small_star(_large_star(links)))
        links.unpersist()
        links = stepped
        if after == state:
            return links
        state = after


def _large_star(links: DataFrame) -> DataFrame:
    """Link every greater neighbor of a code to its smallest one."""
    ends = [F.struct(F.col(a).alias("code"), F.col(b).alias("root")) for a, b in (("code", "root"), ("root", "code"))]
    both = links.select(F.explode(F.array(*ends)).alias("link")).select("link.*").distinct()
    smallest = F.least("code", F.min("root").over(Window.partitionBy("code")))
    starred = both.withColumn("smallest", smallest).where(F.col("root") > F.col("code"))
    return starred.select(F.col("root").alias("code"), F.col("smallest").alias("root"))


def _small_star(links: DataFrame) -> DataFrame:
    """Link every smaller neighbor of a code, and the code, to its smallest one."""
    down = links.select(F.greatest("code", "root").alias("code"), F.least("code", "root").alias("root")).distinct()
    starred = down.withColumn("smallest", F.min("root").over(Window.partitionBy("code")))
    ends = F.explode(F.array("code", "root")).alias("code")
    return starred.select(ends, F.col("smallest").alias("root")).where(F.col("code") != F.col("root")).distinct()


def _kept(links: DataFrame) -> tuple[DataFrame, tuple[int, int]]:
    """Keep the links, so that the next step starts from them, and return what changes when they do."""
    links = kept(links)
    # A plain sum of hashes would overflow: Spark, in its ANSI mode, would then stop.
    total = F.sum(F.pmod(F.xxhash64("code", "root"), F.lit(1 << 31)))
    count, mixed = links.select(F.count(F.lit(1)), F.coalesce(total, F.lit(0))).collect()[0]
    return links, (count, mixed)
