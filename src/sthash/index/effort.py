"""How much a search must look at to find a share of the true neighbors, measured on rows of the index.

A search through cells loses a neighbor whose cell it does not look into, and one whose estimate is not among those of
the candidates. Both losses are measured for rows that serve as queries; a search loses at most the sum of both.

What counts is the *depth*: k relative to the number of rows that may be found. The 10 nearest among every tenth row are
about the 100 nearest of all. So what was measured once holds for any k, for any filter, and for a sample of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats, Ids

Arrays = dict[str, npt.NDArray[Any]]

# Rows that serve as queries: fewer in large indexes, where each is compared with very many rows.
MOST_QUERIES, LEAST_QUERIES, MOST_COMPARED = 512, 64, 1 << 28
FEW_ROWS = 256  # fewer are compared one by one
STANDARD_ERRORS = 1.5  # by which a measured share may be too large
MEASURED_K = (1, 10, 100)
RATIOS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
MOST_CANDIDATES = 2000
MOST_LEVELS = 64
STEP = 1.2  # between numbers of cells
ROWS_AT_ONCE = 8192
PREFIX = "effort."
Choice = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Effort:
    """What a search finds, by the numbers of cells and of candidates.

    Attributes
    ----------
    depths : array of float32, shape (n_depths,)
        k relative to the number of rows, ascending.
    probes : array of int32, shape (n_probes,)
        Numbers of cells, ascending.
    in_cells : array of float32, shape (n_depths, n_probes)
        The share of the true neighbors that lie in so many cells, less some standard errors.
    ratios : array of float32, shape (n_ratios,)
        Numbers of candidates relative to k, ascending.
    in_candidates : array of float32, shape (n_depths, n_ratios)
        The share of the true neighbors that are among so many candidates, less some standard errors.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import VectorIndex
    >>> vectors = np.random.default_rng(0).normal(size=(2000, 16))
    >>> effort = VectorIndex.build(vectors).effort
    >>> cells, candidates = effort.needed(10, 2000, 0.9, lambda probes, candidates: probes + candidates)
    >>> more_cells, more_candidates = effort.needed(10, 2000, 0.97, lambda probes, candidates: probes + candidates)
    >>> cells + candidates < more_cells + more_candidates
    True
    """

    depths: Floats
    probes: npt.NDArray[np.int32]
    in_cells: Floats
    ratios: Floats
    in_candidates: Floats
    _chosen: dict[tuple[int, int, float], Choice | None] = field(default_factory=dict, repr=False)

    def needed(self, k: int, rows: int, recall: float, cost: Callable[[int, int], float]) -> Choice | None:
        """Return the numbers of cells and candidates that find a share of the true neighbors at the least cost.

        Parameters
        ----------
        k : int
        rows : int
            Number of rows that may be found.
        recall : float
        cost : callable
            Takes the numbers of cells and candidates.

        Returns
        -------
        (int, int) or None
            None if it takes all of them.
        """
        key = (k, rows, recall)
        if key not in self._chosen:
            if len(self._chosen) > 1000:
                self._chosen.clear()
            self._chosen[key] = self._needed(k, rows, recall, cost)
        return self._chosen[key]

    def _needed(self, k: int, rows: int, recall: float, cost: Callable[[int, int], float]) -> Choice | None:
        k = max(k, math.ceil(self.depths[0] * rows))
        depth = k / max(rows, 1)
        if depth > self.depths[-1] and depth > 2 * self.depths[-1]:
            return None
        in_cells, in_candidates = self._at(self.in_cells, depth), self._at(self.in_candidates, depth)
        best: tuple[float, Choice] | None = None
        for probes, found in zip(self.probes.tolist(), in_cells.tolist(), strict=True):
            enough = np.flatnonzero(in_candidates >= recall + (1 - found))
            if len(enough):
                choice = (probes, math.ceil(k * float(self.ratios[enough[0]])))
                rated = (cost(*choice), choice)
                best = rated if best is None or rated < best else best
        return None if best is None else best[1]

    def _at(self, curves: Floats, depth: float) -> Floats:
        """Return the curve at a depth, between those that were measured."""
        places = np.log(self.depths)
        place = float(np.interp(math.log(depth), places, np.arange(len(places))))
        low = min(int(place), len(places) - 1)
        high = min(low + 1, len(places) - 1)
        return np.asarray(curves[low] + (place - low) * (curves[high] - curves[low]))

    def arrays(self) -> Arrays:
        """Return the arrays by the names under which a file has them."""
        return {PREFIX + name: getattr(self, name) for name in _NAMES}

    @classmethod
    def restored(cls, arrays: Arrays) -> Self | None:
        """Make one of what `arrays` returned, perhaps among other arrays; None if there is none. They may be untrusted.

        Raises
        ------
        ValueError
            If they are not what was measured of an index.
        """
        own = {name: arrays[PREFIX + name] for name in _NAMES if PREFIX + name in arrays}
        if not own:
            return None
        if len(own) < len(_NAMES):
            raise ValueError("a part of the measured effort is missing")
        types = {"probes": np.int32}
        for name, array in own.items():
            if array.dtype != types.get(name, np.float32) or array.ndim != (2 if name.startswith("in_") else 1):
                raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}")
        levels = {name: len(own[name]) for name in ("depths", "probes", "ratios")}
        if not all(1 <= count <= MOST_LEVELS for count in levels.values()):
            raise ValueError(f"the effort was measured at {levels}")
        for name, by in (("in_cells", "probes"), ("in_candidates", "ratios")):
            shares = own[name]
            if shares.shape != (levels["depths"], levels[by]) or not ((shares >= -1) & (shares <= 1)).all():
                raise ValueError(f"{name} are not shares of the shape {shares.shape}")
        for name in levels:
            if not (np.isfinite(own[name]).all() and own[name][0] > 0 and (np.diff(own[name]) > 0).all()):
                raise ValueError(f"{name} do not ascend")
        if own["depths"][-1] > 1 or own["ratios"][0] < 1 or own["ratios"][-1] > 1 << 20:
            raise ValueError("depths or ratios are out of range")
        return cls(own["depths"], own["probes"], own["in_cells"], own["ratios"], own["in_candidates"])


_NAMES = tuple(one.name for one in fields(Effort) if not one.name.startswith("_"))


def n_queries(n_rows: int) -> int:
    """Return how many rows serve as queries."""
    return min(max(min(MOST_QUERIES, MOST_COMPARED // max(n_rows, 1)), LEAST_QUERIES), n_rows // 4)


def true_neighbors(queries: Floats, own: Ids, ids: Ids, rows_of: Callable[[Ids], Floats], k: int) -> Ids:
    """Return the ids of the k rows with the largest products with each query, which is not among them; ties by id.

    Parameters
    ----------
    queries : array of float32, shape (n, d)
    own : array of int64, shape (n,)
        The id of each query.
    ids : array of int64
        All ids, ascending.
    rows_of : callable
        Returns the rows of some ids.
    k : int
    """
    best = np.empty((len(queries), 0), dtype=np.int64)
    scores = np.empty((len(queries), 0), dtype=np.float32)
    for first in range(0, len(ids), ROWS_AT_ONCE):
        some = ids[first : first + ROWS_AT_ONCE]
        new = queries @ rows_of(some).T
        new[own[:, None] == some] = -np.inf
        if new.shape[1] > k:
            places = np.sort(np.argpartition(-new, k - 1, axis=1)[:, :k], axis=1)
            new, chosen = np.take_along_axis(new, places, axis=1), some[places]
        else:
            chosen = np.broadcast_to(some, new.shape)
        scores, best = np.hstack([scores, new]), np.hstack([best, chosen])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, best = np.take_along_axis(scores, order, axis=1), np.take_along_axis(best, order, axis=1)
    return best


def effort_of(
    truth: Ids, estimated: Ids, cell_ranks: npt.NDArray[np.float64], cells: npt.NDArray[np.int32], n_rows: int
) -> Effort:
    """Return what was measured.

    Parameters
    ----------
    truth : array of int64, shape (queries, k)
        The true neighbors of each query, best first.
    estimated : array of int64, shape (queries, n)
        The rows with the largest estimates, best first.
    cell_ranks : array of float64, shape (queries, cells)
        The least number of cells with which a search looks into this one.
    cells : array of int32, shape (queries, k)
        The cell of each true neighbor.
    n_rows : int
        Number of rows that were compared.
    """
    needed = np.take_along_axis(cell_ranks, cells, axis=1)
    ranks = np.empty(truth.shape)
    for own, true, found in zip(ranks, truth, estimated, strict=True):
        order = np.argsort(found, kind="stable")
        places = np.minimum(np.searchsorted(found, true, sorter=order), len(found) - 1)
        places = order[places]
        own[:] = np.where(found[places] == true, places, np.inf)
    n_cells = cell_ranks.shape[1]
    probes = np.unique(np.ceil(STEP ** np.arange(math.ceil(math.log(n_cells, STEP)) + 1)).clip(1, n_cells))
    measured = [k for k in MEASURED_K if k <= truth.shape[1]]
    ratios = np.array(RATIOS, dtype=np.float32)
    return Effort(
        depths=np.array([k / n_rows for k in measured], dtype=np.float32),
        probes=probes.astype(np.int32),
        in_cells=np.array([_shares(needed[:, :k], probes) for k in measured], dtype=np.float32),
        ratios=ratios,
        in_candidates=np.array([_shares(ranks[:, :k], k * ratios - 1) for k in measured], dtype=np.float32),
    )


def _shares(needed: npt.NDArray[np.float64], levels: npt.NDArray[Any]) -> Floats:
    """Return which share of the true neighbors is found at each level, less some standard errors."""
    shares = (needed[:, :, None] <= levels).mean(axis=1)
    return np.asarray(
        shares.mean(axis=0) - STANDARD_ERRORS * shares.std(axis=0) / math.sqrt(len(needed)), dtype=np.float32
    )
