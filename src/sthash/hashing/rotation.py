"""Rotations of vectors that lose little if only the signs are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.hashing.filtered import LARGE
from sthash.hashing.signs import column_signs, settled

Array = npt.NDArray[np.float64]

TURNS = 30
# Coordinates nearer to zero than this share of their root mean square pull a rotation in proportion, not by their sign.
SOFT = 0.1
# How much of a frame stays where it is, relative to the pull of all rows.
REST = 1e-4
# If there are more rows, this many determine the rotation as well as all of them.
MOST_ROWS = 1 << 15


def rotation_rows(n: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the rows to learn a rotation from: all, or evenly spaced ones of a large corpus."""
    return np.arange(n) if n < LARGE else np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.int64)


def quantizing_rotation(V: Array, frame: Array, max_iter: int, *, soft: float = 0.0) -> tuple[Array, Array]:
    """Rotate an orthonormal frame F so that the rows of V F come closer to their signs; also return the losses.

    Iterative quantization (Gong & Lazebnik, CVPR 2011): B = sgn(V F), then F = S Ŝᵀ where Vᵀ B = S Ω Ŝᵀ. Neither step
    lowers Σ|V F|. For a square F this means that neither step raises the loss ‖B − V F‖²; a frame of fewer columns
    also chooses its subspace. The iteration ends when no sign changes.

    With ``soft`` > 0, B is the row itself near zero: clip(V F / w, ±1), w being that share of the root mean square of
    V. Then no step lowers Σ h(V F), h being the Huber function. A sign that rounding decides no longer turns the frame,
    so that the result is nearly the same on processors that round otherwise.
    """
    width = soft * float(np.sqrt(np.square(V).mean()))
    losses: list[float] = []
    before = None
    for _ in range(max_iter):
        turned = V @ frame
        corners = np.where(turned > 0, 1.0, -1.0) if width == 0 else np.clip(turned / width, -1, 1)
        losses.append(float(((corners - turned) ** 2).sum()))
        if before is not None and np.array_equal(corners, before):
            break
        before = corners
        pull = V.T @ corners
        if width > 0:
            pull += REST * np.linalg.norm(pull) * frame
        left, _, right = np.linalg.svd(pull, full_matrices=False)
        frame = left @ right if width == 0 else settled(left @ right)
    return frame, np.array(losses)


def principal_axes(rows: npt.NDArray[Any]) -> Array:
    """Return the directions of the largest second moments of the rows, largest first, shape (d, d)."""
    V = np.asarray(rows, dtype=np.float64)
    axes = np.linalg.eigh(V.T @ V)[1][:, ::-1]
    return np.asarray(axes * column_signs(axes))


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
    axes = settled(principal_axes(V))
    frames: list[Array] = []
    left = n_bits
    while left > 0:
        size = min(left, V.shape[1])
        start = np.linalg.qr(rng.standard_normal((size, size)))[0]
        frames.append(quantizing_rotation(V, axes[:, :size] @ start, TURNS, soft=SOFT)[0])
        left -= size
    return np.hstack(frames)
