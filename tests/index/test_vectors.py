"""Search among embeddings: stages against a slow twin, metrics, precisions, changes, and bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from sthash import VectorIndex, _core
from sthash.hashing.codebooks import signs_of
from sthash.index.cells import CellCoder

PRECISIONS = ["float32", "float16", "int8"]


def slow_estimates(coder: CellCoder, vectors: Any, query: Any) -> tuple[Any, Any]:
    """Return the cell and the estimate of each vector, by what the arrays of the coder mean."""
    encoded = coder.encode(vectors)
    units, inverse, _ = coder.lengths.T
    products = ((query @ coder.centers.T) * units)[encoded.cells]
    sums = signs_of(np.ascontiguousarray(encoded.packed[:, :-2])) @ (query @ coder.signs)
    factors = coder.scales[0] + coder.scales[1] * encoded.packed[:, -2]
    shifts = coder.scales[2] + coder.scales[3] * encoded.packed[:, -1]
    return encoded.cells, products + products * inverse[encoded.cells] * shifts + factors * sums


def slow_cells(coder: CellCoder, sizes: Any, query: Any, probes: int, candidates: int) -> set[int]:
    """Return the cells that a search looks into."""
    units, _, weights = coder.lengths.T
    rated = (query @ coder.centers.T) * units * weights
    margin = coder.margins[probes - 1]
    chosen: set[int] = set()
    for cell in np.argsort(-rated)[: 3 * probes].tolist():
        if rated[cell] < rated.max() - margin and sum(sizes[list(chosen)]) >= candidates:
            break
        chosen.add(cell)
    return chosen


@pytest.fixture(scope="module")
def sizes(vectors: Any, index: VectorIndex) -> Any:
    return np.bincount(index.coder.encode(vectors).cells, minlength=index.coder.n_cells)


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_all_cells_and_all_candidates_are_exact(vectors: Any, index: VectorIndex) -> None:
    queries = vectors[:20] + 0.1
    ids, cosines = index.search(queries, 10, probes=16, candidates=1200)
    truth = np.sort(unit(queries) @ vectors.T, axis=1)[:, ::-1][:, :10]
    np.testing.assert_allclose(cosines, truth, atol=1e-6)
    np.testing.assert_allclose(np.einsum("ij,ikj->ik", unit(queries), vectors[ids]), cosines, atol=1e-6)


@pytest.mark.parametrize("probes", [1, 5])
def test_candidates_have_the_largest_estimates_in_the_nearest_cells(
    vectors: Any, index: VectorIndex, sizes: Any, probes: int
) -> None:
    coder = index.coder
    for query in vectors[::100]:
        cells, estimates = slow_estimates(coder, vectors, query)
        inside = np.flatnonzero(np.isin(cells, list(slow_cells(coder, sizes, query, probes, 40))))
        found = set(index.search(query, 40, probes=probes, candidates=40)[0][0].tolist())
        # Tables of small numbers round; only candidates close to the last one may change sides.
        step = 2 * np.abs(query @ coder.signs).reshape(-1, 4).sum(axis=1).max() / 31
        slack = 10 * step * float(coder.scales[0] + 255 * coder.scales[1])
        last = np.sort(estimates[inside])[-40]
        assert set(inside[estimates[inside] > last + slack].tolist()) <= found
        assert found <= set(inside[estimates[inside] >= last - slack].tolist())


def test_the_average_number_of_cells_is_as_asked(vectors: Any, index: VectorIndex, sizes: Any) -> None:
    for probes in (2, 5):
        numbers = [len(slow_cells(index.coder, sizes, query, probes, 1)) for query in vectors[::5]]
        assert np.mean(numbers) == pytest.approx(probes, rel=0.15)
        assert len(set(numbers)) > 3


@pytest.mark.parametrize("metric", ["cosine", "ip"])
def test_there_are_k_neighbors_whatever_is_probed(vectors: Any, metric: Any) -> None:
    made = VectorIndex.build(vectors, metric=metric, n_bytes=4, n_cells=100)
    for k in (50, 1000, 1300):
        ids, _ = made.search(vectors[:9], k, probes=1, candidates=1)
        assert ((ids >= 0).sum(axis=1) == min(k, 1200)).all()
        assert all(len(np.unique(row[row >= 0])) == min(k, 1200) for row in ids)


def test_estimates_come_close_to_cosines(vectors: Any, index: VectorIndex) -> None:
    _, estimates = slow_estimates(index.coder, vectors, vectors[5])
    assert np.abs(estimates - vectors @ vectors[5]).mean() < 0.07


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_equal_single_queries(vectors: Any, index: VectorIndex, threads: int) -> None:
    ids, cosines = index.search(vectors[:70], 5, threads=threads)
    for row in range(0, 70, 9):
        alone = index.search(vectors[row], 5, threads=1)
        assert (alone[0][0] == ids[row]).all()
        assert (alone[1][0] == cosines[row]).all()


ANSWERS = """
import sys
import numpy as np
from sthash import VectorIndex
folder = sys.argv[1]
for precision in ("float32", "float16", "int8"):
    index = VectorIndex.open(f"{folder}/{precision}")
    ids, scores = index.search(np.load(f"{folder}/queries.npy"), 7, probes=6, candidates=20)
    sys.stdout.write(repr((ids.tolist(), scores.view(np.int32).tolist())))
"""


def test_every_path_finds_the_same(vectors: Any, tmp_path: Path) -> None:
    for precision in PRECISIONS:
        made = VectorIndex.build(vectors, n_bytes=10, n_cells=16, precision=precision)  # type: ignore[arg-type]
        made.save(tmp_path / precision)
    np.save(tmp_path / "queries.npy", vectors[:40] + 0.05)
    answers = set()
    for path in _core.simd_paths():
        done = subprocess.run(
            [sys.executable, "-c", ANSWERS, str(tmp_path)],
            env={**os.environ, "STHASH_SIMD": path},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.add(done.stdout)
    assert len(answers) == 1


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("metric", ["cosine", "ip"])
def test_metrics_and_precisions(vectors: Any, metric: Any, precision: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = vectors * rng.lognormal(0, 0.4, size=(len(vectors), 1)).astype(np.float32)
    queries = 3 * rows[:25] + 0.1
    made = VectorIndex.build(rows, metric=metric, precision=precision, n_cells=16, n_bytes=8)
    ids, scores = made.search(queries, 10, probes=16, candidates=200)
    left, right = (queries, rows) if metric == "ip" else (unit(queries), unit(rows))
    truth = left @ right.T
    error = {"float32": 1e-6, "float16": 1e-3, "int8": 2e-2}[precision] * np.abs(truth).max()
    np.testing.assert_allclose(scores, np.take_along_axis(truth, ids, axis=1), atol=error)
    np.testing.assert_allclose(scores, -np.sort(-truth, axis=1)[:, :10], atol=2 * error)
    np.testing.assert_allclose(made.vectors(ids[0]), right[ids[0]], atol=error)
    made.save(tmp_path / "index")
    for again in (VectorIndex.open(tmp_path / "index"), VectorIndex.open(tmp_path / "index", mmap=False)):
        assert (again.coder.metric, again.coder.precision) == (metric, precision)
        for one, other in zip(again.search(queries), made.search(queries), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scale", [1e-6, 0.01, 50, 1e6, 1e15])
def test_products_are_found_at_any_scale(vectors: Any, scale: float) -> None:
    rng = np.random.default_rng(1)
    rows = vectors * rng.lognormal(0, 0.4, size=(len(vectors), 1)).astype(np.float32)
    expected = np.argsort(-vectors[:50] @ rows.T, axis=1)[:, :10]
    ids, _ = VectorIndex.build(np.float32(scale) * rows, metric="ip", n_cells=16).search(vectors[:50], 10, probes=16)
    assert np.mean([np.isin(*pair).mean() for pair in zip(expected, ids, strict=True)]) > 0.95


def test_a_vector_that_is_much_longer_than_the_others_is_added_and_found(vectors: Any) -> None:
    by_product = VectorIndex.build(vectors, metric="ip", n_bytes=4, n_cells=16)
    by_product.add(1e6 * vectors[:1])
    assert by_product.search(vectors[:1], 1)[0].tolist() == [[1200]]


class Array:
    """Has __array__, and nothing else."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self.shape = rows.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._rows if dtype is None else self._rows.astype(dtype)


class Tensor:
    """Speaks DLPack, and nothing else."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self.shape = rows.shape

    def __dlpack__(self, **options: Any) -> Any:
        return self._rows.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._rows.__dlpack_device__()


@pytest.mark.parametrize(
    "kind",
    [np.float64, np.float16, list, Array, Tensor, "bfloat16"],
    ids=["float64", "float16", "list", "__array__", "__dlpack__", "bfloat16"],
)
def test_any_array_will_do(vectors: Any, kind: Any) -> None:
    rows = vectors[:300] * 2
    if isinstance(kind, type) and issubclass(kind, np.floating):
        given: Any = rows.astype(kind)
    elif kind is list:
        given = rows.tolist()
    elif kind == "bfloat16":
        types = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
        given = rows.astype(types.bfloat16)
    else:
        given = kind(rows)
    made = VectorIndex.build(given, n_bytes=4)
    assert made.search(given, 1)[0][:, 0].tolist() == list(range(300))
    assert made.add(given)[0] == 300


def test_added_vectors_are_found_and_removed_ones_are_not(vectors: Any, own: VectorIndex) -> None:
    more = unit(vectors[:50] + 0.02)
    assert own.add(more).tolist() == list(range(1200, 1250))
    assert len(own) == 1250
    assert own.search(more, 1)[0][:, 0].tolist() == list(range(1200, 1250))
    own.remove(range(1200, 1225))
    own.remove([7])
    assert len(own) == 1224
    found = own.search(np.vstack([more, vectors[:20]]), 5, probes=16)[0]
    assert not np.isin(found, [7, *range(1200, 1225)]).any()
    assert found[25:50, 0].tolist() == list(range(1225, 1250))
    everything = own.search(vectors[:1], 1300, probes=16, candidates=1300)[0][0]
    assert sorted(everything[everything >= 0].tolist()) == sorted({*range(1250)} - {7, *range(1200, 1225)})
    assert own.add(more[:1]).tolist() == [1250]  # an id is never given twice


def test_changes_in_one_step_or_many_give_the_same(vectors: Any, own: VectorIndex) -> None:
    other = VectorIndex.build(vectors, n_bytes=4, n_cells=16)
    own.add(vectors[:9])
    own.remove([5, 1203])
    for row in vectors[:9]:
        other.add(row)
    other.remove([1203])
    other.remove([5])
    assert own.ids.tolist() == other.ids.tolist()
    for one, other_one in zip(own.search(vectors[:99]), other.search(vectors[:99]), strict=True):
        np.testing.assert_array_equal(one, other_one)


def test_an_index_can_be_emptied(vectors: Any) -> None:
    made = VectorIndex.build(vectors[:5])
    made.remove(np.arange(5))
    assert len(made) == 0
    ids, scores = made.search(vectors[:2], 3)
    assert (ids == -1).all()
    assert np.isneginf(scores).all()
    made.add(vectors[:1])
    assert made.search(vectors[:1], 1)[0].tolist() == [[5]]


@pytest.mark.parametrize("metric", ["cosine", "ip"])
@pytest.mark.parametrize(
    "few",
    [
        np.ones((50, 4)),
        np.eye(3),
        np.array([[1.0], [-2.0]]),
        np.column_stack([np.ones(60), np.zeros(60), np.arange(60)]),
    ],
    ids=["duplicates", "three rows", "one column", "constant columns"],
)
def test_odd_vectors(few: Any, metric: Any) -> None:
    made = VectorIndex.build(few, metric=metric)
    left = few if metric == "ip" else unit(few)
    ids, scores = made.search(few, len(few) + 1, probes=made.coder.n_cells)
    assert (ids[:, -1] == -1).all()
    np.testing.assert_allclose(scores[:, :-1], -np.sort(-(left @ left.T), axis=1), atol=1e-6, rtol=1e-5)


def test_zero_vectors() -> None:
    rows = np.vstack([np.ones((40, 6)), np.zeros((1, 6))])
    with pytest.raises(ValueError, match=r"vectors must not be zero.*row 40.*metric='ip'"):
        VectorIndex.build(rows)
    by_product = VectorIndex.build(rows, metric="ip")
    assert by_product.search(rows[-1:], 1)[1].tolist() == [[0]]
    made = VectorIndex.build(rows[:-1])
    with pytest.raises(ValueError, match="vectors must not be zero"):
        made.add(np.zeros(6))
    with pytest.raises(ValueError, match="queries must not be zero"):
        made.search(np.zeros(6))
    assert len(made) == 40


def test_bad_input_is_refused(vectors: Any, own: VectorIndex) -> None:
    with pytest.raises(ValueError, match="no vectors"):
        VectorIndex.build(np.zeros((0, 4)))
    with pytest.raises(ValueError, match="at least one value"):
        VectorIndex.build(np.zeros((4, 0)))
    with pytest.raises(ValueError, match="n_bytes=3"):
        VectorIndex.build(vectors, n_bytes=3)
    with pytest.raises(ValueError, match="metric"):
        VectorIndex.build(vectors, metric="l2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="precision"):
        VectorIndex.build(vectors, precision="int4")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="float16"):
        VectorIndex.build(1e6 * vectors, metric="ip", precision="float16")
    for wrong, message in (
        (np.full((3, 37), np.nan), "finite"),
        (vectors[:, :3], "37 values"),
        (np.full((2, 37), np.inf), "finite"),
        (np.zeros((2, 37, 2)), "rows of an array"),
    ):
        for ask in (own.search, own.add):
            with pytest.raises(ValueError, match=message):
                ask(wrong)
    with pytest.raises(ValueError, match="finite"):
        VectorIndex.build(np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match=r"inner products, got 1e\+20.*Scale all vectors"):
        VectorIndex.build(np.full((3, 1), 1e20), metric="ip")
    with pytest.raises(ValueError, match=r"40,000 values.*Use fewer dimensions"):
        VectorIndex.build(np.ones((2, 40_000)))
    with pytest.raises(ValueError, match="Ask for fewer"):
        own.search(vectors[:1], 1, candidates=2_000_000_000)
    with pytest.raises(ValueError, match="k=0"):
        own.search(vectors, 0)
    with pytest.raises(KeyError, match="Id 1200 is not in the index"):
        own.remove([3, 1200])
    with pytest.raises(TypeError, match="whole numbers"):
        own.remove([0.5])
    assert len(own) == 1200


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda rows: scipy.sparse.csr_array(rows), "a sparse matrix"),
        (lambda rows: scipy.sparse.coo_matrix(rows), "a sparse matrix"),
        (lambda rows: np.ma.masked_array(rows, rows > 0), "a masked array"),
        (lambda rows: rows.astype(complex), "complex numbers"),
        (lambda rows: rows.astype(str), "text"),
        (lambda rows: rows.astype(str).tolist(), "text"),
        (lambda rows: rows.astype("S8"), "text"),
        (lambda rows: rows.astype(object), "Python objects"),
        (lambda rows: (rows + 1j).tolist(), "complex numbers"),
        (lambda rows: rows.astype("m8[s]"), "durations"),
    ],
)
def test_what_is_no_array_of_real_numbers_is_refused(own: VectorIndex, vectors: Any, make: Any, kind: str) -> None:
    wrong = make(vectors[:3])
    for ask in (own.search, own.add, VectorIndex.build, own.coder.encode, CellCoder.learn):
        with pytest.raises(TypeError, match=rf"must be (dense|real numbers), got {kind}\."):
            ask(wrong)
    assert len(own) == 1200


def test_rows_that_are_not_aligned_or_not_contiguous(own: VectorIndex, vectors: Any) -> None:
    content = b"x" + vectors[:5].tobytes()
    odd = np.frombuffer(content, dtype=np.uint8)[1:].view(np.float32).reshape(5, 37)
    assert not odd.flags.aligned
    for rows in (odd, np.asfortranarray(vectors[:5]), vectors[:10:2], vectors[4::-1]):
        ids = own.add(rows)
        assert (own.vectors(ids) == rows).all()
        np.testing.assert_array_equal(own.search(rows, 1, exact=True)[1][:, 0].round(5), np.ones(len(rows)))
        own.remove(ids)
