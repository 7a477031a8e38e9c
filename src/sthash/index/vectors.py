"""The index of embeddings: cells, short codes, and the vectors themselves.

Vectors are grouped into cells around centers. Within its cell a vector has a code: the signs with which sign vectors
are added up to what the center leaves of it. A query goes through three stages in one call: the products with the
centers choose cells, sums of table lookups over the codes of those cells choose candidates, and products with the
vectors themselves rank them.
"""

from __future__ import annotations

import math
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.checks import check_whole, resolve_threads
from sthash.rows import check_dense, unit_rows

Floats = npt.NDArray[np.float32]
Arrays = dict[str, npt.NDArray[Any]]

BATCH = 8192
CELLS_PER_ROOT = 2.0
# What a file holds, besides the vectors.
STORED: dict[str, tuple[Any, int]] = {
    "centers": (np.int8, 2),
    "signs": (np.float32, 2),
    "starts": (np.int64, 1),
    "sizes": (np.int32, 1),
    "lengths": (np.float32, 2),
    "blocks": (np.uint8, 1),
    "scales": (np.float32, 1),
    "ids": (np.int32, 1),
}


class VectorIndex:
    """Nearest neighbors among embeddings by cosine, from a few bytes per vector and the vectors of few candidates.

    The index keeps ``n_bytes`` + 6 bytes per vector, and refers to the vectors, which may be memory-mapped. Make one
    with `build`; a change of the vectors needs a new one.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import VectorIndex
    >>> vectors = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    >>> index = VectorIndex.build(vectors)
    >>> ids, cosines = index.search(vectors[:2], k=3)
    >>> ids[:, 0].tolist(), cosines[:, 0].round(3).tolist()
    ([0, 1], [1.0, 1.0])
    """

    def __init__(self, arrays: Arrays, vectors: npt.ArrayLike | None = None) -> None:
        self._arrays = arrays
        self._core: _core.CellIndex | None = None
        if vectors is not None:
            self.attach(vectors)

    @classmethod
    def build(
        cls,
        vectors: npt.ArrayLike,
        *,
        n_bytes: int = 24,
        n_cells: int | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> Self:
        """Build the index of vectors; their ids are the numbers of their rows.

        Parameters
        ----------
        vectors : array of shape (n, d)
            Unit rows of float32 are referred to, also in a memory-mapped file; others are copied.
        n_bytes : int, default=24
            Bytes per code, an even number from 2 to 128.
        n_cells : int, optional
            By default twice the square root of n.
        random_state : int, default=0
        threads : int, optional
            By default one per available core. The answers do not depend on it.
        """
        if check_whole("n_bytes", n_bytes, 2) % 2 or n_bytes > 128:
            raise ValueError(f"n_bytes={n_bytes} must be an even number from 2 to 128. Use another length.")
        rows = _unit(vectors)
        if not len(rows):
            raise ValueError("there are no vectors. Give at least one.")
        if n_cells is None:
            n_cells = max(1, round(CELLS_PER_ROOT * math.sqrt(len(rows)) / 16)) * 16
        n_cells = min(check_whole("n_cells", n_cells, 1), len(rows))
        from sthash.index.cells import learn_cells  # which needs SciPy, unlike a search

        return cls(learn_cells(rows, n_bytes, n_cells, random_state, resolve_threads(threads)), rows)

    @classmethod
    def load(cls, path: str | PathLike[str], vectors: npt.ArrayLike) -> Self:
        """Read an index that `save` wrote, for the vectors that it was built of, for example an ``np.memmap``."""
        index = model_file.load_as(cls, path)
        index.attach(vectors)
        return index

    def attach(self, vectors: npt.ArrayLike) -> None:
        """Give the index the vectors that it was built of."""
        rows = _unit(vectors)
        shape = (int((self._arrays["ids"] >= 0).sum()), self._arrays["centers"].shape[1])
        if rows.shape != shape:
            raise ValueError(
                f"the index was built of {shape[0]} vectors of {shape[1]} values, got shape {rows.shape}. "
                "Pass the same vectors."
            )
        self._core = _core.CellIndex(**self._arrays, steps=np.zeros(0, np.float32), vectors=rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index without its vectors."""
        model_file.write(path, type(self).__name__, {"size": len(self)}, self._arrays)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: Arrays) -> Self:
        for name, (dtype, axes) in STORED.items():
            model_file.check_array(arrays, name, dtype, (None,) * axes)
        index = cls({name: arrays[name] for name in STORED})
        if len(index) != config["size"]:
            raise ValueError(f"it has {len(index)} ids, not {config['size']}")
        return index

    def __len__(self) -> int:
        return int((self._arrays["ids"] >= 0).sum())

    @property
    def nbytes(self) -> int:
        """Bytes that the index takes besides the vectors."""
        return sum(array.nbytes for array in self._arrays.values())

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self._arrays["starts"]) - 1

    def search(
        self,
        queries: npt.ArrayLike,
        k: int = 10,
        *,
        probes: int | None = None,
        candidates: int | None = None,
        threads: int | None = None,
    ) -> tuple[npt.NDArray[np.int64], Floats]:
        """Find the vectors with the largest cosines.

        Parameters
        ----------
        queries : array of shape (queries, d)
        k : int, default=10
        probes : int, optional
            Cells that are looked into, by default one of ten. All of them make the search as good as the codes are.
        candidates : int, optional
            Vectors per query whose cosines are computed, by default 10 k.
        threads : int, optional
            By default one per available core.

        Returns
        -------
        ids, cosines : arrays of shape (queries, k)
            Best first, equal ones by id; -1 and -infinity where fewer were found.
        """
        if self._core is None:
            raise ValueError("the index has no vectors yet. Read it with VectorIndex.load, or attach them.")
        rows = unit_rows(check_dense(queries, self._arrays["centers"].shape[1]))
        k = check_whole("k", k, 1, "ask for at least one neighbor")
        probes = max(1, -(-self.n_cells // 10)) if probes is None else check_whole("probes", probes, 1)
        candidates = 10 * k if candidates is None else max(k, check_whole("candidates", candidates, 1))
        return self._core.search(rows, k=k, probes=probes, candidates=candidates, threads=resolve_threads(threads))


def _unit(vectors: npt.ArrayLike) -> Floats:
    """Return unit rows, the array itself if it has them already."""
    rows = check_dense(vectors)
    for first in range(0, len(rows), BATCH):
        part = rows[first : first + BATCH]
        squares = np.einsum("ij,ij->i", part, part)
        if np.abs(squares[squares > 0] - 1).max(initial=0) > 1e-5:
            return np.ascontiguousarray(unit_rows(rows), dtype=np.float32)
    return rows
