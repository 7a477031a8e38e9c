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


@pytest.mark.parametrize(("threshold", "measure"), [(0.6, "jaccard"), (1, "jaccard"), (0.7, "containment")])
def test_pairs_and_groups_are_those_of_one_machine(table, threshold, measure):
    from sthash.spark import connected_groups, similar_texts

    pairs = similar_texts(table, threshold, measure=measure, id_col="id", shingle_words=SHINGLE).cache()
    assert pairs.columns == ["idA", "idB", "score"]
    expected, groups = pairs_here(threshold, measure)
    found = sorted(map(tuple, pairs.collect()))
    assert [pair[:2] for pair in found] == [pair[:2] for pair in expected]
    assert [pair[2] for pair in found] == [pair[2] for pair in expected]
    assert len(groups) > 10
    if measure == "jaccard" and threshold < 1:
        members = {row["id"]: row["group"] for row in connected_groups(pairs).collect()}
        assert members == {member: group[0] for group in groups for member in group}
