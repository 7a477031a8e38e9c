"""Tables that several steps start from."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def kept(table: DataFrame) -> DataFrame:
    """Keep a table, so that it is made once: in the checkpoint directory, if there is one, or on the executors."""
    if table.sparkSession.sparkContext.getCheckpointDir() is None:
        return table.persist(StorageLevel.MEMORY_AND_DISK)
    return table.checkpoint()
