"""Search in Milvus gives what a plain scan of the same codes and texts gives."""

import numpy as np
import pytest

import sthash
from support.components import require

require("Milvus Lite")

from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer, codes
from sthash.milvus import MilvusCollection, nearest
from support.corpus import make_documents

QUERIES = ["cat and mouse", "a ship in the harbour", "star", "bread bread bread", "кот purr", "captain of the galaxy"]


def index_of(collection):
    with collection._view.reading():
        shelf = collection._view.shelf()
    index = HammingIndex(collection.n_bits)
    index.add(np.ascontiguousarray(shelf.codes), shelf.ids)
    return index


@pytest.fixture
def small_limit(monkeypatch):
    """Milvus gives no more than 20 rows at once, so that all the ways around its limit are taken."""
    monkeypatch.setattr(nearest, "LIMIT", 20)


@pytest.mark.parametrize("k", [1, 2, 7, 19, 20])
def test_ties_are_cut_as_the_index_cuts_them(collection, there, small_limit, k):
    queries = collection.encode(QUERIES)
    for ours, theirs in zip(there.nearest(queries, k), index_of(collection).search(queries, k), strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("radius", [0, 1, 3, 12, 99])
def test_radius(collection, there, small_limit, radius):
    queries = collection.encode(QUERIES[:3])
    theirs = index_of(collection).radius_search(queries, radius)
    for mine, other in zip(there.within(queries, radius), theirs, strict=True):
        assert np.array_equal(mine, other)
        assert mine.dtype == other.dtype


def test_more_than_there_are(collection, there):
    ids, distances = there.nearest(collection.encode(["cat"]), 1000)
    theirs = index_of(collection).search(collection.encode(["cat"]), 1000)
    assert np.array_equal(ids, theirs[0])
    assert np.array_equal(distances, theirs[1])


def test_the_same_hits_as_of_the_file(collection, there):
    """All documents are ranked on both sides, so the balls are the same."""
    for query in QUERIES:
        ours = there.search(query, 20, factor=1000)
        theirs = collection.search(query, 20, factor=1000, explain=False)
        assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-6)
        score = {hit.key: hit.score for hit in theirs}
        assert all(hit.score == pytest.approx(score.get(hit.key, theirs[-1].score), abs=1e-6) for hit in ours)
        assert all(there.get(hit.key).text == hit.text for hit in ours[:2])


def test_the_nearest_codes_are_ranked_anew(there, by_code):
    query, k, factor = "a cat on the deck", 5, 4
    wanted = sorted(by_code(query)[: k * factor], key=lambda hit: -round(hit.score, 5))[:k]
    hits = there.search(query, k, factor=factor)
    assert [round(hit.score, 5) for hit in hits] == [round(hit.score, 5) for hit in wanted]
    assert [hit.distance for hit in hits] == [hit.distance for hit in wanted]


def test_without_ranking_anew(there, by_code):
    for radius in (None, 2):
        ours = there.search_many(QUERIES, 9, rerank=False, radius=radius)
        for hits, query in zip(ours, QUERIES, strict=True):
            wanted = [hit for hit in by_code(query) if radius is None or hit.distance <= radius][:9]
            assert [(hit.key, hit.distance) for hit in hits] == [(hit.key, hit.distance) for hit in wanted]


def test_blank_queries_and_none_find_nothing(there):
    assert there.search_many(["", "the of", "zzzz"]) == [[], [], []]
    assert there.search_many([]) == []


def test_where(there, small_limit):
    hits = there.search("ship", 12, where="metadata['parity'] == 1", rerank=False)
    assert len(hits) == 12
    assert all(hit.metadata["parity"] == 1 for hit in hits)


def test_a_vectorizer_and_a_hasher_in_place_of_a_file(tmp_path, uri):
    texts = [document.text for document in make_documents(120)]
    vectorizer = TextVectorizer()
    vectors = vectorizer.fit_transform(texts)
    hasher = SelfTaughtHashing(n_bits=20, n_neighbors=8).fit(vectors)
    vectorizer.save(tmp_path / "vectorizer")
    hasher.save(tmp_path / "hasher")
    again = (sthash.load(tmp_path / "vectorizer"), sthash.load(tmp_path / "hasher"))
    with MilvusCollection.open(uri, "pair", (vectorizer, hasher), create=True) as there:
        assert len(there) == 0
        assert there.search("cat") == []
        there.upsert({"key": str(place), "text": text} for place, text in enumerate(texts))
    with MilvusCollection.open(uri, "pair", again) as there:
        ids, distances = there.nearest(hasher.transform(vectors[:9]), 5)
        all_distances = codes.distances(hasher.transform(vectors[:9]), hasher.transform(vectors))
        order = np.argsort(all_distances, axis=1, kind="stable")[:, :5]
        assert np.array_equal(np.take_along_axis(all_distances, order, 1), distances)
        assert len(np.unique(ids - order)) == 1  # ids ascend as the documents came
        hit = there.search(texts[17], 1)[0]
        assert hit.text == texts[17]
        assert hit.score == pytest.approx(1, abs=1e-5)
