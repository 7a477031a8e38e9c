"""The index of embeddings: cells, short codes, and the vectors themselves.

Vectors are grouped into cells around centers. Within its cell a vector has a code: the signs with which sign vectors
are added up to what the center leaves of it. A query goes through three stages in one call: the products with the
centers choose cells, sums of table lookups over the codes of those cells choose candidates, and products with the
vectors themselves rank them.
"""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.files import replacing
from sthash.index.stored_vectors import (
    METRICS,
    PRECISIONS,
    Metric,
    Precision,
    checked_rows,
    rounded,
    same_kind,
    steps_of,
)
from sthash.rows import as_array, check_dense

Floats = npt.NDArray[np.float32]
Arrays = dict[str, npt.NDArray[Any]]

CELLS_PER_ROOT = 1.3
MOST_ROWS, MOST_VALUES = 1 << 29, 1 << 15
# What is looked at by default: one cell of so many, but at least some, and so many candidates per neighbor. Cells say
# less about inner products than about cosines.
CELLS_PER_PROBE, LEAST_PROBES, CANDIDATES_PER_NEIGHBOR = {"cosine": 12, "ip": 6}, 64, 12
MOST_PROBES = 3  # times as many cells as on average
# What a file holds, besides the vectors.
STORED: dict[str, tuple[Any, int]] = {
    "centers": (np.int8, 2),
    "lengths": (np.float32, 2),
    "signs": (np.float32, 2),
    "starts": (np.int64, 1),
    "sizes": (np.int32, 1),
    "blocks": (np.uint8, 1),
    "scales": (np.float32, 1),
    "margins": (np.float32, 1),
    "ids": (np.int32, 1),
    "steps": (np.float32, 1),
}


class VectorIndex:
    """Nearest neighbors among embeddings, from a few bytes per vector and the vectors of few candidates.

    The index keeps about ``n_bytes`` + 9 bytes per vector, and refers to the vectors, which may be memory-mapped. Make
    one with `build`.

    Attributes
    ----------
    metric, precision : str
        As of `build`.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import VectorIndex
    >>> vectors = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    >>> index = VectorIndex.build(vectors)
    >>> ids, cosines = index.search(vectors[:2], k=3)
    >>> ids[:, 0].tolist(), cosines[:, 0].round(3).tolist()
    ([0, 1], [1.0, 1.0])
    >>> index.add(2 * vectors[:1])
    array([500])
    >>> index.remove([0])
    >>> index.search(vectors[0], k=1)[0].tolist()
    [[500]]
    """

    def __init__(
        self,
        arrays: Arrays,
        *,
        n_rows: int,
        metric: Metric = "cosine",
        precision: Precision = "float32",
        vectors: Any = None,
    ) -> None:
        self.metric: Metric = metric
        self.precision: Precision = precision
        self._arrays = arrays
        self._n_rows = n_rows
        self._vectors: npt.NDArray[Any] | None = None
        self._core: _core.CellIndex | None = None
        if vectors is not None:
            self.attach(vectors)

    @classmethod
    def build(
        cls,
        vectors: Any,
        *,
        metric: Metric = "cosine",
        precision: Precision = "float32",
        n_bytes: int = 24,
        n_cells: int | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> Self:
        """Build the index of vectors; their ids are the numbers of their rows.

        Parameters
        ----------
        vectors : array or tensor of shape (n, d)
            Rows of float32, for cosines of unit length, are referred to, also in a memory-mapped file; others are
            copied. Anything that has ``__array__`` or ``__dlpack__`` will do.
        metric : {"cosine", "ip"}, default="cosine"
            "ip" is the inner product, in which lengths count.
        precision : {"float32", "float16", "int8"}, default="float32"
            How the vectors are kept that the last stage reads. With "float16" and "int8" the index makes a copy of
            half and a quarter of the size, `vectors`, and scores are of the rounded vectors.
        n_bytes : int, default=24
            Bytes per code, an even number from 2 to 128.
        n_cells : int, optional
            By default 1.3 times the square root of n.
        random_state : int, default=0
        threads : int, optional
            By default one per available core. The answers do not depend on it.
        """
        check_choice("metric", metric, METRICS)
        check_choice("precision", precision, PRECISIONS)
        if check_whole("n_bytes", n_bytes, 2) % 2 or n_bytes > 128:
            raise ValueError(f"n_bytes={n_bytes} must be an even number from 2 to 128. Use another length.")
        rows = checked_rows(vectors, metric)
        if not len(rows):
            raise ValueError("there are no vectors. Give at least one.")
        _check_number(len(rows))
        if rows.shape[1] > MOST_VALUES:
            raise ValueError(f"vectors have {rows.shape[1]:,} values, more than {MOST_VALUES:,}. Use fewer dimensions.")
        if n_cells is None:
            n_cells = max(1, round(CELLS_PER_ROOT * math.sqrt(len(rows)) / 16)) * 16
        n_cells = min(check_whole("n_cells", n_cells, 1), len(rows))
        from sthash.index.cells import learn_cells  # which needs SciPy, unlike a search

        by_angle = metric == "cosine"
        arrays = learn_cells(rows, n_bytes, n_cells, random_state, resolve_threads(threads), by_angle=by_angle)
        arrays["steps"] = steps_of(rows, precision)
        kept = rounded(rows, precision, arrays["steps"])
        return cls(arrays, n_rows=len(rows), metric=metric, precision=precision, vectors=kept)

    @classmethod
    def load(cls, path: str | PathLike[str], vectors: Any = None) -> Self:
        """Read an index that `save` wrote.

        Parameters
        ----------
        path : path
        vectors : array, optional
            The vectors that it was built of, for example an ``np.memmap``. By default those that `save` wrote beside
            it, which are memory-mapped.
        """
        index = model_file.load_as(cls, path)
        if vectors is None:
            beside = _beside(path)
            if not beside.exists():
                raise FileNotFoundError(f"{beside} is not there. Pass the vectors, or save the index with them.")
            vectors = np.load(beside, mmap_mode="r", allow_pickle=False)
        index.attach(vectors)
        return index

    def attach(self, vectors: Any) -> None:
        """Give the index the vectors that it was built of, or what `vectors` of it was."""
        shape, width = (self._n_rows, self._arrays["centers"].shape[1]), self._arrays["centers"].shape[1]
        same = isinstance(vectors, np.ndarray) and vectors.dtype == self.precision and same_kind(vectors, self.metric)
        found = tuple(np.shape(vectors))
        if found != shape:
            raise ValueError(
                f"the index was built of {shape[0]} vectors of {shape[1]} values, got shape {found}. "
                "Pass the same vectors."
            )
        if not same:
            vectors = rounded(checked_rows(vectors, self.metric, width), self.precision, self._arrays["steps"])
        self._connect(self._arrays, vectors)

    def _connect(self, arrays: Arrays, vectors: npt.NDArray[Any]) -> None:
        words = vectors.view(np.uint16) if vectors.dtype == np.float16 else vectors
        self._core = _core.CellIndex(
            **{name: array for name, array in arrays.items() if name != "margins"}, vectors=words
        )
        self._arrays, self._vectors, self._n_rows = arrays, vectors, len(vectors)

    def save(self, path: str | PathLike[str], *, vectors: bool = False) -> None:
        """Write the index; with ``vectors``, also the vectors, to a ``.npy`` file beside it.

        The two belong together: after `add`, write both again.
        """
        if vectors:
            with replacing(_beside(path)) as temporary, temporary.open("wb") as file:
                np.save(file, self.vectors)
        config = {"size": len(self), "rows": self._n_rows, "metric": self.metric, "precision": self.precision}
        model_file.write(path, type(self).__name__, config, self._arrays)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: Arrays) -> Self:
        arrays = {"margins": np.empty(0, dtype=np.float32), **arrays}  # the first files have none
        for name, (dtype, axes) in STORED.items():
            model_file.check_array(arrays, name, dtype, (None,) * axes)
            if dtype is np.float32 and not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} is not finite")
        if len(arrays["margins"]) not in (0, len(arrays["sizes"])) or (arrays["margins"] < 0).any():
            raise ValueError("margins are not those of the cells")
        metric, precision = config["metric"], config["precision"]
        check_choice("metric", metric, METRICS)
        check_choice("precision", precision, PRECISIONS)
        n_rows = check_whole("rows", config["rows"], 0, most=MOST_ROWS)
        index = cls({name: arrays[name] for name in STORED}, n_rows=n_rows, metric=metric, precision=precision)
        if len(index) != config["size"]:
            raise ValueError(f"it has {len(index)} ids, not {config['size']}")
        return index

    def __len__(self) -> int:
        return int(self._arrays["sizes"].sum(dtype=np.int64))

    @property
    def vectors(self) -> npt.NDArray[Any]:
        """The vectors that the index refers to, in the type that it reads; row i has the id i."""
        if self._vectors is None:
            raise ValueError("the index has no vectors yet. Read it with VectorIndex.load, or attach them.")
        return self._vectors

    @property
    def nbytes(self) -> int:
        """Bytes that the index takes besides the vectors."""
        return sum(array.nbytes for array in self._arrays.values())

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self._arrays["sizes"])

    def add(self, vectors: Any, *, threads: int | None = None) -> npt.NDArray[np.int64]:
        """Add vectors, and return their ids, which go on from the last one.

        The cells stay as they are: once there are several times as many vectors, a new index finds more. All vectors
        are then in memory. The codes are copied, so many vectors at once take much less time than one by one.
        """
        old = self.vectors
        rows = checked_rows(vectors, self.metric, self._arrays["centers"].shape[1])
        ids = np.arange(len(old), len(old) + len(rows), dtype=np.int64)
        if not len(rows):
            return ids
        _check_number(len(old) + len(rows))
        from sthash.index.cells import with_rows

        new = rounded(rows, self.precision, self._arrays["steps"])
        arrays = with_rows(self._arrays, rows, len(old), resolve_threads(threads))
        self._connect(arrays, np.concatenate([old, new]))
        return ids

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove vectors by their ids; none if one is not there. Those of the others stay as they are."""
        wanted = np.atleast_1d(np.asarray(ids))
        if wanted.size and wanted.dtype.kind not in "iu":
            raise TypeError(f"ids are {wanted.dtype}. Pass whole numbers.")
        missing = ~np.isin(wanted, self._arrays["ids"][self._arrays["ids"] >= 0])
        if missing.any():
            raise KeyError(f"there is no vector with the id {wanted[missing][0]}; nothing was removed.")
        from sthash.index.cells import without_ids

        self._connect(without_ids(self._arrays, wanted), self.vectors)

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        probes: int | None = None,
        candidates: int | None = None,
        threads: int | None = None,
    ) -> tuple[npt.NDArray[np.int64], Floats]:
        """Find the vectors with the largest cosines or inner products.

        Parameters
        ----------
        queries : array or tensor of shape (queries, d)
        k : int, default=10
        probes : int, optional
            Cells that are looked into, by default one of twelve (of six for inner products), but at least 64. All of
            them make the search as good as the codes are. For cosines this is an average per query: a query
            looks into the cells whose centers are almost as close as the nearest one, and these may be few or many.
        candidates : int, optional
            Vectors per query whose scores are computed, by default 12 k.
        threads : int, optional
            By default one per available core.

        Returns
        -------
        ids, scores : arrays of shape (queries, k)
            Best first, equal ones by id; -1 and -infinity where fewer were found.
        """
        if self._core is None:
            raise ValueError("the index has no vectors yet. Read it with VectorIndex.load, or attach them.")
        rows = check_dense(as_array(queries), self._arrays["centers"].shape[1])
        # Estimates are of unit queries; the lengths come in at the end.
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
        if not lengths.all():
            if self.metric == "cosine":
                raise ValueError("a query is zero, which is similar to nothing. Leave it out.")
            lengths[lengths == 0] = 1
        k = check_whole("k", k, 1, "ask for at least one neighbor")
        if probes is None:
            probes = max(LEAST_PROBES, -(-self.n_cells // CELLS_PER_PROBE[self.metric]))
        else:
            check_whole("probes", probes, 1)
        if candidates is None:
            candidates = CANDIDATES_PER_NEIGHBOR * k
        else:
            candidates = max(k, check_whole("candidates", candidates, 1))
        margin = math.inf
        if probes < len(self._arrays["margins"]):
            margin, probes = float(self._arrays["margins"][probes - 1]), MOST_PROBES * probes
        units = (rows / lengths).astype(np.float32)
        ids, scores = self._core.search(
            units, k=k, probes=probes, margin=margin, candidates=candidates, threads=resolve_threads(threads)
        )
        if self.metric == "ip":
            scores *= lengths.astype(np.float32)
        return ids, scores


def _beside(path: str | PathLike[str]) -> Path:
    return Path(f"{Path(path)}.npy")


def _check_number(rows: int) -> None:
    if rows > MOST_ROWS:
        raise ValueError(f"there are {rows:,} vectors, but an index holds at most {MOST_ROWS:,}. Make several.")
