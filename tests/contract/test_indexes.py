"""All indexes keep one contract: each is compared with a dictionary that is searched by looking at everything."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sthash import HammingIndex, ModelFileError, VectorIndex, WordIndex
from sthash.index import Index
from sthash.index.cells import CellCoder
from support.plain_words import PLAIN, bm25_scores

WIDTH, BITS = 16, 40


@dataclass(frozen=True)
class Kind:
    """What the suite has to know of an index."""

    make: Callable[[], Any]
    open: Callable[..., Any]
    rows: Callable[[np.random.Generator, int], Any]
    queries: Callable[[np.random.Generator, int], Any]
    # The scores of all rows for one query, exactly as the index gives them; `missing` where a row is not to be found.
    scores: Callable[[Any, list[Any]], Any]
    best: int = 1  # 1 if large scores are good, -1 if small ones are
    missing: float = -np.inf
    exact: dict[str, Any] = field(default_factory=dict)  # options that make a search exact
    ways: tuple[dict[str, Any], ...] = ({"mmap": False}, {"mmap": True})  # to open a file


def random_codes(rng: np.random.Generator, n: int) -> Any:
    """Codes near each other, so that there are ties."""
    return np.packbits(rng.random((n, BITS)) < 0.1, axis=1, bitorder="little")


def distances(query: Any, codes: list[Any]) -> Any:
    return np.bitwise_count(np.stack(codes) ^ query).sum(axis=1, dtype=np.int32)


def small_vectors(rng: np.random.Generator, n: int) -> Any:
    """Vectors of whole numbers, whose products are exact in any order, and often equal."""
    return rng.integers(-3, 4, (n, WIDTH)).astype(np.float32)


def sign_vectors(rng: np.random.Generator, n: int) -> Any:
    """Vectors of length 4, whose parts stay exact when they are divided by it."""
    return rng.choice(np.array([-1, 1], dtype=np.float32), (n, WIDTH))


def products(query: Any, vectors: list[Any]) -> Any:
    return np.stack(vectors) @ query


def random_texts(rng: np.random.Generator, n: int) -> list[str]:
    """Texts of few words, some frequent and most rare: some texts are blank, many scores are equal."""
    words = np.minimum(rng.zipf(1.5, (n, 7)), 40)
    return [" ".join(f"w{word}" for word in row[: rng.integers(8)]) for row in words]


def word_scores(query: str, texts: list[str]) -> Any:
    scores = bm25_scores(query, texts)
    return np.where(scores > 0, scores, -np.inf)


@cache
def coder(precision: Any) -> CellCoder:
    learned_from = small_vectors(np.random.default_rng(0), 600)
    return CellCoder.learn(learned_from, metric="ip", precision=precision, n_bytes=4, n_cells=24)


def vector_kind(precision: str) -> Kind:
    return Kind(
        make=lambda: VectorIndex(coder(precision)),
        open=VectorIndex.open,
        rows=small_vectors,
        queries=sign_vectors,
        scores=products,
        exact={"exact": True},
    )


KINDS = {
    "WordIndex": Kind(
        make=lambda: WordIndex(PLAIN),
        open=WordIndex.open,
        rows=random_texts,
        queries=random_texts,
        scores=word_scores,
        ways=({},),
    ),
    "HammingIndex": Kind(
        make=lambda: HammingIndex(BITS),
        open=HammingIndex.open,
        rows=random_codes,
        queries=random_codes,
        scores=distances,
        best=-1,
        missing=-1,
    ),
    "VectorIndex": vector_kind("float32"),
    "VectorIndex of float16": vector_kind("float16"),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: Any) -> Kind:
    return request.param


class Reference:
    """The obvious index."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.held: dict[int, Any] = {}
        self.greatest = -1

    def add(self, rows: Any, ids: Any = None) -> list[int]:
        first = self.greatest + 1
        given = list(range(first, first + len(rows))) if ids is None else [int(key) for key in ids]
        self.held.update(zip(given, rows, strict=True))
        self.greatest = max([self.greatest, *given])
        return given

    def remove(self, ids: Any) -> None:
        for key in ids:
            del self.held[int(key)]

    def ranked(self, query: Any, allowed: set[int] | None = None) -> dict[int, float]:
        """Everything that the query finds, best first, with its score."""
        keys = np.array(sorted(self.held), dtype=np.int64)
        scores = self.kind.scores(query, [self.held[key] for key in keys.tolist()]) if len(keys) else np.empty(0)
        order = np.lexsort((keys, -self.kind.best * scores))
        ranked = dict(zip(keys[order].tolist(), scores[order].tolist(), strict=True))
        return {
            key: score
            for key, score in ranked.items()
            if score != self.kind.missing and (allowed is None or key in allowed)
        }


def assert_same(kind: Kind, index: Index, reference: Reference, queries: Any, k: int = 10, **how: Any) -> None:
    """The index answers exactly as the reference does, and no search finds fewer than there are."""
    allowed = how.get("allowed")
    some = None if allowed is None else allowed_set(allowed, index)
    exact = index.search(queries, k, **kind.exact, **how)
    answers = [exact, index.search(queries, k, **how) if kind.exact else exact]
    assert exact[0].dtype == np.int64
    for row, query in enumerate(queries):
        ranked = reference.ranked(query, some)
        assert exact[0][row].tolist() == [*ranked, *[-1] * k][:k]
        for ids, scores in answers:
            found = ids[row][ids[row] >= 0].tolist()
            assert len(set(found)) == len(found) == min(k, len(ranked))
            assert scores[row].tolist() == [ranked[key] for key in found] + [kind.missing] * (k - len(found))
            assert found == [key for key in ranked if key in set(found)]


def allowed_set(allowed: Any, index: Index) -> set[int]:
    if isinstance(allowed, np.ndarray) and allowed.dtype == bool:
        allowed = index.ids[allowed]
    return {int(key) for key in allowed} & set(index.ids.tolist())


def assert_same_contents(index: Index, reference: Reference) -> None:
    ids = sorted(reference.held)
    assert index.ids.tolist() == ids
    assert index.ids.dtype == np.int64
    assert len(index) == index.stats.size == len(ids)
    assert index.stats.nbytes > 0 or not ids
    for key in [*ids[:3], *ids[-3:], 0, 10**15, reference.greatest, -1, "1", None, 2**70]:
        assert (key in index) == (key in reference.held)


def some_allowed(rng: np.random.Generator, ids: Any) -> list[Any]:
    """Return all forms in which rows are allowed: many, few, none, all, and strangers among them."""
    many, few = rng.permutation(ids)[: len(ids) * 2 // 3], rng.permutation(ids)[: len(ids) // 20]
    return [
        many,
        few.tolist(),
        set(many.tolist()),
        frozenset(few.tolist()),
        rng.random(len(ids)) < 0.5,
        np.zeros(len(ids), dtype=bool),
        ids,
        [],
        [10**15, *few.tolist(), *few.tolist()],
        many.astype(np.uint32),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_any_sequence_of_changes(kind: Kind, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    index: Index = kind.make()
    reference = Reference(kind)
    for step in range(30):
        ids = np.array(sorted(reference.held), dtype=np.int64)
        action = rng.choice(["add", "add with ids", "remove", "save", "allowed", "fail"])
        if action == "add":
            rows = kind.rows(rng, int(rng.choice([0, 1, 3, 40, 700])))
            assert index.add(rows, threads=1).tolist() == reference.add(rows)
        elif action == "add with ids":
            own = rng.permutation(np.setdiff1d(rng.integers(0, 5000, 300), ids))
            rows = kind.rows(rng, len(own))
            assert index.add(rows, own).tolist() == reference.add(rows, own)
        elif action == "remove":
            gone = rng.permutation(ids)[: int(len(ids) * rng.choice([0.01, 0.3, 0.95, 1]))]
            index.remove(set(gone.tolist()) if step % 2 else gone)
            reference.remove(gone)
        elif action == "save":
            index.save(tmp_path / "index")
            index = kind.open(tmp_path / "index", **kind.ways[step % len(kind.ways)])
        elif action == "fail" and len(ids):
            assert_failures(kind, rng, index, ids)
        elif action == "allowed":
            for allowed in some_allowed(rng, ids):
                assert_same(kind, index, reference, kind.queries(rng, 2), int(rng.integers(1, 30)), allowed=allowed)
        assert_same(
            kind, index, reference, kind.queries(rng, 3), int(rng.choice([1, 10, 40, 5000])), threads=1 + step % 2
        )
        assert_same_contents(index, reference)


def assert_failures(kind: Kind, rng: np.random.Generator, index: Index, ids: Any) -> None:
    """Errors name what is wrong, and change nothing (which the caller looks at)."""
    there = rng.permutation(ids)[:4].tolist()
    rows = kind.rows(rng, len(there) + 1)
    for wrong in ([10**15, *there], [10**15 + n for n in range(len(there))] + [10**15]):
        with pytest.raises(ValueError, match="in the index already or given twice"):
            index.add(rows, wrong)
    with pytest.raises(KeyError, match=f"Id {10**15} is not in the index"):
        index.remove([*there, 10**15, 10**15 + 1])
    with pytest.raises(ValueError, match="given twice"):
        index.remove([*there, there[0]])
    for wrong_ids, error in (([-1], ValueError), ([2**63], ValueError), ([0.5], TypeError), ([[1]], ValueError)):
        with pytest.raises(error):
            index.add(rows[:1], wrong_ids)
        with pytest.raises(error):
            index.remove(wrong_ids)
        with pytest.raises(error):
            index.search(kind.queries(rng, 1), allowed=wrong_ids)
    with pytest.raises(ValueError, match="as many"):
        index.add(rows, [10**15])
    with pytest.raises(ValueError, match="one value per id"):
        index.search(kind.queries(rng, 1), allowed=np.ones(len(ids) + 1, dtype=bool))
    for options, error in (({"k": 0}, ValueError), ({"k": 1.5}, TypeError), ({"threads": 0}, ValueError)):
        with pytest.raises(error):
            index.search(kind.queries(rng, 1), **options)


def test_ten_are_found_by_default(kind: Kind) -> None:
    rng = np.random.default_rng(0)
    index = kind.make()
    index.add(kind.rows(rng, 50))
    ids, scores = index.search(kind.queries(rng, 3))
    assert ids.shape == scores.shape == (3, 10)
    assert index.search(kind.queries(rng, 0))[0].shape == (0, 10)


def test_an_empty_index(kind: Kind, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    index, reference = kind.make(), Reference(kind)
    for allowed in (None, [], [1, 2], np.zeros(0, dtype=bool), set()):
        assert_same(kind, index, reference, kind.queries(rng, 2), allowed=allowed)
    index.remove([])
    index.save(tmp_path / "index")
    opened = kind.open(tmp_path / "index")
    assert_same_contents(opened, reference)
    assert opened.add(kind.rows(rng, 2)).tolist() == [0, 1]


def test_ids_are_never_given_twice(kind: Kind, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    index = kind.make()
    index.add(kind.rows(rng, 3))
    index.remove([2])
    index.save(tmp_path / "index")
    index = kind.open(tmp_path / "index")
    assert index.add(kind.rows(rng, 1)).tolist() == [3]
    index.add(kind.rows(rng, 1), [2**63 - 1])
    with pytest.raises(ValueError, match="No ids are left"):
        index.add(kind.rows(rng, 1))
    index.add(kind.rows(rng, 1), [2])  # one that is free again
    assert index.ids.tolist() == [0, 1, 2, 3, 2**63 - 1]


def test_a_saved_index_is_replaced_while_it_is_open(kind: Kind, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    index, reference = kind.make(), Reference(kind)
    rows = kind.rows(rng, 9000)
    index.add(rows)
    reference.add(rows)
    index.save(tmp_path / "index")
    opened = kind.open(tmp_path / "index")
    kind.make().save(tmp_path / "index")
    assert_same(kind, opened, reference, kind.queries(rng, 2))
    opened.remove(np.arange(0, 9000, 2))
    reference.remove(range(0, 9000, 2))
    opened.save(tmp_path / "index")
    assert_same(kind, opened, reference, kind.queries(rng, 2))
    assert_same(kind, kind.open(tmp_path / "index"), reference, kind.queries(rng, 2))
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


GROUP = 32


def test_searches_see_whole_changes_only(kind: Kind) -> None:
    """The writer adds and removes groups of rows, so any search must find whole groups."""
    rng = np.random.default_rng(0)
    index = kind.make()
    index.add(kind.rows(rng, 2000))
    one = kind.rows(rng, 1)
    queries, group = kind.queries(rng, 2), one * GROUP if isinstance(one, list) else np.repeat(one, GROUP, axis=0)
    index.add(group, 10_000 + np.arange(GROUP))
    assert ((index.search(queries, 2000 + GROUP)[0] >= 10_000).sum(axis=1) == GROUP).any()
    index.remove(10_000 + np.arange(GROUP))
    done, failures, searches = threading.Event(), [], [0] * 4

    def read(number: int) -> None:
        options: dict[str, Any] = [{}, kind.exact, {"allowed": range(10_000, 20_000)}, {"threads": 2}][number]
        try:
            while not done.is_set() or not searches[number]:
                ids, scores = index.search(queries, 2000 + 4 * GROUP, **options)
                for own, own_scores in zip(ids, scores, strict=True):
                    found = own[own >= 0]
                    if (found >= 10_000).sum() % GROUP or len(np.unique(found)) != len(found):
                        failures.append(f"{len(found)} rows")
                    if (np.diff(own_scores[: len(found)]) * kind.best > 0).any():
                        failures.append("wrong order")
                searches[number] += 1
        except Exception as error:
            failures.append(repr(error))

    readers = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for reader in readers:
        reader.start()
    for turn in range(40):
        first = 10_000 + 2 * GROUP * turn
        ids = [np.arange(first, first + GROUP), np.arange(first + GROUP, first + 2 * GROUP)[::-1]]
        for some in ids:
            index.add(group, some)
        index.remove(np.concatenate(ids))
    done.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert len(index) == 2000


def test_two_threads_that_change_the_index_lose_nothing(kind: Kind) -> None:
    index = kind.make()
    rows = kind.rows(np.random.default_rng(1), 6)
    given: list[int] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def change() -> None:
        for _ in range(60):
            ids = index.add(rows)
            given.extend(ids.tolist())
            index.remove(ids[:2])

    try:
        writers = [threading.Thread(target=change) for _ in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(given) == len(set(given)) == 3 * 60 * 6
    assert len(index) == len(index.ids) == 3 * 60 * 4
    assert sorted(given) == list(range(3 * 60 * 6))


def test_every_index_has_the_interface(kind: Kind) -> None:
    """Names, order and defaults of the parameters; what an index adds comes after them, and by name."""
    index = kind.make()
    for name in ("add", "remove", "search", "save", "open"):
        wanted = list(inspect.signature(getattr(Index, name)).parameters.values())
        own = inspect.signature(getattr(index, name)).parameters
        wanted = [parameter for parameter in wanted if parameter.name not in ("self", "cls")]
        for place, parameter in enumerate(wanted):
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                assert list(own.values())[place].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                continue
            assert own[parameter.name].kind == parameter.kind
            assert own[parameter.name].default == parameter.default
        added = list(own.values())[len([p for p in wanted if p.kind is not inspect.Parameter.KEYWORD_ONLY]) :]
        assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in added)
        assert all(parameter.default is not inspect.Parameter.empty for parameter in added)


def test_bad_ids_change_nothing(kind: Kind) -> None:
    rng = np.random.default_rng(3)
    index, before = kind.make(), kind.rows(rng, 5)
    index.add(before, ids=[4, 3, 2, 1, 9])
    stats = index.stats
    with pytest.raises(ValueError, match="Id 9 is in the index already"):
        index.add(kind.rows(rng, 2), ids=[7, 9])
    with pytest.raises(TypeError, match="a set, which has no order"):
        index.add(kind.rows(rng, 2), ids={7, 8})
    with pytest.raises(KeyError, match="99999"):
        index.remove([3, 3, 99999])
    with pytest.raises(ValueError, match="Id 3 is given twice"):
        index.remove([3, 3])
    with pytest.raises(TypeError, match="whole numbers"):
        index.remove({"a", 1})
    assert index.stats == stats
    assert index.ids.tolist() == [1, 2, 3, 4, 9]


@pytest.mark.parametrize("k", [0, -1, 1 << 31])
def test_k_has_bounds(kind: Kind, k: int) -> None:
    rng = np.random.default_rng(4)
    index = kind.make()
    index.add(kind.rows(rng, 3))
    with pytest.raises(ValueError, match=rf"k={k} must be an int from 1 to 1073741824"):
        index.search(kind.queries(rng, 1), k)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_a_copy_is_an_index_of_its_own(kind: Kind, way: Any) -> None:
    rng = np.random.default_rng(6)
    index, reference = kind.make(), Reference(kind)
    rows = kind.rows(rng, 300)
    index.add(rows, ids=np.arange(300) * 3)
    reference.add(rows, np.arange(300) * 3)
    index.remove([0, 897])
    reference.remove([0, 897])
    other = way(index)
    queries = kind.queries(rng, 3)
    assert_same(kind, other, reference, queries)
    other.remove([3])
    assert_same(kind, index, reference, queries)
    assert other.add(rows[:1]).tolist() == [898]
    assert 3 in index
    assert 3 not in other


def test_a_foreign_file_is_refused_alike(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "x.index").write_bytes(b"something else, and long enough to be looked at " * 20)
    with pytest.raises(ModelFileError, match=r"x\.index"):
        kind.open(tmp_path / "x.index")


def test_bytes_do_not_cut_vectors_unlike_those_learned_from() -> None:
    rng = np.random.default_rng(5)
    weights = np.repeat(np.array([1, 0.05], dtype=np.float32), WIDTH // 2)
    index = VectorIndex.build(rng.normal(size=(800, WIDTH)) * weights, precision="int8")
    index.add(rng.normal(size=(50, WIDTH)) * weights)
    with pytest.raises(ValueError, match="beyond those that the range of int8 was learned from"):
        index.add(rng.normal(size=(50, WIDTH)) * weights[::-1])
    assert len(index) == 850


def test_approximate_answers_are_mostly_the_exact_ones() -> None:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(60, 32))
    rows = centers[rng.integers(0, 60, 8000)] + 0.6 * rng.normal(size=(8000, 32))
    index = VectorIndex.build(rows, n_bytes=8)
    queries = rows[::100] + 0.1
    mask = rng.random(8000) < 0.3
    for allowed in (None, mask):
        exact, found = (index.search(queries, allowed=allowed, exact=exact, probes=16)[0] for exact in (True, False))
        assert np.mean([np.isin(*pair).mean() for pair in zip(found, exact, strict=True)]) > 0.9
