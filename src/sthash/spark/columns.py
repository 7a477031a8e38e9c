"""DataFrames: finding columns, telling what is in them, distances between codes, and tables that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, NumericType, StringType

from sthash.codes import row_distances
from sthash.spark.arrow import packed_codes


def kept(table: DataFrame) -> DataFrame:
    """Keep a table, so that it is made once: in the checkpoint directory, if there is one, or on the executors."""
    if table.sparkSession.sparkContext.getCheckpointDir() is None:
        return table.persist(StorageLevel.MEMORY_AND_DISK)
    return table.checkpoint()


def quoted(name: str) -> str:
    """A column's name as an expression: dots in it are part of the name."""
    return "`" + name.replace("`", "``") + "`"


def check_columns(dataset: DataFrame, names: Sequence[str]) -> None:
    """Raise if a column is missing."""
    for name in names:
        if name not in dataset.columns:
            raise ValueError(f"column {name!r} is missing. There are: {', '.join(dataset.columns) or 'none'}.")


def check_new(dataset: DataFrame, name: str) -> None:
    """Raise if there is such a column already."""
    if name in dataset.columns:
        raise ValueError(f"column {name!r} exists already. Drop it, or give the new one another name.")


def check_no_stream(dataset: DataFrame) -> None:
    """Raise if the table is a stream, which Spark can transform, but neither sort nor join by codes."""
    if dataset.isStreaming:
        raise ValueError(
            "a stream cannot be learned from, sorted or joined by codes. Do so with each of its batches: "
            "stream.writeStream.foreachBatch(function)."
        )


def is_text(dataset: DataFrame, name: str) -> bool:
    """Whether the column has texts; otherwise it has vectors, or else is refused."""
    check_columns(dataset, [name])
    kind = dataset.schema[name].dataType
    if isinstance(kind, StringType):
        return True
    if isinstance(kind, VectorUDT) or (isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType)):
        return False
    raise TypeError(f"column {name!r} is of type {_shown(kind)}. Pass a column of string, vector or array<float>.")


def check_codes(dataset: DataFrame, name: str) -> None:
    """Raise if the column is missing or not binary."""
    check_columns(dataset, [name])
    kind = dataset.schema[name].dataType
    if not isinstance(kind, BinaryType):
        raise TypeError(f"column {name!r} is of type {_shown(kind)}. Pass the binary column that transform adds.")


def hamming_distance(a: Column | str, b: Column | str) -> Column:
    """Return the number of bits in which two columns of codes differ; null where one of them is null.

    Examples
    --------
    Codes less than three bits away from one code, ``code``, of bytes::

        encoded.where(hamming_distance("code", F.lit(bytearray(code))) < 3)
    """
    column: Column = _distance(a, b)
    return column


@arrow_udf(IntegerType())  # type: ignore[call-overload, untyped-decorator]
def _distance(a: pa.Array, b: pa.Array) -> pa.Array:
    known = np.asarray(a.is_valid()) & np.asarray(b.is_valid())
    mask = pa.array(known)
    left = packed_codes(a.filter(mask), None, "a")
    right = packed_codes(b.filter(mask), left.shape[1], "b")
    distances = np.zeros(len(a), dtype=np.int32)
    distances[known] = row_distances(left, right)
    return pa.array(distances, mask=~known)


def _shown(kind: DataType) -> str:
    return kind.simpleString()
