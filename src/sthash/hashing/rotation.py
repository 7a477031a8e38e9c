"""Rotations of vectors that lose little if only the signs are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.hashing.filtered import LARGE

Array = npt.NDArray[np.float64]

TURNS = 30
# If there are more rows, this many determine the rotation as well as all of them.
MOST_ROWS = 1 << 15


def rotation_rows(n: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the rows to learn a rotation from: all, or evenly spaced ones of a large corpus."""
    return np.arange(n) if n < LARGE else np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.int64)


def quantizing_rotation(V: Array, frame: Array, max_iter: int) -> tuple[Array, Array]:
    """Rotate an orthonormal frame F so that the rows of V F come closer to their signs; also return the losses.

    Iterative quantization (Gong & Lazebnik, CVPR 2011): B = sgn(V F), then F = S Ŝᵀ where Vᵀ B = S Ω Ŝᵀ. Neither step
    lowers Σ|V F|. For a square F this means that neither step raises the loss ‖B − V F‖²; a frame of fewer columns
    also chooses its subspace. The iteration ends when no sign changes.
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
    """Return the directions of the largest second moments of the rows, largest first, shape (d, d)."""
    V = np.asarray(rows, dtype=np.float64)
    return np.linalg.eigh(V.T @ V)[1][:, ::-1]


def quantizing_frames(rows: npt.NDArray[Any], n_bits: int, rng: np.random.Generator) -> Array:
    """Choose ``n_bits`` directions whose signs tell the rows apart.

    For as many bits as the rows have dimensions, one frame is enough: it starts on their principal axes and is rotated
    by iterative quantization. For more bits there are more frames, each from another start. The more frames, the
    closer the Hamming distance comes to the angle between rows.

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
