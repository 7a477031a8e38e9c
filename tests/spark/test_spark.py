"""Spark in local mode: the same codes, neighbors, pairs and groups as on one machine, and clear errors."""

import numpy as np
import pytest

import sthash
from support.spark import BITS, corpus

pytestmark = pytest.mark.usefixtures("needs_spark")

TEXTS = corpus()


def rows(texts=TEXTS):
    return list(enumerate(texts))


@pytest.fixture(scope="session")
def codes(model):
    """The codes by the same model on one machine, in the order of the ids."""
    return model.model.encode(TEXTS).codes


def pairs_of(codes, radius):
    """All pairs within a radius, the slow way."""
    distances = sthash.codes.distances(codes, codes)
    found = np.argwhere(np.triu(distances <= radius, 1))
    return {(int(a), int(b), int(distances[a, b])) for a, b in found}


def test_codes_and_vocabulary_are_those_of_one_machine(model, encoded, codes):
    one = sthash.TextVectorizer().fit(TEXTS)
    terms = list(model.model.terms)
    assert [term.name.decode() for term in terms] == list(one.vocabulary_)
    settings, theirs = model.model.settings, one.statistics_
    assert (settings["n_documents"], settings["mean_length"]) == (theirs.n_documents, theirs.mean_length)
    assert [term.frequency for term in terms] == theirs.document_frequency.tolist()
    found = {row["id"]: bytes(row["code"]) for row in encoded.collect()}
    assert found == {number: code.tobytes() for number, code in enumerate(codes)}


def test_the_sample_depends_on_contents_and_seed_only(spark, table, model):
    from sthash.spark.corpus_statistics import draw

    reordered = spark.createDataFrame(rows()[::-1], "id long, text string").repartition(2)
    sample = draw(table, "text", len(TEXTS), 100, seed=1)
    assert sample.equals(draw(reordered, "text", len(TEXTS), 100, seed=1))
    assert not sample.equals(draw(reordered, "text", len(TEXTS), 100, seed=2))
    drawn = sample.to_pylist()
    assert len(drawn) == 100
    assert all(drawn.count(text) <= TEXTS.count(text) for text in set(drawn))
    # Copies are drawn one by one: of three, neither all nor none.
    assert 0 < draw(table, "text", len(TEXTS), 200, seed=3).to_pylist().count("same words twice") < 3
    everything = draw(table, "text", len(TEXTS), 10_000, seed=1).to_pylist()
    assert sorted(everything) == sorted(TEXTS)


@pytest.mark.parametrize("text", ["topic1word1 topic1word2 common3", "", "same words twice"])
def test_nearest_neighbors_are_exact_and_ordered_by_id(model, encoded, codes, text):
    index = sthash.HammingIndex(BITS)
    index.add(codes)
    ids, distances = index.search(model.encode([text]), k=25)
    found = model.approxNearestNeighbors(encoded, text, 25, "bits").collect()
    assert [row["id"] for row in found] == ids[0].tolist()
    assert [row["bits"] for row in found] == distances[0].tolist()


@pytest.mark.parametrize(("radius", "block"), [(0, 50), (3, 20), (BITS, 150)])
def test_joins_are_exact_with_large_buckets_cut_into_blocks(model, encoded, codes, radius, block):
    from sthash.spark import hamming_join, hamming_self_join

    found = hamming_self_join(encoded, radius, n_bits=BITS, id_col="id", block=block).collect()
    assert len(found) == len(set(found))
    assert {tuple(row) for row in found} == pairs_of(codes, radius)
    left, right = encoded.where("id < 90"), encoded.where("id >= 60")
    joined = hamming_join(left, right, radius, n_bits=BITS, dist_col="bits", block=block)
    got = [(row["datasetA"]["id"], row["datasetB"]["id"], row["bits"]) for row in joined.collect()]
    distances = sthash.codes.distances(codes[:90], codes[60:])
    assert sorted(got) == [(int(a), int(b) + 60, int(distances[a, b])) for a, b in np.argwhere(distances <= radius)]


def test_similarity_join_has_sparks_columns_and_strict_threshold(model, table, codes):
    some = table.where("id < 40")
    joined = model.approxSimilarityJoin(some, some, 3, "bits")
    assert joined.columns == ["datasetA", "datasetB", "bits"]
    assert joined.select("datasetA.*").columns == ["id", "text", "code"]
    found = {(row["datasetA"]["id"], row["datasetB"]["id"], row["bits"]) for row in joined.collect()}
    half = pairs_of(codes[:40], 2)
    assert found == half | {(b, a, d) for a, b, d in half} | {(a, a, 0) for a in range(40)}


def test_groups_are_the_connected_components(spark, model, encoded, codes, tmp_path):
    from sthash.duplicates.grouping import connected_groups
    from sthash.spark import near_duplicates

    pairs = np.array([pair[:2] for pair in pairs_of(codes, 2)])
    expected = {int(member): int(group[0]) for group in connected_groups(*pairs.T) for member in group}
    groups = near_duplicates(encoded, 2, n_bits=BITS, id_col="id", block=25)
    assert {row["id"]: row["group"] for row in groups.collect()} == expected


def test_pairs_are_checked_by_cosine_and_joined_to_groups(model, encoded, codes):
    from sthash.duplicates import grouping
    from sthash.spark import connected_groups

    X = model.model.encode(TEXTS).rows.to_scipy()
    cosines = (X @ X.T).toarray()
    expected = [pair[:2] for pair in sorted(pairs_of(codes, 3)) if cosines[pair[:2]] >= 0.5]
    pairs = model.approxSimilarityJoin(encoded, encoded, 4).where("datasetA.id < datasetB.id")
    pairs = pairs.where(model.cosine("datasetA.text", "datasetB.text") >= 0.5)
    pairs = pairs.selectExpr("datasetA.id idA", "datasetB.id idB").cache()
    assert sorted(map(tuple, pairs.collect())) == expected
    groups = grouping.connected_groups(*np.array(expected).T)
    found = {row["id"]: row["group"] for row in connected_groups(pairs).collect()}
    assert found == {int(member): int(group[0]) for group in groups for member in group}


def test_a_chain_of_codes_is_one_group(spark, tmp_path_factory):
    from sthash.spark import near_duplicates

    spark.sparkContext.setCheckpointDir(str(tmp_path_factory.mktemp("checkpoints")))

    # Each code is one bit from the next: the worst case for label propagation.
    bits = np.tri(40, 39, -1, dtype=bool)
    order = np.random.default_rng(0).permutation(40)
    data = [(int(number), bytearray(sthash.codes.pack(bits[[place]])[0])) for number, place in enumerate(order)]
    chain = spark.createDataFrame(data, "id long, code binary")
    groups = near_duplicates(chain, 1, n_bits=39, id_col="id").collect()
    assert {row["id"]: row["group"] for row in groups} == dict.fromkeys(range(40), 0)


def test_vectors_of_all_kinds_give_the_same_codes(spark):
    from pyspark.ml.linalg import Vectors

    from sthash.spark import SelfTaughtHashing

    X = np.random.default_rng(0).normal(size=(120, 10)) * (np.random.default_rng(1).random((120, 10)) < 0.6)
    dense = spark.createDataFrame([(n, Vectors.dense(row)) for n, row in enumerate(X)], ["id", "features"])
    mixed = [
        (n, Vectors.sparse(10, np.flatnonzero(row).tolist(), row[row != 0].tolist()) if n % 3 else Vectors.dense(row))
        for n, row in enumerate(X)
    ]
    sparse = spark.createDataFrame(mixed, ["id", "features"])
    arrays = spark.createDataFrame([(n, row.tolist()) for n, row in enumerate(X)], "id long, features array<double>")
    model = SelfTaughtHashing(inputCol="features", numBits=8, numNeighbors=6, idCol="id").fit(dense)
    expected = model.model.encode(X).codes
    for table in (dense, sparse, arrays):
        found = {row["id"]: bytes(row["code"]) for row in model.transform(table).collect()}
        assert found == {n: code.tobytes() for n, code in enumerate(expected)}
    SelfTaughtHashing(inputCol="features", numBits=8, numNeighbors=6).fit(sparse)
    near = model.approxNearestNeighbors(arrays, Vectors.dense(X[5]), 1).collect()
    assert near[0]["distCol"] == 0
    with pytest.raises(Exception, match="a vector of 3 values where 10 are expected"):
        model.transform(spark.createDataFrame([(1, [1.0, 2.0, 3.0])], "id long, features array<float>")).collect()
    with pytest.raises(TypeError, match="learned from vectors"):
        model.transform(spark.createDataFrame([(1, "a")], "id long, features string"))


def test_bad_input_gets_clear_errors(spark, table, model, encoded):
    from pyspark.sql.functions import lit

    from sthash.spark import SelfTaughtHashing, hamming_distance, hamming_self_join

    estimator = SelfTaughtHashing(inputCol="text", numBits=8)
    holey = spark.createDataFrame([(1, "a b"), (2, None)], "id long, text string")
    with pytest.raises(ValueError, match=r"'text' has 1 null value\. .*dropna"):
        estimator.fit(holey)
    with pytest.raises(Exception, match="'text' has 1 null value"):
        model.transform(holey).collect()
    with pytest.raises(ValueError, match=r"'body' is missing\. There are: id, text"):
        estimator.copy().setInputCol("body").fit(table)
    with pytest.raises(TypeError, match="of type bigint"):
        estimator.copy().setInputCol("id").fit(table)
    with pytest.raises(ValueError, match="empty"):
        estimator.fit(table.where("id < 0"))
    with pytest.raises(ValueError, match="numBits=0"):
        estimator.copy().setNumBits(0).fit(table)
    with pytest.raises(ValueError, match="needs at least"):
        estimator.fit(table.where("id < 5"))
    with pytest.raises(ValueError, match="leave none of the"):
        SelfTaughtHashing(inputCol="text", numBits=8, minDF=10_000).fit(table)
    with pytest.raises(ValueError, match="'code' exists already"):
        model.transform(encoded)
    with pytest.raises(ValueError, match="threshold=0"):
        model.approxSimilarityJoin(encoded, encoded, 0)
    with pytest.raises(ValueError, match="numNearestNeighbors=0"):
        model.approxNearestNeighbors(encoded, "a", 0)
    with pytest.raises(TypeError, match="Pass the binary column"):
        hamming_self_join(encoded, 3, n_bits=BITS, id_col="id", code_col="text")
    distance = encoded.limit(1).select(
        hamming_distance("code", "code"), hamming_distance("code", lit(None).cast("binary"))
    )
    assert tuple(distance.first()) == (0, None)
    with pytest.raises(Exception, match="a code of 3 bytes where 8 are expected"):
        hamming_self_join(encoded, 3, n_bits=64, id_col="id").collect()


def test_a_frequent_content_takes_no_row_per_copy(spark):
    """A sample of 40 million copies was made from an array of 40 million numbers."""
    from pyspark.sql import functions

    from sthash.spark.corpus_statistics import _chosen

    rare = spark.range(1000).select(functions.xxhash64("id").alias("hash"))
    many = 1 << 33
    counted = (
        rare.groupBy("hash").count().union(spark.range(1).select(functions.lit(7).cast("long"), functions.lit(many)))
    )

    class Rows:  # whose counts are known
        def groupBy(self, _):
            return self

        def count(self):
            return counted

    chosen = {row["hash"]: row["times"] for row in _chosen(Rows(), 500, seed=0).collect()}
    assert sum(chosen.values()) == 500
    assert chosen[7] >= 499


def test_copies_are_drawn_in_proportion(spark):
    from sthash.spark.corpus_statistics import draw

    texts = [f"text {number}" for number in range(200)] + ["often"] * 200
    table = spark.createDataFrame([(text,) for text in texts], "text string")
    assert 45 <= draw(table, "text", 400, 100, seed=0).to_pylist().count("often") <= 55


def test_nulls_are_an_error_or_skipped_or_kept(spark, table):
    from pyspark.sql import functions

    from sthash.spark import SelfTaughtHashing

    holey = table.union(spark.createDataFrame([(-1, None), (-2, None)], "id long, text string"))
    estimator = SelfTaughtHashing(inputCol="text", numBits=8, numNeighbors=5)
    with pytest.raises(ValueError, match="'text' has 2 null values"):
        estimator.fit(holey)
    with pytest.raises(TypeError, match="'error', 'skip' or 'keep'"):
        estimator.setHandleInvalid("drop")
    whole, skipping = estimator.fit(table), estimator.setHandleInvalid("skip").fit(holey)
    assert skipping.model.fingerprint == whole.model.fingerprint
    codes = {row["id"]: row["code"] for row in whole.transform(table).collect()}
    assert {row["id"]: row["code"] for row in skipping.transform(holey).collect()} == codes
    kept = skipping.setHandleInvalid("keep").transform(holey)
    assert {row["id"]: row["code"] for row in kept.collect()} == codes | {-1: None, -2: None}
    vectors = spark.createDataFrame([(row,) for row in np.eye(8).tolist()] * 6 + [(None,)], "v array<double>")
    learned = SelfTaughtHashing(inputCol="v", numBits=4, numNeighbors=3, handleInvalid="keep").fit(vectors)
    assert learned.transform(vectors).where(functions.col("code").isNull()).count() == 1


def test_the_vocabulary_is_cut_where_it_is_counted(spark, table):
    from sthash.spark import SelfTaughtHashing
    from sthash.spark.corpus_statistics import count_terms

    settings = SelfTaughtHashing(inputCol="text", vocabSize=7, minDF=2.0)._text_settings()
    counted = count_terms(table, "text", settings).counts
    one = sthash.TextVectorizer(max_features=7, min_df=2).fit(TEXTS)
    assert sorted(counted.terms) == list(one.vocabulary_)


def test_an_exported_table_is_a_collection(model, encoded, codes, tmp_path):
    from sthash.spark import export_collection

    path = tmp_path / "table.sth"
    named = encoded.selectExpr("id", "text", "code", "concat('key', id) name", "id % 2 parity", "id place")
    ordered = named.orderBy("id")
    with export_collection(model, ordered, path, key_col="name", label_col="parity", metadata_cols=["place"]) as made:
        made.check()
        assert len(made) == len(TEXTS)
        document = made.get("key7")
        assert (document.text, document.label, document.metadata) == (TEXTS[7], "1", {"place": 7})
        with made.snapshot() as now:
            assert (now.codes.table.codes == codes).all()
        assert made.search(TEXTS[3], k=1, ranking="cosine")[0].score == pytest.approx(1)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        export_collection(model, encoded, path)
    with pytest.raises(ValueError, match="occurs more than once"):
        export_collection(model, encoded.selectExpr("id % 3 id", "text", "code"), tmp_path / "b.sth", key_col="id")
    with pytest.raises(ValueError, match="not those that the model gives"):
        export_collection(model, encoded.selectExpr("concat('common1 ', text) text", "code"), tmp_path / "b.sth")
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.sth"]


def test_limits_decide_how_many_documents_are_learned_from(spark, table, monkeypatch):
    """By default from all, up to a number; fewer where time, memory or what the driver may collect forbid it."""
    from sthash.hashing import cost
    from sthash.model import learning
    from sthash.spark import SelfTaughtHashing, corpus_statistics, estimator

    fresh = SelfTaughtHashing(inputCol="text", numBits=BITS, numNeighbors=8)
    assert (fresh.getSampleSize(), fresh.getSeconds(), fresh.getMemory()) == (250_000, 300.0, 0)
    assert fresh.fit(table).model.settings["learned_on"] == len(TEXTS)
    monkeypatch.setattr(cost, "learning_cost", lambda n, *_, **__: cost.LearningCost(float(n), 1e6 * n))
    monkeypatch.setattr(learning, "FEWEST_DOCUMENTS", 20)
    assert fresh.copy().setSeconds(91.5).fit(table).model.settings["learned_on"] == 91
    assert fresh.copy().setMemory("83.3MB").fit(table).model.settings["learned_on"] == 83
    with pytest.raises(ValueError, match="memory allows"):
        fresh.copy().setMemory(1000).fit(table)
    settings = fresh._text_settings()
    mean = corpus_statistics.count_terms(table, "text", settings).mean_length
    assert mean == pytest.approx(np.mean([len(text.encode()) for text in TEXTS]))
    monkeypatch.setattr(estimator, "COLLECTED_BYTES", int(77.5 * mean))
    assert fresh.fit(table).model.settings["learned_on"] == 77
    X = np.random.default_rng(0).normal(size=(120, 10))
    vectors = spark.createDataFrame([(row,) for row in X.tolist()], "vector array<double>")
    assert corpus_statistics.vector_width(vectors, "vector") == 10
    monkeypatch.setattr(estimator, "COLLECTED_BYTES", 50 * 80)
    own = SelfTaughtHashing(inputCol="vector", numBits=8, numNeighbors=5)
    assert own.fit(vectors).model.settings["learned_on"] == 50


def test_scatter(table, model):
    """Random hyperplanes take part in the codes, on the driver and on the executors alike."""
    from sthash.spark import SelfTaughtHashing

    scattered = SelfTaughtHashing(inputCol="text", numBits=BITS, numNeighbors=8, sampleSize=250, seed=3, scatter=4.0)
    fitted = scattered.fit(table)
    found = {row["id"]: bytes(row["code"]) for row in fitted.transform(table).collect()}
    assert found == {number: code.tobytes() for number, code in enumerate(fitted.model.encode(TEXTS).codes)}
    assert (fitted.model.encode(TEXTS).codes != model.model.encode(TEXTS).codes).any()


def test_an_exported_table_of_vectors_is_a_collection(spark, tmp_path):
    from sthash.spark import SelfTaughtHashing, export_collection

    X = np.random.default_rng(0).normal(size=(120, 10))
    table = spark.createDataFrame([(n, row.tolist()) for n, row in enumerate(X)], "id long, features array<double>")
    model = SelfTaughtHashing(inputCol="features", numBits=8, numNeighbors=6).fit(table)
    with export_collection(model, table.orderBy("id"), tmp_path / "v.sth", key_col="id") as made:
        assert made.check().documents == 120
        assert made.search(X[5], k=1)[0].key == "5"
        assert (made.encode(X) == model.encode(X.tolist())).all()
