"""The params that estimator and model share, named in the style of Spark."""

from __future__ import annotations

from typing import Any, cast

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasHandleInvalid, HasInputCol, HasOutputCol, HasSeed

from sthash.hashing.sth import Recipe
from sthash.model.learning import LEARNING_SECONDS, Learning
from sthash.sizes import parse_size
from sthash.text import TextVectorizer

_NO_LIMIT = float(2**63 - 1)
SAMPLE_SIZE = 250_000


def _handling(value: str) -> str:
    if value not in ("error", "skip", "keep"):
        raise TypeError(f"handleInvalid={value!r} must be 'error', 'skip' or 'keep'.")
    return value


class SelfTaughtHashingParams(HasInputCol, HasOutputCol, HasSeed, HasHandleInvalid):
    """Params of `SelfTaughtHashing` and `SelfTaughtHashingModel`."""

    numBits: Param[int] = Param(Params._dummy(), "numBits", "bits of a code (>= 1)", TypeConverters.toInt)
    numNeighbors: Param[int] = Param(
        Params._dummy(), "numNeighbors", "neighbors of a document in the graph (>= 1)", TypeConverters.toInt
    )
    sampleSize: Param[int] = Param(
        Params._dummy(),
        "sampleSize",
        "largest number of documents, drawn at random, that the hash functions are learned from on the driver; "
        "vocabulary and document frequencies are always those of all documents",
        TypeConverters.toInt,
    )
    seconds: Param[float] = Param(
        Params._dummy(),
        "seconds",
        "learn from as many documents as take about this many seconds on two cores of the driver (> 0)",
        TypeConverters.toFloat,
    )
    memory: Param[int] = Param(
        Params._dummy(),
        "memory",
        "learn from as many documents as take about this much memory of the driver: bytes, or a str such as '4GB'; "
        "0 for a quarter of it, and at most 4 GiB",
        lambda value: 0 if value == 0 else parse_size("memory", value),
    )
    recipe: Param[str] = Param(
        Params._dummy(),
        "recipe",
        "'paper' is as published; 'neighbors' finds more of the nearest ones, 'topics' those on the same topic",
        TypeConverters.toString,
    )
    scatter: Param[float] = Param(
        Params._dummy(),
        "scatter",
        "weight of random hyperplanes that are mixed into the learned ones, relative to their size (>= 0)",
        TypeConverters.toFloat,
    )
    stopWords: Param[list[str]] = Param(
        Params._dummy(), "stopWords", "words of a text to leave out", TypeConverters.toListString
    )
    stemmer: Param[str] = Param(
        Params._dummy(), "stemmer", "name of a Snowball algorithm, or 'none'", TypeConverters.toString
    )
    weighting: Param[str] = Param(
        Params._dummy(), "weighting", "of the terms of a text: tfidf, bm25 or tf", TypeConverters.toString
    )
    minDF: Param[float] = Param(
        Params._dummy(),
        "minDF",
        "leave out terms in fewer documents: a number of them if >= 1, else their share",
        TypeConverters.toFloat,
    )
    maxDF: Param[float] = Param(
        Params._dummy(),
        "maxDF",
        "leave out terms in more documents: a number of them if >= 1, else their share",
        TypeConverters.toFloat,
    )
    vocabSize: Param[int] = Param(
        Params._dummy(),
        "vocabSize",
        "largest number of terms, those that occur most often; 0 keeps all",
        TypeConverters.toInt,
    )
    idCol: Param[str] = Param(
        Params._dummy(),
        "idCol",
        "column that orders rows which are equally near; without it their order is not defined",
        TypeConverters.toString,
    )

    handleInvalid: Param[str] = Param(
        Params._dummy(),
        "handleInvalid",
        "what to do with nulls: error, skip (leave the rows out) or keep (with a null as their code)",
        _handling,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(
            handleInvalid="error",
            outputCol="code",
            numBits=64,
            numNeighbors=25,
            sampleSize=SAMPLE_SIZE,
            seconds=LEARNING_SECONDS,
            memory=0,
            recipe="paper",
            scatter=0.0,
            seed=0,
            stopWords=_function_words(),
            stemmer="porter",
            weighting="tfidf",
            minDF=1.0,
            maxDF=_NO_LIMIT,
            vocabSize=0,
        )

    def getNumBits(self) -> int:
        """Bits of a code."""
        return self.getOrDefault(self.numBits)

    def getNumNeighbors(self) -> int:
        """Neighbors of a document in the graph."""
        return self.getOrDefault(self.numNeighbors)

    def getSampleSize(self) -> int:
        """Largest number of documents to learn from."""
        return self.getOrDefault(self.sampleSize)

    def getSeconds(self) -> float:
        """Most seconds that learning may take, as estimated for two cores."""
        return self.getOrDefault(self.seconds)

    def getMemory(self) -> int:
        """Most memory that learning may take, in bytes; 0 for a quarter of the driver's, and at most 4 GiB."""
        return self.getOrDefault(self.memory)

    def _learning(self, most_documents: int) -> Learning:
        """How to learn, with no more documents than can be brought to the driver."""
        return Learning(
            n_bits=self.getNumBits(),
            n_neighbors=self.getNumNeighbors(),
            recipe=self.getRecipe(),
            sample_size=min(self.getSampleSize(), most_documents),
            seconds=self.getSeconds(),
            memory=self.getMemory() or None,
            scatter=self.getScatter(),
            random_state=self.getSeed() % 2**32,
        )

    def getScatter(self) -> float:
        """Weight of random hyperplanes that are mixed into the learned ones."""
        return self.getOrDefault(self.scatter)

    def getRecipe(self) -> Recipe:
        """Recipe by which the codes are learned."""
        return cast("Recipe", self.getOrDefault(self.recipe))

    def getIdCol(self) -> str | None:
        """Column that orders rows which are equally near, if it is set."""
        return self.getOrDefault(self.idCol) if self.isSet(self.idCol) else None

    def _text_settings(self) -> dict[str, Any]:
        """The settings of a `TextVectorizer`, so that they can travel to the executors."""
        stemmer = self.getOrDefault(self.stemmer)
        return {
            "stop_words": self.getOrDefault(self.stopWords) or None,
            "stemmer": None if stemmer == "none" else stemmer,
            "min_df": _limit(self.getOrDefault(self.minDF)),
            "max_df": _limit(self.getOrDefault(self.maxDF)),
            "max_features": self.getOrDefault(self.vocabSize) or None,
            "weighting": self.getOrDefault(self.weighting),
        }


def new_vectorizer(settings: dict[str, Any], threads: int | None = None) -> TextVectorizer:
    """Make the vectorizer that the settings describe."""
    return TextVectorizer(threads=threads, **settings)


def _limit(value: float) -> int | float:
    return min(int(value), 2**63 - 1) if value >= 1 else value


def _function_words() -> list[str]:
    from sthash.text.languages import function_words

    return sorted(function_words("english"))
