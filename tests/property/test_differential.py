"""Indexes against the slow, obvious way, after any sequence of additions and removals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sthash
from sthash import Collection, VectorIndex, WordIndex
from support.plain_words import PLAIN, bm25_scores

WORDS = ("red", "green", "blue", "fox", "hen", "owl", "x1", "y2")
SEEDS = st.integers(0, 2**32 - 1)


def texts_of(rng, n):
    return [" ".join(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(n)]


def changed(index, held, rng, make):
    """Add and remove some times; ``held`` follows by hand."""
    for _ in range(int(rng.integers(1, 6))):
        if held and rng.random() < 0.4:
            gone = rng.choice(sorted(held), rng.integers(1, len(held) + 1), replace=False)
            index.remove(gone)
            for number in gone.tolist():
                del held[number]
        else:
            rows = make(rng, int(rng.integers(1, 40)))
            held.update(zip(np.asarray(index.add(rows)).tolist(), rows, strict=True))


def assert_best(ids, scores, expected, k):
    """The hits have the scores that they should have, and nothing better is missing; ties may be in any order."""
    found = ids >= 0
    want = np.sort(expected[expected > -np.inf])[::-1][:k]
    assert found.sum() == len(want)
    np.testing.assert_allclose(scores[found], want, rtol=2e-6, atol=2e-6)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_words_against_adding_up(seed):
    rng, held = np.random.default_rng(seed), {}
    index = WordIndex(PLAIN)
    changed(index, held, rng, texts_of)
    assert sorted(index.ids.tolist()) == sorted(held)
    for query in ("red fox", "red red owl", "x1", "nothing", " ".join(WORDS)):
        for k in (1, 5, 500):
            ids, scores = index.search([query], k)
            plain = bm25_scores(query, list(held.values())) if held else np.zeros(0)
            assert_best(ids[0], scores[0], np.where(plain > 0, plain, -np.inf), k)
            own = dict(zip(held, plain.tolist(), strict=True))
            for number, score in zip(ids[0].tolist(), scores[0].tolist(), strict=True):
                assert number < 0 or own[number] == pytest.approx(score, rel=2e-6)


@settings(max_examples=20)
@given(seed=SEEDS, metric=st.sampled_from(["cosine", "ip"]))
def test_exact_vectors_against_all_products(seed, metric):
    rng, held = np.random.default_rng(seed), {}

    def make(rng, n):
        return rng.normal(size=(n, 6)).astype(np.float32)

    first = make(rng, 50)
    index = VectorIndex.build(first, metric=metric)
    held.update(zip(index.ids.tolist(), first, strict=True))
    changed(index, held, rng, make)
    queries = make(rng, 3)
    rows = np.array(list(held.values())).reshape(-1, 6)
    own = queries
    if metric == "cosine":
        rows, own = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (rows, queries))
    allowed = rng.choice(sorted(held), len(held) // 2, replace=False) if held else np.zeros(0, np.int64)
    mask = np.isin(list(held), allowed)
    for k in (1, 7, 300):
        ids, scores = index.search(queries, k, exact=True)
        some_ids, some_scores = index.search(queries, k, exact=True, allowed=allowed)
        for place, products in enumerate(own @ rows.T):
            assert_best(ids[place], scores[place], products, k)
            assert_best(some_ids[place], some_scores[place], np.where(mask, products, -np.inf), k)


@settings(max_examples=3)
@given(seed=SEEDS)
def test_a_collection_that_has_changed_answers_as_a_new_one(seed, tmp_path_factory):
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("changed")
    learning = sthash.Learning(n_bits=8, n_neighbors=3)
    documents = {f"d{number}": text for number, text in enumerate(texts_of(rng, 40))}

    def made(name, documents):
        rows = [{"key": key, "text": text} for key, text in documents.items()]
        return Collection.create(folder / name, rows, learning=learning)

    with made("old.sth", documents) as old:
        for _ in range(4):
            gone = rng.choice(sorted(documents), 5, replace=False).tolist()
            old.delete(gone)
            new = {f"n{rng.integers(10**9)}": text for text in texts_of(rng, 6)}
            old.upsert([{"key": key, "text": text} for key, text in new.items()])
            documents = {key: text for key, text in documents.items() if key not in gone} | new
        with made("new.sth", documents) as fresh:
            for query in ("red fox", '"red fox"', "red -fox", "owl +hen", " ".join(WORDS)):
                answers = [collection.search(query, k=100, ranking="bm25") for collection in (old, fresh)]
                assert {hit.key: pytest.approx(hit.score, rel=1e-6) for hit in answers[0]} == {
                    hit.key: hit.score for hit in answers[1]
                }
