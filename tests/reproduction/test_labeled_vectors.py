"""Dense vectors with labels: what is read, what is refused, and the images."""

import numpy as np
import pytest

from sthash.reproduction import DatasetError, load_vectors
from sthash.reproduction.conditions import load_conditions
from sthash.reproduction.datasets import content_digest
from sthash.reproduction.labeled_vectors import load_cifar10


def test_the_last_rows_or_random_ones_are_queries(tmp_path):
    path = tmp_path / "rows.npz"
    vectors = np.arange(1, 21, dtype=np.int8).reshape(10, 2)
    np.savez(path, vectors=vectors, labels=np.array(["b", "a"] * 5))
    found = load_vectors(path, last=4)
    np.testing.assert_array_equal(found.test, vectors[6:])
    assert found.test_labels.tolist() == [1, 0, 1, 0]
    drawn = [load_vectors(path, random_state=seed) for seed in (0, 0, 1)]
    assert [len(one.test) for one in drawn] == [4, 4, 4]
    np.testing.assert_array_equal(drawn[0].test, drawn[1].test)
    assert (drawn[0].test != drawn[2].test).any()
    assert content_digest(drawn[0]) == content_digest(drawn[1]) != content_digest(drawn[2])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"vectors": np.array([[1.0, np.nan]]), "labels": np.zeros(1)}, "NaN"),
        ({"vectors": np.array([["a", "b"]]), "labels": np.zeros(1)}, "rows.npz"),
        ({"vectors": np.eye(1), "labels": np.zeros(1)}, "too few for documents and queries"),
    ],
)
def test_what_is_no_corpus_is_named(tmp_path, parts, message):
    np.savez(tmp_path / "rows.npz", **parts)
    with pytest.raises(DatasetError, match=message):
        load_vectors(tmp_path / "rows.npz")
    with pytest.raises(DatasetError, match="cannot be read"):
        load_vectors(tmp_path / "absent.npz")


def test_images(needs):
    needs("cifar10_hog.npz")
    found = load_cifar10()
    experiment = load_conditions().experiments["cifar10_hog"]
    assert (found.train.shape, found.test.shape) == ((18000, 372), (2000, 372))
    assert content_digest(found) == experiment.digest
    assert experiment.dense
    assert experiment.ours
