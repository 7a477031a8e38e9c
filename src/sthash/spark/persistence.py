"""Saving a model in a folder of any file system that Spark can reach: JSON, and sthash's own model files.

The layout is Spark's: ``metadata/`` holds class, uid and params as JSON. Beside it lie the files that `sthash.load`
reads. A folder is written under another name and renamed when it is whole.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from sthash.model_file import ModelFileError
from sthash.spark.learnt import Files, restore

if TYPE_CHECKING:
    from sthash.spark.model import SelfTaughtHashingModel

FORMAT = 1
_PIECE = 1 << 23


class ModelWriter(MLWriter):
    """Writes a model: all of it or nothing."""

    def __init__(self, model: SelfTaughtHashingModel) -> None:
        super().__init__()
        self._model = model

    def save(self, path: str) -> None:
        """Write to a path, which must not exist unless ``overwrite()`` was called."""
        system, target = _located(self.sparkSession, path)
        if system.exists(target) and not self.shouldOverwrite:
            raise FileExistsError(f"{path} exists already; use write().overwrite().save(path) to replace it.")
        unfinished = f"{path.rstrip('/')}.{uuid.uuid4().hex}.saving"
        temporary = _located(self.sparkSession, unfinished)[1]
        try:
            self.saveImpl(unfinished)
            system.delete(target, True)
            if not system.rename(temporary, target):
                raise OSError(f"cannot rename {unfinished} to {path}.")
        finally:
            system.delete(temporary, True)

    def saveImpl(self, path: str) -> None:
        """Write the parts of the folder."""
        files = self._model.learnt.files
        extra = {"sthash": {"format": FORMAT, "learntOn": self._model.learnt.learnt_on, "files": sorted(files)}}
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession, extraMetadata=extra)
        for name, content in files.items():
            _write(self.sparkSession, f"{path}/{name}", content)


class ModelReader(MLReader["SelfTaughtHashingModel"]):
    """Reads what `ModelWriter` wrote."""

    def __init__(self, kind: type[SelfTaughtHashingModel]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> SelfTaughtHashingModel:
        """Read a model from a path."""
        system, target = _located(self.sparkSession, f"{path}/metadata")
        if not system.exists(target):
            raise FileNotFoundError(f"{path} is no saved model: it has no metadata; pass the folder that save made.")
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        expected = f"{self._kind.__module__}.{self._kind.__name__}"
        if metadata.get("class") != expected or "sthash" not in metadata:
            raise ModelFileError(f"{path} holds a {metadata.get('class')}, not a {expected}.")
        version = metadata["sthash"]["format"]
        if version != FORMAT:
            raise ModelFileError(
                f"{path} has format {version}, but this sthash reads format {FORMAT}; "
                "upgrade sthash if the model is from a newer version."
            )
        files: Files = {name: _read(self.sparkSession, f"{path}/{name}") for name in metadata["sthash"]["files"]}
        model = self._kind(restore(files, metadata["sthash"]["learntOn"], path))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _located(spark: Any, path: str) -> tuple[Any, Any]:
    """Give the Hadoop file system of a path, and the path as it knows it."""
    location = spark._jvm.org.apache.hadoop.fs.Path(path)
    return location.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), location


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
        raise FileNotFoundError(f"{path} is missing; the saved model is not whole: save it again.")
    stream = system.open(location)
    try:
        size = system.getFileStatus(location).getLen()
        pieces = [bytes(stream.readNBytes(min(_PIECE, size - start))) for start in range(0, size, _PIECE)]
    finally:
        stream.close()
    return b"".join(pieces)
