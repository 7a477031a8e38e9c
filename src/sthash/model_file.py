"""Model files: safetensors for the arrays, JSON for the rest, one checksum over both. No code of a file is ever run.

A file has one metadata entry, ``sthash``: a SHA-256 checksum in hexadecimal, a line feed, and a JSON header (format,
kind, config). The checksum is over the header and, in the order of their names, over the name, dtype, shape and bytes
of each array. The same model always gives the same bytes.

A file may be untrusted. Its sizes are checked before anything is allocated, and all defects raise `ModelFileError`. It
is read, not mapped, so a file that shrinks while it is read cannot crash the process; `load_mapped` keeps the arrays in
the file.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import stat
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt

from sthash.files import release, replacing

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
    "WordIndex": "sthash.index.words",
}


NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
ALIGNMENT = 64  # of the first array
STREAMED_BYTES = 1 << 24  # at once


class ModelFileError(ValueError):
    """A file is not a model, is damaged, or was written by a newer version."""


@dataclass(frozen=True)
class Streamed:
    """An array that is written piece by piece; ``read(first, last)`` returns some of its rows."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    read: Callable[[int, int], npt.NDArray[Any]]


Arrays = dict[str, npt.NDArray[Any]]
Tensor = npt.NDArray[Any] | Streamed


class MappedFile:
    """A file of which arrays are mapped, and which must stay as it is."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self._status = self._now()

    @classmethod
    def of(cls, mapped: Any) -> MappedFile | None:
        """Return the file of a mapped array; None if it has no name."""
        if mapped.filename is None:
            return None
        with Path(mapped.filename).open("rb") as file:
            return cls(Path(mapped.filename), file)

    def _now(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns

    def check(self) -> None:
        """Refuse a file that was changed in place. One that was replaced or deleted is still the old one."""
        if self._now() != self._status:
            raise ModelFileError(
                f"{self._path} was changed while it was mapped. Open it or build from it again. Replace the file of an "
                "index only with save, which leaves the old file to those who have it open."
            )


def write(path: str | PathLike[str], kind: str, config: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a model, given its arrays, some of them perhaps `Streamed`; the path never holds a part of it."""
    tensors: dict[str, Tensor] = {
        name: array if isinstance(array, Streamed) else np.ascontiguousarray(array) for name, array in arrays.items()
    }
    header = json.dumps({"format": FORMAT, "kind": kind, "config": config}, sort_keys=True)
    if len(json.dumps(header)) > MOST_HEADER - (1 << 16):
        raise ValueError(f"the settings of this {kind} take more than {MOST_HEADER >> 20} MiB. Use fewer stop words.")
    # Wide types first, so that every array lies at a multiple of its width.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    contents: dict[str, Any] = {"__metadata__": {"sthash": _signed(header, tensors)}}
    end = 0
    for name in order:
        first, end = end, end + math.prod(tensors[name].shape) * tensors[name].dtype.itemsize
        dtype, shape = NAMES[tensors[name].dtype], list(tensors[name].shape)
        contents[name] = {"dtype": dtype, "shape": shape, "data_offsets": [first, end]}
    text = json.dumps(contents, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            for piece in _pieces(tensors[name]):
                file.write(piece.data)


def _pieces(tensor: Tensor) -> Iterator[npt.NDArray[Any]]:
    """Return the array, in one piece or several, without those that are empty."""
    mapped = isinstance(tensor, np.memmap)
    if not (mapped or isinstance(tensor, Streamed)):
        if tensor.size:
            yield tensor
        return
    rows = max(1, STREAMED_BYTES // max(1, math.prod(tensor.shape[1:]) * tensor.dtype.itemsize))
    for first in range(0, tensor.shape[0], rows):
        last = min(first + rows, tensor.shape[0])
        yield tensor.read(first, last) if isinstance(tensor, Streamed) else tensor[first:last]
        if mapped:
            release(tensor)


def load(path: str | PathLike[str]) -> Any:
    """Read a model file. The file may be untrusted: nothing in it is run. See `sthash.load`."""
    return _model(Path(path), *_read(Path(path)))


def load_as(kind: type[Loaded], path: str | PathLike[str]) -> Loaded:
    """Read a model of this class; a file that holds another one is refused."""
    return _of_kind(kind, load(path), path)


def load_mapped(kind: type[Loaded], path: str | PathLike[str], names: tuple[str, ...]) -> tuple[Loaded, MappedFile]:
    """Read a model of this class whose arrays of some names stay in the file; return also the file."""
    with Path(path).open("rb") as file:
        mapped = MappedFile(Path(path), file)
        return _of_kind(kind, _model(Path(path), *_read_open(Path(path), file, names)), path), mapped


def _of_kind(kind: type[Loaded], model: Any, path: str | PathLike[str]) -> Loaded:
    if not isinstance(model, kind):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a {kind.__name__}. Read it with sthash.load.")
    return model


def _model(path: Path, header: dict[str, Any], arrays: Arrays) -> Any:
    kind = header["kind"]
    model = getattr(importlib.import_module(KINDS[kind]), kind)
    try:
        return model._restored(header["config"], arrays)
    except Exception as error:  # a file that was made up may break anything
        raise ModelFileError(f"{path} is not a valid {kind} model: {error}. Save the model again.") from error


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


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    with path.open("rb") as file:
        return _read_open(path, file, ())


def _read_open(path: Path, file: BinaryIO, mapped: tuple[str, ...]) -> tuple[dict[str, Any], Arrays]:
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
        arrays = _arrays(file, parts, mapped)
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


def _arrays(file: BinaryIO, parts: dict[str, dict[str, Any]], mapped: tuple[str, ...]) -> Arrays:
    """Read or map the arrays, which fill the rest of the file one after the other."""
    start = file.tell()
    left = os.fstat(file.fileno()).st_size - start
    arrays: Arrays = {}
    end = 0
    for name, part in sorted(parts.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (first, last) = np.dtype(DTYPES[part["dtype"]]), part["shape"], part["data_offsets"]
        if not all(type(side) is int and 0 <= side < 1 << 48 for side in shape) or len(shape) > 8:
            raise ValueError(f"{name!r} has the shape {shape!r}")
        if type(first) is not int or first != end or last - first != math.prod(shape) * dtype.itemsize or last > left:
            raise ValueError(f"{name!r} does not lie where it should")
        end = last
        if name in mapped and last > first and (start + first) % dtype.itemsize == 0:
            arrays[name] = np.memmap(file, dtype, "r", start + first, tuple(shape))
            continue
        file.seek(start + first)
        array = np.empty(math.prod(shape), dtype=dtype)
        if file.readinto(array.view(np.uint8).data) != last - first:  # type: ignore[attr-defined]
            raise ValueError("it ends too soon")
        if dtype == np.bool_ and (array.view(np.uint8) > 1).any():
            raise ValueError(f"{name!r} holds other values than true and false")
        arrays[name] = array.reshape(shape)
    if end != left:
        raise ValueError("it has bytes that belong to no array")
    return arrays


def _header(path: Path, text: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
        version, kind = header["format"], header["kind"]
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


def _signed(header: str, arrays: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        for piece in _pieces(array):
            digest.update(piece.data)
    return f"{digest.hexdigest()}\n{header}"
