"""`RowBuffer`: sparse rows that come batch by batch become one matrix, without a second copy of them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Space beyond what is expected; a sample may have longer rows than the average.
SPARE = 1.05
GROWTH = 1.25


class RowBuffer:
    """Collects the batches of a CSR matrix of float32 in arrays of their final size.

    Parameters
    ----------
    n_rows, n_columns : int
    expected : float
        Number of values of all rows. There may be more; then what is there is copied once.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from sthash.collection.build.row_buffer import RowBuffer
    >>> buffer = RowBuffer(2, 3, expected=2)
    >>> for row in ([[0, 1, 0]], [[2, 0, 3]]):
    ...     buffer.add(sp.csr_array(np.array(row, dtype=np.float32)))
    >>> print(buffer.matrix().toarray())
    [[0. 1. 0.]
     [2. 0. 3.]]
    """

    def __init__(self, n_rows: int, n_columns: int, *, expected: float) -> None:
        self._n_columns = n_columns
        self._bounds = np.zeros(n_rows + 1, dtype=np.int64)
        self._rows = 0
        # Memory that is not written to is not taken.
        space = int(SPARE * expected) + 1
        self._columns: npt.NDArray[np.int32] = np.empty(space, dtype=np.int32)
        self._values: npt.NDArray[np.float32] = np.empty(space, dtype=np.float32)

    def add(self, rows: Any) -> None:
        """Append a CSR matrix."""
        first = int(self._bounds[self._rows])
        last = first + len(rows.data)
        if last > len(self._values):
            space = max(last, int(GROWTH * len(self._values)))
            for name in ("_columns", "_values"):
                old = getattr(self, name)
                new = np.empty(space, dtype=old.dtype)
                new[:first] = old[:first]
                setattr(self, name, new)
        self._columns[first:last] = rows.indices
        self._values[first:last] = rows.data
        count = rows.shape[0]
        self._bounds[self._rows + 1 : self._rows + count + 1] = first + rows.indptr[1:].astype(np.int64)
        self._rows += count

    def matrix(self) -> Any:
        """Return the rows as one matrix, which shares the memory of the buffer."""
        import scipy.sparse as sp

        end = int(self._bounds[self._rows])
        bounds = self._bounds[: self._rows + 1]
        if end <= np.iinfo(np.int32).max:
            bounds = bounds.astype(np.int32)
        return sp.csr_array((self._values[:end], self._columns[:end], bounds), shape=(self._rows, self._n_columns))
