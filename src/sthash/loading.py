"""`load`: the content of any file that sthash wrote."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from sthash import model_file

# How files start: of SQLite, which holds collections, and of an index of codes.
_SQLITE, _HAMMING = b"SQLite format 3\0", b"STHHAMIX"


def load(path: str | PathLike[str]) -> Any:
    """Read any file that sthash wrote; its content tells what it is. No code in the file is ever run.

    A model, vectorizer, quantizer, hasher, `WordIndex`, `VectorIndex` or `Deduplicator` is read whole. A `HammingIndex`
    is opened as by `HammingIndex.open`, and a collection as by `Collection.open`: close it after use.

    Raises
    ------
    ModelFileError
        If the file is none of these, is damaged, was forged, or was written by a newer version. It is a ValueError.
    CollectionError
        The same for a collection.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import numpy as np, sthash, tempfile, pathlib
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = sthash.SelfTaughtHashing(n_bits=8, n_neighbors=5).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hasher.save(pathlib.Path(folder, "model"))
    ...     again = sthash.load(pathlib.Path(folder, "model"))
    >>> bool((again.transform(X) == hasher.transform(X)).all())
    True
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Pass a file; of a model that Spark saved, model.safetensors.")
    with path.open("rb") as file:
        start = file.read(len(_SQLITE))
    if start == _SQLITE:
        from sthash.collection import Collection

        return Collection.open(path)
    if start.startswith(_HAMMING):
        from sthash.index import HammingIndex

        return HammingIndex.open(path)
    return model_file.load(path)
