"""Saving a model in a folder of any file system that Spark can reach: JSON, and sthash's own model file.

The layout is Spark's: ``metadata/`` holds class, uid and params as JSON. Beside it lies ``model.safetensors``, which
`sthash.load` reads. A folder is written under another name and renamed when it is whole. An old model is renamed
before, and deleted after: there is a whole model at every moment, at the path or beside it, where `ModelReader` looks.
"""

from __future__ import annotations

import re
import uuid
from typing import Any, Generic, TypeVar

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from sthash.model import TextModel, VectorModel
from sthash.model_file import ModelFileError
from sthash.spark.model_bytes import HashingModel, from_bytes, to_bytes

FORMAT = 1
MODEL_FILE = "model.safetensors"
_PIECE = 1 << 23
Saved = TypeVar("Saved", bound=Any)


class ModelWriter(MLWriter):
    """Writes a model: all of it or nothing."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self._instance = instance

    def save(self, path: str) -> None:
        """Write to a path, which must not exist unless ``overwrite()`` was called."""
        path = path.rstrip("/")
        system, target = _located(self.sparkSession, path)
        if system.exists(target) and not self.shouldOverwrite:
            raise FileExistsError(f"{path} exists already. Use write().overwrite().save(path) to replace it.")
        mark = uuid.uuid4().hex
        unfinished, replaced = (
            _located(self.sparkSession, f"{path}.{mark}.{end}")[1] for end in ("saving", "replaced")
        )
        try:
            self.saveImpl(f"{path}.{mark}.saving")
            old = system.exists(target)
            if old:
                _rename(system, target, replaced)
            try:
                _rename(system, unfinished, target)
            except BaseException:
                if old:
                    system.rename(replaced, target)
                raise
            for left_over in _replaced(system, target):
                system.delete(left_over, True)
        finally:
            system.delete(unfinished, True)

    def saveImpl(self, path: str) -> None:
        """Write the parts of the folder."""
        extra = {"sthash": {"format": FORMAT}}
        DefaultParamsWriter.saveMetadata(self._instance, path, self.sparkSession, extraMetadata=extra)
        _write(self.sparkSession, f"{path}/{MODEL_FILE}", to_bytes(self._instance.model))


class ModelReader(MLReader[Saved], Generic[Saved]):
    """Reads what `ModelWriter` wrote."""

    def __init__(self, kind: type[Saved]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Saved:
        """Read a model from a path."""
        path = path.rstrip("/")
        system, target = _located(self.sparkSession, path)
        if not system.exists(target) and len(killed := _replaced(system, target)) == 1:
            path = killed[0].toString()  # a save was killed between its two renames
        if not system.exists(_located(self.sparkSession, f"{path}/metadata")[1]):
            raise FileNotFoundError(f"{path} is not a saved model: it has no metadata. Pass the folder that save made.")
        try:
            return self._loaded(path, DefaultParamsReader.loadMetadata(path, self.sparkSession))
        except (AttributeError, KeyError, TypeError, RecursionError) as error:
            raise ModelFileError(f"{path} has malformed metadata ({error!r}). Save the model again.") from error

    def _loaded(self, path: str, metadata: dict[str, Any]) -> Saved:
        expected = f"{self._kind.__module__}.{self._kind.__name__}"
        if metadata.get("class") != expected or "sthash" not in metadata:
            raise ModelFileError(f"{path} holds a {metadata.get('class')}, not a {expected}. Pass another folder.")
        version = metadata["sthash"].get("format")
        if version != FORMAT:
            raise ModelFileError(
                f"{path} has format {version}, but this sthash reads format {FORMAT}. "
                "Upgrade sthash if the model is from a newer version."
            )
        instance = self._kind(self._model(path))
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance

    def _model(self, path: str) -> HashingModel:
        model = from_bytes(_read(self.sparkSession, f"{path}/{MODEL_FILE}"), f"{path}/{MODEL_FILE}")
        if not isinstance(model, TextModel | VectorModel):
            raise ModelFileError(f"{path}/{MODEL_FILE} holds a {type(model).__name__}. Save the model again.")
        return model


def _located(spark: Any, path: str) -> tuple[Any, Any]:
    """Return the Hadoop file system of a path, and the path as it knows it."""
    location = spark._jvm.org.apache.hadoop.fs.Path(path)
    return location.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), location


def _rename(system: Any, source: Any, target: Any) -> None:
    if not system.rename(source, target):
        raise OSError(f"cannot rename {source.toString()} to {target.toString()}. Check the permissions of the folder.")


def _replaced(system: Any, target: Any) -> list[Any]:
    """Return what saves over a path have renamed and not yet deleted."""
    folder = target.getParent()
    if folder is None or not system.exists(folder):
        return []
    name = re.compile(rf"{re.escape(target.getName())}\.[0-9a-f]{{32}}\.replaced")
    return [status.getPath() for status in system.listStatus(folder) if name.fullmatch(status.getPath().getName())]


def _write(spark: Any, path: str, content: bytes) -> None:
    system, location = _located(spark, path)
    stream = system.create(location)
    try:
        for start in range(0, len(content), _PIECE):
            stream.write(bytearray(content[start : start + _PIECE]))
    finally:
        stream.close()


def _read(spark: Any, path: str) -> bytes:
    system, location = _located(spark, path)
    if not system.exists(location):
        raise FileNotFoundError(f"{path} is missing: the saved model is not whole. Save it again.")
    stream = system.open(location)
    try:
        size = system.getFileStatus(location).getLen()
        pieces = [bytes(stream.readNBytes(min(_PIECE, size - start))) for start in range(0, size, _PIECE)]
    finally:
        stream.close()
    return b"".join(pieces)
