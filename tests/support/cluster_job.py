"""A driver program for the test on a cluster: python cluster_job.py MASTER FOLDER.

It writes what it finds to ``FOLDER/answers.json``. In the middle of its last job the tasks wait for the file ``go``.
"""

import json
import sys
import time
from pathlib import Path

from support.spark import corpus, session

BITS = 24
RADIUS = 3


def held(folder):
    """Make a step that tells that it has begun, and goes on when it is told to."""

    def hold(batches):
        import os

        from pyspark import TaskContext

        Path(folder, f"begun-{TaskContext.get().partitionId()}-{os.getpid()}").touch()
        while not Path(folder, "go").exists():
            time.sleep(0.05)
        yield from batches

    return hold


def main(master, folder):
    """Learn, encode, search, join, group; then join again while a worker is killed."""
    with session(master, folder, spark_executor_memory="600m", spark_sql_adaptive_enabled="false") as spark:
        from sthash.spark import SelfTaughtHashing, hamming_self_join, near_duplicates

        texts = list(enumerate(corpus()))
        table = spark.createDataFrame(texts, "id long, text string").repartition(4)
        model = SelfTaughtHashing(inputCol="text", numBits=BITS, numNeighbors=8, sampleSize=250, idCol="id").fit(table)
        model.save(str(folder / "model"))
        encoded = model.transform(table).cache()
        near = model.approxNearestNeighbors(encoded, texts[5][1], 20)
        groups = near_duplicates(encoded, 1, n_bits=BITS, id_col="id")
        answers = {
            "hosts": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
            "codes": {row["id"]: bytes(row["code"]).hex() for row in encoded.collect()},
            "near": [(row["id"], row["distCol"]) for row in near.collect()],
            "groups": {row["id"]: row["group"] for row in groups.collect()},
        }
        pairs = hamming_self_join(encoded, RADIUS, n_bits=BITS, id_col="id")
        schema = pairs.schema
        answers["pairs"] = [tuple(row) for row in pairs.mapInArrow(held(str(folder)), schema).collect()]
        answers["hosts left"] = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
