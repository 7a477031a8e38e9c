"""`SelfTaughtHashing` as a Spark estimator."""

from __future__ import annotations

from typing import Any, Self

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sthash.checks import check_whole
from sthash.model import TextModel, VectorModel
from sthash.model.learning import LEARNING_SECONDS, CorpusSize, Learning
from sthash.spark.arrow import column_rows, texts
from sthash.spark.columns import check_no_stream, is_text, quoted
from sthash.spark.corpus_statistics import (
    COLLECTED_BYTES,
    Counted,
    check_counts,
    count_rows,
    count_terms,
    draw,
    vector_width,
)
from sthash.spark.model import SelfTaughtHashingModel
from sthash.spark.params import SAMPLE_SIZE, SelfTaughtHashingParams, new_vectorizer
from sthash.text import TextVectorizer


class SelfTaughtHashing(
    SelfTaughtHashingParams,
    Estimator[SelfTaughtHashingModel],
    DefaultParamsReadable["SelfTaughtHashing"],
    DefaultParamsWritable,
):
    """Learn binary codes from a column of texts or vectors; `sthash.SelfTaughtHashing` for Spark.

    Executors count the vocabulary and the document frequencies of the whole corpus. The hash functions are learned on
    the driver, by the same code as on one machine: from all documents if there are few, from a sample otherwise. It is
    as large as ``sampleSize``, ``seconds`` and ``memory`` allow, and its contents take at most 512 MiB,
    half of what Spark lets a driver collect. Which documents it has depends on the contents and the seed, not on how
    the corpus is partitioned. The executors need sthash installed. The corpus is read three times, so cache it if it is
    not cheap to make.

    A column of texts is of type string, one of vectors of type vector or array<float>; vectors are scaled to unit
    length, as in a collection.

    Parameters
    ----------
    inputCol, outputCol : str
        What to encode, and the binary column of the codes, by default ``code``.
    numBits, numNeighbors : int, default=64, 25
    sampleSize : int, default=250000
        Largest number of documents to learn from. With fewer, learning takes less time and codes find less
        (docs/scaling.md).
    seconds : float, default=300
        Learn from as many documents as take about this long on two cores of the driver. The time is estimated from
        counts, not measured.
    memory : int or str, default=0
        Learn from as many documents as take about this much memory of the driver: bytes, or a str such as "4GB"; 0
        for a quarter of it, and at most 4 GiB.
    recipe : {"paper", "topics", "neighbors"}, default="paper"
    scatter : float, default=0
        Weight of random hyperplanes that are mixed into the learned ones; see `sthash.Learning`.
    seed : int, default=0
    stopWords : list of str
        By default the English function words, as in a collection; an empty list keeps all words.
    stemmer : str, default="porter"
        Or ``none``.
    weighting : {"tfidf", "bm25", "tf"}, default="tfidf"
    minDF, maxDF : float
        Terms in fewer, or in more, documents are left out; below 1 they are shares, as in Spark's CountVectorizer.
    vocabSize : int, default=0
        Largest number of terms; 0 keeps all.
    idCol : str
        Orders rows that are equally near, if it is set.
    handleInvalid : {"error", "skip", "keep"}, default="error"
        What to do with nulls, as in Spark ML: an error; leave the rows out; or keep them, with a null as their code.
        Nothing is learned from them.

    Examples
    --------
    In a session of Spark, with a DataFrame ``corpus`` that has a column ``text``::

        from sthash.spark import SelfTaughtHashing

        model = SelfTaughtHashing(inputCol="text", numBits=64).fit(corpus)
        encoded = model.transform(corpus)
        model.approxNearestNeighbors(encoded, "some text", 10)
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        inputCol: str | None = None,
        outputCol: str = "code",
        numBits: int = 64,
        numNeighbors: int = 25,
        sampleSize: int = SAMPLE_SIZE,
        seconds: float = LEARNING_SECONDS,
        memory: int | str = 0,
        recipe: str = "paper",
        scatter: float = 0.0,
        seed: int = 0,
        stopWords: list[str] | None = None,
        stemmer: str = "porter",
        weighting: str = "tfidf",
        minDF: float = 1.0,
        maxDF: float = float(2**63 - 1),
        vocabSize: int = 0,
        idCol: str | None = None,
        handleInvalid: str = "error",
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    def setParams(self, **params: Any) -> Self:
        """Set params by name."""
        return self._set(**params)

    def setInputCol(self, value: str) -> Self:
        """Set what to encode."""
        return self._set(inputCol=value)

    def setOutputCol(self, value: str) -> Self:
        """Set the name of the codes' column."""
        return self._set(outputCol=value)

    def setNumBits(self, value: int) -> Self:
        """Set the bits of a code."""
        return self._set(numBits=value)

    def setNumNeighbors(self, value: int) -> Self:
        """Set the neighbors of a document in the graph."""
        return self._set(numNeighbors=value)

    def setSampleSize(self, value: int) -> Self:
        """Set the largest number of documents to learn from."""
        return self._set(sampleSize=value)

    def setSeconds(self, value: float) -> Self:
        """Set the most seconds that learning may take, as estimated for two cores."""
        return self._set(seconds=value)

    def setMemory(self, value: int | str) -> Self:
        """Set the most memory that learning may take: bytes, or a str such as "4GB"; 0 for the default."""
        return self._set(memory=value)

    def setScatter(self, value: float) -> Self:
        """Set the weight of random hyperplanes that are mixed into the learned ones."""
        return self._set(scatter=value)

    def setHandleInvalid(self, value: str) -> Self:
        """Set what to do with nulls: ``error``, ``skip`` or ``keep``."""
        return self._set(handleInvalid=value)

    def setSeed(self, value: int) -> Self:
        """Set the seed of the sample and the hasher."""
        return self._set(seed=value)

    def _fit(self, dataset: DataFrame) -> SelfTaughtHashingModel:
        check_no_stream(dataset)
        name = self.getInputCol()
        text = is_text(dataset, name)
        for param in (self.numBits, self.numNeighbors, self.sampleSize):
            check_whole(param.name, self.getOrDefault(param))
        settings = self._text_settings()
        if text:
            counted = count_terms(dataset, name, settings)
            n_rows, n_nulls = counted.counts.n_documents, counted.n_nulls
        else:
            counted = None
            n_rows, n_nulls = count_rows(dataset, name)
        check_counts(n_rows, n_nulls, name, refuses_nulls=self.getHandleInvalid() == "error")
        if n_nulls:
            dataset = dataset.where(F.col(quoted(name)).isNotNull())
        vectorizer = None if counted is None else new_vectorizer(settings).fit_counts(counted.counts)
        learning, size = self._plan(dataset, n_rows, vectorizer, counted)
        sample = draw(dataset, name, n_rows, learning.n_documents(size), self.getSeed())
        hasher = learning.new_hasher()
        given: dict[str, Any] = {"scatter": learning.scatter, "random_state": learning.random_state}
        given["learned_on"] = len(sample)
        if vectorizer is None:
            model = SelfTaughtHashingModel(VectorModel.of(hasher.fit(column_rows(sample, None, name)), **given))
        else:
            hasher.fit(vectorizer.transform(texts(sample, name)))
            model = SelfTaughtHashingModel(TextModel.of(vectorizer, hasher, **given))
        return self._copyValues(model)

    def _plan(
        self, dataset: DataFrame, n_rows: int, vectorizer: TextVectorizer | None, counted: Counted | None
    ) -> tuple[Learning, CorpusSize]:
        """How to learn, and how large the corpus is."""
        if vectorizer is None or counted is None:
            width = vector_width(dataset, self.getInputCol())
            size, length = CorpusSize(n_rows, n_rows * width, width), 8.0 * width
        else:
            frequency = vectorizer.statistics_.document_frequency
            size, length = CorpusSize(n_rows, int(frequency.sum()), len(frequency)), counted.mean_length
        return self._learning(max(1, int(COLLECTED_BYTES / max(length, 1.0)))), size
