"""From arrays and tensors to arrays of NumPy: the one way in which vectors of the user's come in.

Lists, NumPy, pandas and polars; PyTorch, also on a GPU, with gradients, or in bfloat16; JAX, TensorFlow and CuPy; and
anything else that has ``__array__`` or ``__dlpack__``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Kinds of NumPy's types that hold no real numbers, and what to do about them.
_NO_NUMBERS = {
    "c": ("complex numbers", "Pass their real parts."),
    "M": ("dates", "Convert them to numbers."),
    "m": ("durations", "Convert them to numbers."),
    "U": ("text", "Convert it to numbers."),
    "S": ("text", "Convert it to numbers."),
    "O": ("Python objects", "Convert them to an array of float32 with equally many values per row."),
    "V": ("raw bytes", "Convert them to float32."),
}


def as_numpy(value: Any) -> Any:
    """Return a tensor as an array of NumPy, and anything else as it is.

    Examples
    --------
    >>> from sthash.vectors.conversion import as_numpy
    >>> as_numpy([1, 2])
    [1, 2]
    """
    if isinstance(value, np.ndarray) or hasattr(value, "indptr"):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # PyTorch
        value = value.detach().cpu()
        try:
            return value.numpy()
        except TypeError:  # NumPy has no bfloat16
            return value.float().numpy()
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):  # CuPy, whose __array__ refuses
        return value.get()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    if isinstance(value, list | tuple) and value and _is_tensor(value[0]):
        return [as_numpy(each) for each in value]
    return value


def as_array(value: Any, what: str = "vectors") -> npt.NDArray[np.float32]:
    """Return real numbers as an array of float32, whatever holds them; ``what`` names them in the message of an error.

    An array of float32 is not copied.

    Examples
    --------
    >>> from sthash.vectors.conversion import as_array
    >>> as_array([1, 2])
    array([1., 2.], dtype=float32)
    >>> as_array(["1", "2"])
    Traceback (most recent call last):
        ...
    TypeError: vectors must be real numbers, got text. Convert it to numbers.
    """
    if isinstance(value, str | bytes | dict) or value is None:
        raise TypeError(f"{what} must be real numbers, got a {type(value).__name__}. Pass an array.")
    value = as_numpy(value)
    refuse_no_numbers(value, what)
    if hasattr(value, "tocsr"):
        raise TypeError(f"{what} must be dense, got a sparse matrix. Pass its toarray().")
    if not isinstance(value, np.ndarray):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise ValueError(f"{what} must have equally many values each ({error}). Pad or cut them.") from error
        refuse_no_numbers(value, what)
    if value.dtype.kind == "O":
        raise _no_numbers("O", what)
    with np.errstate(over="ignore"):  # what single precision cannot hold becomes infinite, and is refused as such
        return np.asarray(value, dtype=np.float32)


def refuse_no_numbers(value: Any, what: str = "X") -> None:
    """Refuse masked arrays, and arrays of another type than real numbers; objects may be numbers."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what} must be real numbers, got a masked array. Fill its gaps: array.filled(0).")
    kind = value.dtype.kind if isinstance(value, np.ndarray) else "f"
    if kind in "cMmUS" or (kind == "V" and not np.can_cast(value.dtype, np.float32)):  # V: bfloat16 is one of these
        raise _no_numbers(kind, what)


def _no_numbers(kind: str, what: str) -> TypeError:
    found, remedy = _NO_NUMBERS[kind]
    return TypeError(f"{what} must be real numbers, got {found}. {remedy}")


def _is_tensor(value: Any) -> bool:
    return not isinstance(value, np.ndarray | np.generic) and (
        hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__") or hasattr(value, "detach")
    )
