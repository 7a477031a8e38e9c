"""From how many documents to learn: from all, as long as time and memory allow it, and from a sample beyond.

Both are estimated from counts alone, never from a clock. So the same corpus and the same arguments give the same model.
Time is that of two cores; see docs/scaling.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sthash.checks import check_positive, check_whole

if TYPE_CHECKING:
    from sthash.hashing.sth import Recipe

LEARNING_SECONDS = 300.0
# Of the machine that time is estimated for. A number of threads of the user's own does not change what is learned.
THREADS = 2
# What a value of the rows takes beside the memory of the learner: its column, itself, and its count. What a weight of a
# term takes: itself, and its place in the model.
ROW_BYTES, WEIGHT_BYTES = 16, 8
# A sample that is smaller than this, and smaller than the corpus, would teach little: an error, not a bad model.
FEWEST_DOCUMENTS = 1000
# What the limits of memory of containers are called, in their two versions.
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN_MACHINE = 8 << 30


@dataclass(frozen=True)
class Cost:
    """What learning takes: seconds on two cores, and bytes of memory at its peak."""

    seconds: float
    bytes: float

    def within(self, limits: LearningLimits) -> bool:
        """Whether it is within the limits."""
        return self.seconds <= limits.seconds and self.bytes <= limits.most_bytes

    def times(self, factor: float) -> Cost:
        """Return what a corpus takes that is so many times as large: learning grows about in proportion."""
        return Cost(self.seconds * factor, self.bytes * factor)

    def rounded(self) -> dict[str, float]:
        """Return both with three digits, as a file keeps them."""
        return {name: float(f"{value:.3g}") for name, value in (("seconds", self.seconds), ("bytes", self.bytes))}


@dataclass(frozen=True)
class CorpusSize:
    """How large a corpus is: its documents, all their values that are not zero, and the columns of these."""

    documents: int
    values: int
    columns: int

    def cost(self, count: int, n_bits: int, recipe: Recipe) -> Cost:
        """Return what it takes to learn from some of the documents, which are as long as the others."""
        from sthash.hashing.cost import learning_cost

        values = round(self.values * count / max(self.documents, 1))
        learning = learning_cost(count, values, n_bits, recipe, threads=THREADS)
        own = ROW_BYTES * values + WEIGHT_BYTES * self.columns * n_bits
        return Cost(float(learning.seconds), float(learning.bytes) + own)


@dataclass(frozen=True)
class LearningLimits:
    """How much learning may take.

    Parameters
    ----------
    sample_size : int or None
        Most documents; None for all.
    seconds : float
        Most seconds, as estimated for two cores.
    bytes : int or None
        Most memory; None takes half of the machine's.

    Examples
    --------
    >>> from sthash.model.learning_limits import Cost, LearningLimits
    >>> limits = LearningLimits(None, 60, 1 << 30)
    >>> limits.documents(1_000_000, lambda count: Cost(count / 1000, 0))
    60000
    >>> limits.documents(50_000, lambda count: Cost(count / 1000, 0))
    50000
    """

    sample_size: int | None = None
    seconds: float = LEARNING_SECONDS
    bytes: int | None = None

    def __post_init__(self) -> None:
        if self.sample_size is not None:
            check_whole("sample_size", self.sample_size)
        check_positive("learning_seconds", self.seconds)
        if self.bytes is not None:
            check_whole("learning_bytes", self.bytes)

    @property
    def most_bytes(self) -> int:
        """Most memory that learning may take."""
        return machine_bytes() // 2 if self.bytes is None else self.bytes

    def documents(self, count: int, cost: Callable[[int], Cost]) -> int:
        """Return how many of ``count`` documents to learn from.

        Parameters
        ----------
        count : int
        cost : callable
            Gives what it takes to learn from a number of documents, which grows with their number.

        Raises
        ------
        ValueError
            If the limits of time and memory allow next to nothing.
        """
        wanted = count if self.sample_size is None else min(self.sample_size, count)
        if cost(wanted).within(self):
            return wanted
        fewest, most = 0, wanted  # the first is within the limits, the last is not
        while most - fewest > 1:
            middle = (fewest + most) // 2
            fewest, most = (middle, most) if cost(middle).within(self) else (fewest, middle)
        if fewest < min(wanted, FEWEST_DOCUMENTS):
            self._refuse(min(wanted, FEWEST_DOCUMENTS), cost)
        return _rounded(fewest)

    def _refuse(self, fewest: int, cost: Callable[[int], Cost]) -> None:
        least, allowed = cost(fewest), self.most_bytes
        takes = f"learning from {fewest:,} documents takes about"
        if least.bytes > allowed:
            raise ValueError(
                f"{takes} {said_bytes(least.bytes)} of memory, but learning_bytes allows {said_bytes(allowed)}. "
                "Raise it (--learn-memory), or ask for fewer bits."
            )
        raise ValueError(
            f"{takes} {said_seconds(least.seconds)}, but learning_seconds allows {said_seconds(self.seconds)}. "
            "Raise it (--learn-seconds), or ask for fewer bits."
        )


def _rounded(count: int) -> int:
    """Round down to two digits, so that a few documents more or less change nothing."""
    unit = int(10 ** max(len(str(count)) - 2, 0))
    return count // unit * unit


def machine_bytes() -> int:
    """Return the memory of the machine, or of the container that this process is in."""
    try:
        found = [int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))]
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MACHINE
    for name in _CONTAINER_LIMITS:
        try:
            found.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    return min(found)


def said_seconds(seconds: float) -> str:
    """Say how long something takes, roughly.

    Examples
    --------
    >>> from sthash.model.learning_limits import said_seconds
    >>> said_seconds(0.2), said_seconds(33.4), said_seconds(260), said_seconds(20_000)
    ('1 s', '33 s', '4 min', '6 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.0f} h"


def said_bytes(count: float) -> str:
    """Say how much memory something takes, roughly.

    Examples
    --------
    >>> from sthash.model.learning_limits import said_bytes
    >>> said_bytes(5_000), said_bytes(3 << 20), said_bytes(5 << 29)
    ('5 KiB', '3 MiB', '2.5 GiB')
    """
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= size:
            return f"{count / size:.2g} {unit}" if count < 10 * size else f"{count / size:,.0f} {unit}"
    return f"{max(count / 1024, 1):.0f} KiB"
