"""Packed binary codes: the one place that knows the order of the bits.

A packed code is a row of ``ceil(n_bits / 8)`` bytes. Bit p of the code is bit ``p % 8`` of byte ``p // 8``
(little-endian). Bits beyond ``n_bits`` are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.bool_]
_UINT8 = np.dtype(np.uint8)


def n_bytes(n_bits: int) -> int:
    """Return the number of bytes of a packed code of ``n_bits`` bits."""
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


def prefix(codes: Codes, n_bits: int) -> Codes:
    """Cut codes down to their first ``n_bits`` bits.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> codes.prefix(np.array([[255, 255]], dtype=np.uint8), 11)
    array([[255,   7]], dtype=uint8)
    """
    codes = _check_array(codes, "codes")
    if not 1 <= n_bits <= 8 * codes.shape[1]:
        raise ValueError(f"n_bits must be from 1 to the {8 * codes.shape[1]} bits of the codes, got {n_bits}.")
    shorter = codes[:, : n_bytes(n_bits)].copy()
    if n_bits % 8:
        shorter[:, -1] &= (1 << n_bits % 8) - 1
    return shorter


def distances(a: Codes, b: Codes) -> npt.NDArray[np.int32]:
    """Hamming distances between all codes of ``a`` and all of ``b``, one row per code of ``a``.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> a = np.array([[0], [3]], dtype=np.uint8)
    >>> codes.distances(a, a)
    array([[0, 2],
           [2, 0]], dtype=int32)
    """
    left, right = _words_of_both(a, b)
    result = np.zeros((len(left), len(right)), dtype=np.int32)
    for word in range(left.shape[1]):
        result += np.bitwise_count(left[:, word, None] ^ right[None, :, word])
    return result


def row_distances(a: Codes, b: Codes) -> npt.NDArray[np.int32]:
    """Hamming distance between each code of ``a`` and the code in the same row of ``b``, or the only one of ``b``.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> a = np.array([[0], [3]], dtype=np.uint8)
    >>> codes.row_distances(a, a[::-1])
    array([2, 2], dtype=int32)
    >>> codes.row_distances(a, a[:1])
    array([0, 2], dtype=int32)
    """
    left, right = _words_of_both(a, b)
    if len(right) not in (1, len(left)):
        raise ValueError(f"b must have as many codes as a, {len(left)}, or one, got {len(right)}.")
    result: npt.NDArray[np.int32] = np.bitwise_count(left ^ right).sum(axis=1, dtype=np.int32)
    return result


def as_words(codes: Codes) -> npt.NDArray[np.uint64]:
    """Codes as 64-bit words, filled up with zeros: bit p of the code is bit ``p % 64`` of word ``p // 64``.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> codes.as_words(np.array([[1, 2]], dtype=np.uint8))
    array([[513]], dtype=uint64)
    """
    missing = -codes.shape[1] % 8
    padded = np.pad(codes, ((0, 0), (0, missing))) if missing else codes
    return np.ascontiguousarray(padded).view("<u8").astype(np.uint64, copy=False)


def bit_balance(codes: Codes, n_bits: int) -> npt.NDArray[np.float64]:
    """Share of ones per bit; 0.5 is best.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> codes.bit_balance(np.array([[1], [3]], dtype=np.uint8), 2)
    array([1. , 0.5])
    """
    bits = unpack(_check_some(codes, n_bits), n_bits)
    return np.asarray(bits.mean(axis=0), dtype=np.float64)


def bit_correlation(codes: Codes, n_bits: int) -> npt.NDArray[np.float64]:
    """Pearson correlation between the bits; 0 is best, except on the diagonal.

    A bit that never changes has correlation 0 with all others and 1 with itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> codes.bit_correlation(np.array([[0], [3], [1], [2]], dtype=np.uint8), 2)
    array([[1., 0.],
           [0., 1.]])
    """
    bits = unpack(_check_some(codes, n_bits), n_bits).astype(np.float64)
    bits -= bits.mean(axis=0)
    covariance = bits.T @ bits / len(bits)
    deviation = np.sqrt(np.diagonal(covariance))
    scale = np.outer(deviation, deviation)
    correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(np.clip(correlation, -1.0, 1.0), dtype=np.float64)


def code_entropy(codes: Codes) -> float:
    """Shannon entropy of the codes in bits: the binary logarithm of how many codes are in effect different.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash import codes
    >>> codes.code_entropy(np.array([[0], [1], [2], [3]], dtype=np.uint8))
    2.0
    """
    codes = _check_array(codes, "codes")
    if len(codes) == 0:
        raise ValueError("codes must hold at least one code, got none.")
    counts = np.unique(codes, axis=0, return_counts=True)[1]
    shares = counts / len(codes)
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def check(codes: npt.ArrayLike, n_bits: int, name: str = "codes") -> Codes:
    """Return ``codes``, contiguous, if they are packed codes of ``n_bits`` bits; otherwise say what is wrong.

    Raises
    ------
    TypeError
        If they are not uint8.
    ValueError
        If they have the wrong shape, or bits set beyond ``n_bits``.
    """
    array = _check_array(codes, name)
    if array.shape[1] != n_bytes(n_bits):
        raise ValueError(
            f"{name} must have {n_bytes(n_bits)} bytes per row for {n_bits} bits, got {array.shape[1]}. "
            "Use sthash.codes.pack or sthash.codes.prefix."
        )
    if n_bits % 8 and len(array) and int(array[:, -1].max()) >> n_bits % 8:
        row = int(np.flatnonzero(array[:, -1] >> n_bits % 8)[0])
        raise ValueError(
            f"{name} must be zero beyond bit {n_bits}, but row {row} ends in byte {array[row, -1]}. "
            "Cut them with sthash.codes.prefix."
        )
    return array


def _check_array(codes: npt.ArrayLike, name: str) -> Codes:
    array = codes if isinstance(codes, np.ndarray) else np.asarray(codes)
    if array.dtype is not _UINT8 and array.dtype != _UINT8:
        raise TypeError(f"{name} must be packed codes, uint8, got {array.dtype}. Use sthash.codes.pack.")
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, one row per code, got shape {array.shape}.")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _check_some(codes: npt.ArrayLike, n_bits: int) -> Codes:
    array = check(codes, n_bits)
    if len(array) == 0:
        raise ValueError("codes must hold at least one code, got none.")
    return array


def _words_of_both(a: Codes, b: Codes) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    a, b = _check_array(a, "a"), _check_array(b, "b")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"a and b must be equally wide, got {a.shape[1]} and {b.shape[1]} bytes.")
    return as_words(a), as_words(b)
