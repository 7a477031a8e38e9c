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


@settings(max_examples=3)
@given(seed=SEEDS)
def test_collections_of_texts_of_vectors_and_of_both_agree(seed, tmp_path_factory):
    """What two of them can answer they answer alike, after the same changes."""
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("kinds")
    texts, vectors = texts_of(rng, 60), rng.normal(size=(60, 6)).astype(np.float32)
    rows = [{"key": f"d{place}", "text": text, "n": place % 5} for place, text in enumerate(texts)]
    silent = [row | {"text": ""} for row in rows]
    learning = sthash.Learning(n_bits=8, n_neighbors=3)
    with (
        Collection.create(folder / "texts.sth", rows, learning=learning) as of_texts,
        Collection.create(folder / "vectors.sth", silent, vectors=vectors) as of_vectors,
        Collection.create(folder / "both.sth", rows, vectors=vectors) as of_both,
    ):
        gone = [f"d{place}" for place in rng.choice(60, 20, replace=False)]
        changed = [{"key": f"d{place}", "text": "red owl", "n": 1} for place in range(3)]
        moved = rng.normal(size=(3, 6)).astype(np.float32)
        for collection in (of_texts, of_vectors, of_both):
            own = changed if collection is not of_vectors else [row | {"text": ""} for row in changed]
            collection.delete(gone)
            collection.upsert(own, vectors=None if collection is of_texts else moved)
        for where in (None, {"n": [1, 2]}, {"n": {">=": 3}}):
            for query in ("red fox", '"red fox"', "red -fox", "owl +hen", " ".join(WORDS)):
                assert_alike(of_texts, of_both, query, where=where, ranking="bm25")
            for vector in (vectors[0], moved[0], rng.normal(size=6).astype(np.float32)):
                assert_alike(of_vectors, of_both, vector, where=where, exact=True)
        for key in ("d0", "d1"):
            assert_alike(of_vectors, of_both, key=key, exact=True)


def assert_alike(one, other, *query, **options):
    answers = [collection.search(*query, k=100, **options) for collection in (one, other)]
    scores = [{hit.key: hit.score for hit in hits} for hits in answers]
    assert scores[0] == pytest.approx(scores[1], rel=1e-6, abs=1e-6)
