"""Similar texts on Spark: the same pairs, similarities and groups as on one machine, and clear errors."""

import numpy as np
import pytest

import sthash

pytestmark = pytest.mark.usefixtures("needs_spark")

SHINGLE = 3


def made_texts(families=60, members=4, seed=0):
    """Texts with copies, near copies that differ in some words, quotations, blanks, and texts of one word."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(400)])
    texts = ["", "  \n", "alone", "Alone!", "alone"]
    for _ in range(families):
        own = rng.choice(words, rng.integers(5, 60))
        texts.append(" ".join(own))
        for _ in range(rng.integers(members)):
            other = own.copy()
            changed = rng.integers(3)
            other[rng.integers(len(own), size=changed)] = rng.choice(words, changed)
            texts.append(" ".join(other))
        texts.append(" ".join([*rng.choice(words, 30), *own[: len(own) // 2]]))
    # A boilerplate that all of these share.
    texts += [f"this text was made from a template for tests number {number % 35} of them" for number in range(60)]
    return [texts[place] for place in rng.permutation(len(texts))]


TEXTS = made_texts()


@pytest.fixture(scope="module")
def table(spark):
    return spark.createDataFrame(list(enumerate(TEXTS)), "id long, text string").repartition(3).cache()


def pairs_here(threshold, measure, texts=TEXTS):
    found = sthash.near_duplicates(texts, threshold, measure=measure, shingle_words=SHINGLE, threads=1)
    return sorted((pair.left, pair.right, pair.score) for pair in found.pairs), found.groups


@pytest.mark.parametrize(
    ("threshold", "measure"),
    [(None, None), (0.5, "wording"), (0.6, "jaccard"), (1, "jaccard"), (0.7, "containment"), (0.8, "cosine")],
)
def test_pairs_and_groups_are_those_of_one_machine(table, threshold, measure):
    from sthash.spark import connected_groups, similar_texts

    pairs = similar_texts(table, threshold, measure=measure, id_col="id", shingle_words=SHINGLE).cache()
    assert pairs.columns == ["idA", "idB", "score"]
    expected, groups = pairs_here(threshold, measure)
    found = sorted(map(tuple, pairs.collect()))
    assert [pair[:2] for pair in found] == [pair[:2] for pair in expected]
    rounding = 1e-6 if measure == "cosine" else 0  # one machine has weights in single precision
    assert [pair[2] for pair in found] == pytest.approx([pair[2] for pair in expected], abs=rounding, rel=0)
    assert len(groups) > 10
    if measure != "containment" and threshold != 1:
        members = {row["id"]: row["group"] for row in connected_groups(pairs).collect()}
        assert members == {member: group[0] for group in groups for member in group}


def test_texts_of_a_template_are_compared_with_those_most_alike(spark):
    from sthash.duplicates.grouping import connected_groups
    from sthash.spark import similar_texts

    texts = [f"this text was made from one template for all tests number {number} of them" for number in range(80)]
    texts += ["an unlike text that has no word in common with others", "", "a text was made from one template"]
    keyed = spark.createDataFrame(
        [(f"key{number:02}", text) for number, text in enumerate(texts)], "key string, t string"
    )
    pairs = similar_texts(
        keyed, 0.4, measure="jaccard", id_col="key", text_col="t", score_col="j", shingle_words=3, longest_list=10
    )
    every, groups = pairs_here(0.4, "jaccard", texts)
    listed = pairs.collect()
    found = {(int(a[3:]), int(b[3:]), score) for a, b, score in listed}
    assert len(found) == len(listed) < len(every) / 2
    assert found <= set(every)
    left, right, _ = np.array(sorted(found)).T.astype(np.int64)
    assert [group.tolist() for group in connected_groups(left, right)] == groups


def test_bad_input_is_refused(spark, table):
    from sthash.spark import similar_texts

    with pytest.raises(ValueError, match=r"'body' is missing\. There are: id, text"):
        similar_texts(table, id_col="id", text_col="body")
    with pytest.raises(ValueError, match="'key' is missing"):
        similar_texts(table, id_col="key")
    with pytest.raises(TypeError, match="of type bigint"):
        similar_texts(table, id_col="id", text_col="id")
    vectors = spark.createDataFrame([(1, [1.0])], "id long, text array<float>")
    with pytest.raises(TypeError, match=r"has vectors\. Pass a column of texts"):
        similar_texts(vectors, id_col="id")
    for threshold in (0, 2, "0.8"):
        with pytest.raises(ValueError, match=r"must be above 0 and at most 1"):
            similar_texts(table, threshold, id_col="id")
    with pytest.raises(ValueError, match="measure='dice'"):
        similar_texts(table, measure="dice", id_col="id")
    with pytest.raises(ValueError, match="shingle_words=0"):
        similar_texts(table, id_col="id", shingle_words=0)
    holey = spark.createDataFrame([(1, "a b"), (2, None), (None, "c")], "id long, text string")
    with pytest.raises(Exception, match="'text' has 1 null value"):
        similar_texts(holey.where("id > 0"), id_col="id").collect()
    with pytest.raises(Exception, match="'id' has 1 null value"):
        similar_texts(holey.where("text is not null"), id_col="id").collect()


def test_a_threshold_that_most_pairs_reach_is_refused(spark):
    from sthash.spark import similar_texts

    many = spark.range(1500).selectExpr("id", "concat('all of these texts begin with the same words ', id) text")
    few = many.where("id < 0")
    assert [similar_texts(few, threshold, id_col="id").count() for threshold in (0.3, 0.8)] == [0, 0]
    with pytest.raises(ValueError, match=r"threshold=0\.3 would give about 1,124,250 pairs of 1,500 documents"):
        similar_texts(many, 0.3, id_col="id")
