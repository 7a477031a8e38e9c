"""The types of arrays that most packages hand to each other."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# Numbers by which the caller knows vectors, codes or documents.
Ids: TypeAlias = npt.NDArray[np.int64]
# Places in an array or a table, from 0 on.
Positions: TypeAlias = npt.NDArray[np.int64]
# Rows that a user brings, sparse or dense: csr_array | csr_matrix | ndarray, for which SciPy has no common type.
Vectors: TypeAlias = Any
# Dense values: vectors, weights, scores.
Floats: TypeAlias = npt.NDArray[np.float32]
# Columns of sparse rows: terms, or dimensions.
Columns: TypeAlias = npt.NDArray[np.int32]
