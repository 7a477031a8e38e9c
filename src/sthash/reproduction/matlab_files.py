"""Labeled corpora in Matlab's ``.mat`` files, in the two forms that the semantic-hashing literature uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.io
from scipy import sparse

from sthash.reproduction.datasets import DatasetError, reading

Part = Literal["test", "cv"]
SPLIT = ("train", "test", "gnd_train", "gnd_test")
INDEXED = ("fea", "gnd", "trainIdx", "testIdx")


@dataclass(frozen=True)
class LabeledRows:
    """Rows of term counts or weights, split into a corpus (train) and queries (test), with their labels.

    Labels are a column of integers, or one column per label that is not zero where a document has the label.
    """

    train: sparse.csr_array[Any]
    train_labels: npt.NDArray[Any]
    test: sparse.csr_array[Any]
    test_labels: npt.NDArray[Any]


def load_mat(path: str | Path, queries: Part = "test") -> LabeledRows:
    """Load a corpus from a ``.mat`` file.

    Parameters
    ----------
    path : path
        A file with ``train``, ``test``, ``gnd_train`` and ``gnd_test``, and possibly ``cv`` and ``gnd_cv``, as those of
        VDSH have them; or with ``fea``, ``gnd``, ``trainIdx`` and ``testIdx`` (positions from 1), as those of Deng Cai.
    queries : {"test", "cv"}
        The part whose documents are the queries: ``cv`` to choose settings.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, scipy.io
    >>> from sthash.reproduction.matlab_files import load_mat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "small.mat")
    ...     parts = {"train": np.eye(3), "gnd_train": [[1], [2], [2]], "test": np.ones((1, 3)), "gnd_test": [[2]]}
    ...     scipy.io.savemat(path, parts)
    ...     load_mat(path).train_labels
    array([1, 2, 2])
    """
    path = Path(path)
    content = _read(path)
    if set(INDEXED) <= set(content):
        if queries == "cv":
            raise DatasetError(f"{path} has no part cv, only trainIdx and testIdx. Take the test part.")
        rows = _rows(path, "fea", content["fea"])
        labels = _labels(path, "gnd", content["gnd"], rows.shape[0])
        train, test = (_positions(path, name, content[name], len(labels)) for name in INDEXED[2:])
        return LabeledRows(rows[train], labels[train], rows[test], labels[test])
    wanted = ("train", queries, "gnd_train", f"gnd_{queries}")
    if missing := [name for name in wanted if name not in content]:
        there = ", ".join(sorted(content)) or "nothing"
        raise DatasetError(
            f"{path} has no {', '.join(missing)}; it has {there}. A corpus has {', '.join(SPLIT)} (and cv, gnd_cv), "
            f"or {', '.join(INDEXED)}."
        )
    train, test = (_rows(path, name, content[name]) for name in wanted[:2])
    train_labels = _labels(path, wanted[2], content[wanted[2]], train.shape[0])
    test_labels = _labels(path, wanted[3], content[wanted[3]], test.shape[0])
    _check_columns(path, "train", train.shape[1], queries, test.shape[1])
    if train_labels.ndim != test_labels.ndim:
        raise DatasetError(
            f"{path}: gnd_train has shape {content['gnd_train'].shape}, {wanted[3]} has {content[wanted[3]].shape}. "
            "Give both one column, or both one column per label."
        )
    if train_labels.ndim == 2:
        _check_columns(path, "gnd_train", train_labels.shape[1], wanted[3], test_labels.shape[1])
    return LabeledRows(train, train_labels, test, test_labels)


def _read(path: Path) -> dict[str, Any]:
    with reading(path):
        try:
            content = scipy.io.loadmat(path)
        except NotImplementedError as error:
            raise DatasetError(
                f"{path} is a file of Matlab 7.3 (HDF5), which cannot be read. Save it with -v7."
            ) from error
    return {name: value for name, value in content.items() if not name.startswith("__")}


def _rows(path: Path, name: str, given: Any) -> sparse.csr_array[Any]:
    if getattr(given, "ndim", 0) != 2 or given.dtype.kind not in "buif":
        raise DatasetError(f"{path}: {name} is not a matrix of numbers ({given.dtype}). Save it as a sparse matrix.")
    rows: sparse.csr_array[Any] = sparse.csr_array(given, dtype=np.float64)
    if not rows.shape[0] or not rows.nnz:
        raise DatasetError(f"{path}: {name} is empty (shape {rows.shape}). A corpus needs documents with terms.")
    if not np.isfinite(rows.data).all():
        raise DatasetError(f"{path}: {name} has values that are not finite. Replace them.")
    return rows


def _labels(path: Path, name: str, given: Any, count: int) -> npt.NDArray[Any]:
    """Return one number per document, or one row of booleans per document."""
    values = given.toarray() if sparse.issparse(given) else np.asarray(given)
    if values.ndim != 2 or values.dtype.kind not in "buif":
        raise DatasetError(f"{path}: {name} is not a matrix of numbers ({values.dtype}). Give labels as numbers.")
    if values.size == count:  # a column or a row
        if np.any(values != np.round(values)):
            raise DatasetError(f"{path}: {name} has labels that are not whole numbers. Number them from 1.")
        return values.ravel().astype(np.int64)
    if values.shape[0] != count:
        raise DatasetError(
            f"{path}: {name} has shape {values.shape}, but there are {count} documents. One row per document is needed."
        )
    if not np.isin(values, (0, 1)).all():
        raise DatasetError(
            f"{path}: {name} has several columns with values other than 0 and 1. Give one column with the numbers of "
            "the labels, or one column per label with ones."
        )
    return values.astype(bool)


def _positions(path: Path, name: str, given: Any, count: int) -> npt.NDArray[np.int64]:
    places: npt.NDArray[np.int64] = np.asarray(given).ravel().astype(np.int64) - 1
    if not len(places) or places.min() < 0 or places.max() >= count:
        raise DatasetError(f"{path}: {name} must hold positions from 1 to {count}. Correct the file.")
    return places


def _check_columns(path: Path, name: str, columns: int, other: str, others: int) -> None:
    if columns != others:
        raise DatasetError(f"{path}: {name} has {columns} columns, {other} has {others}. Both need the same columns.")
