"""Engines that hold codes, behind one protocol. A new one gets a class here and a line in ENGINES.

Positions stand for ids: document i of the corpus is i, whatever an engine calls it. Every engine keeps that order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pytest

from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer
from sthash.codes import Codes
from support.components import require

Neighbor = tuple[int, int]  # distance, position
Pair = tuple[int, int, int]  # positions, the smaller first, and distance


@dataclass(frozen=True)
class Corpus:
    """Texts, and the model that every engine uses."""

    texts: list[str]
    vectorizer: TextVectorizer
    hasher: SelfTaughtHashing

    @classmethod
    def learn(cls, texts: list[str], n_bits: int) -> Corpus:
        vectorizer = TextVectorizer()
        hasher = SelfTaughtHashing(n_bits, n_neighbors=8).fit(vectorizer.fit_transform(texts))
        return cls(texts, vectorizer, hasher)

    @property
    def n_bits(self) -> int:
        return self.hasher.n_bits

    @cached_property
    def codes(self) -> Codes:
        return self.encode(self.texts)

    def encode(self, texts: list[str]) -> Codes:
        return self.hasher.transform(self.vectorizer.transform(texts))


class Engine(Protocol):
    """What every engine answers, asked by text."""

    def codes(self) -> Codes:
        """Give the codes it holds, by position."""

    def nearest(self, query: str, k: int) -> list[Neighbor]:
        """Give the k nearest documents."""

    def within(self, query: str, radius: int) -> list[Neighbor]:
        """Give all documents within a radius."""

    def pairs(self, radius: int) -> set[Pair]:
        """Give all pairs within a radius; an engine that has no self-join skips the test."""


class IndexEngine:
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._index = HammingIndex.build(corpus.codes, n_bits=corpus.n_bits)

    def codes(self) -> Codes:
        return self._index.codes(self._index.ids)

    def nearest(self, query: str, k: int) -> list[Neighbor]:
        ids, distances = self._index.search(self._corpus.encode([query]), k)
        return neighbors(ids[0], distances[0])

    def within(self, query: str, radius: int) -> list[Neighbor]:
        _, ids, distances = self._index.radius_search(self._corpus.encode([query]), radius)
        return neighbors(ids, distances)

    def pairs(self, radius: int) -> set[Pair]:
        blocks = self._index.pairs(radius=radius)
        return {pair for block in blocks for pair in zip(*(part.tolist() for part in block), strict=True)}


class MilvusEngine:
    def __init__(self, corpus: Corpus, uri: str) -> None:
        from sthash.milvus import MilvusCollection
        from sthash.model import TextModel

        self._corpus = corpus
        self._there = MilvusCollection.open(
            uri, "contract", TextModel.of(corpus.vectorizer, corpus.hasher), create=True
        )
        self._there.upsert({"key": str(place), "text": text} for place, text in enumerate(corpus.texts))
        # Ids are times there; they ascend as the documents came.
        self._first = int(self._there.radius_search(corpus.codes[:1], corpus.n_bits)[1].min())

    def codes(self) -> Codes:
        rows = self._there._table.call("query", filter="id >= 0", output_fields=["id", "code"], limit=9999)
        stored = {row["id"] - self._first: row["code"][0] for row in rows}
        return np.array([np.frombuffer(stored[place], np.uint8) for place in range(len(stored))])

    def nearest(self, query: str, k: int) -> list[Neighbor]:
        ids, distances = self._there.search_codes(self._corpus.encode([query]), k)
        return neighbors(ids[0] - np.where(ids[0] < 0, 0, self._first), distances[0])

    def within(self, query: str, radius: int) -> list[Neighbor]:
        _, ids, distances = self._there.radius_search(self._corpus.encode([query]), radius)
        return neighbors(ids - self._first, distances)

    def pairs(self, radius: int) -> set[Pair]:
        pytest.skip("Milvus has no self-join")

    def close(self) -> None:
        self._there.close()


class SparkEngine:
    def __init__(self, corpus: Corpus, spark: object) -> None:
        from sthash.model import TextModel
        from sthash.spark import SelfTaughtHashingModel

        self._spark = spark
        self._n_bits = corpus.n_bits
        self._model = SelfTaughtHashingModel(TextModel.of(corpus.vectorizer, corpus.hasher))
        self._model.setInputCol("text").setOutputCol("code").setIdCol("id")
        self._table = self._model.transform(self._documents(corpus.texts).repartition(3)).cache()

    def _documents(self, texts: list[str]) -> object:
        return self._spark.createDataFrame(list(enumerate(texts)), "id long, text string")

    def codes(self) -> Codes:
        rows = self._table.select("id", "code").orderBy("id").collect()
        return np.array([np.frombuffer(row["code"], np.uint8) for row in rows])

    def nearest(self, query: str, k: int) -> list[Neighbor]:
        found = self._model.approxNearestNeighbors(self._table, query, k).select("distCol", "id").collect()
        return [(int(row["distCol"]), row["id"]) for row in found]

    def within(self, query: str, radius: int) -> list[Neighbor]:
        pairs = self._model.approxSimilarityJoin(self._documents([query]), self._table, radius + 1)
        found = pairs.selectExpr("distCol", "datasetB.id as id").orderBy("distCol", "id").collect()
        return [(int(row["distCol"]), row["id"]) for row in found]

    def pairs(self, radius: int) -> set[Pair]:
        from sthash.spark import hamming_self_join

        found = hamming_self_join(self._table, radius, n_bits=self._n_bits, id_col="id").collect()
        assert len(set(found)) == len(found)
        return {(row["idA"], row["idB"], int(row["distCol"])) for row in found}


def neighbors(ids: npt.NDArray[np.int64], distances: npt.NDArray[np.int32]) -> list[Neighbor]:
    """Put distances and positions together; -1 marks a missing one."""
    found = zip(distances.tolist(), ids.tolist(), strict=True)
    return [(distance, place) for distance, place in found if distance >= 0]


@contextlib.contextmanager
def index_engine(corpus: Corpus, request: pytest.FixtureRequest) -> Iterator[Engine]:
    yield IndexEngine(corpus)


@contextlib.contextmanager
def milvus_engine(corpus: Corpus, request: pytest.FixtureRequest) -> Iterator[Engine]:
    require("Milvus Lite")
    folder = request.getfixturevalue("tmp_path_factory").mktemp("milvus")
    with contextlib.closing(MilvusEngine(corpus, str(folder / "contract.db"))) as engine:
        yield engine


@contextlib.contextmanager
def spark_engine(corpus: Corpus, request: pytest.FixtureRequest) -> Iterator[Engine]:
    yield SparkEngine(corpus, request.getfixturevalue("spark"))


ENGINES: dict[str, Callable[[Corpus, pytest.FixtureRequest], contextlib.AbstractContextManager[Engine]]] = {
    "HammingIndex": index_engine,
    "Milvus": milvus_engine,
    "Spark": spark_engine,
}
