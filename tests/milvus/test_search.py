"""Search in Milvus gives what a plain scan of the same codes and texts gives."""

import numpy as np
import pytest

from support.components import require

require("Milvus Lite")

from sthash import HammingIndex
from sthash.milvus.code_search import CodeSearch
from sthash.milvus.entity_table import EntityTable

# Words that nearly all documents have one of: a document without a word of the query is no hit.
MANY_WORDS = "cat kitten purr mouse whisker ship wave harbour captain deck star galaxy moon planet bread"
QUERIES = ["cat and mouse", "a ship in the harbour", "star", "bread bread bread", "кот purr", "captain of the galaxy"]


def index_of(collection):
    index = HammingIndex(collection.n_bits)
    with collection.snapshot() as now:
        index.add(np.ascontiguousarray(now.codes.table.codes), now.ids)
    return index


@pytest.fixture
def small_limit(monkeypatch):
    """Milvus gives no more than 20 rows at once, so that all the ways around its limit are taken."""
    monkeypatch.setattr(EntityTable, "LIMIT", 20)


@pytest.mark.parametrize("k", [1, 2, 7, 19, 20, 21, 150])
def test_ties_are_cut_as_the_index_cuts_them(collection, there, small_limit, k):
    queries = collection.encode(QUERIES)
    for ours, theirs in zip(there.search_codes(queries, k), index_of(collection).search(queries, k), strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("radius", [0, 1, 3, 12, 99])
def test_radius(collection, there, small_limit, radius):
    queries = collection.encode(QUERIES[:3])
    theirs = index_of(collection).radius_search(queries, radius)
    for mine, other in zip(there.radius_search(queries, radius), theirs, strict=True):
        assert np.array_equal(mine, other)
        assert mine.dtype == other.dtype


def test_more_than_there_are(collection, there):
    ids, distances = there.search_codes(collection.encode(["cat"]), 1000)
    theirs = index_of(collection).search(collection.encode(["cat"]), 1000)
    assert np.array_equal(ids, theirs[0])
    assert np.array_equal(distances, theirs[1])


def test_the_same_hits_as_of_the_file(collection, there):
    """All documents are ranked on both sides, so the balls are the same."""
    for query in QUERIES:
        ours = there.search(query, 20, factor=1000)
        theirs = collection.search(query, 20, factor=1000, ranking="cosine")
        assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-6)
        score = {hit.key: hit.score for hit in theirs}
        assert all(hit.score == pytest.approx(score.get(hit.key, theirs[-1].score), abs=1e-6) for hit in ours)
        assert all(there.get(hit.key).text == hit.text for hit in ours[:2])


def test_the_nearest_codes_are_ranked_anew(there, by_code):
    query, k, factor = "a cat on the deck", 5, 4
    wanted = sorted(by_code(query)[: k * factor], key=lambda hit: -round(hit.score, 5))[:k]
    hits = there.search(query, k, factor=factor)
    assert hits.ranking == "cosine"  # the answer says what it is ranked by; that of a file is another
    assert [round(hit.score, 5) for hit in hits] == [round(hit.score, 5) for hit in wanted]
    assert [hit.distance for hit in hits] == [hit.distance for hit in wanted]


def test_without_ranking_anew(collection, there):
    """The order is that of the file, where a bit counts as much as the query is sure of it."""
    for radius in (None, 2):
        ours = there.search_many(QUERIES, 9, rerank=False, radius=radius)
        theirs = collection.search_many(QUERIES, 9, rerank=False, radius=radius)
        for hits, wanted in zip(ours, theirs, strict=True):
            assert [(hit.key, hit.distance) for hit in hits] == [(hit.key, hit.distance) for hit in wanted]


def test_without_ranking_anew_only_the_nearest_by_distance_compete(there, by_code):
    keys = {hit.key for hit in by_code("a cat on the deck")[:12]}
    assert {hit.key for hit in there.search("a cat on the deck", 6, rerank=False, factor=2)} < keys


def test_a_radius_holds_all_documents_in_it(there, small_limit, by_code):
    """As in a collection, ``factor`` has no effect beside a radius."""
    inside = [hit for hit in by_code("a cat on the deck") if hit.distance <= 5 and hit.score > 0]
    assert len(inside) > 40
    hits = there.search("a cat on the deck", 1000, radius=5, factor=1)
    assert sorted(hit.key for hit in hits) == sorted(hit.key for hit in inside)


def test_more_hits_than_milvus_gives_at_once(collection, there, small_limit, by_code):
    ball = by_code(MANY_WORDS)[:70]
    assert {hit.key for hit in there.search(MANY_WORDS, 70, rerank=False)} == {hit.key for hit in ball}
    like = {hit.key for hit in ball if hit.score > 0}
    assert len(like) > 60
    assert {hit.key for hit in there.search(MANY_WORDS, 70)} == like
    hits = there.search("cat", 70, rerank=False)
    assert [hit.key for hit in hits[:20]] == [hit.key for hit in collection.search("cat", 20, rerank=False)]


def test_blank_queries_and_none_find_nothing(there):
    assert there.search_many(["", "the of", "zzzz"]) == [[], [], []]
    assert there.search_many([]) == []


def test_filter_in_the_language_of_milvus(there, small_limit):
    hits = there.search("ship", 12, filter="metadata['parity'] == 1 or metadata['number'] < 4", rerank=False)
    assert len(hits) == 12
    assert all(hit.metadata["parity"] == 1 or hit.metadata["number"] < 4 for hit in hits)
    both = {"filter": "metadata['number'] < 4 or metadata['number'] > 5", "where": {"number": [2, 5, 7]}}
    both["rerank"] = False
    assert {hit.metadata["number"] for hit in there.search_many(["ship"], **both)[0]} == {2, 7}


def test_export_with_more_documents_than_milvus_gives_at_once(collection, there, small_limit):
    there.upsert([{"key": "d5", "text": "ship"}])
    collection.upsert([{"key": "d5", "text": "ship"}])
    assert list(there.export()) == list(there) == list(collection)


def test_what_is_deleted_during_a_search_is_left_out(there, monkeypatch):
    nearest = CodeSearch.nearest

    def found_then_deleted(search, codes, expected):
        for matches in nearest(search, codes, expected):
            first, *rest = matches
            there._table.delete([first.key])
            deleted.append(first.key)
            yield iter([first, *rest])

    deleted = []
    monkeypatch.setattr(CodeSearch, "nearest", found_then_deleted)
    for rerank in (True, False):
        matching = len(there.search(MANY_WORDS, 1000, rerank=rerank))
        hits = there.search(MANY_WORDS, 1000, rerank=rerank)
        assert deleted[-1] not in [hit.key for hit in hits]
        assert len(hits) == matching - 1 > 100
