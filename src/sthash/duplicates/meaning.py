"""From which cosine on two embeddings are of duplicates: chosen from the data, by what neighbors are expected anyway.

Texts on one subject are neighbors without being duplicates. Around a vector, the number of others within a distance
grows as a power of it (the local intrinsic dimension), so the logarithms of the distances of its nearest neighbors are
those of the largest of many exponential variables. Neighbors five to twenty give the power (B. M. Hill. A Simple
General Approach to Inference About the Tail of a Distribution. Annals of Statistics, 1975; L. Amsaleg et al. Estimating
Local Intrinsic Dimensionality. KDD 2015), and thereby how close the first would be if none were a duplicate. The
threshold is where at most one in twenty of those that are closer would be there by chance. Up to four duplicates of a
text do not disturb it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats
from sthash.duplicates.similarity_join import SimilarPairs, similar_vectors
from sthash.duplicates.spool import Spool
from sthash.vectors.checks import check_rows
from sthash.vectors.lengths import unit_rows
from sthash.vectors.rows import Rows

# Of the documents found, the share that may be there by chance.
BY_CHANCE = 0.05
# Documents that are compared with all, and neighbors of each: those up to the first of a tail may be duplicates.
SAMPLE, NEIGHBORS, TAIL = 2000, 20, 5
LEAST_FOUND = 5
# The score of texts that are not equal, though their embeddings may be.
NEARLY_ONE = 0.999
LOWEST, STEP = 0.3, 0.005
_VECTORS_AT_ONCE = 1 << 14
_ROUNDING = 1e-6
_SHOWN, _WIDTH = 8, 40


@dataclass(frozen=True)
class CosineCurve:
    """For each cosine, how many documents have a neighbor that is as close, and how many would have one by chance.

    Attributes
    ----------
    cosines, found, by_chance : array of float64
        The cosines ascend.
    n_documents : int
        How many documents were looked at.
    threshold : float or None
        The lowest cosine from which on at most one in twenty of the documents found is there by chance; None if there
        is none.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.duplicates import cosine_curve
    >>> rows = np.random.default_rng(0).normal(size=(500, 40))
    >>> copies = rows[:100] + np.random.default_rng(1).normal(size=(100, 40)) / 3
    >>> curve = cosine_curve(np.concatenate([rows, copies]))
    >>> 0.5 < curve.threshold < 0.9
    True
    """

    cosines: npt.NDArray[np.float64] = field(repr=False)
    found: npt.NDArray[np.float64] = field(repr=False)
    by_chance: npt.NDArray[np.float64] = field(repr=False)
    n_documents: int
    threshold: float | None

    def __str__(self) -> str:
        """Draw the curve: a bar for the documents found, of which those by chance are light."""
        most = max(self.n_documents, 1)
        lines = [f"cosine  found  by chance  of {self.n_documents:,} documents with a neighbor"]
        first = int(np.searchsorted(self.cosines, 0.5))
        places = set(range(len(self.cosines) - 1, first - 1, -_SHOWN))
        if self.threshold is not None:
            places.add(int(np.searchsorted(self.cosines, self.threshold - STEP / 2)))
        for place in sorted(places):
            cosine, found, chance = (
                self.cosines[place],
                self.found[place],
                min(self.by_chance[place], self.found[place]),
            )
            solid = round(_WIDTH * (found - chance) / most)
            bar = "█" * solid + "░" * (round(_WIDTH * found / most) - solid)
            chosen = "  <- chosen" if self.threshold is not None and abs(cosine - self.threshold) < STEP / 2 else ""
            lines.append(f"{cosine:6.3f} {found:6,.0f} {self.by_chance[place]:10,.0f}  {bar}{chosen}")
        return "\n".join(lines)


def cosine_curve(vectors: Any, *, random_state: int = 0) -> CosineCurve:
    """Compare a sample of vectors with all, and choose from which cosine on they are duplicates.

    Parameters
    ----------
    vectors : array of shape (n, m)
        Zero vectors are left out.
    random_state : int
        Seed of the sample.
    """
    rows = np.asarray(check_rows(vectors), dtype=np.float32)
    return curve_of_unit_rows(unit_rows(rows), random_state=random_state)


def curve_of_unit_rows(rows: Floats, *, random_state: int = 0) -> CosineCurve:
    """Do so for rows of unit length, which may be in a file."""
    cosines = np.round(np.arange(LOWEST, 1 + STEP / 2, STEP), 6)
    known = np.concatenate([np.zeros(0, bool), *(part.any(axis=1) for part in _parts(rows))])
    places = np.flatnonzero(known)
    if len(places) <= NEIGHBORS:
        none = np.zeros(len(cosines))
        return CosineCurve(cosines, none, none, len(places), None)
    rng = np.random.default_rng(random_state)
    chosen = np.sort(rng.choice(places, min(SAMPLE, len(places)), replace=False))
    nearest = _nearest_cosines(rows, chosen)
    found = (nearest[:, :1] >= cosines - _ROUNDING).sum(axis=0).astype(np.float64)
    by_chance = _by_chance(nearest, cosines)
    few = found < LEAST_FOUND
    good = (by_chance <= BY_CHANCE * found) | few
    # From the top down, as long as all are good.
    run = np.flatnonzero(~good)
    first = int(run[-1]) + 1 if len(run) else 0
    threshold = float(cosines[first]) if first < len(cosines) and not few[first] else None
    return CosineCurve(cosines, found, by_chance, len(chosen), threshold)


def _parts(rows: Floats) -> list[Floats]:
    return [rows[start : start + _VECTORS_AT_ONCE] for start in range(0, len(rows), _VECTORS_AT_ONCE)]


def _nearest_cosines(rows: Floats, chosen: npt.NDArray[np.int64]) -> Floats:
    """Return the cosines of the nearest neighbors of some rows among all, descending."""
    own = np.ascontiguousarray(rows[chosen])
    best = np.full((len(chosen), NEIGHBORS), -1, dtype=np.float32)
    for part, start in zip(_parts(rows), range(0, len(rows), _VECTORS_AT_ONCE), strict=True):
        scores = own @ part.T
        inside = np.flatnonzero((chosen >= start) & (chosen < start + len(part)))
        scores[inside, chosen[inside] - start] = -1
        both = np.concatenate([best, scores], axis=1)
        best = -np.partition(-both, NEIGHBORS - 1, axis=1)[:, :NEIGHBORS]
    best = -np.sort(-best, axis=1)
    return np.minimum(best, 1)


def _by_chance(nearest: Floats, cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how many first neighbors would be so close if none were duplicates."""
    levels = _level(nearest.astype(np.float64))
    ranks = np.arange(TAIL, NEIGHBORS)
    spread = (ranks * (levels[:, TAIL - 1 : -1] - levels[:, TAIL:])).mean(axis=1)
    above = np.maximum(_level(cosines) - levels[:, TAIL - 1 : TAIL], 0) / np.maximum(spread, 1e-9)[:, None]
    # The largest of the variables beyond the first of the tail.
    expected: npt.NDArray[np.float64] = (1 - (1 - np.exp(-above)) ** (TAIL - 1)).sum(axis=0)
    return expected


def _level(cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return -np.log(np.maximum(1 - cosines, _ROUNDING))


class NoCosineError(ValueError):
    """No cosine tells duplicates from neighbors; see ``curve``."""

    def __init__(self, curve: CosineCurve) -> None:
        super().__init__(
            "the embeddings do not tell duplicates from neighbors, so no cosine can be chosen. Set one, such as "
            "cosine=0.95, or leave the embedder out."
        )
        self.curve = curve


@dataclass(frozen=True)
class Meanings:
    """What was found by meaning.

    Attributes
    ----------
    pairs : SimilarPairs
        Their scores are cosines.
    cosine : float
        The threshold.
    curve : CosineCurve or None
        From which it was chosen.
    """

    pairs: SimilarPairs
    cosine: float
    curve: CosineCurve | None

    def added_to(
        self, pairs: SimilarPairs, nearest: npt.NDArray[np.float64]
    ) -> tuple[SimilarPairs, npt.NDArray[np.float64]]:
        """Return the pairs of texts and these, and the score of the nearest: that of its text, if it has one."""
        own = self.pairs
        both = SimilarPairs(
            np.concatenate([own.left, pairs.left]),
            np.concatenate([own.right, pairs.right]),
            np.concatenate([own.scores, pairs.scores]),
            pairs.copies,
            own.complete and pairs.complete,
        )
        by_meaning = np.zeros(len(nearest))
        for ends in (own.left, own.right):
            np.maximum.at(by_meaning, ends, own.scores)
        return both, np.where(nearest > 0, nearest, by_meaning)


class Embeddings:
    """Unit vectors of texts, in memory up to a limit, then in a file."""

    def __init__(self, stack: ExitStack, embedder: Callable[[list[str]], Any], most_bytes: int) -> None:
        self._embedder = embedder
        self._spool = stack.enter_context(Spool(most_bytes))
        self._width: int | None = None
        self._count = 0

    def add(self, texts: list[str]) -> None:
        """Take the embeddings of texts; those of blank ones count for nothing."""
        given = self._embedder(texts)
        rows = np.asarray(check_rows(given, width=self._width, what="what the embedder returned"), dtype=np.float32)
        if len(rows) != len(texts):
            raise ValueError(
                f"the embedder returned {len(rows)} rows for {len(texts)} texts. It must return one row per text."
            )
        self._width = rows.shape[1]
        padded = np.zeros((len(rows), self._width + self._width % 2), dtype=np.float32)
        padded[:, : self._width] = unit_rows(rows)
        padded[[not text.strip() for text in texts]] = 0
        self._spool.append(padded.view(np.uint64).ravel())
        self._count += len(rows)

    def rows(self) -> Floats:
        """Return all of them."""
        width = 0 if self._width is None else self._width + self._width % 2
        return self._spool.array().view(np.float32).reshape(self._count, max(width, 2) if self._count else 2)


def similar_meanings(
    rows: Floats,
    known: int,
    cosine: float | None,
    apart: Callable[[SimilarPairs], npt.NDArray[np.bool_]],
    threads: int | None,
) -> Meanings:
    """Find the pairs of unit vectors with at least this cosine, or one that is chosen from the data.

    Parameters
    ----------
    rows : array of float32
    known : int
        Pairs among so many at the start are not wanted.
    cosine : float, optional
    apart : callable
        Takes pairs, and returns which of them are to be kept apart.
    """
    curve = None
    if cosine is None:
        curve = curve_of_unit_rows(rows)
        if curve.threshold is None:
            raise NoCosineError(curve)
        cosine = curve.threshold
    found = similar_vectors(Rows.dense(rows), cosine, threads=threads)
    wanted = np.maximum(found.left, found.right) >= known
    wanted[wanted] = ~apart(SimilarPairs(found.left[wanted], found.right[wanted], found.scores[wanted], 0, True))
    # Only equal texts have a score of 1.
    scores = np.minimum(found.scores[wanted], NEARLY_ONE)
    return Meanings(SimilarPairs(found.left[wanted], found.right[wanted], scores, 0, found.complete), cosine, curve)
