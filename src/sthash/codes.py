"""Packed binary codes: the one place that knows the order of the bits.

A packed code is a row of ``ceil(n_bits / 8)`` bytes; bit p of the code is bit ``p % 8`` of byte ``p // 8``
(little-endian). Bits beyond ``n_bits`` are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.bool_]


def n_bytes(n_bits: int) -> int:
    """Bytes that a packed code of ``n_bits`` bits takes."""
    return (n_bits + 7) // 8


def pack(bits: npt.NDArray[Any]) -> Codes:
    """Pack rows of booleans (or zeros and ones) into codes.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> codes.pack(np.array([[1, 0, 0, 0, 0, 0, 0, 0, 1, 1]], dtype=bool))
    array([[1, 3]], dtype=uint8)
    """
    return np.packbits(np.asarray(bits, dtype=bool), axis=1, bitorder="little")


def unpack(codes: Codes, n_bits: int) -> Bits:
    """Unpack codes into rows of ``n_bits`` booleans.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> codes.unpack(np.array([[5]], dtype=np.uint8), 3)
    array([[ True, False,  True]])
    """
    return np.unpackbits(codes, axis=1, count=n_bits, bitorder="little").astype(bool)
