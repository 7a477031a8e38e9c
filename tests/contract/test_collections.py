"""One suite that every collection passes: a file, a service and Milvus have the same answers and the same errors."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

import sthash
from sthash import Client, Collection, Document
from sthash.applications import known_copies
from sthash.collection import DocumentCollection, Hits, Prediction, SearchKeywords, SearchOptions
from support.collections import COLLECTIONS, ODD, assert_same_hits, default_ranking
from support.components import require
from support.corpus import QUERIES

UNKNOWN = ["", "the of and", "zzzz", " \n"]
EVERYTHING = 1000


# Reading


def test_documents(still, file):
    assert len(still) == len(file) == 160 + len(ODD)
    assert list(still) == list(still.export()) == list(file)
    for document in ODD:
        assert document.key in still
        assert still.get(document.key) == still.get(document.key, None) == still[document.key] == document
    assert still.get("nothing", None) is None
    assert still.get("nothing", default="none") == "none"
    assert repr(still).startswith(type(still).__name__ + "(")
    assert "nothing" not in still
    assert "" not in still
    assert 7 not in still
    assert None not in still


def test_codes(still, file):
    texts = [*QUERIES, *UNKNOWN, *(document.text for document in ODD)]
    codes = still.encode(texts)
    assert still.n_bits == file.n_bits == 20
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, file.encode(texts))
    assert np.array_equal(still.encode(text for text in texts), codes)
    assert still.encode([]).shape == (0, 3)


# Search


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("k", [1, 10, EVERYTHING])
def test_search(still, file, k, explain):
    for query in (*QUERIES, *(document.text for document in ODD)):
        hits = still.search(query, k, explain=explain)
        assert_same_hits(hits, file.search(query, k, explain=explain, ranking=default_ranking(still)))
        assert any(hit.terms for hit in hits) == (explain and bool(hits) and query not in UNKNOWN)


def test_the_default_number_of_hits(still, file):
    ranking = default_ranking(still)
    assert_same_hits(still.search(QUERIES[0]), file.search(QUERIES[0], SearchOptions.k, ranking=ranking))


def test_equal_documents_come_in_the_order_of_their_arrival(still):
    for rerank in (True, False):
        hits = still.search(ODD[-1].text, 3, rerank=rerank, ranking="cosine")
        assert [hit.key for hit in hits] == ["copy 1", "copy 2", "copy 3"]
        assert [hit.distance for hit in hits] == [0, 0, 0]
        assert [hit.score for hit in hits] == pytest.approx([1, 1, 1], abs=1e-5)


@pytest.mark.parametrize("radius", [None, 0, 3, 20, 99])
def test_search_without_rerank(still, file, radius):
    for query in QUERIES:
        ours, theirs = (
            collection.search(query, 25, rerank=False, radius=radius, explain=True) for collection in (still, file)
        )
        assert [hit.key for hit in ours] == [hit.key for hit in theirs]
        assert_same_hits(ours, theirs)


@pytest.mark.parametrize("radius", [0, 3, 6, 20, 99])
def test_radius(still, file, radius):
    for query in QUERIES:
        hits = still.search(query, EVERYTHING, radius=radius, factor=1)
        assert all(hit.distance <= radius for hit in hits)
        assert_same_hits(hits, file.search(query, EVERYTHING, radius=radius, factor=1))


def test_search_by_key(still, file):
    for key in ("d3", "copy 2", ODD[2].key, "blank"):
        for options in ({}, {"radius": 5}, {"rerank": False}, {"where": {"parity": 0}}):
            hits = still.search(key=key, k=7, explain=True, **options)
            assert key not in [hit.key for hit in hits]
            assert_same_hits(hits, file.search(key=key, k=7, explain=True, **options))
    assert still.search(key="blank") == []


ABOUT = ("ignored", "unknown", "suggestions", "corrected", "strategy", "ranking", "total")


def about(hits):
    assert isinstance(hits, Hits)
    return {name: getattr(hits, name) for name in ABOUT}


@pytest.mark.parametrize("options", [{}, {"explain": True}, {"rerank": False}, {"radius": 4}], ids=str)
def test_hits_say_how_they_came_about(still, file, options):
    queries = ["the captain of a ship", "kiten and Capptain zzzz", "the of", "", "zzzz", *QUERIES]
    asked = {"ranking": default_ranking(still)} | options
    answers = still.search_many(queries, 3, **options)
    for query, hits in zip(queries, answers, strict=True):
        expected = about(file.search(query, 3, **asked))
        if default_ranking(still) == "cosine":
            expected |= {"suggestions": {}, "corrected": {}}
            if query == "the of":  # Milvus does not store stop words
                expected["ignored"] = ("the", "of")
        assert about(hits) == about(still.search(query, 3, **options)) == expected
    first, second, *_ = answers
    assert (first.ignored, first.unknown) == (("the", "of", "a"), ())
    assert (second.ignored, second.unknown) == (("and",), ("kiten", "capptain", "zzzz"))
    if options.get("explain") and default_ranking(still) == "auto":
        assert second.suggestions == {"kiten": ("kitten",), "capptain": ("captain",)}
    by_key = still.search(key="d3")
    assert (by_key.strategy, by_key.ranking, by_key.unknown) == ("codes", "cosine", ())


def test_unknown_words_are_corrected_on_wish(still, file):
    if default_ranking(still) == "cosine":
        with pytest.raises(ValueError, match="Milvus does not store"):
            still.search("kiten", correct=True)
        return
    hits = still.search('"Kiten" zzzz', 5, correct=True)
    assert hits == still.search_many(['"Kiten" zzzz'], 5, correct=True)[0] == file.search('"kitten" zzzz', 5) != []
    assert hits.corrected == {"kiten": "kitten"}
    assert hits.unknown == ("kiten", "zzzz")
    assert still.search("kiten", correct=False) == []
    assert still.search("kiten") == still.search("kiten", correct=True) != []


@pytest.mark.parametrize(
    "options",
    [{"sort": "-number"}, {"facets": ["label", "parity", "number"]}, {"collapse": True, "sort": "label"}],
    ids=str,
)
def test_matches_are_sorted_counted_and_collapsed(still, file, options):
    if default_ranking(still) == "cosine":
        with pytest.raises(ValueError, match="for collections in a file"):
            still.search("star", **options)
        return
    for query in (QUERIES[1], "star ship", "zzzz"):
        ours, theirs = still.search(query, 5, **options), file.search(query, 5, **options)
        assert ours == theirs == still.search_many([query], 5, **options)[0]
        assert (ours.facets, ours.total) == (theirs.facets, theirs.total)
    assert still.search(key="d3", **options) == file.search(key="d3", **options)
    with pytest.raises(ValueError, match="sort has the field 'nothing', which no document has"):
        still.search("star", sort="nothing")


@pytest.mark.parametrize("options", [{"exact": True}, {"recall": 0.8}])
def test_the_effort_is_for_vectors(still, options):
    with pytest.raises(ValueError, match="recall and exact are for collections of vectors"):
        still.search("star", **options)


@pytest.mark.parametrize("query", UNKNOWN, ids=repr)
def test_a_query_without_a_known_word_finds_nothing(still, query):
    # Stop words are found where a query has nothing else. Milvus does not store them.
    stop_words = query == "the of and" and default_ranking(still) != "cosine"
    assert [hit.key for hit in still.search(query)] == ["only stop words"] * stop_words
    assert still.search(query, rerank=False) == []
    assert still.search(query, radius=20) == []


@pytest.mark.parametrize(
    "options",
    [{}, {"explain": True}, {"rerank": False}, {"radius": 4}, {"where": {"parity": 0}}, {"factor": 3}],
    ids=str,
)
def test_many_queries_are_answered_as_one_by_one(still, options):
    queries = [*QUERIES, *UNKNOWN, *QUERIES]
    answers = still.search_many((query for query in queries), 6, **options)
    assert len(answers) == len(queries)
    for query, hits in zip(queries, answers, strict=True):
        assert_same_hits(hits, still.search(query, 6, **options))


def test_no_queries(still):
    assert still.search_many([]) == []


def test_the_defaults_are_those_of_search_options(still):
    ours, theirs = still.search(QUERIES[1]), still.search(QUERIES[1], **SearchOptions().keywords())
    assert ours == theirs
    assert still.search_many([QUERIES[1]]) == still.search_many([QUERIES[1]], **SearchOptions().keywords())
    for method in (type(still).search, type(still).search_many):
        parameters = inspect.signature(method).parameters
        assert parameters["k"].default == SearchOptions.k
        assert set(parameters).isdisjoint(SearchKeywords.__annotations__)
        assert any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


# What people do with a collection


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 0.6},
        {"threshold": 0.6, "grouping": "complete"},
        {"threshold": 0.6, "radius": 2},
        {"measure": "jaccard", "shingle_words": 1, "threshold": 0.5},
        {"measure": "containment", "shingle_words": 2},
    ],
    ids=str,
)
def test_near_duplicates(still, file, options):
    ours, theirs = still.near_duplicates(**options), file.near_duplicates(**options)
    assert ours.groups == theirs.groups == sthash.near_duplicates(still, **options).groups
    assert any({"copy 1", "copy 2", "copy 3"} <= set(group) for group in ours.groups)
    assert [pair[:2] for pair in ours.pairs] == [pair[:2] for pair in theirs.pairs]
    assert [pair.score for pair in ours.pairs] == pytest.approx([pair.score for pair in theirs.pairs], abs=1e-5)
    assert (ours.measure, ours.threshold, ours.complete) == (theirs.measure, theirs.threshold, True)
    assert ours.dropped("longest") == theirs.dropped("longest")
    assert list(ours.deduplicated()) == list(theirs.deduplicated())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3},
        {"k": EVERYTHING},
        {"radius": 0},
        {"radius": 4},
        {"voting": "distance"},
        {"codes": True},
        {"codes": True, "k": 3, "voting": "distance"},
    ],
    ids=str,
)
def test_classify(still, file, options):
    for query in (*QUERIES, *(document.text for document in ODD)):
        ours, theirs = still.classify(query, **options), file.classify(query, **options)
        assert ours == sthash.classify(still, query, **options)
        assert replace(ours, shares={}) == replace(theirs, shares={})
        # In Milvus the codes propose who votes.
        for label in ours.shares | theirs.shares:
            assert ours.shares.get(label, 0) == pytest.approx(theirs.shares.get(label, 0), abs=1e-6)
    assert still.classify("cat purr whisker").label == "cats"
    nothing = still.classify("the zzzz", **options)
    assert nothing == Prediction(None, {}, 0, False, ("the",), ("zzzz",))


def test_known_copies(still):
    known, new = known_copies(still, [ODD[-1].text.upper(), "zzzz"])
    assert (known.is_new, known.copy_of, known.score) == (False, "copy 1", pytest.approx(1, abs=1e-5))
    assert (new.is_new, new.copy_of) == (True, None)


def test_info(still, file):
    expected = file.info()
    assert {name: still.info()[name] for name in ("documents", "kind", "n_bits")} == {
        name: expected[name] for name in ("documents", "kind", "n_bits")
    }


# Changes


def test_add(changing):
    before = list(changing)
    assert (
        changing.add([{"key": "new", "text": "moon light", "label": 7}, Document("b", "moon", None, {"a": [1]})]) == 2
    )
    assert changing.add([]) == 0
    assert list(changing) == [*before, Document("new", "moon light", "7"), Document("b", "moon", None, {"a": [1]})]
    assert "new" in [hit.key for hit in changing.search("moon light", 3)]
    assert changing.search("moon light", 1, where={"a": None}) == []
    assert [hit.key for hit in changing.search("moon", where={"a": {"exists": True}})] == ["b"]


def test_records_are_those_of_the_command_line(changing):
    assert changing.add([{"id": 7, "text": "moon light", "year": 2010, "metadata": {"a": 1}}, {"text": 5}]) == 2
    assert changing.get("7") == Document("7", "moon light", None, {"year": 2010, "a": 1})
    assert [document.text for document in changing][-1] == "5"
    assert changing.upsert([{"n": 8, "body": "sky"}], key="n", text="body") == 1
    assert changing.get("8") == Document("8", "sky")
    with pytest.raises(TypeError, match="no parameter 'title'"):
        changing.add([{"text": "sky"}], title="x")


def test_documents_without_a_key_get_one(changing):
    before = list(changing)
    assert changing.add(text for text in ("moon light", "bread oven")) == 2
    assert changing.upsert(["moon light"]) == 1
    after = list(changing)
    assert after[: len(before)] == before
    assert [document.text for document in after[len(before) :]] == ["moon light", "bread oven", "moon light"]
    assert len({document.key for document in after}) == len(after) == len(changing)
    assert all(changing.get(document.key) == document for document in after[len(before) :])


@pytest.mark.parametrize("documents", [["d3"], ["new", "d3"], ["new", "other", "new"]], ids=str)
def test_a_key_that_is_there_cannot_be_added(changing, documents):
    before = list(changing)
    with pytest.raises(ValueError, match=f"'{documents[-1]}'"):
        changing.add({"key": key, "text": "moon"} for key in documents)
    assert list(changing) == before


def test_upsert(changing):
    before = list(changing)
    given = [{"key": "d3", "text": "moon light"}, {"key": "new", "text": "old"}, {"key": "new", "text": "sky moon"}]
    assert changing.upsert(given) == 3
    assert changing.upsert([]) == 0
    kept = [document for document in before if document.key != "d3"]
    assert list(changing) == [*kept, Document("d3", "moon light"), Document("new", "sky moon")]
    assert changing.get("d3") == Document("d3", "moon light")
    assert "d3" in [hit.key for hit in changing.search("moon light", 3)]
    assert [hit.key for hit in changing.search(key="d3", k=EVERYTHING)].count("new") == 1


def test_delete(changing):
    before = len(changing)
    assert changing.delete("d3") == 1
    assert changing.delete(key for key in ("d4", "d5", "d4")) == 2
    assert "d4" not in changing
    assert "d3" not in [hit.key for hit in changing.search(QUERIES[0], EVERYTHING)]
    with pytest.raises(KeyError, match="'d3'"):
        changing.delete(["d6", "d3"])
    assert "d6" in changing
    assert changing.delete(["d6", "d3"], missing_ok=True) == 1
    assert changing.delete("d6", missing_ok=True) == 0
    assert changing.delete([]) == 0
    assert len(changing) == len(list(changing)) == before - 4


def test_a_collection_without_documents(changing):
    changing.delete([document.key for document in changing])
    assert len(changing) == 0
    assert list(changing) == changing.search("cat") == changing.search("cat", rerank=False) == []
    assert changing.search_many(["cat", "ship"], radius=3) == [[], []]
    assert changing.search("cat", where={"nothing": 1}) == []
    assert changing.add([{"key": "first", "text": "cat"}]) == 1
    assert [hit.key for hit in changing.search("cat")] == ["first"]


# Mistakes

MISTAKES = {
    "get a missing key": (KeyError, lambda c: c.get("nothing")),
    "index by a missing key": (KeyError, lambda c: c["nothing"]),
    "search by a missing key": (KeyError, lambda c: c.search(key="nothing")),
    "delete a missing key": (KeyError, lambda c: c.delete("nothing")),
    "delete a key that is missing among others": (KeyError, lambda c: c.delete(["d1", "nothing"])),
    "get a key that is a number": (TypeError, lambda c: c.get(1)),
    "search by a key that is a number": (TypeError, lambda c: c.search(key=1)),
    "delete a key that is a number": (TypeError, lambda c: c.delete(["d1", 1])),
    "search for many queries, given one": (TypeError, lambda c: c.search_many("cat")),
    "encode many texts, given one": (TypeError, lambda c: c.encode("cat")),
    "neither query nor key": (TypeError, lambda c: c.search()),
    "both query and key": (TypeError, lambda c: c.search("cat", key="d1")),
    "a query that is bytes": (TypeError, lambda c: c.search(b"cat")),
    "a query that is a number": (TypeError, lambda c: c.search(5)),
    "a query that is a vector": (TypeError, lambda c: c.search(np.ones(3))),
    "queries of which one is bytes": (TypeError, lambda c: c.search_many(["cat", b"cat"])),
    "texts of which one is None": (TypeError, lambda c: c.encode(["cat", None])),
    "k is 0": (ValueError, lambda c: c.search("cat", 0)),
    "k is negative": (ValueError, lambda c: c.search_many(["cat"], -1)),
    "k is a float": (TypeError, lambda c: c.search("cat", 2.5)),
    "k is a bool": (TypeError, lambda c: c.search("cat", True)),
    "radius is negative": (ValueError, lambda c: c.search("cat", radius=-1)),
    "radius is a float": (TypeError, lambda c: c.search_many(["cat"], radius=1.5)),
    "factor is 0": (ValueError, lambda c: c.search("cat", factor=0)),
    "factor is a str": (TypeError, lambda c: c.search("cat", factor="5")),
    "where is a str": (TypeError, lambda c: c.search("cat", where="parity = 1")),
    "where has a dict": (TypeError, lambda c: c.search("cat", where={"parity": {}})),
    "where has a list in a list": (TypeError, lambda c: c.search_many(["cat"], where={"parity": [[1]]})),
    "where has no such operator": (ValueError, lambda c: c.search("cat", where={"parity": {">>": 1}})),
    "where has two operators of which one is none": (
        ValueError,
        lambda c: c.search("cat", where={"parity": {">": 1, "like": "x"}}),
    ),
    "where compares with None": (TypeError, lambda c: c.search("cat", where={"parity": {"<": None}})),
    "where compares with a bool": (TypeError, lambda c: c.search("cat", where={"parity": {"<": True}})),
    "where compares with a list": (TypeError, lambda c: c.search("cat", where={"parity": {"<": [1]}})),
    "where compares the key with a number": (TypeError, lambda c: c.search("cat", where={"key": {"<": 1}})),
    "where compares with infinity": (ValueError, lambda c: c.search("cat", where={"parity": {"<": float("inf")}})),
    "where has NaN": (ValueError, lambda c: c.search("cat", where={"parity": [1, float("nan")]})),
    "where has one value for in": (TypeError, lambda c: c.search("cat", where={"parity": {"in": 1}})),
    "where has several values for !=": (TypeError, lambda c: c.search("cat", where={"parity": {"!=": [1]}})),
    "where has a number for exists": (TypeError, lambda c: c.search("cat", where={"parity": {"exists": 1}})),
    "an option that is not there": (TypeError, lambda c: c.search("cat", within=3)),
    "a threshold above 1": (ValueError, lambda c: c.near_duplicates(1.5)),
    "a measure that is not there": (ValueError, lambda c: c.near_duplicates(measure="edit")),
    "a grouping that is not there": (ValueError, lambda c: sthash.near_duplicates(c, grouping="loose")),
    "shingles of no words": (ValueError, lambda c: c.near_duplicates(measure="jaccard", shingle_words=0)),
    "near-duplicates within a negative radius": (ValueError, lambda c: c.near_duplicates(radius=-1)),
    "a radius for shingles": (TypeError, lambda c: c.near_duplicates(measure="jaccard", radius=3)),
    "near-duplicates of a collection and vectors": (
        TypeError,
        lambda c: sthash.near_duplicates(c, vectors=np.ones((3, 2))),
    ),
    "classify a number": (TypeError, lambda c: c.classify(5)),
    "classify with no voters": (ValueError, lambda c: c.classify("cat", 0)),
    "classify within a negative radius": (ValueError, lambda c: c.classify("cat", radius=-1)),
    "a voting that is not there": (ValueError, lambda c: sthash.classify(c, "cat", voting="loud")),
    "add one str": (TypeError, lambda c: c.add("cat")),
    "add one document": (TypeError, lambda c: c.add(Document("new", "cat"))),
    "upsert one dict": (TypeError, lambda c: c.upsert({"text": "cat"})),
    "add a number": (TypeError, lambda c: c.add(["cat", 5])),
    "add a text that is a list": (ValueError, lambda c: c.add([{"text": ["cat"]}])),
    "add a text that is a number": (TypeError, lambda c: c.add([Document("new", 5)])),
    "add a record without a text": (ValueError, lambda c: c.add([{"key": "new", "title": "Cat"}])),
    "upsert metadata that is a list": (TypeError, lambda c: c.upsert([Document("new", "cat", None, ["a"])])),
    "add metadata that JSON has not": (ValueError, lambda c: c.add([Document("new", "cat", None, {"a": object()})])),
    "upsert metadata with NaN": (ValueError, lambda c: c.upsert([Document("new", "", None, {"a": float("nan")})])),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_same_mistakes_give_the_same_errors(still, mistake):
    error, make = MISTAKES[mistake]
    with pytest.raises(error) as raised:
        make(still)
    assert raised.type is error
    assert len(still) == 160 + len(ODD)
    assert "new" not in still
    assert "d1" in still


def test_every_class_is_in_the_suite(still):
    require("Milvus Lite")
    from sthash.milvus import MilvusCollection

    assert type(still) in (Collection, Client, MilvusCollection)
    methods = {name for name in vars(DocumentCollection) if callable(getattr(DocumentCollection, name))}
    assert {"search", "near_duplicates", "classify", "info"} <= methods
    assert all(hasattr(still, name) for name in methods)
    assert {kind.__name__ for kind in (Collection, Client, MilvusCollection)} == set(COLLECTIONS)


def test_documents_by_key(still, file):
    assert still["d3"] == still.get("d3") == still.get("d3", None) == file["d3"]
    assert still.get("nothing", None) is None
    assert still.get("nothing", 7) == 7
    assert "d3" in still
    assert "nothing" not in still
