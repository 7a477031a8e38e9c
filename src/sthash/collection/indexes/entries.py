"""`Entries`: documents on their way into indexes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash.arrays import Ids


@dataclass(frozen=True)
class Entries:
    """Documents that are in the file already: their ids, which ascend, their texts and, if they have some, vectors.

    Attributes
    ----------
    ids : array of int64
    texts : list of str
    vectors : array of float32, shape (n, d), or None
    """

    ids: Ids
    texts: list[str]
    vectors: npt.NDArray[np.float32] | None = None
