"""The sign of an eigenvector, which no solver defines: here it does not depend on rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Entries whose sizes differ by a smaller share count as equal.
ROUNDING = 1e-6


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
