"""Vectors on their way into an index that is built on disk: more of them than memory holds.

They are first copied, checked, to a file without a name in the folder of the index. Cells are learned from a sample;
then the vectors are read again, batch by batch, and encoded. What stays in memory are codes, ids and the sample.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats
from sthash.index.cell_learning import BATCH as NEAREST_ROWS
from sthash.index.cell_learning import LEARNING_ROWS, ROWS_PER_CENTER
from sthash.index.cells import CellCoder, EncodedVectors, new_cells
from sthash.index.effort import n_queries
from sthash.index.stored_vectors import Precision, checked_rows, steps_of
from sthash.sizes import format_size
from sthash.vectors.batches import vector_batches
from sthash.vectors.metric import Metric

BATCH, LEAST_BATCH = 8192, 64
# Memory of a build: that of the process before it, what comes per vector besides three times its code (when it was
# encoded, in the index, and as it is saved), and copies of a batch and of the sample while they are worked on.
FIXED, PER_VECTOR, COPIES_OF_BATCH, COPIES_OF_SAMPLE = 200 << 20, 48, 8, 3
LEAST_ROWS_PER_CENTER = 10


@dataclass(frozen=True)
class Needs:
    """Bytes of memory that a build takes.

    Parameters
    ----------
    width, n_rows, n_cells, n_bytes : int
    """

    width: int
    n_rows: int
    n_cells: int
    n_bytes: int

    @property
    def fixed(self) -> int:
        """Without the sample that is learned from."""
        of_codes = self.n_rows * (3 * (self.n_bytes + 2) + PER_VECTOR)
        of_batches = 4 * BATCH * self.width * COPIES_OF_BATCH + 8 * NEAREST_ROWS * self.n_cells
        return FIXED + of_codes + of_batches

    def sample(self, memory: int | None) -> int:
        """Return how many vectors to learn from within a limit.

        Raises
        ------
        ValueError
            If it is too little.
        """
        wanted = min(max(ROWS_PER_CENTER * self.n_cells, LEARNING_ROWS), self.n_rows)
        if memory is None:
            return wanted
        row_bytes = 4 * self.width * COPIES_OF_SAMPLE
        least = min(LEAST_ROWS_PER_CENTER * self.n_cells, wanted)
        if memory < self.fixed + least * row_bytes:
            raise ValueError(
                f"an index of {self.n_rows:,} vectors of {self.width} values takes "
                f"{format_size(self.fixed + least * row_bytes)} of memory to build, but memory allows "
                f"{format_size(memory)}. Raise it, or use fewer n_bytes."
            )
        return min(wanted, (memory - self.fixed) // row_bytes)


@contextmanager
def encoded_on_disk(
    source: Any,
    folder: Path,
    *,
    column: str | None,
    memory: int | None,
    metric: Metric,
    precision: Precision,
    n_bytes: int,
    n_cells: int | None,
    random_state: int,
    threads: int | None,
) -> Iterator[tuple[CellCoder, EncodedVectors, npt.NDArray[np.int64]]]:
    """Learn from vectors, and encode them; the vectors themselves are mapped, from files that end with the process.

    Yields
    ------
    coder : CellCoder
    encoded : EncodedVectors
    held_out : array of int64
        Positions of vectors that nothing was learned from.
    """
    with _Spool(folder) as rows:
        batch = BATCH
        for name, some in vector_batches(source, BATCH, column):
            checked = checked_rows(some, metric, rows.width or None, name)
            rows.append(checked)
            if memory is not None:  # one batch takes at most an eighth
                batch = max(LEAST_BATCH, min(BATCH, memory // (8 * 4 * rows.width * COPIES_OF_BATCH)))
        if not len(rows):
            raise ValueError("there are no vectors. Give at least one.")
        n_cells = new_cells(len(rows)) if n_cells is None else n_cells
        needs = Needs(rows.width, len(rows), n_cells, n_bytes)
        rng = np.random.default_rng(random_state)
        held_out = np.sort(rng.choice(len(rows), n_queries(len(rows)), replace=False))
        sample = _sample(rows, needs.sample(memory), held_out, rng)
        coder = CellCoder.learn(
            sample,
            metric=metric,
            precision=precision,
            n_bytes=n_bytes,
            n_cells=min(n_cells, len(sample)),
            random_state=random_state,
            threads=threads,
        )
        del sample
        coder = replace(coder, steps=steps_of(rows.batches(batch), precision))
        with _Spool(folder) as kept:
            cells = np.empty(len(rows), dtype=np.int32)
            packed = np.empty((len(rows), n_bytes + 2), dtype=np.uint8)
            first = 0
            for some in rows.batches(batch):
                encoded = coder.encode(some, threads)
                part = slice(first, first + len(some))
                cells[part], packed[part] = encoded.cells, encoded.packed
                if precision != "float32":
                    kept.append(encoded.vectors)
                first = part.stop
            if precision != "float32":
                rows.close()
            vectors = (rows if precision == "float32" else kept).mapped()
            yield coder, EncodedVectors(cells, packed, vectors, coder.grouping), held_out


def _sample(rows: _Spool, size: int, held_out: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return rows at random, but none of those that are held out."""
    chosen = rng.choice(len(rows), min(size + len(held_out), len(rows)), replace=False)
    chosen = np.setdiff1d(rng.permutation(chosen)[: size + len(held_out)], held_out)
    if len(chosen) > size:
        chosen = np.sort(rng.choice(chosen, size, replace=False))
    return rows.at(chosen)


class _Spool:
    """Rows in a file without a name, which is gone when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} does not exist, so no index can be built there. Make the folder first.")
        self._folder = folder
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 closed by __exit__
        self._size = 0
        self._dtype = np.dtype(np.float32)
        self.width = 0

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._size

    def close(self) -> None:
        """Give back the space on disk, once nothing maps it."""
        self._file.close()

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows of one type and width."""
        self._dtype, self.width = rows.dtype, rows.shape[1]
        try:
            self._file.write(np.ascontiguousarray(rows).data)
        except OSError as error:
            error.filename = os.fspath(self._folder)  # the file has no name
            raise
        self._size += len(rows)

    def batches(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Read the rows, one batch after the other."""
        self._file.seek(0)
        for first in range(0, self._size, size):
            rows = np.empty((min(size, self._size - first), self.width), dtype=self._dtype)
            self._file.readinto(rows.data)  # type: ignore[attr-defined]
            yield rows

    def at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Read the rows at some positions. A map would take memory for many pages around each of them."""
        rows = np.empty((len(positions), self.width), dtype=self._dtype)
        for row, position in zip(rows, positions.tolist(), strict=True):
            self._file.seek(position * row.nbytes)
            self._file.readinto(row.data)  # type: ignore[attr-defined]
        return rows

    def mapped(self) -> npt.NDArray[Any]:
        """Return the rows as an array that stays in the file."""
        self._file.flush()
        return np.memmap(self._file, self._dtype, "r", shape=(self._size, self.width))
