"""A model as it travels to the executors: the bytes of its model file; and what it makes of a column there."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sthash import model_file
from sthash.model import EncodedRows, TextModel, VectorModel
from sthash.model_file import ModelFileError
from sthash.rows import is_sparse, row_parts
from sthash.spark.arrow import column_rows, texts

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


def shared_model(shared: Broadcast[bytes]) -> HashingModel:
    """Return the model of a broadcast, in a worker."""
    return _worker_model(shared.value)


@lru_cache(maxsize=4)
def _worker_model(content: bytes) -> HashingModel:
    """Read a model once per worker process; Spark runs one task per core, so each is given one thread."""
    model: HashingModel = from_bytes(content)
    return model.with_threads(1)


def encode_column(model: HashingModel, column: pa.Array, name: str) -> EncodedRows:
    """Return the unit rows and the codes of a column of texts or vectors."""
    if isinstance(model, TextModel):
        return model.encode(texts(column, name))
    rows = column_rows(column, model.n_columns, name)
    parts = row_parts(rows)
    n_rows = rows.shape[0]
    indices = parts.indices if is_sparse(rows) else np.tile(parts.indices, n_rows)
    blank = EncodedRows(parts.indptr, indices, parts.values, np.zeros((n_rows, model.n_bits), np.float32))
    return EncodedRows(blank.indptr, blank.indices, blank.values, model.margins(blank))


def column_cosines(model: HashingModel, a: pa.Array, b: pa.Array) -> npt.NDArray[np.float32]:
    """Return the cosine of each text or vector of ``a`` with the one of ``b`` in the same row."""
    import scipy.sparse as sp

    left, right = (
        sp.csr_array((rows.values, rows.indices, rows.indptr), shape=(len(rows), model.n_columns))
        for rows in (encode_column(model, a, "a"), encode_column(model, b, "b"))
    )
    return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float32).ravel()
