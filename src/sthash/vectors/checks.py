"""What is refused of vectors, in one wording.

`check_rows` is for embeddings, which are dense; `check_vectors` for the rows that hashers learn from, which may be
sparse. Both convert tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Vectors
from sthash.vectors.conversion import as_array, as_numpy, refuse_no_numbers
from sthash.vectors.lengths import is_sparse, squared_norms
from sthash.vectors.metric import Metric

# Lengths of rows whose squares, and sums of them, single precision can hold.
SHORTEST, LONGEST = 1e-18, 1e18
ROWS_TOGETHER = 8192


def check_rows(
    vectors: Any,
    metric: Metric | None = None,
    *,
    width: int | None = None,
    zeros: bool = False,
    what: str = "vectors",
) -> npt.NDArray[np.float32]:
    """Return dense vectors as float32, one per row; refuse those that cannot be compared.

    Parameters
    ----------
    vectors : array, tensor or list of shape (n, d), or (d,) for one vector
        An array of float32 in C order is not copied.
    metric : {"cosine", "ip"}, optional
        What the vectors will be compared by. A zero vector has no cosines, and a very long one no inner products.
    width : int, optional
        The d that vectors must have.
    zeros : bool, default=False
        Whether zero vectors are allowed whatever the metric.
    what : str, default="vectors"
        Names the vectors in the message of an error.

    Examples
    --------
    >>> from sthash.vectors.checks import check_rows
    >>> check_rows([3, 4], width=2)
    array([[3., 4.]], dtype=float32)
    >>> check_rows([[1, 2], [0, 0]], "cosine")
    Traceback (most recent call last):
        ...
    ValueError: vectors must not be zero, because a zero vector is similar to nothing (row 1). Leave it out, or ...
    """
    given = as_array(vectors, what)
    rows = np.atleast_2d(np.ascontiguousarray(given))
    if given.ndim not in (1, 2):
        raise ValueError(f"{what} must be the rows of an array, got the shape {given.shape}. Reshape it.")
    if rows.shape[1] == 0:
        raise ValueError(f"{what} must have at least one value, got none. Check how they were made.")
    if width is not None and rows.shape[1] != width:
        raise ValueError(f"{what} must have {width} values, got {rows.shape[1]}. Make all vectors with the same model.")
    for first in range(0, len(rows), ROWS_TOGETHER):
        _check_part(rows[first : first + ROWS_TOGETHER], first, metric, zeros, what)
    return rows


def _check_part(rows: npt.NDArray[np.float32], first: int, metric: Metric | None, zeros: bool, what: str) -> None:
    check_finite(rows, what)
    if metric == "cosine" and not zeros and not rows.any(axis=1).all():
        place = first + int(np.argmin(rows.any(axis=1)))
        where = f" (row {place})" if first or len(rows) > 1 else ""
        raise ValueError(
            f"{what} must not be zero, because a zero vector is similar to nothing{where}. "
            "Leave it out, or use metric='ip'."
        )
    if metric == "ip" and (longest := float(squared_norms(rows).max(initial=0)) ** 0.5) > LONGEST:
        raise ValueError(
            f"{what} must have a length of at most {LONGEST:g} for inner products, got {longest:.3g}. "
            "Scale all vectors."
        )


def check_finite(values: npt.NDArray[np.float32], what: str = "vectors") -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} must be finite, got NaN, infinity or a number that float32 cannot hold. Check how they were made."
        )


def check_vectors(X: Vectors) -> Vectors:
    """Return X as C-ordered float32, CSR with sorted columns if sparse; refuse NaN, infinity and odd shapes.

    A sparse matrix whose arrays do not fit together is refused before anything follows its pointers.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from sthash.vectors.checks import check_vectors
    >>> X = sp.csr_array(np.eye(2))
    >>> X.indices[0] = 7
    >>> check_vectors(X)
    Traceback (most recent call last):
        ...
    ValueError: X is not a valid csr matrix: it has a column 7, but only 2 columns. Make it again from its entries.
    """
    from sklearn.utils import check_array

    X = check_array(check_input(X), accept_sparse="csr", dtype=np.float32, order="C", input_name="X")
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_input(X: Any, name: str = "X") -> Any:
    """Return what scikit-learn can check: tensors as arrays of NumPy, and anything else as it is.

    What scikit-learn would take without a word is refused: text, dates, masked arrays, and sparse matrices that lead
    out of bounds.
    """
    X = as_numpy(X)
    if getattr(getattr(X, "dtype", None), "kind", "") != "c":  # scikit-learn refuses these in its own words
        refuse_no_numbers(X, name)
    check_structure(X, name)
    return X


def check_structure(X: Vectors, name: str = "X") -> None:
    """Refuse a sparse matrix whose arrays would lead out of bounds; SciPy and the kernels follow them unchecked.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from sthash.vectors.checks import check_structure
    >>> X = sp.csr_array(np.eye(2))
    >>> X.indptr[1] = 9
    >>> check_structure(X)
    Traceback (most recent call last):
    ValueError: X is not a valid csr matrix: its row bounds do not ascend from 0 to at most 2. Make it again from ...
    """
    layout = getattr(X, "format", None)
    if layout in ("csr", "csc", "bsr"):
        rows, columns = X.shape
        if layout == "bsr":
            rows, columns = rows // X.blocksize[0], columns // X.blocksize[1]
        if layout == "csc":
            rows, columns = columns, rows
        bounds, entries = X.indptr, min(len(X.indices), len(X.data))
        ascends = len(bounds) == rows + 1 and bounds[0] == 0 and bool((bounds[1:] >= bounds[:-1]).all())
        if not ascends or bounds[-1] > entries:
            raise ValueError(
                f"{name} is not a valid {layout} matrix: its row bounds do not ascend from 0 to at most {entries}. "
                "Make it again from its entries."
            )
        _check_columns(name, layout, X.indices[: bounds[-1]], columns)
    elif layout == "coo":
        for indices, size in zip(X.coords, X.shape, strict=True):
            _check_columns(name, layout, indices, size)


def _check_columns(name: str, layout: str, indices: npt.NDArray[Any], columns: int) -> None:
    if columns > np.iinfo(np.int32).max:
        raise ValueError(f"{name} has {columns} columns, but at most 2147483647 can be used. Leave some out.")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise ValueError(
            f"{name} is not a valid {layout} matrix: it has a column {wrong}, but only {columns} columns. "
            "Make it again from its entries."
        )


def check_width(X: Vectors, n_features: int) -> None:
    """Refuse rows of another width than the model has learned from."""
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but this model learned from {n_features}. "
            "Make the rows with the same vectorizer or encoder as those it was fitted on."
        )


def check_lengths(squares: npt.NDArray[np.float64], shortest: float = SHORTEST, longest: float = LONGEST) -> None:
    """Refuse rows, given by their squared norms, whose squares leave the range of single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.vectors.checks import check_lengths
    >>> check_lengths(np.array([1e60]))
    Traceback (most recent call last):
    ValueError: the longest row has length 1e+30, beyond what single precision can learn from (1e-18 to 1e+18). ...
    """
    length = float(np.sqrt(squares.max(initial=0.0)))
    if length and not shortest <= length <= longest:
        raise ValueError(
            f"the longest row has length {length:.3g}, beyond what single precision can learn from ({shortest:g} to "
            f"{longest:g}). Scale the rows, for example to unit length with sklearn.preprocessing.normalize."
        )


def check_sample_weight(sample_weight: npt.ArrayLike | None, n: int) -> npt.NDArray[np.float64] | None:
    """Return the weights of n rows as float64, or None; refuse any that are negative, not finite, or all zero."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("sample_weight must hold numbers. Pass one per row.") from error
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected {(n,)}. Pass one weight per row.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative. Leave a row out by the weight 0.")
    if not weights.any():
        raise ValueError("sample_weight is zero for all rows, so there is nothing to learn from.")
    return weights
