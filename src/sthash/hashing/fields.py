"""The other part of `EmbeddingQuantizer`, for codes of more than a few bits per dimension: fields.

Vectors are turned onto axes, and the axes are divided among the bytes of the code. A byte chooses one of 256 *words*,
which has a value for each of its axes. Axes along which vectors vary much share a byte with few others, so that about
the same is lost in each byte. Axes that have a byte each lose the same whatever their directions; these are turned at
random, because along a principal axis some vectors lie far out, beyond the last word. Sums of signs would come as
close, but take far longer to learn and to choose.

Axes and words are learned, or they are made for any vectors: random axes, and words for a normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Floats
from sthash.hashing.codebooks import WORDS, k_means
from sthash.hashing.rotation import principal_axes

Bytes = npt.NDArray[np.uint8]

TURNS, TURNS_ON_A_LINE = 8, 20  # iterations of k-means
MADE_UP_ROWS = 20_000
# Names of the arrays in a file.
NAMES = ("axes_", "words_", "fields_")


@dataclass(frozen=True, eq=False)
class Fields:
    """Axes, and the words of each byte.

    Attributes
    ----------
    axes : array of float32, shape (d, d)
        An axis per column.
    words : array of float32, shape (256, d)
        What each word has along each axis.
    fields : array of int32, shape (d,)
        The byte that chooses for each axis, from 0 on.
    """

    axes: Floats
    words: Floats
    fields: npt.NDArray[np.int32]

    @classmethod
    def none(cls, width: int) -> Self:
        """Return no fields for vectors of some width."""
        empty = np.zeros((width, 0), dtype=np.float32)
        return cls(empty, np.zeros((WORDS, 0), dtype=np.float32), np.zeros(0, dtype=np.int32))

    @classmethod
    def learn(cls, rows: Floats, n_fields: int, rng: np.random.Generator) -> Self:
        """Learn so many fields from rows; there are at most as many as dimensions."""
        axes = principal_axes(rows).astype(np.float32)
        places = rows @ axes
        fields = _divided(places.var(axis=0, dtype=np.float64), n_fields)
        alone = np.flatnonzero(np.bincount(fields)[fields] == 1)
        if len(alone):
            axes[:, alone] = axes[:, alone] @ np.linalg.qr(rng.standard_normal((len(alone), len(alone))))[0]
        places = rows @ axes
        words = np.empty((WORDS, len(fields)), dtype=np.float32)
        for field in range(n_fields):
            own = np.flatnonzero(fields == field)
            words[:, own] = _words(np.ascontiguousarray(places[:, own]), rng)
        return cls(np.ascontiguousarray(axes), words, fields)

    @classmethod
    def made(cls, width: int, n_fields: int, rng: np.random.Generator) -> Self:
        """Return fields for unit vectors of which nothing is known."""
        axes = np.linalg.qr(rng.standard_normal((width, width)))[0].astype(np.float32)
        fields = (np.arange(width) * n_fields // width).astype(np.int32)
        words, known = np.empty((WORDS, width), dtype=np.float32), dict[int, Floats]()
        for field in range(n_fields):
            own = np.flatnonzero(fields == field)
            if len(own) not in known:
                points = rng.standard_normal((MADE_UP_ROWS, len(own))) / np.sqrt(width)
                known[len(own)] = _words(points.astype(np.float32), rng)
            words[:, own] = known[len(own)]
        return cls(np.ascontiguousarray(axes), words, fields)

    @classmethod
    def restored(cls, arrays: dict[str, npt.NDArray[Any]], width: int, n_fields: int) -> Self:
        """Make them of the arrays of a file, which may be untrusted; ValueError if they are no fields."""
        axes, words, fields = (arrays[name] for name in NAMES)
        shapes = ((width, width), (WORDS, width), (width,))
        if (axes.shape, words.shape, fields.shape) != shapes:
            raise ValueError(f"axes, words and fields have the shapes {axes.shape}, {words.shape} and {fields.shape}")
        for array, dtype in ((axes, np.float32), (words, np.float32), (fields, np.int32)):
            if array.dtype != dtype:
                raise ValueError(f"axes, words or fields have the type {array.dtype}, not {np.dtype(dtype)}")
        if not (np.isfinite(axes).all() and np.isfinite(words).all()):
            raise ValueError("axes or words are not finite")
        if np.unique(fields).tolist() != list(range(n_fields)):
            raise ValueError(f"there are not {n_fields} fields")
        return cls(axes, words, fields)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by the names under which a file has them; none if there are no fields."""
        return dict(zip(NAMES, (self.axes, self.words, self.fields), strict=True)) if len(self) else {}

    def __len__(self) -> int:
        return int(self.fields.max(initial=-1)) + 1

    @cached_property
    def _parts(self) -> list[tuple[npt.NDArray[np.int64], Floats, Floats]]:
        """Per field its axes, its words as columns, and half of their squared lengths; one axis has sorted words."""
        parts = []
        for field in range(len(self)):
            own = np.flatnonzero(self.fields == field)
            words = self.words[:, own]
            if len(own) == 1:
                order = np.argsort(words[:, 0], kind="stable")
                words = words[order, 0]
                parts.append((own, order.astype(np.float32), (words[1:] + words[:-1]) / 2))
            else:
                parts.append((own, np.ascontiguousarray(words.T), np.einsum("ij,ij->i", words, words) / 2))
        return parts

    def encode(self, rows: Floats, threads: int) -> Bytes:
        """Choose the nearest word of each field, for each row."""
        places = _core.multiply(rows, self.axes, threads=threads)
        codes = np.empty((len(rows), len(self)), dtype=np.uint8)
        for field, (own, words, halves) in enumerate(self._parts):
            if len(own) == 1:
                codes[:, field] = words[np.searchsorted(halves, places[:, own[0]])]
            else:
                products = _core.multiply(np.ascontiguousarray(places[:, own]), words, threads=threads)
                codes[:, field] = np.argmax(products - halves, axis=1)
        return codes

    def decode(self, codes: Bytes, threads: int) -> Floats:
        """Return the sums that codes stand for."""
        places = self.words[codes[:, self.fields], np.arange(len(self.fields))]
        return _core.multiply(places, np.ascontiguousarray(self.axes.T), threads=threads)

    def tables(self, rows: Floats, threads: int) -> Floats:
        """Return the product of each row with each word, shape (rows, fields, 256)."""
        places = _core.multiply(rows, self.axes, threads=threads)
        tables = np.zeros((len(rows), len(self), WORDS), dtype=np.float32)
        for axis, field in enumerate(self.fields.tolist()):
            tables[:, field] += places[:, axis, None] * self.words[:, axis]
        return tables

    def squares(self, mean: Floats) -> Floats:
        """Return half of what each word adds to the squared length of the mean plus the sum, shape (fields, 256)."""
        grown = self.words * (self.words / 2 + mean @ self.axes)
        squares = np.zeros((len(self), WORDS), dtype=np.float32)
        np.add.at(squares, self.fields, grown.T)
        return squares


def _divided(variances: npt.NDArray[np.float64], n_fields: int) -> npt.NDArray[np.int32]:
    """Divide axes among fields, so that the products of their variances are about equal."""
    order = np.argsort(-variances, kind="stable")
    logs = np.log(np.maximum(variances, 1e-12 * max(variances.max(), 1e-30)))
    logs -= logs.min() - 1
    fields = np.empty(len(variances), dtype=np.int32)
    fields[order[:n_fields]] = np.arange(n_fields)
    loads = logs[order[:n_fields]]
    for axis in order[n_fields:].tolist():
        fields[axis] = field = int(np.argmin(loads))
        loads[field] += logs[axis]
    return fields


def _words(points: Floats, rng: np.random.Generator) -> Floats:
    """Return 256 centers of points.

    Centers are best denser at the edges than points are, so k-means starts from points that are spread that much.
    """
    width = points.shape[1]
    spread = np.sqrt(1 + 2 / width)
    if width == 1:
        return _words_on_a_line(points[:, 0], spread)[:, None]
    start = spread * points[rng.choice(len(points), WORDS, replace=len(points) < WORDS)]
    return np.asarray(k_means(points, rng, turns=TURNS, start=start.astype(np.float32)), dtype=np.float32)


def _words_on_a_line(values: Floats, spread: float) -> Floats:
    """Return the centers that k-means finds on a line, ascending: each has the values of an interval."""
    ordered = np.sort(values.astype(np.float64))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    words = spread * np.quantile(ordered, (np.arange(WORDS) + 0.5) / WORDS)
    for _ in range(TURNS_ON_A_LINE):
        ends = np.concatenate([[0], np.searchsorted(ordered, (words[1:] + words[:-1]) / 2), [len(ordered)]])
        sizes = np.diff(ends)
        words = np.where(sizes > 0, np.diff(sums[ends]) / np.maximum(sizes, 1), words)
    return words.astype(np.float32)
