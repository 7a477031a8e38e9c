"""The index of embeddings: cells, short codes, and the vectors themselves.

Vectors are grouped into cells around centers. Within its cell a vector has a code: the signs with which sign vectors
are added up to what the center leaves of it. A query goes through three stages in one call: the products with the
centers choose cells, sums of table lookups over the codes of those cells choose candidates, and products with the
vectors themselves rank them.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.arrays import Floats, Ids
from sthash.checks import check_whole, resolve_threads
from sthash.index.arguments import GREATEST_ID, MOST_RESULTS, check_allowed, check_id, check_ids, check_k, refuse_copy
from sthash.index.cells import CellCoder, EncodedVectors
from sthash.index.interface import Allowed
from sthash.index.stored_vectors import PRECISIONS, Precision, dense_rows
from sthash.vectors.metric import Metric

Arrays = dict[str, npt.NDArray[Any]]

# Default search effort: n_cells / 12 cells (n_cells / 6 for inner products, about which cells tell less), but at least
# 64, and 12 candidates per neighbor.
CELLS_PER_PROBE, LEAST_PROBES, CANDIDATES_PER_NEIGHBOR = {"cosine": 12, "ip": 6}, 64, 12
MOST_PROBES = 3  # cells per query, relative to their average number


@dataclass(frozen=True)
class VectorStats:
    """What an index of embeddings holds.

    Attributes
    ----------
    size, dead
        Vectors held; removed vectors that still take memory, until they are 1,024 and a quarter of all.
    nbytes
        Memory that the index takes, without vectors that are mapped or that it only refers to.
    code_bytes, vector_bytes
        Its parts: codes, ids and cells; vectors that the index holds itself.
    """

    size: int
    dead: int
    nbytes: int
    code_bytes: int
    vector_bytes: int


class VectorIndex:
    """Approximate or exact nearest neighbors among embeddings.

    The index keeps about ``n_bytes`` + 10 bytes per vector (8 more with ids of your own), and the vectors, which may be
    memory-mapped. Make one with
    `build`; one that is made from a coder is empty. Any number of threads may search while one changes the index: a
    search sees all of a change or nothing of it.

    Parameters
    ----------
    coder : CellCoder
        What was learned from vectors of the same kind.

    Attributes
    ----------
    coder : CellCoder

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import VectorIndex
    >>> vectors = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    >>> index = VectorIndex.build(vectors)
    >>> ids, cosines = index.search(vectors[:2], k=3)
    >>> ids[:, 0].tolist(), cosines[:, 0].round(3).tolist()
    ([0, 1], [1.0, 1.0])
    >>> index.add(2 * vectors[:1]).tolist()
    [500]
    >>> index.remove([0])
    >>> index.search(vectors[0], k=1)[0].tolist()
    [[500]]
    """

    def __init__(self, coder: CellCoder) -> None:
        self.coder = coder
        self._file: model_file.MappedFile | None = None
        self._core = _core.CellIndex(
            centers=coder.centers,
            lengths=coder.lengths,
            signs=coder.signs,
            scales=coder.scales,
            steps=coder.steps,
            precision=PRECISIONS.index(coder.precision),
        )

    @classmethod
    def build(
        cls,
        vectors: Any,
        ids: npt.ArrayLike | None = None,
        *,
        metric: Metric = "cosine",
        precision: Precision = "float32",
        n_bytes: int = 24,
        n_cells: int | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> Self:
        """Learn from vectors, and build the index of them.

        Parameters
        ----------
        vectors : array or tensor of shape (n, d)
            Large float32 arrays (for cosines, of unit length) are referenced, not copied; they may be memory-mapped,
            and must not be changed while the index lives. Anything that has ``__array__`` or ``__dlpack__`` is
            accepted.
        ids : whole numbers, optional
            Default: the positions of the rows.
        metric : {"cosine", "ip"}, default="cosine"
            "ip" is the inner product, in which lengths count.
        precision : {"float32", "float16", "int8"}, default="float32"
            How the index keeps the vectors that the last stage reads. "float16" and "int8" take half and a quarter of
            the memory, and scores are those of the rounded vectors. The range of int8 is learned per dimension; `add`
            refuses vectors far outside it.
        n_bytes : int, default=24
            Bytes per code, an even number from 2 to 128.
        n_cells : int, optional
            Default: 1.3 times the square root of n.
        random_state : int, default=0
        threads : int, optional
            Default: one per available core. The answers do not depend on it.
        """
        rows = dense_rows(vectors)
        own_ids = None if ids is None else check_ids(ids, count=len(rows), of="vectors")
        coder = CellCoder.learn(
            rows,
            metric=metric,
            precision=precision,
            n_bytes=n_bytes,
            n_cells=n_cells,
            random_state=random_state,
            threads=threads,
        )
        index = cls(coder)
        index.add_encoded(coder.encode(rows, threads), own_ids)
        return index

    @classmethod
    def open(cls, path: str | PathLike[str], *, mmap: bool = True) -> Self:
        """Open a file that `save` wrote.

        Parameters
        ----------
        path : path
        mmap : bool, default=True
            Whether the vectors stay in the file, memory-mapped. The file is read once to verify its checksum. It may be
            renamed, deleted, or replaced by `save`. It must not be changed in place (``cp`` over it, ``truncate``,
            ``rsync --inplace``): each call compares its size and its time of change and raises ModelFileError, but a
            change in the middle of a call may end the process (SIGBUS) or give wrong answers. Use False for files that
            others may write, or on a network file system: the vectors are then read into memory.

            Changes to the index stay in memory until `save`, either way.

        Raises
        ------
        ModelFileError
            If the file is not an index of vectors, is damaged, or was written by a newer version. It is a ValueError.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import numpy as np, pathlib, tempfile
        >>> from sthash import VectorIndex
        >>> vectors = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     VectorIndex.build(vectors, precision="float16").save(pathlib.Path(folder, "vectors.index"))
        ...     again = VectorIndex.open(pathlib.Path(folder, "vectors.index"))
        >>> again
        VectorIndex(size=500, metric='cosine', precision='float16')
        """
        if not mmap:
            return model_file.load_as(cls, path)
        index, file = model_file.load_mapped(cls, path, ("vectors",))
        index._file = file
        return index

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index with its vectors to one file. After a crash the path holds the old file or the new one.

        Processes that have the old file open, mapped or not, keep it.
        """
        table = self._unchanged().table()
        dtype = np.dtype(self.coder.precision)
        ids = table.ids()
        config = {"max_id": table.max_id(), "metric": self.coder.metric, "precision": self.coder.precision}
        arrays: dict[str, npt.NDArray[Any] | model_file.Streamed] = {
            **self.coder.arrays(),
            "ids": ids,
            "cells": table.cells(),
            "packed": table.packed(),
            "vectors": model_file.Streamed(
                dtype, (len(ids), self.coder.n_features), lambda first, last: table.vectors(first, last).view(dtype)
            ),
        }
        model_file.write(path, type(self).__name__, config, arrays)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: Arrays) -> Self:
        coder = CellCoder.restored(arrays, config["metric"], config["precision"])
        max_id = check_whole("max_id", config["max_id"], -1, most=GREATEST_ID)
        ids = arrays["ids"]
        model_file.check_array(arrays, "ids", np.int64, (None,))
        if len(ids) and (ids[0] < 0 or (ids[1:] <= ids[:-1]).any() or ids[-1] > max_id):
            raise ValueError("the ids do not ascend from 0 to the greatest one")
        index = cls(coder)
        index.add_encoded(EncodedVectors(arrays["cells"], arrays["packed"], arrays["vectors"]), ids)
        index._core.raise_max_id(max_id)
        return index

    def _unchanged(self) -> _core.CellIndex:
        """Return the index; refuse it if its file, if any, has changed."""
        if self._file is not None:
            self._file.check()
        return self._core

    __copy__ = refuse_copy

    def __len__(self) -> int:
        return self._core.size()

    def __contains__(self, key: object) -> bool:
        number = check_id(key)
        return number is not None and self._core.contains(number)

    def __repr__(self) -> str:
        return f"VectorIndex(size={len(self)}, metric={self.coder.metric!r}, precision={self.coder.precision!r})"

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""
        return self._core.ids()

    @property
    def stats(self) -> VectorStats:
        """What the index holds."""
        parts = self._core.stats()
        coder_bytes = sum(array.nbytes for array in self.coder.arrays().values())
        return VectorStats(**parts, nbytes=parts["code_bytes"] + parts["vector_bytes"] + coder_bytes)

    def vectors(self, ids: npt.ArrayLike) -> Floats:
        """Return the vectors of some ids as float32, in the order of the ids; for cosines they have unit length."""
        rows = self._unchanged().vectors(check_ids(ids)).view(self.coder.precision)
        return rows * self.coder.steps if self.coder.precision == "int8" else rows.astype(np.float32)

    def add(self, vectors: Any, ids: npt.ArrayLike | None = None, *, threads: int | None = None) -> Ids:
        """Add vectors, and return their ids.

        The cells do not change. Once the index has grown to several times its original size, a rebuilt index finds
        more.

        Parameters
        ----------
        vectors : array or tensor of shape (n, d)
        ids : whole numbers, optional
            New to the index, none negative. By default they continue from the greatest id ever given.
        threads : int, optional
            Default: one per available core.
        """
        rows = dense_rows(vectors, self.coder.n_features)
        own_ids = None if ids is None else check_ids(ids, count=len(rows), of="vectors")
        return self._add(self.coder.encode(rows, threads), own_ids, borrow=False)

    def add_encoded(self, encoded: EncodedVectors, ids: npt.ArrayLike | None = None) -> Ids:
        """Add vectors that the coder of the index has encoded, and return their ids.

        Many vectors are referred to, not copied: they must not be changed while the index lives.
        """
        own_ids = None if ids is None else check_ids(ids, count=len(encoded), of="vectors")
        return self._add(encoded, own_ids, borrow=True)

    def _add(self, encoded: EncodedVectors, ids: Ids | None, *, borrow: bool) -> Ids:
        rows = self.coder.check_encoded(encoded)
        words = rows.vectors.view(np.uint16) if rows.vectors.dtype == np.float16 else rows.vectors
        return self._core.add(cells=rows.cells, packed=rows.packed, vectors=words, ids=ids, borrow=borrow)

    def remove(self, ids: npt.ArrayLike | Set[int]) -> None:
        """Remove vectors by their ids; none if one is missing. Other ids do not change."""
        self._core.remove(check_ids(ids))

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        allowed: Allowed | None = None,
        exact: bool = False,
        probes: int | None = None,
        candidates: int | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Floats]:
        """Find the vectors with the largest cosines or inner products.

        Parameters
        ----------
        queries : array or tensor of shape (queries, d)
        k : int, default=10
        allowed : whole numbers or boolean mask, optional
            Only vectors with these ids, or those that a mask in the order of `ids` selects. Ids that are not in the
            index are ignored. If they are few, exactly these vectors are scored.
        exact : bool, default=False
            Score all vectors.
        probes : int, optional
            Cells that are searched. Default: n_cells / 12 (n_cells / 6 for inner products), at least 64. For cosines
            this is an average per query: a query searches the cells whose centers are almost as close as the nearest
            one, which may be few or many.
        candidates : int, optional
            Vectors per query whose scores are computed. Default: 12 k.
        threads : int, optional
            Default: one per available core. The answers do not depend on it.

        Returns
        -------
        ids, scores : arrays of shape (queries, k)
            Best first, equal ones by id; -1 and -infinity where fewer vectors are in the index or allowed.
        """
        rows = dense_rows(queries, self.coder.n_features)
        # Estimates are of unit queries; the lengths come in at the end.
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
        if not lengths.all():
            if self.coder.metric == "cosine":
                raise ValueError("queries must not be zero, because a zero vector is similar to nothing. Leave it out.")
            lengths[lengths == 0] = 1
        k = check_k(k)
        if probes is None:
            probes = max(LEAST_PROBES, -(-self.coder.n_cells // CELLS_PER_PROBE[self.coder.metric]))
        else:
            check_whole("probes", probes, 1)
        if candidates is None:
            candidates = min(CANDIDATES_PER_NEIGHBOR * k, MOST_RESULTS)
        else:
            candidates = max(k, check_whole("candidates", candidates, 1))
        margin = math.inf
        if probes < len(self.coder.margins):
            margin, probes = float(self.coder.margins[probes - 1]), MOST_PROBES * probes
        ids, scores = self._unchanged().search(
            (rows / lengths).astype(np.float32),
            k=k,
            probes=probes,
            margin=margin,
            candidates=candidates,
            exact=bool(exact),
            allowed=check_allowed(allowed, self),
            threads=resolve_threads(threads),
        )
        if self.coder.metric == "ip":
            scores *= lengths.astype(np.float32)
        return ids, scores
