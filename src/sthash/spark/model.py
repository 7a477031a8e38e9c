"""`SelfTaughtHashingModel`: encodes where the data lies, and searches and joins by the codes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import pyarrow as pa
from pyspark import Broadcast, SparkContext
from pyspark.ml import Model
from pyspark.ml.linalg import Vector
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, FloatType

from sthash.checks import check_whole
from sthash.codes import Codes
from sthash.spark.arrow import binary_column, spread_over
from sthash.spark.columns import (
    check_codes,
    check_columns,
    check_new,
    check_no_stream,
    hamming_distance,
    is_text,
    quoted,
)
from sthash.spark.join import MOST_COPIES, hamming_join
from sthash.spark.model_bytes import HashingModel, SharedModel, column_cosines, encode_column, shared_model
from sthash.spark.params import SelfTaughtHashingParams
from sthash.spark.persistence import ModelReader, ModelWriter


class SelfTaughtHashingModel(SelfTaughtHashingParams, Model, MLReadable["SelfTaughtHashingModel"], MLWritable):
    """What `SelfTaughtHashing` has learned. The codes equal those of the same model on one machine to the bit.

    Parameters
    ----------
    model : TextModel or VectorModel
        It can also come from one machine.
    """

    def __init__(self, model: HashingModel) -> None:
        super().__init__()
        if model.metric != "cosine":
            raise ValueError(
                f"the model compares vectors by metric={model.metric!r}, but Spark does so by cosine. "
                "Learn one with metric='cosine'."
            )
        self.model = model
        self._shared: tuple[SparkContext, Broadcast[SharedModel]] | None = None

    def setInputCol(self, value: str) -> Self:
        """Set what to encode."""
        return self._set(inputCol=value)

    def setOutputCol(self, value: str) -> Self:
        """Set the name of the codes' column."""
        return self._set(outputCol=value)

    def setHandleInvalid(self, value: str) -> Self:
        """Set what to do with nulls: ``error``, ``skip`` or ``keep``."""
        return self._set(handleInvalid=value)

    def setIdCol(self, value: str) -> Self:
        """Set the column that orders rows which are equally near."""
        return self._set(idCol=value)

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self.model.n_bits

    def encode(self, documents: list[Any]) -> Codes:
        """Return the codes of a few texts or vectors, here on the driver."""
        if not self.model.dense:
            column = pa.array(documents, pa.string())
        else:
            rows = [value.toArray() if isinstance(value, Vector) else value for value in documents]
            column = pa.array(rows, pa.list_(pa.float64()))
        return encode_column(self.model, column, "documents").codes

    def _transform(self, dataset: DataFrame) -> DataFrame:
        name, output = self.getInputCol(), self.getOutputCol()
        if is_text(dataset, name) == self.model.dense:
            learned, given = ("vectors", "texts") if self.model.dense else ("texts", "vectors")
            raise TypeError(
                f"column {name!r} has {given}, but the model has learned from {learned}. Set another inputCol."
            )
        check_new(dataset, output)
        if self.getHandleInvalid() == "skip":
            dataset = dataset.where(F.col(quoted(name)).isNotNull())
        return dataset.withColumn(output, self._encoded(dataset, name))

    def _encoded(self, dataset: DataFrame, name: str) -> Column:
        shared = self._broadcast(dataset.sparkSession.sparkContext)
        keeps = self.getHandleInvalid() == "keep"

        def encode(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
            model = shared_model(shared)
            for batch in batches:
                present = batch.drop_null() if keeps else batch
                codes = binary_column(encode_column(model, present, name).codes)
                yield spread_over(codes, batch) if len(present) < len(batch) else codes

        column: Column = arrow_udf(encode, BinaryType())(quoted(name))  # type: ignore[call-overload]
        return column

    def _broadcast(self, context: SparkContext) -> Broadcast[SharedModel]:
        if self._shared is None or self._shared[0] is not context:
            self._shared = (context, context.broadcast(SharedModel(self.model)))
        return self._shared[1]

    def approxNearestNeighbors(
        self, dataset: DataFrame, key: Any, numNearestNeighbors: int, distCol: str = "distCol"
    ) -> DataFrame:
        """Find the rows whose codes are nearest to that of a key. As in Spark's own LSH, but exact in Hamming space.

        Parameters
        ----------
        dataset : DataFrame
            With codes, or to be encoded.
        key : str, or Vector, list or array of numbers
        numNearestNeighbors : int
        distCol : str
            Column of the distances, in bits.

        Returns
        -------
        neighbors : DataFrame
            The rows of the dataset with their distances, ordered by distance, then by ``idCol``, if that is set.
        """
        check_whole("numNearestNeighbors", numNearestNeighbors)
        check_no_stream(dataset)
        encoded = self._with_codes(dataset)
        check_new(encoded, distCol)
        ties = [name] if (name := self.getIdCol()) else []
        check_columns(encoded, ties)
        code = F.lit(bytearray(self.encode([key])[0].tobytes()))
        near = encoded.withColumn(distCol, hamming_distance(F.col(quoted(self.getOutputCol())), code))
        return near.orderBy(*map(quoted, [distCol, *ties])).limit(numNearestNeighbors)

    def approxSimilarityJoin(
        self,
        datasetA: DataFrame,
        datasetB: DataFrame,
        threshold: float,
        distCol: str = "distCol",
        maxCopies: int | None = MOST_COPIES,
    ) -> DataFrame:
        """Find all pairs of rows less than ``threshold`` bits apart. As in Spark's own LSH, but exact.

        Parameters
        ----------
        datasetA, datasetB : DataFrame
            With codes, or to be encoded. They are read several times: cache them if they are not cheap to make. A
            stream is refused: join its batches, in ``foreachBatch``.
        threshold : float
            As in Spark, a pair must be nearer than this: 4 finds pairs up to three bits apart.
        distCol : str
            Column of the distances, in bits.
        maxCopies : int, optional
            If more than so many rows of each dataset have codes near each other, the join fails with an error that says
            so, instead of pairing each with each; None allows any number. `hamming_self_join` takes the first of
            such rows for all of them.

        Returns
        -------
        pairs : DataFrame
            With the columns ``datasetA`` and ``datasetB``, structs of the rows, and the distance. Only the columns that
            are used afterwards are sent: select the ids, and only ids are joined. A dataset that is
            joined with itself gives every pair in both orders, and every row with itself.
        """
        if not threshold > 0:
            raise ValueError(f"threshold={threshold!r} must be positive: pairs must be nearer than this.")
        radius = self.n_bits if threshold > self.n_bits else math.ceil(threshold) - 1
        sides = self._with_codes(datasetA), self._with_codes(datasetB)
        return hamming_join(
            *sides,
            radius,
            n_bits=self.n_bits,
            code_col=self.getOutputCol(),
            dist_col=distCol,
            most_copies=maxCopies,
        )

    def cosine(self, a: Column | str, b: Column | str) -> Column:
        """Return the cosine of the vectors of two columns of texts, or of vectors: to check the pairs of a join.

        Examples
        --------
        Of the pairs up to three bits apart, those of near-duplicates::

            pairs = model.approxSimilarityJoin(encoded, encoded, 4).where("datasetA.id < datasetB.id")
            pairs.where(model.cosine("datasetA.text", "datasetB.text") >= 0.9)
        """
        shared = self._broadcast(SparkSession.active().sparkContext)

        def cosines(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
            model = shared_model(shared)
            for left, right in batches:
                yield pa.array(column_cosines(model, left, right), pa.float32())

        column: Column = arrow_udf(cosines, FloatType())(a, b)  # type: ignore[call-overload]
        return column

    def _with_codes(self, dataset: DataFrame) -> DataFrame:
        if self.getOutputCol() not in dataset.columns:
            return self.transform(dataset)
        check_codes(dataset, self.getOutputCol())
        return dataset

    def write(self) -> ModelWriter:
        """Return the writer, for ``model.write().overwrite().save(path)``."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader[Self]:
        """Return the reader."""
        return ModelReader(cls)
