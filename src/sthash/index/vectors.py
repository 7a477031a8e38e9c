"""The index of embeddings: cells, short codes, and the vectors themselves.

Vectors are grouped into cells around centers. Within its cell a vector has a code: the signs with which sign vectors
are added up to what the center leaves of it. A query goes through three stages in one call: the products with the
centers choose cells, sums of table lookups over the codes of those cells choose candidates, and products with the
vectors themselves rank them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.arrays import Floats, Ids
from sthash.blas import one_blas_thread
from sthash.checks import check_positive, check_share, check_whole, resolve_threads
from sthash.files import release
from sthash.index.arguments import GREATEST_ID, MOST_RESULTS, check_allowed, check_id, check_ids, check_k
from sthash.index.cells import CELLS_PER_ROOT, MOST_CELLS, CellCoder, EncodedVectors, wanted_cells
from sthash.index.effort import FEW_ROWS, MEASURED_K, MOST_CANDIDATES, Effort, effort_of, n_queries, true_neighbors
from sthash.index.interface import Allowed
from sthash.index.stored_vectors import BATCH, PRECISIONS, Precision, dense_rows, unrounded
from sthash.pickling import reduced_to_file
from sthash.sizes import parse_size
from sthash.vectors.batches import is_source, joined, vector_batches
from sthash.vectors.metric import Metric

Arrays = dict[str, npt.NDArray[Any]]

# The search effort, if only one of probes and candidates is given, or nothing was measured yet: n_cells / 12 cells
# (n_cells / 6 for inner products, about which cells tell less), but at least 64, and 12 candidates per neighbor.
CELLS_PER_PROBE, LEAST_PROBES, CANDIDATES_PER_NEIGHBOR = {"cosine": 12, "ip": 6}, 64, 12
MOST_PROBES = 3  # cells per query, relative to their average number
# The share of the true neighbors that a search is to find.
RECALL = 0.95
# What a search among some vectors may lose, relative to others: they may lie far from the query, and unevenly.
LOSS_OF_SELECTIONS = 0.5
# A selection that lies in fewer cells than this share of those that as many random vectors are in takes more effort:
# to a distant query its vectors are all about equally close.
EVEN, UNEVEN_CELLS, UNEVEN_CANDIDATES = 0.8, 2, 4
# The effort is measured again when there are so many times as many rows or cells as before.
MEASURED_GROWTH = 1.25
FARTHEST = 4.0  # margin that no cell exceeds
# A change of many vectors at once takes several rounds of splits. If they end in too few cells, the next try waits
# until the number of rows has changed by this share.
MOST_ROUNDS, STUCK = 12, 0.05
CHEAPEST, EXACT, CELLS = range(3)  # plans of the kernel


class Selection:
    """Ids that searches may find, prepared once for many searches. Made by `VectorIndex.select`.

    It holds ids, not vectors: after a change of the index, the next search looks the ids up again.

    Its length is the number of ids.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import VectorIndex
    >>> vectors = np.random.default_rng(0).normal(size=(500, 16))
    >>> index = VectorIndex.build(vectors)
    >>> even = index.select(range(0, 500, 2))
    >>> [int(index.search(vector, k=1, allowed=even)[0][0, 0]) % 2 for vector in vectors[:4]]
    [0, 0, 0, 0]
    """

    def __init__(self, ids: Ids) -> None:
        self._size = len(ids)
        self._core = _core.CellSelection(ids)

    def __len__(self) -> int:
        return self._size


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
        As the cells are now: they follow the vectors.
    effort : Effort or None
        What searches find by how much they look at; None as long as there are few vectors.

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
        self.effort: Effort | None = None
        self._measured_on = 0  # rows
        self._stuck_at = 0  # rows at which no cell could be split, as copies of one vector cannot
        self._cells_per_root = CELLS_PER_ROOT
        self._writing = threading.Lock()
        self._file: model_file.MappedFile | None = None
        self._mapped: npt.NDArray[Any] | None = None  # vectors, perhaps in a file
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
        path: str | PathLike[str] | None = None,
        memory: int | str | None = None,
        column: str | None = None,
    ) -> Self:
        """Learn from vectors, and build the index of them, in memory or, with ``path``, on disk.

        Parameters
        ----------
        vectors : array or tensor of shape (n, d), path, table, or iterable
            Large float32 arrays (for cosines, of unit length) are referenced, not copied; they may be memory-mapped,
            and must not be changed while the index lives. Anything that has ``__array__`` or ``__dlpack__`` is
            accepted; so are a ``.npy`` or ``.parquet`` file, record batches or a table of Arrow, a data frame, and an
            iterable of any of these, such as a generator of batches. What is not an array is read into memory, unless
            there is a ``path``.
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
        path : path, optional
            Build the index on disk: write it to this file, as `save` does, and return it opened. However many vectors
            there are, memory holds only a batch of them, a sample, and the codes. While it is built, this takes twice
            the space of the vectors in the same folder.
        memory : int or str, optional
            With ``path``: bytes, or a str such as "4GB", that the process may take while it builds. If this is too
            little for the codes, it is an error that says what is needed.
        column : str, optional
            The column of a table or of a Parquet file that holds the vectors. Default: the only one of lists.

        Examples
        --------
        >>> import numpy as np, pathlib, tempfile
        >>> from sthash import VectorIndex
        >>> batches = (np.random.default_rng(seed).normal(size=(100, 16)) for seed in range(20))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "vectors.index")
        ...     index = VectorIndex.build(batches, precision="float16", path=path, memory="1GB")
        >>> index
        VectorIndex(size=2000, metric='cosine', precision='float16')
        """
        options: dict[str, Any] = {
            "metric": metric,
            "precision": precision,
            "n_bytes": n_bytes,
            "n_cells": n_cells,
            "random_state": check_whole("random_state", random_state, 0),
            "threads": threads,
        }
        if path is not None:
            return cls._built_on_disk(vectors, ids, Path(path), column, memory, options)
        if memory is not None:
            raise ValueError("memory= limits what a build on disk takes. Pass path=, the file to build, too.")
        if is_source(vectors):
            parts = [np.asarray(part, dtype=np.float32) for _, part in vector_batches(vectors, BATCH, column)]
            vectors = joined(parts)
        elif column is not None:
            raise TypeError(f"column={column!r} names a column, but an array has none. Leave it out.")
        rows = dense_rows(vectors)
        own_ids = None if ids is None else check_ids(ids, count=len(rows), of="vectors")
        rng = np.random.default_rng(options["random_state"])
        held_out = np.sort(rng.choice(len(rows), n_queries(len(rows)), replace=False))
        coder = CellCoder.learn(rows, held_out=held_out, **options)
        encoded = coder.encode(rows, threads)
        index = cls._of(coder, encoded, own_ids, held_out, threads)
        if isinstance(vectors, np.memmap) and np.may_share_memory(encoded.vectors, vectors):
            index._file = model_file.MappedFile.of(vectors)
        return index

    @classmethod
    def _built_on_disk(
        cls, vectors: Any, ids: Any, path: Path, column: str | None, memory: int | str | None, options: dict[str, Any]
    ) -> Self:
        from sthash.index.disk_build import encoded_on_disk  # which needs SciPy, unlike a search

        most = None if memory is None else parse_size("memory", memory)
        with encoded_on_disk(vectors, path.parent, column=column, memory=most, **options) as (coder, encoded, held_out):
            own_ids = None if ids is None else check_ids(ids, count=len(encoded), of="vectors")
            index = cls._of(coder, encoded, own_ids, held_out, options["threads"])
            del encoded
            index.save(path)
        del index  # before the one that was saved takes memory
        return cls.open(path)

    @classmethod
    def _of(
        cls,
        coder: CellCoder,
        encoded: EncodedVectors,
        ids: Ids | None,
        held_out: npt.NDArray[np.int64],
        threads: int | None,
    ) -> Self:
        """Make an index of encoded vectors, and measure it with those that nothing was learned from."""
        index = cls(coder)
        index._cells_per_root = coder.n_cells / math.sqrt(len(encoded))
        given = index.add_encoded(encoded, ids)
        index._mapped = encoded.vectors
        if len(encoded) >= FEW_ROWS:
            index.measure(given[held_out], threads=threads)
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
        with self._writing:  # the cells are those of the coder
            table, coder = self._unchanged().table(), self.coder
        dtype = np.dtype(coder.precision)
        ids = table.ids()
        config = {
            "max_id": table.max_id(),
            "metric": coder.metric,
            "precision": coder.precision,
            "measured_on": self._measured_on,
            "cells_per_root": self._cells_per_root,
        }

        def vectors(first: int, last: int) -> npt.NDArray[Any]:
            release(self._mapped)  # what was read before
            return table.vectors(first, last).view(dtype)

        arrays: dict[str, npt.NDArray[Any] | model_file.Streamed] = {
            **coder.arrays(),
            **({} if self.effort is None else self.effort.arrays()),
            "ids": ids,
            "cells": table.cells(),
            "packed": table.packed(),
            "vectors": model_file.Streamed(dtype, (len(ids), coder.n_features), vectors),
        }
        model_file.write(path, type(self).__name__, config, arrays)
        release(self._mapped)

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
        index._mapped = arrays["vectors"]
        index.effort = Effort.restored(arrays)
        index._measured_on = check_whole("measured_on", config["measured_on"], 0)
        index._cells_per_root = check_positive("cells_per_root", config["cells_per_root"], most=MOST_CELLS)
        return index

    def _unchanged(self) -> _core.CellIndex:
        """Return the index; refuse it if its file, if any, has changed."""
        if self._file is not None:
            self._file.check()
        return self._core

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_file(self)

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
        return unrounded(self._unchanged().vectors(check_ids(ids)).view(self.coder.precision), self.coder.steps)

    def add(self, vectors: Any, ids: npt.ArrayLike | None = None, *, threads: int | None = None) -> Ids:
        """Add vectors, and return their ids.

        Cells split as the index grows, so that it has as many as one that is built from all its vectors, and the effort
        of a search is measured again. Searches are not blocked.

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
        with self._writing:
            given = self._add(self.coder.encode(rows, threads), own_ids, borrow=False)
            self._settle(resolve_threads(threads))
        return given

    def add_encoded(self, encoded: EncodedVectors, ids: npt.ArrayLike | None = None) -> Ids:
        """Add vectors that the coder of the index has encoded, and return their ids.

        Many vectors are referred to, not copied: they must not be changed while the index lives. The cells stay as they
        are, however many vectors there are.
        """
        own_ids = None if ids is None else check_ids(ids, count=len(encoded), of="vectors")
        return self._add(encoded, own_ids, borrow=True)

    def _add(self, encoded: EncodedVectors, ids: Ids | None, *, borrow: bool) -> Ids:
        rows = self.coder.check_encoded(encoded)
        words = rows.vectors.view(np.uint16) if rows.vectors.dtype == np.float16 else rows.vectors
        return self._core.add(cells=rows.cells, packed=rows.packed, vectors=words, ids=ids, borrow=borrow)

    def remove(self, ids: npt.ArrayLike | Set[int]) -> None:
        """Remove vectors by their ids; none if one is missing. Other ids do not change."""
        gone = check_ids(ids)
        with self._writing:
            self._core.remove(gone)
            self._settle(resolve_threads(None))

    def remove_encoded(self, ids: npt.ArrayLike | Set[int]) -> None:
        """Remove vectors as `remove` does, and leave the cells as they are, as `add_encoded` does."""
        self._core.remove(check_ids(ids))

    def _settle(self, threads: int) -> None:
        """Let the cells follow the vectors, and measure the effort again if much has changed."""
        size = len(self)
        if abs(size - self._stuck_at) > STUCK * self._stuck_at:
            from sthash.index.regrouping import regroup  # which needs SciPy, unlike a search

            for _ in range(MOST_ROUNDS):
                changed = regroup(self._core, self.coder, self._cells_per_root, threads)
                if changed is None:
                    break
                self.coder = changed
            wanted = wanted_cells(size, self._cells_per_root)
            self._stuck_at = size if np.count_nonzero(self._core.cell_sizes()) < wanted else 0
        cells = 0 if self.effort is None else int(self.effort.probes[-1])
        grown = size > MEASURED_GROWTH * self._measured_on or 2 * size < self._measured_on
        if size >= FEW_ROWS and (grown or self.coder.n_cells > MEASURED_GROWTH * cells):
            self.measure(threads=threads)

    def measure(self, ids: npt.ArrayLike | None = None, *, threads: int | None = None) -> None:
        """Measure how much a search must look at; the index does so itself when it is built, and as it grows.

        Parameters
        ----------
        ids : whole numbers, optional
            Rows that serve as queries. Default: up to 512, drawn at random.
        threads : int, optional
        """
        core, coder = self._unchanged(), self.coder
        known = core.ids()
        if ids is None:
            ids = np.random.default_rng(len(known)).choice(known, n_queries(len(known)), replace=False)
        own = np.sort(check_ids(ids))
        if not len(own):
            raise ValueError("there are no rows to measure with. Add more vectors first.")
        with one_blas_thread():
            self._measure(core, coder, known, own, resolve_threads(threads))

    def _measure(self, core: _core.CellIndex, coder: CellCoder, known: Ids, own: Ids, threads: int) -> None:
        from sthash.index.cell_learning import margins_of, ratings  # which needs SciPy, unlike a search

        def rows_of(some: Ids) -> Floats:
            rows = unrounded(core.vectors(some).view(coder.precision), coder.steps)
            release(self._mapped)
            return rows

        # A few at a time: of a mapped file, many pages around each row become resident.
        queries = np.vstack([rows_of(own[first : first + 16]) for first in range(0, len(own), 16)])
        lengths = np.linalg.norm(queries, axis=1, keepdims=True)
        queries = np.asarray(queries / np.where(lengths > 0, lengths, 1), dtype=np.float32)
        k = min(MEASURED_K[-1], len(known) - 1)
        truth = true_neighbors(queries, own, known, rows_of, k)
        most = min(MOST_CANDIDATES, len(known))
        estimated, _ = core.search(
            queries,
            k=most,
            probes=coder.n_cells,
            margin=math.inf,
            candidates=most,
            plan=CELLS,
            estimated=True,
            allowed=None,
            threads=threads,
        )
        # Each row finds itself, which counts for nothing.
        estimated = np.array([row[row != one][: most - 1] for row, one in zip(estimated, own, strict=True)])
        rated = ratings(queries, coder.centers, coder.lengths)
        used = core.cell_sizes()[: coder.n_cells] > 0
        order = np.argsort(np.argsort(-np.where(used, rated, -np.inf), axis=1, kind="stable"), axis=1) + 1.0
        if coder.metric == "cosine":
            margins = np.full(coder.n_cells, FARTHEST, dtype=np.float32)
            margins[: np.count_nonzero(used)] = margins_of(rated[:, used])
            coder = replace(coder, margins=margins)
            gaps = rated.max(axis=1, keepdims=True) - rated
            within = np.searchsorted(coder.margins, gaps) + 1
            order = np.maximum(within, np.ceil(order / MOST_PROBES))
        self.effort = effort_of(
            truth, estimated, order.astype(np.float64), core.cells_of(truth.ravel()).reshape(truth.shape), len(known)
        )
        self.coder, self._measured_on = coder, len(known)

    def select(self, allowed: Allowed) -> Selection:
        """Prepare ids, or a mask in the order of `ids`, for many searches: ``search(..., allowed=selection)``."""
        ids = check_allowed(allowed, self)
        assert ids is not None  # noqa: S101
        return Selection(ids)

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        allowed: Allowed | Selection | None = None,
        recall: float = RECALL,
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
        allowed : whole numbers, boolean mask or Selection, optional
            Only vectors with these ids, or those that a mask in the order of `ids` selects. Ids that are not in the
            index are ignored. If they are few, exactly these vectors are scored. What `select` returns is looked up
            once for many searches.
        recall : float, default=0.95
            The share of the true neighbors to find, on average. The index has measured, with vectors of its own as
            queries, how many cells and candidates this takes; queries unlike all vectors may find less. 1 scores all
            vectors.
        exact : bool, default=False
            Score all vectors.
        probes : int, optional
            Cells that are searched, instead of what ``recall`` takes; beside ``candidates`` alone n_cells / 12 (n_cells
            / 6 for inner products), at least 64. For cosines this is an average per query: a query searches the cells
            whose centers are almost as close as the nearest one, which may be few or many.
        candidates : int, optional
            Vectors per query whose scores are computed, instead of what ``recall`` takes; beside ``probes`` alone 12 k.
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
        k, coder = check_k(k), self.coder
        chosen = None if allowed is None else allowed if isinstance(allowed, Selection) else self.select(allowed)
        size, recall = len(self), check_share("recall", recall)
        if chosen is not None:
            size, recall = min(size, len(chosen)), 1 - LOSS_OF_SELECTIONS * (1 - recall)
        measured = probes is None and candidates is None
        plan, probes, candidates = self._planned(k, size, recall, bool(exact), probes, candidates)
        margin = math.inf
        if plan == CHEAPEST and measured and chosen is not None and self._is_uneven(chosen):
            probes, candidates = UNEVEN_CELLS * probes, min(UNEVEN_CANDIDATES * candidates, MOST_RESULTS)
        elif probes < len(coder.margins):
            margin, probes = float(coder.margins[probes - 1]), MOST_PROBES * probes
        ids, scores = self._unchanged().search(
            (rows / lengths).astype(np.float32),
            k=k,
            probes=probes,
            margin=margin,
            candidates=candidates,
            plan=plan,
            estimated=False,
            allowed=None if chosen is None else chosen._core,
            threads=resolve_threads(threads),
        )
        if coder.metric == "ip":
            scores *= lengths.astype(np.float32)
        return ids, scores

    def _is_uneven(self, chosen: Selection) -> bool:
        """Whether a selection lies in few cells, so that it may be far from a query."""
        n_cells = self.coder.n_cells
        expected = n_cells * (1 - math.exp(-len(chosen) / n_cells))
        return chosen._core.cells(self._core) < EVEN * expected

    def _planned(
        self, k: int, size: int, recall: float, exact: bool, probes: int | None, candidates: int | None
    ) -> tuple[int, int, int]:
        """Return the plan, and the numbers of cells and of candidates."""
        plan, effort, n_cells = EXACT if exact else CHEAPEST, self.effort, self.coder.n_cells
        if probes is None and candidates is None and plan == CHEAPEST:
            if recall == 1:
                plan = EXACT
            elif effort is not None:
                choice = effort.needed(k, size, recall, self._cost_of(size))
                if choice is None:
                    plan = EXACT
                else:
                    probes, candidates = choice[0], min(choice[1], MOST_RESULTS)
        if probes is None:
            probes = max(LEAST_PROBES, -(-n_cells // CELLS_PER_PROBE[self.coder.metric]))
        else:
            check_whole("probes", probes, 1)
        if candidates is None:
            candidates = CANDIDATES_PER_NEIGHBOR * k
        else:
            candidates = max(k, check_whole("candidates", candidates, 1))
            if candidates > MOST_RESULTS:
                raise ValueError(f"candidates={candidates:,} is more than {MOST_RESULTS:,}. Ask for fewer.")
        return plan, probes, min(candidates, MOST_RESULTS)

    def _cost_of(self, size: int) -> Callable[[int, int], float]:
        """Return what a search costs by its numbers of cells and candidates, as the kernel reckons."""
        live, coder = len(self), self.coder

        def cost(probes: int, candidates: int) -> float:
            scanned = min(live, max(live * min(1, probes / coder.n_cells), candidates * live / max(size, 1)))
            return scanned * coder.n_bytes / 4 + candidates * coder.n_features

        return cost
