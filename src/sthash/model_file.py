"""Model files: safetensors for the arrays, JSON for the rest, one checksum over both. No code of a file is ever run.

A file has one metadata entry, ``sthash``: a SHA-256 checksum in hexadecimal, a line feed, and a JSON header (format,
kind, config). The checksum is over the header and, in the order of their names, over the name, dtype, shape and bytes
of each array. The same model always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialize

from sthash.files import replacing

FORMAT = 1
Loaded = TypeVar("Loaded")

# The kinds of models, and the modules that define them. A file cannot make anything else be imported.
KINDS = {
    "AnchorGraphHashing": "sthash.baselines.anchor_graph_hashing",
    "BinarizedLSI": "sthash.baselines.binarized_lsi",
    "BoostedSSC": "sthash.baselines.boosted_ssc",
    "ForgivingHashing": "sthash.baselines.forgiving_hashing",
    "IterativeQuantization": "sthash.baselines.iterative_quantization",
    "LaplacianCoHashing": "sthash.baselines.laplacian_co_hashing",
    "RandomHyperplaneHashing": "sthash.baselines.random_hyperplane_hashing",
    "SelfTaughtHashing": "sthash.hashing.sth",
    "SpectralHashing": "sthash.baselines.spectral_hashing",
    "StackedRBMHashing": "sthash.baselines.stacked_rbm_hashing",
    "TextModel": "sthash.model.text_model",
    "TextVectorizer": "sthash.text.vectorizer",
    "VectorModel": "sthash.model.vector_model",
}
# Names that files of version 0.1 have for a kind.
FORMER_KINDS = {"BinarisedLSI": "BinarizedLSI"}


class ModelFileError(ValueError):
    """A file is not a model, is damaged, or was written by a newer version."""


def write(path: str | PathLike[str], kind: str, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write a model; the path never holds a part of it."""
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = json.dumps({"format": FORMAT, "kind": kind, "config": config}, sort_keys=True)
    # Not by save_file, which has a temporary file of its own that a kill would leave.
    content = serialize(tensors, {"sthash": _signed(header, tensors)})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | PathLike[str]) -> Any:
    """Read a model that ``save`` wrote.

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
    header, arrays = _read(path)
    kind = header["kind"]
    model = getattr(importlib.import_module(KINDS[kind]), kind)
    try:
        return model._restored(header["config"], arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is no valid {kind} model: {error}. Save the model again.") from error


def load_as(kind: type[Loaded], path: str | PathLike[str]) -> Loaded:
    """Read a model of this class; a file that holds another one is refused."""
    model = load(path)
    if not isinstance(model, kind):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a {kind.__name__}. Read it with sthash.load.")
    return model


def check_array(
    arrays: dict[str, npt.NDArray[Any]], name: str, dtype: npt.DTypeLike, shape: tuple[int | None, ...]
) -> None:
    """Refuse an array that has another type or shape than the model needs; None stands for any length."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if array.dtype != dtype or not fits:
        raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    with path.open("rb"):  # for a missing file or a folder Python's own error is clear
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if "sthash" not in metadata:
                raise ModelFileError(f"{path} is not an sthash model. Pass a file that save() wrote.")
            text = metadata["sthash"].partition("\n")[2]
            header = _header(path, text)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, UnicodeDecodeError, OverflowError) as error:
        raise ModelFileError(
            f"{path} is not an sthash model or is damaged ({error}). Save the model again or fetch a fresh copy."
        ) from error
    if metadata["sthash"] != _signed(text, arrays):
        raise ModelFileError(f"{path} is damaged: its checksum does not match. Save the model again.")
    return header, arrays


def _header(path: Path, text: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
        version, kind = header["format"], header["kind"]
        kind = header["kind"] = FORMER_KINDS.get(kind, kind)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: its header cannot be read. Save the model again.") from error
    if isinstance(version, int) and version > FORMAT:
        raise ModelFileError(
            f"{path} has format {version}, newer than the format {FORMAT} that this sthash reads. Upgrade sthash."
        )
    if version != FORMAT or kind not in list(KINDS):
        raise ModelFileError(
            f"{path} holds a {kind!r} of format {version!r}, which this sthash does not know. Upgrade sthash."
        )
    return dict(header)


def _signed(header: str, arrays: dict[str, npt.NDArray[Any]]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return f"{digest.hexdigest()}\n{header}"
