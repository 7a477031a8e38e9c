"""Model files: safetensors for the arrays, JSON for the rest, one checksum over both. No code of a file is ever run.

A file has one metadata entry, ``sthash``: a SHA-256 checksum in hexadecimal, a line feed, and a JSON header (format,
kind, config). The checksum is over the header and, in the order of their names, over the name, dtype, shape and bytes
of each array. The same model always gives the same bytes.

A file may come from a stranger. It is read, never mapped, so a file that shrinks meanwhile cannot end the process. Its
sizes are checked before anything is allocated, and whatever is wrong with it ends in a `ModelFileError`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import stat
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save as serialize

from sthash.files import replacing

FORMAT = 1
# Bytes of the header: names, types and shapes of the arrays, and the settings of the model.
MOST_HEADER = 1 << 24
DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
Loaded = TypeVar("Loaded")

# The kinds of models, and the modules that define them. A file cannot make anything else be imported.
KINDS = {
    "AnchorGraphHashing": "sthash.baselines.anchor_graph_hashing",
    "BinarizedLSI": "sthash.baselines.binarized_lsi",
    "BoostedSSC": "sthash.baselines.boosted_ssc",
    "Deduplicator": "sthash.duplicates.deduplicator",
    "EmbeddingQuantizer": "sthash.hashing.embedding_quantizer",
    "ForgivingHashing": "sthash.baselines.forgiving_hashing",
    "IterativeQuantization": "sthash.baselines.iterative_quantization",
    "LaplacianCoHashing": "sthash.baselines.laplacian_co_hashing",
    "RandomHyperplaneHashing": "sthash.baselines.random_hyperplane_hashing",
    "SelfTaughtHashing": "sthash.hashing.sth",
    "SpectralHashing": "sthash.baselines.spectral_hashing",
    "StackedRBMHashing": "sthash.baselines.stacked_rbm_hashing",
    "TextModel": "sthash.model.text_model",
    "TextVectorizer": "sthash.text.vectorizer",
    "VectorIndex": "sthash.index.vectors",
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
    if len(json.dumps(header)) > MOST_HEADER - (1 << 16):
        raise ValueError(f"the settings of this {kind} take more than {MOST_HEADER >> 20} MiB. Use fewer stop words.")
    # Not by save_file, which has a temporary file of its own that a kill would leave.
    content = serialize(tensors, {"sthash": _signed(header, tensors)})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | PathLike[str]) -> Any:
    """Read a model that ``save`` wrote. The file may come from a stranger: nothing in it is run.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, was made up, or was written by a newer version. It is a ValueError.
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
    header, arrays = _read(path)
    kind = header["kind"]
    model = getattr(importlib.import_module(KINDS[kind]), kind)
    try:
        return model._restored(header["config"], arrays)
    except Exception as error:  # a file that was made up may break anything
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
    with path.open("rb") as file:
        try:
            metadata, parts = _contents(file)
            if "sthash" not in metadata:
                raise ModelFileError(f"{path} is not an sthash model. Pass a file that save() wrote.")
            text = metadata["sthash"].partition("\n")[2]
        except ModelFileError:
            raise
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ModelFileError(
                f"{path} is not an sthash model or is damaged ({error}). Save the model again or fetch a fresh copy."
            ) from error
        header = _header(path, text)
        try:
            arrays = _arrays(file, parts)
        except (ValueError, KeyError, TypeError) as error:
            raise ModelFileError(f"{path} is damaged ({error}). Save the model again or fetch a fresh copy.") from error
    if metadata["sthash"] != _signed(text, arrays):
        raise ModelFileError(f"{path} is damaged: its checksum does not match. Save the model again.")
    return header, arrays


def _contents(file: BinaryIO) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Return the metadata of a safetensors file, and the dtype, shape and place of each array."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(MOST_HEADER, status.st_size - 8):
        raise ValueError("its header has no valid length")
    parts = json.loads(file.read(length).decode())
    return parts.pop("__metadata__", {}), parts


def _arrays(file: BinaryIO, parts: dict[str, dict[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays, which fill the rest of the file one after the other."""
    left = os.fstat(file.fileno()).st_size - file.tell()
    arrays: dict[str, npt.NDArray[Any]] = {}
    end = 0
    for name, part in sorted(parts.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (first, last) = np.dtype(DTYPES[part["dtype"]]), part["shape"], part["data_offsets"]
        if not all(type(side) is int and 0 <= side < 1 << 48 for side in shape) or len(shape) > 8:
            raise ValueError(f"{name!r} has the shape {shape!r}")
        if type(first) is not int or first != end or last - first != math.prod(shape) * dtype.itemsize or last > left:
            raise ValueError(f"{name!r} does not lie where it should")
        array = np.empty(math.prod(shape), dtype=dtype)
        if file.readinto(array.view(np.uint8).data) != last - first:  # type: ignore[attr-defined]
            raise ValueError("it ends too soon")
        if dtype == np.bool_ and (array.view(np.uint8) > 1).any():
            raise ValueError(f"{name!r} holds other values than true and false")
        arrays[name] = array.reshape(shape)
        end = last
    if end != left:
        raise ValueError("it has bytes that belong to no array")
    return arrays


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
