"""Joins on data as it is: many equal rows, streams, and rows whose other columns are large."""

import numpy as np
import pytest

import sthash
from support.spark import BITS

pytestmark = pytest.mark.usefixtures("needs_spark")

COPIES = 20_000


@pytest.fixture
def frequent(spark):
    """Twenty thousand rows of one code, two of a code one bit away, and one far from all."""
    codes = sthash.codes.pack(np.array([np.zeros(BITS), np.eye(BITS)[0], np.ones(BITS)], dtype=bool))
    place = "CASE WHEN id < 20000 THEN 0 WHEN id < 20002 THEN 1 ELSE 2 END"
    literals = ", ".join(f"X'{code.tobytes().hex()}'" for code in codes)
    return spark.range(COPIES + 3).selectExpr("id", f"array({literals})[{place}] code")


def test_equal_codes_are_not_paired_all_with_all(frequent):
    from sthash.spark import hamming_self_join

    pairs = hamming_self_join(frequent, 1, n_bits=BITS, id_col="id").collect()
    found = {tuple(row) for row in pairs}
    assert len(found) == len(pairs)
    first = {(0, number, 0) for number in range(1, COPIES)}
    assert found == first | {(COPIES, COPIES + 1, 0), (0, COPIES, 1), (0, COPIES + 1, 1)}
    few = frequent.where(f"id < 40 OR id >= {COPIES}")
    every = {tuple(row) for row in hamming_self_join(few, 1, n_bits=BITS, id_col="id").collect()}
    asked = hamming_self_join(few, 1, n_bits=BITS, id_col="id", most_copies=None).collect()
    assert every == {tuple(row) for row in asked}
    assert len(every) == 40 * 39 // 2 + 1 + 80


def test_a_join_of_rows_refuses_what_would_explode(frequent):
    from sthash.spark import hamming_join

    with pytest.raises(Exception, match=r"20000 rows of one table and 20000 of the other .* dropDuplicates"):
        hamming_join(frequent, frequent, 0, n_bits=BITS).count()
    few = frequent.where(f"id >= {COPIES - 2}")
    assert hamming_join(few, few, 0, n_bits=BITS, most_copies=2).count() == 4 + 4 + 1
    with pytest.raises(Exception, match="2 rows of one table"):
        hamming_join(few, few, 0, n_bits=BITS, most_copies=1).count()
    assert hamming_join(frequent, few, 0, n_bits=BITS).count() == 2 * COPIES + 4 + 1
    assert hamming_join(few, few, 0, n_bits=BITS, most_copies=None).count() == 4 + 4 + 1
    with pytest.raises(ValueError, match="most_copies=0"):
        hamming_join(few, few, 0, n_bits=BITS, most_copies=0)


def test_only_the_columns_that_are_used_are_joined(model, encoded):
    pairs = model.approxSimilarityJoin(encoded, encoded, 3).selectExpr("datasetA.id", "datasetB.id b", "distCol")
    plan = pairs._jdf.queryExecution().optimizedPlan().toString()
    joins = plan[: plan.index("MapInArrow")]
    assert "Join" in joins
    assert "text" not in joins


def test_streams_are_encoded_and_joined_batch_by_batch(spark, model, encoded, tmp_path):
    from sthash.spark import hamming_self_join, near_duplicates

    plain = encoded.drop("code").limit(50)
    holes = spark.createDataFrame([(-1, None)], plain.schema)
    plain.union(holes).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(plain.schema).parquet(str(tmp_path / "in"))
    skipping, found = model.copy().setHandleInvalid("skip"), []

    def join(batch, number):
        pairs = skipping.approxSimilarityJoin(batch, encoded, 1)
        found.extend(tuple(row) for row in pairs.selectExpr("datasetA.id", "datasetB.id b").collect())

    query = skipping.transform(stream).writeStream.foreachBatch(join).trigger(availableNow=True).start()
    query.awaitTermination()
    expected = model.approxSimilarityJoin(plain, encoded, 1).selectExpr("datasetA.id", "datasetB.id b").collect()
    assert sorted(found) == sorted(map(tuple, expected))
    coded = model.transform(stream)
    for use in (
        lambda: model.approxSimilarityJoin(coded, encoded, 3),
        lambda: model.approxSimilarityJoin(encoded, coded, 3),
        lambda: model.approxNearestNeighbors(coded, "a text", 3),
        lambda: hamming_self_join(coded, 1, n_bits=BITS, id_col="id"),
        lambda: near_duplicates(coded, 1, n_bits=BITS, id_col="id"),
    ):
        with pytest.raises(ValueError, match=r"a stream cannot be .*foreachBatch"):
            use()
