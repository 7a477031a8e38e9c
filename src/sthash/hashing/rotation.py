"""Rotations that lose little when only signs are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

TURNS = 30


def quantizing_rotation(V: Array, rotation: Array, max_iter: int) -> tuple[Array, Array]:
    """Bring the rows of V R closer to their signs, turn by turn; return R and the loss before each turn.

    Iterative quantisation (Gong & Lazebnik, CVPR 2011): B = sgn(V R), then R = S Ŝᵀ where Vᵀ B = S Ω Ŝᵀ. Neither
    step raises the loss ‖B − V R‖². It ends when no sign changes.
    """
    losses: list[float] = []
    before = None
    for _ in range(max_iter):
        rotated = V @ rotation
        corners = np.where(rotated > 0, 1.0, -1.0)
        losses.append(float(((corners - rotated) ** 2).sum()))
        if before is not None and np.array_equal(corners, before):
            break
        before = corners
        left, _, right = np.linalg.svd(V.T @ corners)
        rotation = left @ right
    return rotation, np.array(losses)


def quantizing_frames(rows: npt.NDArray[Any], n_bits: int, rng: np.random.Generator) -> Array:
    """Choose ``n_bits`` directions whose signs tell the rows apart.

    Up to as many bits as the rows have dimensions: their principal axes, rotated by iterative quantisation. Beyond,
    further frames of all axes, each rotated from another start; the more of them, the closer Hamming distance
    comes to the angle between rows.

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
    axes = np.linalg.eigh(V.T @ V)[1][:, ::-1]
    frames: list[Array] = []
    left = n_bits
    while left > 0:
        size = min(left, V.shape[1])
        start = np.linalg.qr(rng.standard_normal((size, size)))[0]
        rotation, _ = quantizing_rotation(V @ axes[:, :size], start, TURNS)
        frames.append(axes[:, :size] @ rotation)
        left -= size
    return np.hstack(frames)
