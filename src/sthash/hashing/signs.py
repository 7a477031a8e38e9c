"""The sign of an eigenvector, which no solver defines, and its last digits, which processors round differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Entries whose sizes differ by a smaller share count as equal.
ROUNDING = 1e-6
# Steps of settled entries, relative to the largest one of their column; and digits of settled eigenvalues.
GRID = 2.0**-18
DIGITS = 9


def column_signs(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the factor 1 or −1 per column that makes its largest entry positive, the first one of (nearly) equal size.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.signs import column_signs
    >>> column_signs(np.array([[1.0, 2.0], [-3.0, -2.0]]))
    array([-1.,  1.])
    """
    size = np.abs(vectors)
    # Symmetric vectors have several largest entries, which differ by rounding only; the first of them decides.
    first = (size >= (1 - ROUNDING) * size.max(axis=0)).argmax(axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def settled(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Round each column to `GRID`, relative to the power of two above its largest entry.

    Solvers in double precision agree on all processors to about 1e-12. Rounded so coarsely, nearly all their results
    are equal to the bit, and so is what own kernels make of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.signs import settled
    >>> print((settled(np.array([[0.7], [0.1 + 1e-12]])) == settled(np.array([[0.7], [0.1]]))).all())
    True
    """
    largest = np.abs(vectors).max(axis=0, initial=0)
    steps = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1)))) * GRID
    return np.asarray(np.rint(vectors / steps) * steps)


def settled_values(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Round eigenvalues between 0 and 2."""
    return np.asarray(np.round(values, DIGITS))
