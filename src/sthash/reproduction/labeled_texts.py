"""A loader for anyone's own labeled texts: JSON lines or CSV, as they are or compressed."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from sthash.reproduction.datasets import DatasetError, LabeledTexts

_OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def load_labeled(
    path: str | Path,
    *,
    text: str = "text",
    label: str = "label",
    split: str = "split",
    test_size: float = 0.4,
    seed: int = 0,
) -> LabeledTexts:
    """Load labeled texts from ``.jsonl`` or ``.csv`` (also ``.xz``, ``.gz``, ``.bz2``), in UTF-8.

    Parameters
    ----------
    path : path of the file
        JSON lines hold one object each; a CSV file starts with the names of its columns.
    text, label : names of the fields with the text and its label
    split : name of the field that says ``train`` or ``test``
        If no record has it, the records are split at random.
    test_size : share of the records that a random split takes for testing
    seed : seed of the random split

    Returns
    -------
    LabeledTexts
        Labels are numbered in the alphabetical order of their names.
    """
    path = Path(path)
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size} must lie between 0 and 1, both excluded")
    texts: list[str] = []
    labels: list[str] = []
    parts: list[str | None] = []
    for line, record in _records(path):
        texts.append(_field(path, line, record, text))
        labels.append(_field(path, line, record, label))
        parts.append(_part(path, line, record, split))
    train = _training(path, parts, split, test_size, seed)
    names, numbers = np.unique(np.array(labels), return_inverse=True)
    return LabeledTexts(
        path.name.split(".")[0],
        [texts[i] for i in np.flatnonzero(train)],
        numbers[train].astype(np.int64),
        [texts[i] for i in np.flatnonzero(~train)],
        numbers[~train].astype(np.int64),
        tuple(names.tolist()),
    )


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and fields of each record; blank lines are skipped."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    opener = _OPENERS.get(suffixes[-1], open) if suffixes else open
    kind = next((suffix for suffix in reversed(suffixes) if suffix not in _OPENERS), "")
    reader = {".jsonl": _json_records, ".csv": _csv_records}.get(kind)
    if reader is None:
        raise DatasetError(f"{path} is neither .jsonl nor .csv (.xz, .gz and .bz2 may follow); rename or convert it")
    try:
        with opener(path, mode="rt", encoding="utf-8-sig", newline="") as stream:
            yield from reader(path, stream)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, lzma.LZMAError) as error:
        raise DatasetError(f"{path} cannot be read ({error})") from error


def _json_records(path: Path, stream: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DatasetError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(record, dict):
            raise DatasetError(f"{path}, line {number}: a JSON object is needed, got {type(record).__name__}")
        yield number, record


def _csv_records(path: Path, stream: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(stream, strict=True)
    try:
        for record in reader:
            yield reader.line_num, record
    except csv.Error as error:
        raise DatasetError(f"{path}, line {reader.line_num}: {error}; JSON lines have no such limits") from error


def _field(path: Path, line: int, record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if isinstance(value, bool | int):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise DatasetError(
            f"{path}, line {line}: field {name!r} must be a text that is not empty, got {value!r}; "
            f"the record has {sorted(map(str, record))}"
        )
    return value


def _part(path: Path, line: int, record: dict[str, Any], name: str) -> str | None:
    part = record.get(name) or None
    if part not in (None, "train", "test"):
        raise DatasetError(f"{path}, line {line}: field {name!r} must be 'train' or 'test', got {part!r}")
    return part


def _training(path: Path, parts: list[str | None], name: str, test_size: float, seed: int) -> Any:
    """Which records are for training, as booleans."""
    if any(parts):
        if not all(parts):
            raise DatasetError(f"{path}: some records have a field {name!r} and some have not; give all or none")
        train = np.array([part == "train" for part in parts])
    else:
        order = np.random.default_rng(seed).permutation(len(parts))
        train = np.ones(len(parts), dtype=bool)
        train[order[: round(test_size * len(parts))]] = False
    if not train.any() or train.all():
        raise DatasetError(f"{path}: {int(train.sum())} of {len(parts)} records are for training; both parts need some")
    return train
