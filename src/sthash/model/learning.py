"""`Learning`: how hash functions are learned, and from how many documents.

They are learned from all documents if time and memory allow it, and from a random sample otherwise. Both are
estimated from counts, never measured, so the same corpus and the same settings give the same model. Time is that of two
cores; see docs/scaling.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from sthash.checks import check_choice, check_positive, check_whole
from sthash.index.hamming import MAX_BITS
from sthash.sizes import default_memory, format_size, parse_size

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe

When = Literal["now", "after", "later"]
TIMES: tuple[When, ...] = get_args(When)
# Recipes with linear hash functions, which models hold.
RECIPES = ("paper", "topics", "neighbors", "embeddings")
LEARNING_SECONDS = 300.0
# The machine that time is estimated for. The caller's number of threads does not change what is learned.
THREADS = 2
# Memory per value of the rows beside that of the learner: its column, itself, and its count. Memory per weight of a
# term: itself, and its place in the model.
ROW_BYTES, WEIGHT_BYTES = 16, 8
# Learning from a smaller part of a corpus than this is an error rather than a bad model.
FEWEST_DOCUMENTS = 1000
MOST_SCATTER = 1e6  # far beyond use; weights are float32
LAST_SEED = 2**32 - 1  # of NumPy


@dataclass(frozen=True)
class Cost:
    """What learning takes: seconds on two cores, and bytes of memory at its peak."""

    seconds: float
    bytes: float

    def times(self, factor: float) -> Cost:
        """Return the cost for a corpus ``factor`` times as large: learning grows about in proportion."""
        return Cost(self.seconds * factor, self.bytes * factor)

    def rounded(self) -> dict[str, float]:
        """Return both with three digits, as a file keeps them."""
        return {name: float(f"{value:.3g}") for name, value in (("seconds", self.seconds), ("bytes", self.bytes))}


@dataclass(frozen=True)
class CorpusSize:
    """The size of a corpus: its documents, their values that are not zero, and the columns of these."""

    documents: int
    values: int
    columns: int


class LearningLimitError(ValueError):
    """The limits of `Learning` allow too few documents."""


@dataclass(frozen=True)
class Learning:
    """How hash functions are learned.

    Parameters
    ----------
    n_bits : int, default=64
        Bits of a code.
    n_neighbors : int, default=25
        Neighbors per document in the graph.
    recipe : {"paper", "topics", "neighbors", "embeddings"} or None, default=None
        See `sthash.SelfTaughtHashing`. None takes ``neighbors`` for texts and ``embeddings`` for vectors.
    sample_size : int or None, default=None
        Learn from a random sample of at most this many documents; None takes as many as ``seconds`` and ``memory``
        allow.
    seconds : float, default=300
        Learn from as many documents as take about this long on two cores. The time is estimated, not measured.
    memory : int, str or None, default=None
        Learn from as many documents as take about this much memory: bytes, or a str such as "4GB". None takes a
        quarter of the machine's memory, and at most 4 GiB.
    scatter : float, default=0
        Weight of random hyperplanes that are mixed into the learned ones, relative to their average size.
    random_state : int, default=0
        Seed of the sample, of the hasher and of the random hyperplanes.
    hasher : SelfTaughtHashing, optional
        An unfitted hasher, for custom stages. Its settings replace ``n_bits``, ``n_neighbors`` and
        ``recipe``.
    when : {"now", "after", "later"}, default="now"
        When `Collection.create` learns. ``now``: before there is a file at the path. ``after``: if learning takes more
        than 20 seconds, as estimated, the file of a collection of texts is there before, and its words can be searched
        while hash functions are learned. ``later``: not until `Collection.relearn`; until then whole documents are
        compared with all others.

    Examples
    --------
    >>> import sthash
    >>> learning = sthash.Learning(n_bits=128, memory="4GB")
    >>> learning.memory
    4000000000
    """

    n_bits: int = 64
    n_neighbors: int = 25
    recipe: Recipe | None = None
    sample_size: int | None = None
    seconds: float = LEARNING_SECONDS
    memory: int | str | None = None
    scatter: float = 0.0
    random_state: int = 0
    hasher: SelfTaughtHashing | None = None
    when: When = "now"

    def __post_init__(self) -> None:
        if check_whole("n_bits", self.n_bits) > MAX_BITS:
            raise ValueError(f"n_bits={self.n_bits} must be at most {MAX_BITS}. Ask for fewer bits.")
        check_whole("n_neighbors", self.n_neighbors)
        if self.recipe is not None:
            check_choice("recipe", self.recipe, RECIPES)
        if self.sample_size is not None:
            check_whole("sample_size", self.sample_size)
        check_positive("seconds", self.seconds)
        if self.memory is not None:
            object.__setattr__(self, "memory", parse_size("memory", self.memory))
        check_positive("scatter", self.scatter, or_zero=True, most=MOST_SCATTER)
        check_whole("random_state", self.random_state, least=0, most=LAST_SEED)
        check_choice("when", self.when, TIMES)
        if self.hasher is not None and not hasattr(self.hasher, "n_bits"):
            raise TypeError(f"hasher={self.hasher!r} must be a SelfTaughtHashing that is not fitted, or None.")
        # Limits too small for the smallest corpus are an error now, not when all documents have been read.
        self.n_documents(CorpusSize(self.n_bits + 2, self.n_bits + 2, 1))

    @property
    def most_bytes(self) -> int:
        """Most memory that learning may take."""
        return default_memory() if self.memory is None else int(self.memory)

    def with_default(self, recipe: Recipe) -> Learning:
        """Return the same settings with ``recipe`` if they name none."""
        return self if self.recipe is not None else replace(self, recipe=recipe)

    def new_hasher(self, default: Recipe = "neighbors", *, threads: int | None = None) -> SelfTaughtHashing:
        """Return a copy of the caller's hasher, or one with these settings; not fitted.

        Parameters
        ----------
        default : str
            The recipe, if the settings name none.
        threads : int or None
        """
        from sklearn.base import clone

        from sthash.hashing import SelfTaughtHashing

        if self.hasher is not None:
            copy: SelfTaughtHashing = clone(self.hasher)
            return copy
        return SelfTaughtHashing(
            self.n_bits,
            self.n_neighbors,
            recipe=self.recipe or default,
            random_state=self.random_state,
            threads=threads,
        )

    def cost(self, size: CorpusSize, count: int | None = None) -> Cost:
        """Return what it takes to learn from ``count`` documents of a corpus; None for all."""
        from sthash.hashing.cost import learning_cost

        settings = self if self.hasher is None else self.hasher
        count = size.documents if count is None else count
        values = round(size.values * count / max(size.documents, 1))
        learning = learning_cost(count, values, settings.n_bits, settings.recipe or "neighbors", threads=THREADS)
        own = ROW_BYTES * values + WEIGHT_BYTES * size.columns * settings.n_bits
        return Cost(float(learning.seconds), float(learning.bytes) + own)

    def allows(self, cost: Cost) -> bool:
        """Whether a cost is within the limits of time and memory."""
        return cost.seconds <= self.seconds and cost.bytes <= self.most_bytes

    def n_documents(self, size: CorpusSize) -> int:
        """Return from how many documents of a corpus to learn.

        Raises
        ------
        ValueError
            If the limits of time and memory allow next to none.

        Examples
        --------
        >>> import sthash
        >>> from sthash.model.learning import CorpusSize
        >>> small, large = CorpusSize(1000, 30_000, 5000), CorpusSize(10**8, 3 * 10**9, 10**6)
        >>> learning = sthash.Learning(seconds=60, memory="8GB")
        >>> learning.n_documents(small)
        1000
        >>> 10_000 < learning.n_documents(large) < 1_000_000
        True
        """
        wanted = size.documents if self.sample_size is None else min(self.sample_size, size.documents)
        if self.allows(self.cost(size, wanted)):
            return wanted
        fewest, most = 0, wanted  # the first is within the limits, the last is not
        while most - fewest > 1:
            middle = (fewest + most) // 2
            fewest, most = (middle, most) if self.allows(self.cost(size, middle)) else (fewest, middle)
        if fewest < min(wanted, FEWEST_DOCUMENTS):
            self._refuse(size, min(wanted, FEWEST_DOCUMENTS))
        return _rounded_down(fewest)

    def _refuse(self, size: CorpusSize, count: int) -> None:
        least, allowed = self.cost(size, count), self.most_bytes
        takes = f"learning from {count:,} documents takes about"
        if least.bytes > allowed:
            raise LearningLimitError(
                f"{takes} {format_size(least.bytes)} of memory, but memory allows {format_size(allowed)}. "
                "Raise it (--memory), or ask for fewer bits."
            )
        raise LearningLimitError(
            f"{takes} {format_seconds(least.seconds)}, but seconds allows {format_seconds(self.seconds)}. "
            "Raise it (--seconds), or ask for fewer bits."
        )


def _rounded_down(count: int) -> int:
    """Round down to two digits, so that a few documents more or less change nothing."""
    unit = int(10 ** max(len(str(count)) - 2, 0))
    return count // unit * unit


def format_seconds(seconds: float) -> str:
    """Write a duration for people, roughly.

    Examples
    --------
    >>> from sthash.model.learning import format_seconds
    >>> format_seconds(0.2), format_seconds(33.4), format_seconds(260), format_seconds(20_000)
    ('1 s', '33 s', '4 min', '6 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.0f} h"
