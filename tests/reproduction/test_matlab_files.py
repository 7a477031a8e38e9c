"""Corpora in .mat files: both forms of the literature, one label or several, and what is wrong with bad ones."""

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from sthash.reproduction import DatasetError
from sthash.reproduction.matlab_files import load_mat

ROWS = sparse.csc_array(np.arange(24).reshape(6, 4) % 5)


@pytest.fixture
def write(tmp_path):
    def written(**parts):
        path = tmp_path / "corpus.mat"
        scipy.io.savemat(path, parts)
        return path

    return written


def split(**changed):
    """Return the parts of a small corpus as the files of VDSH have them."""
    parts = {
        "train": ROWS[:3],
        "test": ROWS[3:5],
        "cv": ROWS[5:],
        "gnd_train": [[1], [2], [1]],
        "gnd_test": [[2], [1]],
        "gnd_cv": [[1]],
    }
    return {name: value for name, value in (parts | changed).items() if value is not None}


def test_train_test_and_cv(write):
    path = write(**split())
    loaded = load_mat(path)
    assert loaded.train.toarray().tolist() == ROWS[:3].toarray().tolist()
    assert loaded.test.toarray().tolist() == ROWS[3:5].toarray().tolist()
    assert loaded.train_labels.tolist() == [1, 2, 1]
    assert loaded.test_labels.tolist() == [2, 1]
    tuned = load_mat(path, "cv")
    assert tuned.test.toarray().tolist() == ROWS[5:].toarray().tolist()
    assert tuned.test_labels.tolist() == [1]


def test_labels_in_a_row_are_the_same_as_in_a_column(write):
    assert load_mat(write(**split(gnd_train=[1, 2, 1]))).train_labels.tolist() == [1, 2, 1]


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
def test_several_labels_per_document(write, kind):
    given = {"gnd_train": [[1, 0], [1, 1], [0, 1]], "gnd_test": [[0, 1], [0, 0]], "gnd_cv": [[1, 0]]}
    path = write(**split(**{name: kind(value) for name, value in given.items()}))
    assert load_mat(path).train_labels.tolist() == [[True, False], [True, True], [False, True]]
    assert load_mat(path, "cv").test_labels.tolist() == [[True, False]]  # one document, two labels


def test_positions_from_one(write):
    path = write(fea=ROWS, gnd=[[1], [2], [3], [1], [2], [3]], trainIdx=[[6], [1]], testIdx=[[2]])
    loaded = load_mat(path)
    assert loaded.train.toarray().tolist() == ROWS.toarray()[[5, 0]].tolist()
    assert loaded.train_labels.tolist() == [3, 1]
    assert loaded.test_labels.tolist() == [2]
    with pytest.raises(DatasetError, match="has no part cv"):
        load_mat(path, "cv")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gnd_test": None}, r"has no gnd_test; it has cv, gnd_cv, gnd_train, test, train\. A corpus has train, test"),
        ({"gnd_train": [[1], [2]]}, r"gnd_train has shape \(2, 1\), but there are 3 documents"),
        ({"gnd_train": [[1.5], [2], [1]]}, "labels that are not whole numbers"),
        ({"gnd_train": [[3, 0], [1, 1], [0, 1]]}, "values other than 0 and 1"),
        ({"gnd_train": [[1, 0], [1, 1], [0, 1]]}, "Give both one column, or both one column per label"),
        ({"gnd_train": [[1, 0], [1, 1], [0, 1]], "gnd_test": [[1, 0, 0], [0, 0, 1]]}, "gnd_train has 2 columns"),
        ({"gnd_train": ["one", "two", "one"]}, "Give labels as numbers"),
        ({"test": ROWS[3:5, :3]}, "train has 4 columns, test has 3"),
        ({"train": np.zeros((3, 4))}, "train is empty"),
        ({"train": np.full((3, 4), np.nan)}, "not finite"),
        ({"train": "text"}, "train is not a matrix of numbers"),
    ],
)
def test_a_bad_file_says_what_is_wrong(write, changed, message):
    with pytest.raises(DatasetError, match=message):
        load_mat(write(**split(**changed)))


@pytest.mark.parametrize("places", [[[0]], [[7]], np.zeros((0, 1))])
def test_positions_out_of_range(write, places):
    with pytest.raises(DatasetError, match="testIdx must hold positions from 1 to 6"):
        load_mat(write(fea=ROWS, gnd=np.ones((6, 1)), trainIdx=[[1]], testIdx=places))


def test_a_file_of_matlab_7_3(tmp_path):
    path = tmp_path / "corpus.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF")
    with pytest.raises(DatasetError, match="Matlab 7"):
        load_mat(path)


def test_no_matlab_file(tmp_path):
    path = tmp_path / "corpus.mat"
    path.write_bytes(b"nothing of the kind" * 20)
    with pytest.raises(DatasetError, match="cannot be read"):
        load_mat(path)
    with pytest.raises(DatasetError, match="cannot be read"):
        load_mat(tmp_path / "missing.mat")
