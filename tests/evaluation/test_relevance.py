"""Relevance sets and exact nearest neighbors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sthash.evaluation import Neighbors, SharedLabels, Topics, nearest_neighbors


def tied_vectors(seed, rows):
    """Rows with four ones (or none) among twelve columns: cosines are exact quarters and many are equal."""
    rng = np.random.default_rng(seed)
    vectors = np.zeros((rows, 12))
    for row in vectors[1:]:
        row[rng.permutation(12)[:4]] = 1
    return vectors


def plain_nearest(train, test, k):
    cosines = [[sum(a * b for a, b in zip(x, q, strict=True)) / 4 for x in train] for q in test]
    return [sorted(range(len(train)), key=lambda i: (-row[i], i))[:k] for row in cosines]


@pytest.mark.parametrize("k", [1, 7, 50])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_nearest_neighbors_equal_a_full_sort(monkeypatch, kind, k):
    monkeypatch.setattr("sthash.evaluation.relevance._CELLS", 170)
    train, test = tied_vectors(0, 50), tied_vectors(1, 20)
    np.testing.assert_array_equal(nearest_neighbors(kind(train), kind(test), k), plain_nearest(train, test, k))


def test_length_does_not_matter_for_cosine():
    train, test = tied_vectors(2, 40), tied_vectors(3, 10)
    scaled = train * 2.0 ** np.arange(-20, 20)[:, None]
    np.testing.assert_array_equal(nearest_neighbors(scaled, test, 9), nearest_neighbors(train, test, 9))


def test_nearest_neighbors_leave_their_input_alone():
    train = sparse.csr_array(tied_vectors(4, 10) * 3)
    before = train.toarray()
    nearest_neighbors(train, train, 2)
    np.testing.assert_array_equal(train.toarray(), before)


def test_nearest_neighbors_name_bad_arguments():
    with pytest.raises(ValueError, match="k=4 must lie between 1 and the 3"):
        nearest_neighbors(np.eye(3), np.eye(3), 4)
    with pytest.raises(ValueError, match="train has 3 columns, test has 2"):
        nearest_neighbors(np.eye(3), np.eye(2), 1)


def test_masks_show_the_relevant_documents():
    neighbors = Neighbors(np.array([[2, 0], [-1, -1], [1, -1]]), 3)
    expected = [[True, False, True], [False, False, False], [False, True, False]]
    np.testing.assert_array_equal(neighbors.mask(0, 3), expected)
    np.testing.assert_array_equal(neighbors.mask(1, 3), expected[1:])
    topics = Topics(np.array([4, 5, 4]), np.array([5, 6, 4]))
    np.testing.assert_array_equal(topics.mask(1, 3), [[False, False, False], [True, False, True]])
    shared = SharedLabels(sparse.csr_array([[1, 0], [1, 1], [0, 2]]), np.array([[0, 0], [0, 1], [1, 0]]))
    np.testing.assert_array_equal(shared.mask(0, 2), [[False, False, False], [False, True, True]])
    assert (shared.n_corpus, shared.n_queries) == (3, 3)


def test_bad_labels_are_refused():
    with pytest.raises(ValueError, match="corpus must be a 2-d array, one column per label, got 1-d"):
        SharedLabels(np.array([1, 2]), np.array([[1, 0]]))
    with pytest.raises(ValueError, match="corpus has 2 labels, queries has 3"):
        SharedLabels(np.eye(2), np.eye(3))


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        (np.array([[0, 3]]), r"must lie in \[-1, 3\), found 0 … 3"),
        (np.array([[-2, 1]]), "found -2 … 1"),
        (np.array([[1, 1]]), "twice in one row"),
        (np.array([0, 1]), "must be a 2-d integer array"),
        (np.array([[0.5]]), "must be a 2-d integer array"),
    ],
)
def test_bad_neighbors_are_refused(indices, message):
    with pytest.raises(ValueError, match=message):
        Neighbors(indices, 3)


def test_labels_must_be_integers():
    with pytest.raises(ValueError, match="queries must be a 1-d array of integer labels"):
        Topics(np.array([0, 1]), np.array(["earn"]))
