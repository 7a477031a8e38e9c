"""How a collection learns: the settings that `Collection.create` takes, and those that a file keeps for `relearn`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sthash.checks import check_choice, check_positive, check_whole
from sthash.index.hamming import MAX_BITS
from sthash.index.stored_vectors import METRICS, Metric
from sthash.model.learning_limits import LEARNING_SECONDS, CorpusSize, Cost, LearningLimits
from sthash.model.linear import RECIPES, new_hasher

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer

MOST_SCATTER = 1e6  # far beyond use; weights are float32
LAST_SEED = 2**32 - 1  # of NumPy


@dataclass(frozen=True)
class LearningPlan:
    """How to learn, as `Collection.create` describes it."""

    n_bits: int = 64
    n_neighbors: int = 25
    recipe: Recipe = "neighbors"
    sample_size: int | None = None
    learning_seconds: float = LEARNING_SECONDS
    learning_bytes: int | None = None
    scatter: float = 0.0
    vectorizer: TextVectorizer | None = None
    hasher: SelfTaughtHashing | None = None
    random_state: int = 0
    threads: int | None = None
    language: str | None = None
    fold_accents: bool = False
    metric: Metric = "cosine"

    def __post_init__(self) -> None:
        if check_whole("n_bits", self.n_bits) > MAX_BITS:
            raise ValueError(f"n_bits={self.n_bits} must be at most {MAX_BITS}. Ask for fewer bits.")
        check_whole("n_neighbors", self.n_neighbors)
        check_positive("scatter", self.scatter, or_zero=True, most=MOST_SCATTER)
        check_whole("random_state", self.random_state, least=0, most=LAST_SEED)
        # Before all documents are read, not when they have been.
        check_choice("recipe", self.recipe, RECIPES)
        check_choice("metric", self.metric, METRICS)
        # Not the smallest corpus could be learned from within limits that are too small for it.
        self.n_documents(CorpusSize(self.n_bits + 2, self.n_bits + 2, 1))
        if self.language is not None:
            from sthash.text.languages import check_language

            check_language(self.language)
        if not isinstance(self.fold_accents, bool | np.bool_):
            raise TypeError(f"fold_accents={self.fold_accents!r} must be True or False.")
        if self.vectorizer is not None and (self.language is not None or self.fold_accents):
            raise TypeError("a vectorizer has its own language and fold_accents. Set them there, or leave it out.")

    def cost(self, size: CorpusSize, count: int | None = None) -> Cost:
        """Return what it takes to learn from some documents of a corpus; None for all."""
        settings = self if self.hasher is None else self.hasher
        return size.cost(size.documents if count is None else count, settings.n_bits, settings.recipe)

    def n_documents(self, size: CorpusSize) -> int:
        """Return from how many documents of a corpus to learn; ValueError if the limits allow next to none."""
        limits = LearningLimits(self.sample_size, self.learning_seconds, self.learning_bytes)
        return limits.documents(size.documents, lambda count: self.cost(size, count))

    @property
    def kept(self) -> dict[str, Any]:
        """The settings that a file keeps beside those of the model, for who learns again."""
        names = ("sample_size", "learning_seconds", "learning_bytes", "random_state")
        return {name: getattr(self, name) for name in names}

    def new_hasher(self) -> SelfTaughtHashing:
        """Return the user's hasher, or one with the settings of the plan."""
        return new_hasher(self.hasher, self.n_bits, self.n_neighbors, self.recipe, self.random_state, self.threads)

    def new_vectorizer(self) -> TextVectorizer:
        """Return the user's vectorizer, or the default one."""
        from sklearn.base import clone

        from sthash.text import TextVectorizer

        if self.vectorizer is None:
            return TextVectorizer(
                language=self.language or "english",
                stop_words="function words",
                fold_accents=bool(self.fold_accents),
                threads=self.threads,
            )
        if callable(self.vectorizer.analyzer):
            raise TypeError("a collection cannot store a vectorizer whose analyzer is a callable. Use analyzer='word'.")
        vectorizer: TextVectorizer = clone(self.vectorizer)
        return vectorizer
