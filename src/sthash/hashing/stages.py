"""The stages that `SelfTaughtHashing` is made of: what a replacement must offer, and how long each one took."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, Protocol, Self, runtime_checkable

import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.codes import Bits
from sthash.progress import Progress, silent

Graph = Callable[[Vectors], Any]
Embedding = Callable[[Any, int], npt.NDArray[Any]]
Binarizer = Callable[[npt.NDArray[Any]], Bits]

# Names of the stages as progress reports them to people.
SPOKEN = {"binarizer": "bits", "hash_function": "hash functions"}


class HashFunction(Protocol):
    """Stage 2: learns to predict bits from vectors."""

    def fit(self, X: Vectors, bits: Bits) -> Self:
        """Learn to predict each column of ``bits``."""

    def decision_function(self, X: Vectors) -> npt.NDArray[Any]:
        """Return one column of margins per bit; the bit is on where they are positive."""


@runtime_checkable
class SupervisedGraph(Protocol):
    """Stage 1, first step, with the categories of the documents, which ``fit(X, y)`` passes on."""

    def from_labels(self, X: Vectors, y: npt.NDArray[Any]) -> Any:
        """Return the graph W of the rows of X, whose categories are y."""


@runtime_checkable
class VectorEmbedding(Protocol):
    """Stage 1, second step, for an embedding that looks at the vectors as well as at their graph."""

    def from_vectors(self, X: Vectors, W: Any, n_components: int) -> npt.NDArray[Any]:
        """Return one row of ``n_components`` values per row of X."""


@runtime_checkable
class EmbeddingExtension(Protocol):
    """Stage 2 that extends the real-valued embedding to unseen vectors instead of learning the bits."""

    def extend(self, X: Vectors, W: Any, embedding: npt.NDArray[Any], bits: Bits) -> Self:
        """Learn from the documents that have neighbors: their vectors, graph, embedding and bits."""

    def decision_function(self, X: Vectors) -> npt.NDArray[Any]:
        """Return one column of margins per bit; the bit is on where they are positive."""


def weighed(stage: str, function: Callable[..., Any], weights: npt.NDArray[Any] | None) -> Callable[..., Any]:
    """Pass the weights of the documents to a stage; refuse one that does not take them."""
    if weights is None:
        return function
    if "sample_weight" not in signature(function).parameters:
        name = getattr(getattr(function, "__self__", function), "__class__", type(function)).__name__
        raise ValueError(f"{stage} ({name}) takes no sample_weight. Leave it out, or use the default {stage}=None.")
    return partial(function, sample_weight=weights)


class StageClock:
    """Runs the stages, reports them, and keeps the seconds that each one took."""

    def __init__(self, progress: Progress = silent) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    def run(self, stage: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run one stage and return its result."""
        spoken = SPOKEN.get(stage, stage)
        self._progress(spoken, 0, None)
        start = time.perf_counter()
        result = function(*arguments)
        self.seconds[stage] = time.perf_counter() - start
        self._progress(spoken, 1, 1)
        return result
