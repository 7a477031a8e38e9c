"""Rotations that lose little when only signs are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

TURNS = 30


def quantizing_rotation(V: Array, frame: Array, max_iter: int) -> tuple[Array, Array]:
    """Turn an orthonormal frame F so that the rows of V F come closer to their signs; return the losses, too.

    Iterative quantisation (Gong & Lazebnik, CVPR 2011): B = sgn(V F), then F = S Ŝᵀ where Vᵀ B = S Ω Ŝᵀ. Neither step
    lowers Σ|V F|. For a square F that is to say that neither raises the loss ‖B − V F‖²; a frame of fewer columns
    chooses its subspace, too. It ends when no sign changes.
    """
    losses: list[float] = []
    before = None
    for _ in range(max_iter):
        turned = V @ frame
        corners = np.where(turned > 0, 1.0, -1.0)
        losses.append(float(((corners - turned) ** 2).sum()))
        if before is not None and np.array_equal(corners, before):
            break
        before = corners
        left, _, right = np.linalg.svd(V.T @ corners, full_matrices=False)
        frame = left @ right
    return frame, np.array(losses)


def principal_axes(rows: npt.NDArray[Any]) -> Array:
    """The directions of the rows' largest second moments, largest first: shape (d, d)."""
    V = np.asarray(rows, dtype=np.float64)
    return np.linalg.eigh(V.T @ V)[1][:, ::-1]


def quantizing_frames(rows: npt.NDArray[Any], n_bits: int, rng: np.random.Generator) -> Array:
    """Choose ``n_bits`` directions whose signs tell the rows apart.

    Up to as many bits as the rows have dimensions: a frame that starts on their principal axes and is turned by
    iterative quantisation. Beyond, further frames, each from another start; the more of them, the closer Hamming
    distance comes to the angle between rows.

    Parameters
    ----------
    rows : array of shape (n, d)
    n_bits : int
    rng : numpy Generator

    Returns
    -------
    directions : array of shape (d, n_bits), orthonormal within each frame

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing.rotation import quantizing_frames
    >>> rng = np.random.default_rng(0)
    >>> quantizing_frames(rng.normal(size=(100, 8)), 20, rng).shape
    (8, 20)
    """
    V = np.asarray(rows, dtype=np.float64)
    axes = principal_axes(V)
    frames: list[Array] = []
    left = n_bits
    while left > 0:
        size = min(left, V.shape[1])
        start = np.linalg.qr(rng.standard_normal((size, size)))[0]
        frames.append(quantizing_rotation(V, axes[:, :size] @ start, TURNS)[0])
        left -= size
    return np.hstack(frames)
