"""Codes of embeddings: what they promise, and the kernel against a slow twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import sthash
from sthash import EmbeddingQuantizer, _core
from sthash.hashing.codebooks import Codewords, decode, encode, first_signs, k_means, signs_of


def clustered(n: int, d: int, seed: int = 0) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(20, d))
    rows = centers[rng.integers(0, 20, n)] + 0.7 * rng.normal(size=(n, d)) * np.linspace(1.5, 0.2, d) + 0.5
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def rows() -> npt.NDArray[np.float32]:
    return clustered(1500, 24)


def slow_code(x: Any, books: Any, signs: Any, beam: int) -> tuple[list[int], list[bool]]:
    """Choose codewords as the kernel does, one vector at a time, by sums that are written out."""
    kept: list[tuple[float, list[int]]] = [(0.0, [])]
    for number, book in enumerate(books):
        candidates = []
        for _, path in kept:
            start = sum((books[at][word] for at, word in enumerate(path)), np.zeros(len(x)))
            candidates += [(float(((x - start - word) ** 2).sum()), [*path, at]) for at, word in enumerate(book)]
        kept = sorted(candidates)[: beam if number + 1 < len(books) else 1]
    left = x - sum((books[at][word] for at, word in enumerate(kept[0][1])), np.zeros(len(x)))
    bits = np.zeros(signs.shape[1], dtype=bool)
    rest = left.copy()
    for bit in range(len(bits)):
        bits[bit] = rest @ signs[:, bit] > 0
        rest -= signs[:, bit] * (1 if bits[bit] else -1)
    for _ in range(len(bits)):
        losses = []
        for flip in range(len(bits)):
            tried = bits.copy()
            tried[flip] ^= True
            losses.append(((left - signs @ np.where(tried, 1, -1)) ** 2).sum())
        if not losses or min(losses) >= ((left - signs @ np.where(bits, 1, -1)) ** 2).sum() - 1e-6:
            break
        bits[int(np.argmin(losses))] ^= True
    return kept[0][1], bits.tolist()


@pytest.mark.parametrize(("n_books", "n_bits"), [(0, 16), (1, 8), (3, 0), (2, 24)])
def test_kernel_equals_its_slow_twin(n_books: int, n_bits: int) -> None:
    rng = np.random.default_rng(n_bits)
    books = rng.normal(size=(n_books, 256, 10)).astype(np.float32)
    signs = (0.4 * rng.normal(size=(10, n_bits))).astype(np.float32)
    points = rng.normal(size=(12, 10)).astype(np.float32)
    codes = encode(points, Codewords(books, signs, 3), threads=2)
    for point, code in zip(points, codes, strict=True):
        words, bits = slow_code(point.astype(np.float64), books.astype(np.float64), signs.astype(np.float64), 3)
        assert code[:n_books].tolist() == words
        assert (signs_of(code[None, n_books:]) > 0).ravel().tolist() == bits


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 17), (9, 7, 64), (70, 3, 83), (4, 2, 0)])
def test_products_are_those_of_numpy(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=shape[:2]).astype(np.float32), rng.normal(size=shape[1:]).astype(np.float32)
    sums = np.zeros((shape[0], shape[2]), dtype=np.float32)
    for at in range(shape[1]):
        sums += left[:, at, None] * right[at]
    assert (_core.multiply(left, right, threads=2) == sums).all()


def test_kernel_knows_what_its_sums_have_in_common_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    codewords = Codewords(
        rng.normal(size=(2, 256, 9)).astype(np.float32), rng.normal(size=(9, 16)).astype(np.float32), 4
    )
    points = rng.normal(size=(40, 9)).astype(np.float32)
    codes, dots, squares = _core.encode_additive(
        points @ codewords.words.T, points @ codewords.signs, **codewords.grams(), beam=4, threads=1
    )
    sums = decode(codes, codewords)
    np.testing.assert_allclose(dots, (points * sums).sum(axis=1), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(squares, (sums * sums).sum(axis=1), rtol=1e-3, atol=1e-3)


def test_scores_come_close_to_cosines_and_closer_with_more_bytes(rows: Any) -> None:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    errors = []
    for n_bytes in (2, 6, 12, 24):
        quantizer = EmbeddingQuantizer(n_bytes).fit(rows[:1000])
        codes = quantizer.transform(rows)
        assert codes.shape == (1500, n_bytes)
        errors.append(np.abs(quantizer.scores(rows[1000:1050] * 5, codes) - units[1000:1050] @ units.T).mean())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01


def test_threads_and_files_change_no_code(rows: Any, tmp_path: Path) -> None:
    quantizer = EmbeddingQuantizer(12, threads=1).fit(rows)
    quantizer.save(tmp_path / "model")
    again = sthash.load(tmp_path / "model")
    assert (EmbeddingQuantizer(12, threads=3).fit(rows).transform(rows) == quantizer.transform(rows)).all()
    assert (again.transform(rows) == quantizer.transform(rows)).all()
    assert (
        again.scores(rows[:2], again.transform(rows)) == quantizer.scores(rows[:2], quantizer.transform(rows))
    ).all()


@pytest.mark.parametrize("n_bytes", [2, 8, 40])
@pytest.mark.parametrize(
    "few",
    [np.ones((5, 4)), np.eye(3), np.vstack([np.zeros((3, 6)), np.ones((1, 6))]), np.array([[1.0], [-2.0]])],
    ids=["duplicates", "three rows", "zero rows", "one column"],
)
def test_odd_corpora(few: Any, n_bytes: int) -> None:
    quantizer = EmbeddingQuantizer(n_bytes).fit(few)
    scores = quantizer.scores(few, quantizer.transform(few))
    norms = np.linalg.norm(few, axis=1, keepdims=True)
    units = few / np.where(norms > 0, norms, 1)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores, units @ units.T, atol=0.05 if n_bytes > 2 else 1)


def test_zero_vectors_score_zero(rows: Any) -> None:
    quantizer = EmbeddingQuantizer(24).fit(np.vstack([rows, np.zeros((50, 24))]))
    codes = quantizer.transform(np.zeros((1, 24)))
    assert abs(float(quantizer.scores(rows[:1], codes)[0, 0])) < 0.2


def test_bad_input_is_refused(rows: Any) -> None:
    broken = rows.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        EmbeddingQuantizer().fit(broken)
    with pytest.raises(ValueError, match="all 4 vectors are zero"):
        EmbeddingQuantizer().fit(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="n_bytes=1"):
        EmbeddingQuantizer(1).fit(rows)
    with pytest.raises(ValueError, match="n_bytes=300"):
        EmbeddingQuantizer(300).fit(rows)
    quantizer = EmbeddingQuantizer(4).fit(rows)
    with pytest.raises(ValueError, match="24 values"):
        quantizer.transform(rows[:, :5])
    with pytest.raises(ValueError, match="finite"):
        quantizer.transform(broken)
    before = quantizer.mean_
    with pytest.raises(ValueError, match="finite"):
        quantizer.fit(broken)
    assert quantizer.mean_ is before


def test_first_signs_and_centers_have_their_shapes(rows: Any) -> None:
    rng = np.random.default_rng(0)
    assert first_signs(rows, 40, rng).shape == (1500, 40)
    assert first_signs(rows, 0, rng).shape == (1500, 0)
    assert k_means(rows[:10], rng).shape == (256, 24)


@pytest.mark.parametrize("n_bytes", [2, 7, 12])
@pytest.mark.parametrize(("asked", "threads"), [(1, 1), (1, 3), (9, 2)])
def test_search_is_sorting_scores(rows: Any, n_bytes: int, asked: int, threads: int) -> None:
    quantizer = EmbeddingQuantizer(n_bytes, threads=threads).fit(rows)
    codes = np.tile(quantizer.transform(rows), (9, 1))  # every score comes nine times
    scores = quantizer.scores(rows[:asked], codes)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :40]
    ids, best = quantizer.search(rows[:asked], codes, 40)
    assert (ids == order).all()
    assert (best == np.take_along_axis(scores, order, axis=1)).all()


def test_search_of_few_codes_and_of_none(rows: Any) -> None:
    quantizer = EmbeddingQuantizer(4).fit(rows)
    codes = quantizer.transform(rows[:3])
    assert quantizer.search(rows[:2], codes, 5)[0].shape == (2, 3)
    assert quantizer.search(rows[:2], codes[:0], 5)[0].shape == (2, 0)
    with pytest.raises(ValueError, match="rows of 4 bytes"):
        quantizer.search(rows[:2], codes[:, :3])
    with pytest.raises(ValueError, match="rows of 4 bytes"):
        quantizer.scores(rows[:2], codes.astype(np.int64))
    with pytest.raises(ValueError, match="k=0"):
        quantizer.search(rows[:2], codes, 0)


def test_scan_refuses_what_does_not_fit() -> None:
    codes = np.zeros((5, 3), dtype=np.uint8)
    good: dict[str, Any] = {
        "corrections": np.zeros((256, 2), dtype=np.float32),
        "tables": np.zeros((2, 512), dtype=np.float32),
        "offsets": np.zeros(2, dtype=np.float32),
        "k": 1,
        "threads": 1,
    }
    assert _core.scan_additive(codes, **good)[0].tolist() == [[0], [0]]
    for name, bad in {"corrections": (255, 2), "tables": (2, 511), "offsets": (3,)}.items():
        with pytest.raises(ValueError, match=r"Pass the codes|Make the tables"):
            _core.scan_additive(codes, **(good | {name: np.zeros(bad, dtype=np.float32)}))
