"""Folders that ``save_to_disk`` of a Hugging Face dataset wrote: Arrow files, and a description in JSON.

They are read with pyarrow alone, and nothing in them can run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sthash.batches import BATCH_DOCUMENTS
from sthash.extras import install_command
from sthash.sources.records import Records
from sthash.tables import arrow_records, plain_record

STATE, SPLITS, INFO = "state.json", "dataset_dict.json", "dataset_info.json"


def saved_files(folder: Path) -> list[Path] | None:
    """Return the Arrow files of a saved dataset, of all its splits; None for any other folder or file.

    Examples
    --------
    >>> import pathlib
    >>> from sthash.sources.saved_datasets import saved_files
    >>> saved_files(pathlib.Path(".")) is None
    True
    """
    splits = _described(folder / SPLITS, "splits") if (folder / SPLITS).is_file() else None
    if splits is not None:
        return [file for split in splits for file in saved_files(folder / _plain(split, folder)) or ()]
    if not ((folder / STATE).is_file() and (folder / INFO).is_file()):
        return None
    files = _described(folder / STATE, "_data_files")
    if files is None:
        return None
    return [folder / _plain(file.get("filename") if isinstance(file, dict) else None, folder) for file in files]


def _described(path: Path, name: str) -> list[Any] | None:
    """Return a list of a description; None if it is one of something else."""
    with suppress(ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict) and isinstance(found.get(name), list):
            return list(found[name])
    return None


def _plain(name: Any, folder: Path) -> str:
    """Return the name of a file or folder within; one that leads elsewhere is refused."""
    if not isinstance(name, str) or Path(name).name != name:
        raise ValueError(f"{folder} is a saved dataset with a file named {name!r}, outside of it. Save it again.")
    return name


def saved_records(files: list[Path], vector: str | None) -> Records:
    """Give the rows of Arrow files, one batch in memory at a time."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"a saved dataset needs pyarrow. Install it: {install_command('parquet')}.") from error
    for file in files:
        number = 0
        try:
            for batch in _batches(file):
                for start in range(0, batch.num_rows, BATCH_DOCUMENTS):
                    for record in arrow_records(batch.slice(start, BATCH_DOCUMENTS), vector):
                        number += 1
                        yield f"{file}, row {number}", plain_record(record, vector)
        except (pyarrow.ArrowException, UnicodeDecodeError) as error:
            raise ValueError(f"{file} cannot be read as Arrow ({error}). Save the dataset again.") from error


def _batches(file: Path) -> Iterator[Any]:
    from pyarrow import ipc, memory_map

    with memory_map(str(file)) as mapped:
        yield from ipc.open_stream(mapped)
