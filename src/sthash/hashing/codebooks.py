"""Learning an additive quantizer: codebooks whose sums come close to vectors.

A vector is stood for by a sum of codewords. Books of 256 codewords, one byte each, follow the clusters of the vectors:
each book is k-means of what the books before it leave (residual quantization), and then all books are solved for
together. What they leave has hardly any clusters, so the other bytes are cheaper ones: eight sign vectors each, added
or subtracted. The sign vectors start from iterative quantization. Then turns are taken between the best signs for the
vectors and the best vectors for the signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash import _core
from sthash.hashing.rotation import principal_axes, quantizing_rotation

Floats = npt.NDArray[np.float32]
Choices = npt.NDArray[np.uint8]

WORDS = 256
KMEANS_TURNS, BOOK_TURNS, SIGN_TURNS, ROTATION_TURNS = 8, 2, 8, 30
# Rows that a rotation is learned from, and the most sign vectors that one rotation gives, as a share of the dimensions.
ROTATION_ROWS = 10_000
ROTATION_SHARE = 2 / 3
# Ridges, in units of rows that voted for zero.
BOOK_RIDGE, SIGN_RIDGE = 1.0, 1e-3


@dataclass(frozen=True)
class Codewords:
    """Books of codewords and sign vectors, both in the coordinates of the rows, with their products."""

    books: Floats  # (number of books, 256, d)
    signs: Floats  # (d, number of bits)
    beam: int

    @property
    def words(self) -> Floats:
        """All codewords of the books, one per row."""
        return self.books.reshape(-1, self.signs.shape[0])

    def grams(self) -> dict[str, Floats]:
        """Return the products of codewords with each other, rounded once, as the kernel takes them."""
        words, signs = self.words.astype(np.float64), self.signs.astype(np.float64)
        pairs = {"book_gram": words @ words.T, "cross_gram": words @ signs, "bit_gram": signs.T @ signs}
        return {name: np.ascontiguousarray(gram, dtype=np.float32) for name, gram in pairs.items()}


def encode(rows: Floats, codewords: Codewords, threads: int) -> Choices:
    """Choose the codewords of rows, one byte per book and one bit per sign vector."""
    grams = codewords.grams()
    words = np.ascontiguousarray(codewords.words.T)
    parts = [
        _core.encode_additive(part @ words, part @ codewords.signs, **grams, beam=codewords.beam, threads=threads)[0]
        for part in (rows[first : first + 4096] for first in range(0, len(rows), 4096))
    ]
    return np.concatenate(parts)


def decode(choices: Choices, codewords: Codewords) -> Floats:
    """Return the sums that choices stand for."""
    n_books = len(codewords.books)
    rows = signs_of(choices[:, n_books:]) @ codewords.signs.T
    for book, chosen in zip(codewords.books, choices.T, strict=False):
        rows += book[chosen]
    return rows


def signs_of(bytes_: Choices) -> Floats:
    """Return bits as 1 and −1."""
    bits = np.unpackbits(bytes_, axis=1, bitorder="little").astype(np.float32)
    return 2 * bits - 1


def learn_books(rows: Floats, n_books: int, beam: int, rng: np.random.Generator, threads: int) -> Floats:
    """Learn books of 256 codewords, shape (n_books, 256, d)."""
    left = rows.copy()
    books = np.zeros((n_books, WORDS, rows.shape[1]), dtype=np.float32)
    for book in books:
        book[:] = k_means(left, rng)
        left -= book[nearest(left, book)]
    nothing = np.zeros((rows.shape[1], 0), dtype=np.float32)
    for _ in range(BOOK_TURNS if n_books else 0):
        codewords = Codewords(books, nothing, beam)
        choices = encode(rows, codewords, threads)
        columns = choices + WORDS * np.arange(n_books)
        ones = np.ones(columns.size, dtype=np.float32)
        chosen = sp.csr_array(
            (ones, columns.ravel(), np.arange(0, columns.size + 1, n_books)), shape=(len(rows), n_books * WORDS)
        )
        change = _ridge(chosen, rows - decode(choices, codewords), BOOK_RIDGE)
        books = (books + change.reshape(books.shape)).astype(np.float32)
    return books


def learn_signs(rows: Floats, n_bits: int, rng: np.random.Generator, threads: int) -> Floats:
    """Learn sign vectors, shape (d, n_bits)."""
    empty = np.zeros((0, WORDS, rows.shape[1]), dtype=np.float32)
    signs = first_signs(rows, n_bits, rng)
    solved = _ridge(signs, rows, SIGN_RIDGE * len(rows)).T
    for _ in range(SIGN_TURNS if n_bits else 0):
        codewords = Codewords(empty, np.ascontiguousarray(solved, dtype=np.float32), 1)
        signs = signs_of(encode(rows, codewords, threads))
        solved = _ridge(signs, rows, SIGN_RIDGE * len(rows)).T
    return np.ascontiguousarray(solved, dtype=np.float32)


def first_signs(rows: Floats, n_bits: int, rng: np.random.Generator) -> Floats:
    """Return signs along rotated principal axes; where bits are many, also those of what the first ones leave."""
    signs = np.zeros((len(rows), 0), dtype=np.float32)
    left = rows
    most = max(1, int(ROTATION_SHARE * rows.shape[1]))
    while signs.shape[1] < n_bits:
        size = min(n_bits - signs.shape[1], most)
        places = left @ principal_axes(left)[:, :size]
        start = np.linalg.qr(rng.standard_normal((size, size)))[0]
        turn = quantizing_rotation(places[:ROTATION_ROWS], start, ROTATION_TURNS)[0]
        signs = np.hstack([signs, np.where(places @ turn > 0, 1, -1).astype(np.float32)])
        left = (rows - signs @ _ridge(signs, rows, SIGN_RIDGE * len(rows))).astype(np.float32)
    return signs


def k_means(
    points: npt.NDArray[Any], rng: np.random.Generator, n_centers: int = WORDS, turns: int = KMEANS_TURNS
) -> npt.NDArray[Any]:
    """Return centers of the points; a center that loses all its points starts again at one of them."""
    n = len(points)
    centers = points[rng.choice(n, n_centers, replace=n < n_centers)]
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
        np.argmax(points[first : first + 4096] @ centers.T - halves, axis=1) for first in range(0, len(points), 4096)
    ]
    return np.concatenate(parts)


def _ridge(inputs: Any, outputs: Floats, ridge: float) -> npt.NDArray[np.float64]:
    """Return the coefficients of outputs on inputs, shape (columns of inputs, columns of outputs)."""
    moments = inputs.T @ inputs
    moments = np.asarray(moments.todense() if sp.issparse(moments) else moments, dtype=np.float64)
    moments[np.diag_indices(len(moments))] += max(ridge, 1e-9)
    return np.linalg.solve(moments, np.asarray(inputs.T @ outputs, dtype=np.float64))
