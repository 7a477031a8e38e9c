"""A model as it travels to the executors: the bytes of its model file; and what it makes of a column there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sthash import model_file
from sthash.model import Encoded, TextModel, VectorModel
from sthash.model_file import ModelFileError
from sthash.spark.arrow import column_rows, texts
from sthash.vectors.rows import Rows

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark import Broadcast

HashingModel = TextModel | VectorModel


def to_bytes(model: HashingModel) -> bytes:
    """Return the content of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        return path.read_bytes()


def from_bytes(content: bytes, where: str = "the model") -> Any:
    """Read the content of a model file; ``where`` is for the message of an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        try:
            return model_file.load(path)
        except ModelFileError as error:
            raise ModelFileError(str(error).replace(str(path), where)) from error


class SharedModel:
    """A model to broadcast. It travels as the bytes of its file, and arrives as the model.

    So a worker keeps the model alone, and reads it once. Spark runs one task per core, so it has one thread there.
    """

    def __init__(self, model: HashingModel) -> None:
        self._model = model

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (to_bytes(self._model),)


def _arrived(content: bytes) -> HashingModel:
    model: HashingModel = from_bytes(content)
    return model.with_threads(1)


def shared_model(shared: Broadcast[Any]) -> HashingModel:
    """Return the model of a broadcast, in a worker."""
    model: HashingModel = shared.value
    return model


def encode_column(model: HashingModel, column: pa.Array, name: str) -> Encoded:
    """Return the unit rows and the codes of a column of texts or vectors."""
    if isinstance(model, TextModel):
        return model.encode(texts(column, name))
    rows = Rows.of(column_rows(column, model.n_columns, name))
    return Encoded(rows, model.margins(rows))


def column_cosines(model: HashingModel, a: pa.Array, b: pa.Array) -> npt.NDArray[np.float32]:
    """Return the cosine of each text or vector of ``a`` with the one of ``b`` in the same row."""
    left, right = (encode_column(model, column, name).rows.to_scipy() for column, name in ((a, "a"), (b, "b")))
    return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float32).ravel()
