"""A table of texts, and the model that Spark learned from it."""

import pytest

from support.spark import BITS, corpus


@pytest.fixture(scope="session")
def table(spark):
    return spark.createDataFrame(list(enumerate(corpus())), "id long, text string").repartition(4)


@pytest.fixture(scope="session")
def model(table):
    from sthash.spark import SelfTaughtHashing

    estimator = SelfTaughtHashing(inputCol="text", numBits=BITS, numNeighbors=8, sampleSize=250, seed=3, idCol="id")
    return estimator.fit(table)


@pytest.fixture(scope="session")
def encoded(model, table):
    return model.transform(table).cache()
