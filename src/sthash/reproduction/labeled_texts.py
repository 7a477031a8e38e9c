"""A loader for any labeled texts, in every format that `sthash.sources` reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.reproduction.datasets import DatasetError, LabeledTexts
from sthash.sources import Document, SourceFields, read_documents


def load_labeled(
    path: str | Path,
    *,
    text: str = "text",
    label: str = "label",
    split: str = "split",
    test_size: float = 0.4,
    random_state: int = 0,
) -> LabeledTexts:
    r"""Load labeled texts from a file or a folder.

    Parameters
    ----------
    path : path
        Anything that `sthash.sources.read_documents` reads: JSON lines, tables, Parquet, compressed or not, or a folder
        with one folder of files per label.
    text, label : str
        Names of the fields with the text and its label.
    split : str
        Name of the field that says ``train`` or ``test``. If no record has it, the records are split at random.
    test_size : float
        Share of the records that a random split takes for testing.
    random_state : int
        Seed of the random split.

    Returns
    -------
    LabeledTexts
        Labels are numbered in the alphabetical order of their names.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sthash.reproduction import load_labeled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mine.csv")
    ...     _ = path.write_text("text,label,split\nrain,weather,train\na goal,sport,test\n")
    ...     load_labeled(path).label_names
    ('sport', 'weather')
    """
    path = Path(path)
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size} must lie between 0 and 1, both excluded.")
    texts, labels, parts = [], [], []
    fields = SourceFields(text=text, label=label, required=("text", "label"))
    with _dataset_errors(path):
        for position, document in enumerate(read_documents(path, fields)):
            texts.append(document.text)
            labels.append(document.label)
            parts.append(_part(path, position, document, split))
    train = _training(path, parts, split, test_size, random_state)
    names, numbers = np.unique(np.array(labels), return_inverse=True)
    return LabeledTexts(
        path.name.split(".")[0],
        [texts[i] for i in np.flatnonzero(train)],
        numbers[train].astype(np.int64),
        [texts[i] for i in np.flatnonzero(~train)],
        numbers[~train].astype(np.int64),
        tuple(names.tolist()),
    )


@contextmanager
def _dataset_errors(path: Path) -> Iterator[None]:
    """Turn what reading raises into a DatasetError, after which the other corpora are still measured."""
    try:
        yield
    except (ValueError, ImportError) as error:
        raise DatasetError(str(error)) from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror or error}). Check the path.") from error


def _part(path: Path, position: int, document: Document, name: str) -> Any:
    part = document.metadata.get(name) or None
    if part not in (None, "train", "test"):
        raise DatasetError(
            f"{path}: field {name!r} of document {position} is {part!r}. It must be 'train' or 'test', or empty in all "
            "documents."
        )
    return part


def _training(
    path: Path, parts: list[str | None], name: str, test_size: float, random_state: int
) -> npt.NDArray[np.bool_]:
    """Tell which documents are for training."""
    if any(parts):
        if not all(parts):
            raise DatasetError(f"{path}: only some documents have a field {name!r}. Give it to all of them or to none.")
        train = np.array([part == "train" for part in parts])
    else:
        order = np.random.default_rng(random_state).permutation(len(parts))
        train = np.ones(len(parts), dtype=bool)
        train[order[: round(test_size * len(parts))]] = False
    if not train.any() or train.all():
        raise DatasetError(
            f"{path}: {int(train.sum())} of {len(parts)} documents are for training. "
            "Training and testing both need some."
        )
    return train
