"""Codes of embeddings: what they promise, and the kernel against a slow twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import sthash
from sthash import EmbeddingQuantizer, _core
from sthash.hashing.codebooks import (
    BEAM_WORK,
    SHORT_BEAM,
    Codewords,
    choose_words,
    first_signs,
    k_means,
    learn_books,
    signs_of,
    sums_of,
)
from sthash.hashing.embedding_quantizer import LONGEST
from sthash.hashing.fields import Fields


def clustered(n: int, d: int, seed: int = 0) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(20, d))
    rows = centers[rng.integers(0, 20, n)] + 0.7 * rng.normal(size=(n, d)) * np.linspace(1.5, 0.2, d) + 0.5
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def rows() -> npt.NDArray[np.float32]:
    return clustered(1500, 24)


def in_units(values: Any, unit: Any) -> Any:
    rounded = np.float32(values) / unit + np.where(values < 0, np.float32(-0.5), np.float32(0.5))
    return np.trunc(np.clip(rounded, -32767, 32767)).astype(np.int64)


def unit_of(vectors: Any) -> Any:
    squares = squares_of(vectors)
    return (squares / 2 + np.float32(LONGEST) * np.sqrt(squares)).max() / np.float32(32767)


def squares_of(vectors: Any) -> Any:
    squares = np.zeros(len(vectors), dtype=np.float32)
    for column in vectors.T:
        squares += column * column
    return squares


def in_bytes(vectors: Any) -> tuple[Any, Any]:
    """Round vectors to signed bytes; return these, and factors."""
    largest = np.abs(vectors).max(axis=1)
    scaled = vectors * (np.float32(127) / largest)[:, None]
    return np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int64), largest * np.float32(128 / 127)


def products_in_units(rows: Any, vectors: Any, unit: Any) -> Any:
    """Multiply rows with vectors as the kernel does: bytes of rows, bytes of vectors without their last bit."""
    (left, left_factors), (right, right_factors) = in_bytes(rows), in_bytes(vectors)
    totals = 4 * left @ ((right + 128) // 2).T - 255 * left.sum(axis=1)[:, None]
    exact = totals.astype(np.float32) * left_factors[:, None] * (right_factors / unit / np.float32(2 * 128 * 128))
    return np.trunc(np.clip(exact, -32767, 32767)).astype(np.int64)


def bounded(value: Any) -> Any:
    return np.clip(value, -32768, 32767)


def slow_words(rows: Any, books: Any, beam: int) -> list[list[int]]:
    """Choose codewords one row at a time, every sum written out."""
    words = books.reshape(-1, books.shape[2])
    unit = unit_of(words)
    products = products_in_units(rows, words, unit).reshape(len(rows), len(books), 256)
    halves = in_units(squares_of(words) / 2, unit).reshape(len(books), 256)
    codes = []
    for of_row in products:
        kept: list[tuple[int, list[int]]] = [(0, [])]
        for number, book in enumerate(books):
            candidates: list[tuple[int, int, list[int]]] = []
            for score, path in kept:
                total = bounded(of_row[number] - halves[number])
                for before, word in enumerate(path):
                    gram = _core.multiply(books[before][word : word + 1], np.ascontiguousarray(book.T), threads=1)
                    total = bounded(total - in_units(gram[0], unit))
                total = bounded(total - min(kept[0][0] - score, 32767))
                candidates += [(-int(one), len(candidates), [*path, at]) for at, one in enumerate(total)]
            best = kept[0][0]
            candidates.sort(key=lambda one: one[0])  # of equal ones the first stays first
            kept = [(best - one[0], one[2]) for one in candidates[: beam if number + 1 < len(books) else 1]]
        codes.append(kept[0][1])
    return codes


def slow_signs(rows: Any, words: Any, codes: Any, signs: Any, least_gain: float) -> Any:
    """Choose signs one row at a time, after the codewords."""
    vectors = np.ascontiguousarray(signs.T)
    unit, n_bits = unit_of(vectors), len(vectors)
    gram = in_units(_core.multiply(vectors, np.ascontiguousarray(signs), threads=1), unit)
    cross = in_units(_core.multiply(words, np.ascontiguousarray(signs), threads=1), unit)
    least, found = int(np.float32(least_gain) * float(np.diag(gram).sum()) / n_bits), []
    for gradient, code in zip(products_in_units(rows, vectors, unit), codes, strict=True):
        left = gradient
        for book, word in enumerate(code.tolist()):
            left = bounded(left - cross[256 * book + word])
        chosen = np.zeros(n_bits, dtype=np.int64)
        for bit in range(n_bits):
            chosen[bit] = 1 if left[bit] > 0 else -1
            left = bounded(left - chosen[bit] * gram[bit])
        for _ in range(n_bits):
            gains = -chosen * left - np.diag(gram)
            best = int(np.argmax(gains))
            if gains[best] <= least:
                break
            chosen[best] *= -1
            left = bounded(left - 2 * chosen[best] * gram[best])
        found.append(chosen > 0)
    return np.array(found)


@pytest.mark.parametrize(("n_books", "n_bits"), [(0, 16), (1, 8), (4, 0), (3, 72)])
@pytest.mark.parametrize(("width", "least_gain"), [(10, 0.0), (37, 0.0), (37, 0.3)])
def test_kernel_equals_its_slow_twin(n_books: int, n_bits: int, width: int, least_gain: float) -> None:
    rng = np.random.default_rng(n_bits)
    books = (0.2 * rng.normal(size=(n_books, 256, width))).astype(np.float32)
    signs = (0.1 * rng.normal(size=(width, n_bits))).astype(np.float32)
    points = (0.2 * rng.normal(size=(70, width))).astype(np.float32)
    codes = Codewords(books, signs, LONGEST, least_gain).choose(points, threads=2).codes
    if n_books:
        assert codes[:, :n_books].tolist() == slow_words(points, books, SHORT_BEAM if n_bits else BEAM_WORK // n_books)
    if n_bits:
        bits = slow_signs(points, books.reshape(-1, width), codes[:, :n_books], signs, least_gain)
        assert ((signs_of(codes[:, n_books:]) > 0) == bits).all()


def test_every_path_chooses_the_same(run_python: Any) -> None:
    source = """
import numpy as np
from sthash.hashing.codebooks import Codewords
rng = np.random.default_rng(0)
books = (0.2 * rng.normal(size=(9, 256, 45))).astype(np.float32)
signs = (0.05 * rng.normal(size=(45, 200))).astype(np.float32)
points = (0.2 * rng.normal(size=(333, 45))).astype(np.float32)
points[7] *= 100  # so long that sums end at their bounds
chosen = Codewords(books, signs, 2.0)._core.choose(points, beam=2, threads=2)
print(*(zlib.crc32(part.tobytes()) for part in chosen))
"""
    found = {run_python("import zlib" + source, STHASH_SIMD=path) for path in _core.simd_paths()}
    assert len(found) == 1


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 17), (9, 7, 64), (70, 3, 83), (4, 2, 0)])
def test_products_are_those_of_numpy(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=shape[:2]).astype(np.float32), rng.normal(size=shape[1:]).astype(np.float32)
    sums = np.zeros((shape[0], shape[2]), dtype=np.float32)
    for at in range(shape[1]):
        sums += left[:, at, None] * right[at]
    assert (_core.multiply(left, right, threads=2) == sums).all()


def test_kernel_knows_the_lengths_of_its_sums() -> None:
    rng = np.random.default_rng(0)
    books = (0.2 * rng.normal(size=(2, 256, 9))).astype(np.float32)
    signs = (0.1 * rng.normal(size=(9, 16))).astype(np.float32)
    points = (0.2 * rng.normal(size=(40, 9))).astype(np.float32)
    codes, squares = Codewords(books, signs, LONGEST).choose(points, threads=1)
    sums = sums_of(codes[:, :2], books) + signs_of(codes[:, 2:]) @ signs.T
    np.testing.assert_allclose(squares, (sums * sums).sum(axis=1), atol=1e-3)


def test_books_are_learned_for_what_is_left(rows: Any) -> None:
    centered = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    centered = np.ascontiguousarray(centered - centered.mean(axis=0))
    rng, losses = np.random.default_rng(0), []
    for n_books in (1, 2, 4):
        books = learn_books(centered, n_books, rng, LONGEST, threads=2)
        left = centered - sums_of(choose_words(centered, books, LONGEST, threads=2), books)
        losses.append(float((left * left).sum(axis=1).mean()))
    assert losses[0] > 1.5 * losses[1] > 2 * losses[2] > 0


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


@pytest.mark.parametrize("spread", [1.0, 0.1, 0.03])
def test_vectors_that_are_close_together_are_told_apart(rows: Any, spread: float, tmp_path: Path) -> None:
    narrow = spread * (rows - rows.mean(axis=0)) / 5 + 0.3
    units = narrow / np.linalg.norm(narrow, axis=1, keepdims=True)
    quantizer = EmbeddingQuantizer(24).fit(narrow)
    codes = quantizer.transform(narrow)
    truth = np.argsort(-units[:100].astype(np.float64) @ units.T, axis=1)[:, :10]
    found = quantizer.search(narrow[:100], codes, 10)[0]
    assert np.mean([np.isin(*pair).mean() for pair in zip(truth, found, strict=True)]) > 0.9
    quantizer.save(tmp_path / "quantizer")
    assert (sthash.load(tmp_path / "quantizer").transform(narrow) == codes).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (100, 6)])
def test_many_bytes_of_few_dimensions(shape: tuple[int, int]) -> None:
    few = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    quantizer = EmbeddingQuantizer(256).fit(few)
    scores = quantizer.scores(few, quantizer.transform(few))
    units = few / np.linalg.norm(few, axis=1, keepdims=True)
    np.testing.assert_allclose(scores, units @ units.T, atol=0.05)


@pytest.mark.parametrize(
    ("width", "n_bytes", "n_signs", "n_fields"),
    [(64, 24, 0, 23), (64, 65, 0, 64), (64, 70, 5 * 8, 64), (300, 100, 504, 36)],
)
def test_long_codes_have_fields(width: int, n_bytes: int, n_signs: int, n_fields: int, tmp_path: Path) -> None:
    many = clustered(700, width)
    units = many / np.linalg.norm(many, axis=1, keepdims=True)
    quantizer = EmbeddingQuantizer(n_bytes).fit(many)
    assert (len(quantizer.books_), quantizer.signs_.shape[1], len(quantizer.parts_)) == (0, n_signs, n_fields)
    codes = quantizer.transform(many)
    scores = quantizer.scores(many[:40], codes)
    assert np.abs(scores - units[:40] @ units.T).mean() < (0.01 if n_bytes < width else 0.001)
    cosines = np.einsum("ij,ij->i", quantizer.inverse_transform(codes), units)
    assert cosines.mean() > (0.98 if n_bytes < width else 0.999)
    ids, best = quantizer.search(many[:40], codes, 5)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    assert (ids == order).all()
    assert (best == np.take_along_axis(scores, order, axis=1)).all()
    quantizer.save(tmp_path / "quantizer")
    for again in (sthash.load(tmp_path / "quantizer"), EmbeddingQuantizer(n_bytes, threads=3).fit(many)):
        assert (again.transform(many) == codes).all()
        assert (again.scores(many[:2], codes) == quantizer.scores(many[:2], codes)).all()


@pytest.mark.parametrize("metric_width", [20, 33])
def test_fields_choose_the_nearest_words(metric_width: int) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, metric_width)).astype(np.float32) * np.linspace(
        3, 0.1, metric_width, dtype=np.float32
    )
    fields = Fields.learn(points, 12, rng)
    assert len(fields) == 12
    np.testing.assert_allclose(fields.axes.T @ fields.axes, np.eye(metric_width), atol=1e-5)
    codes, places = fields.encode(points, 2), points @ fields.axes
    for field in range(12):
        own = fields.fields == field
        distances = ((places[:, None, own] - fields.words[None, :, own]) ** 2).sum(axis=2)
        chosen = np.take_along_axis(distances, codes[:, field, None].astype(int), axis=1)[:, 0]
        np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-4)
    sums = fields.decode(codes, 1)
    products = np.take_along_axis(fields.tables(points[:1], 1)[0].T, codes.astype(int), axis=0).sum(axis=1)
    np.testing.assert_allclose(products, sums @ points[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_bytes", [8, 20, 30])
def test_codes_that_are_not_learned_suit_any_vectors(n_bytes: int, tmp_path: Path) -> None:
    one, other = clustered(400, 24, seed=1), np.random.default_rng(0).normal(size=(400, 24)).astype(np.float32)
    quantizer = EmbeddingQuantizer(n_bytes, learned=False).fit(other)
    assert (EmbeddingQuantizer(n_bytes, learned=False).fit(one[:1]).transform(one) == quantizer.transform(one)).all()
    units = one / np.linalg.norm(one, axis=1, keepdims=True)
    errors = np.abs(quantizer.scores(one[:50], quantizer.transform(one)) - units[:50] @ units.T)
    assert errors.mean() < {8: 0.1, 20: 0.012, 30: 0.004}[n_bytes]
    quantizer.save(tmp_path / "quantizer")
    again = EmbeddingQuantizer.load(tmp_path / "quantizer")
    assert not again.learned
    assert (again.transform(one) == quantizer.transform(one)).all()


def test_forged_fields_are_refused() -> None:
    config, arrays = EmbeddingQuantizer(30, learned=False).fit(np.eye(40)).state()
    forged = {
        "axes_": np.eye(39, dtype=np.float32),
        "words_": np.full((256, 40), np.nan, dtype=np.float32),
        "fields_": np.arange(40, dtype=np.int32) * 7,
    }
    for name, array in forged.items():
        with pytest.raises(ValueError, match=r"axes|fields"):
            EmbeddingQuantizer.restored(config, arrays | {name: array})
    with pytest.raises(ValueError, match="signs_"):
        EmbeddingQuantizer.restored(config | {"n_bytes": 90}, arrays)
    with pytest.raises(ValueError, match="signs_"):
        EmbeddingQuantizer.restored(config | {"n_bytes": 20}, arrays)


def test_forged_files_are_refused_before_they_take_memory(rows: Any, tmp_path: Path) -> None:
    quantizer = EmbeddingQuantizer(4).fit(rows)
    arrays = {name: getattr(quantizer, name) for name in ("mean_", "books_", "signs_", "corrections_")}
    config = {"n_bytes": 4, "random_state": 0, "longest": 2.0}
    forged: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (config, {"books_": np.ones((1, 5000, 24), np.float32)}, "books_ has"),
        (config, {"corrections_": np.zeros((256, 2), np.float32)}, "a factor of corrections_"),
        (config | {"longest": 0.0}, {}, "longest"),
        (config | {"longest": 3.0}, {}, "longest"),
    ]
    for settings, changed, message in forged:
        with pytest.raises(ValueError, match=message):
            EmbeddingQuantizer._restored(settings, arrays | changed)


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
