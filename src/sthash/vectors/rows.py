"""`Rows`: sparse or dense rows, as the C++ kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Columns, Positions
from sthash.checks import resolve_threads
from sthash.vectors.lengths import row_sums, unit_rows, unit_values

if TYPE_CHECKING:
    import scipy.sparse as sp

Values: TypeAlias = npt.NDArray[Any]  # float32, or int32 for counts
Row: TypeAlias = tuple[Columns, Values]


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse or dense rows.

    Some of the rows of a table share its memory: `at` and `part` copy no values. `indptr`, `columns` and `values` are
    those of the rows themselves, one row after the other.

    Make them with `Rows.sparse`, `Rows.dense` or `Rows.of`.

    Parameters
    ----------
    starts, ends : array of int64
        Row i has the entries from ``starts[i]`` to before ``ends[i]`` of the table.
    table_columns : array of int32 or None
        Columns of the table, which ascend within a row. None if the rows are dense.
    table_values : array of float32 or int32
    n_columns : int
        Every column is below it; the width of dense rows.
    checked : bool
        Whether no row leads out of bounds; if this is not known, the first call of `view` makes sure of it.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.vectors.rows import Rows
    >>> rows = Rows.of(np.array([[3, 4], [0, 5]], dtype=np.float32))
    >>> len(rows), rows.n_columns, rows.is_dense
    (2, 2, True)
    >>> rows.at([1]).values
    array([[0., 5.]], dtype=float32)
    """

    starts: Positions
    ends: Positions
    table_columns: Columns | None
    table_values: Values
    n_columns: int
    checked: bool = False

    @classmethod
    def sparse(cls, indptr: Positions, columns: Columns, values: Values, n_columns: int) -> Rows:
        """Return rows from the parts of a CSR matrix, whose columns ascend within a row.

        Examples
        --------
        >>> import numpy as np
        >>> from sthash.vectors.rows import Rows
        >>> columns, counts = np.array([0, 2, 1], dtype=np.int32), np.array([1, 3, 2], dtype=np.int32)
        >>> rows = Rows.sparse(np.array([0, 2, 3]), columns, counts, 3)
        >>> rows.row(0)
        (array([0, 2], dtype=int32), array([1, 3], dtype=int32))
        >>> rows.sums()
        array([4, 2])
        """
        rows = cls(indptr[:-1], indptr[1:], columns, values, n_columns)
        # A search makes rows of a single query: it should not have to put together what is here.
        rows.__dict__.update(indptr=indptr, columns=columns, values=values)
        return rows

    @classmethod
    def dense(cls, values: npt.NDArray[np.float32]) -> Rows:
        """Return the rows of an array of shape (n, d), in C order."""
        n, width = values.shape
        bounds = np.arange(n + 1, dtype=np.int64) * width
        rows = cls(bounds[:-1], bounds[1:], None, values.reshape(-1), width)
        rows.__dict__.update(values=values)
        return rows

    @classmethod
    def of(cls, X: Any) -> Rows:
        """Return the rows of a CSR matrix or of an array. Values become float32; counts in int32 stay.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from sthash.vectors.rows import Rows
        >>> Rows.of(sp.csr_array([[0.0, 2.0], [0.0, 0.0]])).indptr
        array([0, 1, 1])
        """
        if not hasattr(X, "indptr"):
            return cls.dense(np.ascontiguousarray(X, dtype=np.float32))
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if X.data.dtype == np.int32 else X.data.astype(np.float32, copy=False)
        columns = X.indices.astype(np.int32, copy=False)
        return cls.sparse(X.indptr.astype(np.int64, copy=False), columns, values, X.shape[1])

    @classmethod
    def empty(cls, n_columns: int) -> Rows:
        """Return zero rows with ``n_columns`` columns."""
        return cls.sparse(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), n_columns)

    @classmethod
    def stacked(cls, parts: Sequence[Rows]) -> Rows:
        """Put rows under each other: all sparse, or all dense and of one width. There must be at least one part.

        Examples
        --------
        >>> import numpy as np
        >>> from sthash.vectors.rows import Rows
        >>> part = Rows.of(np.ones((2, 3)))
        >>> Rows.stacked([part, part]).values.shape
        (4, 3)
        """
        filled = [part for part in parts if len(part)]
        if len(filled) < 2:
            return (filled or parts)[0]
        if filled[0].is_dense:
            return cls.dense(np.concatenate([part.values for part in filled]))
        ends = np.cumsum([0, *(part.indptr[-1] for part in filled)])
        bounds = [part.indptr[1:] + end for part, end in zip(filled, ends[:-1], strict=True)]
        return cls.sparse(
            np.concatenate([np.zeros(1, np.int64), *bounds]),
            np.concatenate([part.columns for part in filled]),
            np.concatenate([part.values for part in filled]),
            max(part.n_columns for part in filled),
        )

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def is_dense(self) -> bool:
        """Whether every row has a value in every column."""
        return self.table_columns is None

    @cached_property
    def indptr(self) -> Positions:
        """Row bounds: row i has the entries from ``indptr[i]`` to before ``indptr[i + 1]``."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.ends - self.starts)])

    @cached_property
    def columns(self) -> Columns:
        """The columns of all rows, one row after the other; dense rows have all columns."""
        if self.table_columns is None:
            return np.tile(np.arange(self.n_columns, dtype=np.int32), len(self))
        columns: Columns = self.table_columns[self._entries]
        return columns

    @cached_property
    def values(self) -> Values:
        """The values of all rows, one row after the other; those of dense rows have the shape (n, d)."""
        values: Values = self.table_values[self._entries]
        return values.reshape(len(self), self.n_columns) if self.is_dense else values

    @cached_property
    def _entries(self) -> slice | Positions:
        """Where the entries of all rows are in the table; a slice if they are one after the other."""
        if len(self) == 0:
            return slice(0, 0)
        if np.array_equal(self.starts[1:], self.ends[:-1]):
            return slice(int(self.starts[0]), int(self.ends[-1]))
        return np.arange(self.indptr[-1]) + np.repeat(self.starts - self.indptr[:-1], self.ends - self.starts)

    def row(self, position: int) -> Row:
        """Return the columns and values of one row."""
        start, end = self.starts[position], self.ends[position]
        if self.table_columns is None:
            return np.arange(self.n_columns, dtype=np.int32), self.table_values[start:end]
        return self.table_columns[start:end], self.table_values[start:end]

    def at(self, positions: npt.ArrayLike | slice) -> Rows:
        """Return the rows at some positions, in any order. No values are copied."""
        chosen: Any = positions if isinstance(positions, slice) else np.asarray(positions, dtype=np.int64)
        return Rows(
            self.starts[chosen],
            self.ends[chosen],
            self.table_columns,
            self.table_values,
            self.n_columns,
            checked=self.checked or "_kernel_view" in self.__dict__,
        )

    def part(self, first: int, last: int) -> Rows:
        """Return the rows from ``first`` to before ``last``. No values are copied."""
        return self.at(slice(first, last))

    def kept(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """Return sparse rows with some of their entries: those that the mask, which is as long as `columns`, names."""
        if mask.all():
            return self
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])[self.indptr]
        return Rows.sparse(bounds, self.columns[mask], self.values[mask], self.n_columns)

    def below(self, n_columns: int) -> Rows:
        """Return sparse rows over the first columns only.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from sthash.vectors.rows import Rows
        >>> Rows.of(sp.csr_array([[1.0, 2.0], [0.0, 3.0]])).below(1).indptr
        array([0, 1, 1])
        """
        own = self.kept(self.columns < n_columns)
        return Rows.sparse(own.indptr, own.columns, own.values, min(n_columns, self.n_columns))

    def sums(self) -> npt.NDArray[Any]:
        """Return the sum of each row, in double precision; of counts, which gives lengths of documents, in int64."""
        values = self.values.astype(np.int64 if self.table_values.dtype.kind == "i" else np.float64)
        sums: npt.NDArray[Any] = values.sum(axis=1) if self.is_dense else row_sums(self.indptr, values)
        return sums

    def unit(self) -> Rows:
        """Return the rows divided by their norms; a zero row stays zero."""
        if self.is_dense:
            return Rows.dense(unit_rows(self.values))
        return Rows.sparse(self.indptr, self.columns, unit_values(self.indptr, self.values), self.n_columns)

    def cosines(self, left: Positions, right: Positions, threads: int | None = None) -> npt.NDArray[np.float32]:
        """Return the inner products of pairs of positions: the cosines, if rows have unit length."""
        return _core.pair_scores(self.view(), left, right, threads=resolve_threads(threads))

    def products(self, threads: int | None = None) -> npt.NDArray[np.float32]:
        """Return the inner products of all rows with each other: a matrix.

        Examples
        --------
        >>> import numpy as np
        >>> from sthash.vectors.rows import Rows
        >>> Rows.of(np.array([[3, 4], [1, 0]])).products().tolist()
        [[25.0, 3.0], [3.0, 1.0]]
        """
        if not len(self):
            return np.zeros((0, 0), dtype=np.float32)
        places = np.arange(len(self), dtype=np.int64)[np.newaxis]
        products: npt.NDArray[np.float32] = _core.products_among(self.view(), places, threads=resolve_threads(threads))
        matrix: npt.NDArray[np.float32] = products[0]
        return matrix

    def products_with(self, others: Rows, threads: int | None = None) -> npt.NDArray[np.float64]:
        """Return the inner products of one row with others.

        Examples
        --------
        >>> import numpy as np
        >>> from sthash.vectors.rows import Rows
        >>> Rows.of(np.array([[3, 4]])).products_with(Rows.of(np.array([[1, 0], [0, 2]]))).tolist()
        [3.0, 8.0]
        """
        if not len(others):
            return np.zeros(0)
        both = Rows.stacked([self, others])
        places = np.arange(1, len(both))
        return both.cosines(np.zeros_like(places), places, threads).astype(np.float64)

    def view(self) -> _core.RowsView:
        """Return the rows as the kernels read them. ValueError if one leads out of bounds."""
        return self._kernel_view

    @cached_property
    def _kernel_view(self) -> _core.RowsView:
        return _core.RowsView(
            self.starts,
            self.ends,
            self.table_columns,
            self.table_values,
            n_columns=self.n_columns,
            checked=self.checked,
        )

    def to_scipy(self) -> sp.csr_array:
        """Return the rows as a CSR matrix of SciPy."""
        import scipy.sparse as sp

        values = self.values.reshape(-1)
        return sp.csr_array((values, self.columns, self.indptr), shape=(len(self), self.n_columns))
