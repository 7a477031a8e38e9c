"""Stand-ins for the tensors of libraries that tests do without: what conversion sees of them."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tensor:
    """A tensor of PyTorch, which may be on a GPU, have gradients, or a type that NumPy does not have."""

    def __init__(self, values: Any, *, device: str = "cpu", numpy: bool = True, gradients: bool = True) -> None:
        self._values, self._device, self._numpy, self._gradients = np.asarray(values), device, numpy, gradients
        self.shape = self._values.shape

    def _with(self, **changes: Any) -> Tensor:
        now = {"device": self._device, "numpy": self._numpy, "gradients": self._gradients}
        return Tensor(self._values, **now | changes)

    def detach(self) -> Tensor:
        return self._with(gradients=False)

    def cpu(self) -> Tensor:
        return self._with(device="cpu")

    def float(self) -> Tensor:
        return Tensor(self._values.astype(np.float32), device=self._device, gradients=self._gradients)

    def numpy(self) -> Any:
        if self._gradients:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._device != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        if not self._numpy:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: Any) -> Tensor:
        return Tensor(self._values[place], device=self._device, numpy=self._numpy, gradients=self._gradients)


class CudaArray:
    """An array of CuPy, which NumPy may not convert without being told to."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values)
        self.shape, self.dtype = self._values.shape, self._values.dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (0, False), "version": 3}

    def get(self) -> Any:
        return self._values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __len__(self) -> int:
        return len(self._values)


class Exchanged:
    """An array of another library, as DLPack shows it."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values, dtype=np.float32)
        self.shape = self._values.shape

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()
