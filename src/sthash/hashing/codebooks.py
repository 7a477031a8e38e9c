"""The parts of `EmbeddingQuantizer`: codewords whose sums stand for vectors, and how they are learned.

A *book* has 256 codewords, of which a byte of the code chooses one. A *sign vector* is added with the sign that a bit
of the code gives. Books carry more information per bit, sign vectors take less time, so a long code has both.

Books are learned one after the other, each by k-means on the residuals of the books before it; k-means starts in a few
principal axes and adds more and more of them. After each book, all codewords so far are solved for together by least
squares.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from sthash import _core
from sthash.arrays import Floats
from sthash.hashing.rotation import principal_axes, quantizing_rotation

Choices = npt.NDArray[np.uint8]

WORDS = 256
# Beam width times the number of books: with more books, fewer sums are kept. Where signs follow and correct the
# residual, two are kept.
BEAM_WORK, SHORT_BEAM = 30, 2
# Steps in which k-means adds axes, its iterations per step, and the iterations of plain k-means.
AXIS_STEPS, AXIS_TURNS, KMEANS_TURNS = 10, 5, 8
# Alternations between choosing and solving: after each book, at the end, and for sign vectors.
BOOK_TURNS, LAST_TURNS, SIGN_TURNS, ROTATION_TURNS = 1, 3, 8, 30
# Rows that a rotation is learned from, the most sign vectors that it gives, as a share of the dimensions, and the most
# rotations.
ROTATION_ROWS, ROTATION_SHARE, ROTATIONS = 10_000, 2 / 3, 6
# Ridges, in units of rows whose target is zero.
BOOK_RIDGE, SIGN_RIDGE = 1.0, 1e-3
BATCH = 4096
LEAST_LENGTH = 1e-18


def no_books(width: int) -> Floats:
    """Return an empty set of books."""
    return np.zeros((0, WORDS, width), dtype=np.float32)


def no_signs(width: int) -> Floats:
    """Return an empty set of sign vectors."""
    return np.zeros((width, 0), dtype=np.float32)


class Chosen(NamedTuple):
    """What stands for rows: the codes, and the squared lengths of their sums."""

    codes: Choices  # one byte per book, then one bit per sign vector
    squares: Floats


class Codewords:
    """Books and sign vectors, ready to choose from.

    Parameters
    ----------
    books : array of float32, shape (number of books, 256, d)
    signs : array of float32, shape (d, number of sign vectors)
    longest : float
        Greatest length of a row; longer rows are shortened. The larger it is, the less exact are the choices for short
        rows.
    least_gain : float, default=0
        Least gain of a flip of a sign, as a share of four squares of a sign vector. Small gains take time.
    """

    def __init__(self, books: Floats, signs: Floats, longest: float, least_gain: float = 0.0) -> None:
        words = np.ascontiguousarray(books.reshape(-1, books.shape[2]))
        self._beam = SHORT_BEAM if signs.shape[1] else max(1, BEAM_WORK // max(1, len(books)))
        self._longest = max(longest, LEAST_LENGTH)
        self._core = _core.Codewords(words, np.ascontiguousarray(signs.T), longest=self._longest, least_gain=least_gain)

    def choose(self, rows: Floats, threads: int) -> Chosen:
        """Choose the codewords and signs of rows."""
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        if lengths.max(initial=0) > self._longest:
            rows = rows * np.minimum(1, self._longest / np.maximum(lengths, LEAST_LENGTH))[:, None]
        return Chosen(*self._core.choose(rows, beam=self._beam, threads=threads))


def choose_words(rows: Floats, books: Floats, longest: float, threads: int) -> Choices:
    """Choose a codeword of each book for each row."""
    return Codewords(books, no_signs(rows.shape[1]), longest).choose(rows, threads).codes


def choose_signs(rows: Floats, signs: Floats, longest: float, threads: int, least_gain: float = 0.0) -> Chosen:
    """Choose the signs of sign vectors, the columns of ``signs``, for each row."""
    return Codewords(no_books(rows.shape[1]), signs, longest, least_gain).choose(rows, threads)


def sums_of(choices: Choices, books: Floats) -> Floats:
    """Return the sums of codewords that choices stand for."""
    sums = np.zeros((len(choices), books.shape[2]), dtype=np.float32)
    for book, chosen in zip(books, choices.T, strict=True):
        sums += book[chosen]
    return sums


def signs_of(bytes_: Choices) -> Floats:
    """Return bits as 1 and −1."""
    bits = np.unpackbits(bytes_, axis=1, bitorder="little").astype(np.float32)
    return 2 * bits - 1


def learn_books(rows: Floats, n_books: int, rng: np.random.Generator, longest: float, threads: int) -> Floats:
    """Learn books of 256 codewords, shape (n_books, 256, d)."""
    books, left = no_books(rows.shape[1]), rows
    for _ in range(n_books):
        books = np.concatenate([books, growing_k_means(left, rng)[None]])
        for _ in range(BOOK_TURNS):
            books = solved_books(rows, choose_words(rows, books, longest, threads), books)
        left = rows - sums_of(choose_words(rows, books, longest, threads), books)
    for _ in range(LAST_TURNS if n_books else 0):
        books = solved_books(rows, choose_words(rows, books, longest, threads), books)
    return books


def solved_books(rows: Floats, choices: Choices, books: Floats) -> Floats:
    """Return the codewords whose sums come closest to the rows, as they were chosen; rarely chosen ones move little."""
    n_books = len(books)
    columns = choices + WORDS * np.arange(n_books)
    ones = np.ones(columns.size, dtype=np.float32)
    chosen = sp.csr_array(
        (ones, columns.ravel(), np.arange(0, columns.size + 1, n_books)), shape=(len(rows), n_books * WORDS)
    )
    change = _ridge(chosen, rows - sums_of(choices, books), BOOK_RIDGE)
    return np.asarray(books + change.reshape(books.shape), dtype=np.float32)


def learn_signs(
    rows: Floats, n_bits: int, rng: np.random.Generator, longest: float, threads: int, least_gain: float = 0.0
) -> Floats:
    """Learn sign vectors, shape (d, n_bits)."""
    signs = first_signs(rows, n_bits, rng)
    vectors = solved_signs(rows, signs)
    for _ in range(SIGN_TURNS if n_bits else 0):
        signs = signs_of(choose_signs(rows, vectors, longest, threads, least_gain).codes)
        vectors = solved_signs(rows, signs)
    return vectors


def solved_signs(rows: Floats, signs: Floats) -> Floats:
    """Return the sign vectors whose sums come closest to the rows, as their signs are, shape (d, n_bits)."""
    return np.ascontiguousarray(_ridge(signs, rows, SIGN_RIDGE * len(rows)).T, dtype=np.float32)


def first_signs(rows: Floats, n_bits: int, rng: np.random.Generator) -> Floats:
    """Return signs along rotated principal axes and, if there are many bits, of the residuals.

    If there are very many, the rest is drawn at random.
    """
    signs = np.zeros((len(rows), 0), dtype=np.float32)
    left = rows
    most = max(1, int(ROTATION_SHARE * rows.shape[1]))
    for _ in range(min(ROTATIONS, -(-n_bits // most))):
        size = min(n_bits - signs.shape[1], most)
        places = left @ principal_axes(left)[:, :size]
        start = np.linalg.qr(rng.standard_normal((size, size)))[0]
        turn = quantizing_rotation(places[:ROTATION_ROWS], start, ROTATION_TURNS)[0]
        signs = np.hstack([signs, np.where(places @ turn > 0, 1, -1).astype(np.float32)])
        left = rows - signs @ solved_signs(rows, signs).T
    rest = rng.choice(np.array([-1, 1], dtype=np.float32), (len(rows), n_bits - signs.shape[1]))
    return np.hstack([signs, rest])


def growing_k_means(points: Floats, rng: np.random.Generator) -> Floats:
    """Return 256 centers of points, found in few principal axes first, and then in more and more of them."""
    width = points.shape[1]
    axes = principal_axes(points).astype(np.float32)
    places = points @ axes
    centers = np.zeros((WORDS, width), dtype=np.float32)
    first = rng.choice(len(points), WORDS, replace=len(points) < WORDS)
    for step in range(AXIS_STEPS):
        size = round(width ** ((1 + step) / AXIS_STEPS))
        seen = np.ascontiguousarray(places[:, :size])
        start = seen[first] if step == 0 else centers[:, :size]
        centers[:, :size] = k_means(seen, rng, turns=AXIS_TURNS, start=np.ascontiguousarray(start))
    return np.ascontiguousarray(centers @ axes.T)


def k_means(
    points: npt.NDArray[Any],
    rng: np.random.Generator,
    n_centers: int = WORDS,
    turns: int = KMEANS_TURNS,
    start: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """Return centers of the points; a center that loses all its points starts again at one of them."""
    n = len(points)
    centers = points[rng.choice(n, n_centers, replace=n < n_centers)] if start is None else start
    for _ in range(turns):
        members = sp.csr_array(
            (np.ones(n, dtype=points.dtype), nearest(points, centers), np.arange(n + 1)), (n, n_centers)
        )
        sizes = np.asarray(members.sum(axis=0))[:, None]
        again = points[rng.choice(n, n_centers)]
        centers = np.where(sizes > 0, (members.T @ points) / np.maximum(sizes, 1), again).astype(points.dtype)
    return centers


def nearest(points: npt.NDArray[Any], centers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the nearest center of each point."""
    halves = np.einsum("ij,ij->i", centers, centers) / 2
    parts = [
        np.argmax(points[first : first + BATCH] @ centers.T - halves, axis=1) for first in range(0, len(points), BATCH)
    ]
    return np.concatenate(parts)


def _ridge(inputs: Any, outputs: Floats, ridge: float) -> npt.NDArray[np.float64]:
    """Return the coefficients of outputs on inputs, shape (columns of inputs, columns of outputs)."""
    moments = inputs.T @ inputs
    moments = np.asarray(moments.todense() if sp.issparse(moments) else moments, dtype=np.float64)
    moments[np.diag_indices(len(moments))] += max(ridge, 1e-9)
    solved = scipy.linalg.solve(moments, np.asarray(inputs.T @ outputs, dtype=np.float64), assume_a="pos")
    return np.asarray(solved)
