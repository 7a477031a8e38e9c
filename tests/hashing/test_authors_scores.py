"""The recipe on the authors' own matrix against the scores of their own toolbox."""

import json

import pytest

from sthash import SelfTaughtHashing
from sthash.evaluation import Neighbours, Topics, nearest_neighbours, score
from sthash.reproduction.datasets import data_dir, load_reuters21578_counts, tfidf_counts


def test_all_192_points_within_five_thousandths(needs):
    needs("reuters21578_counts.mat", "reuters21578_reference.json")
    reference = json.loads((data_dir() / "reuters21578_reference.json").read_text())
    data = load_reuters21578_counts()
    X, Q = tfidf_counts(data.train, data.test)
    hasher = SelfTaughtHashing(64).fit(X)
    queries = hasher.transform(Q)
    by_neighbors = score(hasher.codes_, queries, Neighbours(nearest_neighbours(X, Q, 25), X.shape[0]))
    by_topic = score(hasher.codes_, queries, Topics(data.train_labels, data.test_labels))
    compared = 0
    for name, scores, measure in (
        ("nn_f1", by_neighbors, "f1"),
        ("topic_f1", by_topic, "f1"),
        ("topic_accuracy", by_topic, "accuracy"),
    ):
        for row, radius in zip(reference[name], reference["radii"], strict=True):
            for expected, n_bits in zip(row, reference["code_lengths"], strict=True):
                ours = getattr(scores.ball(n_bits, radius), measure)
                assert ours == pytest.approx(expected, abs=0.005), (name, n_bits, radius)
                compared += 1
    assert compared == 192
