"""Conditions mean the same in every collection: a file, a service and Milvus."""

from __future__ import annotations

import pytest

from support.collections import ODD, assert_same_hits, default_ranking
from support.plain_conditions import matches

EVERYTHING = 1000


@pytest.mark.parametrize("rerank", [True, False])
@pytest.mark.parametrize(
    "where",
    [
        {"parity": 1},
        {"parity": 1.0, "number": [3, 4, 5, 77]},
        {"number": (3, "3", None)},
        {"value": None},
        {"value": True},
        {"value": 1},
        {"value": ["1", None]},
        {"q\"'\\": 1.5},
        {"big": 2**62},
        {"number": []},
        {},
        {"key": "d3"},
        {"key": ["d3", ODD[2].key, "nothing"]},
        {"key": {">=": "d9", "<": "e"}},
        {"key": {"not in": ["d1", "d2"]}, "parity": 0},
        {"label": "cats"},
        {"label": ["cats", None]},
        {"label": None},
        {"label": 7},
        {"label": {"!=": "cats"}},
        {"label": {">": "c", "<=": "ships"}},
        {"label": {"exists": False}},
        {"label": {"exists": True}, "number": {"<": 9}},
        {"number": {">=": 150}},
        {"number": {">": 2.5, "<=": 7}},
        {"number": {"!=": 3}},
        {"number": {"not in": [*range(150), "x", None]}},
        {"number": {"in": [*range(-5000, 0), *range(7, 5000)]}},
        {"number": {"exists": False}},
        {"metadata.number": {"=": 3}},
        {"parity": {"exists": True, "!=": 1}},
        {"value": {">": 0}},
        {"value": {">=": "", "<": "2"}},
        {"value": {"!=": None}},
        {"value": {"exists": True}},
        {"nested": {"exists": True}},
        {"tags": "red"},
        {"tags": ["blue", "none"]},
        {"tags": {"!=": "red"}},
        {"tags": {"not in": ["red", 7]}},
        {"tags": [7, 1.5]},
        {"tags": True},
        {"tags": {">=": "red"}},
        {"metadata.value": True, "label": {"exists": False}},
    ],
    ids=str,
)
def test_where(still, file, where, rerank):
    hits = still.search("star and ship", EVERYTHING, where=where, rerank=rerank)
    ranking = default_ranking(still)
    assert_same_hits(hits, file.search("star and ship", EVERYTHING, where=where, rerank=rerank, ranking=ranking))
    named = {hit.key for hit in file.search("star ship", EVERYTHING)}
    allowed = {document.key for document in file if matches(document, where)}
    assert {hit.key for hit in hits} == (allowed & named if rerank else allowed)


def test_conditions_on_a_field_that_no_document_has(still):
    for where in ({"nothing": 1}, {"nothing": {"!=": 1}}, {"nothing": {"exists": False}}, {"metadata.key": "d3"}):
        with pytest.raises(ValueError, match=r"which no document has\. The documents have: 'key', 'label', 'big'"):
            still.search("star", where=where)
        with pytest.raises(ValueError, match="which no document has"):
            still.search_many(["star"], where=where, rerank=False)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"number": "3"}, "compares the field 'number' with a string, but the documents have a number there"),
        ({"number": {"!=": "3"}}, "with a string, but the documents have a number"),
        ({"number": {">=": "3"}}, "with a string, but the documents have a number"),
        ({"nested": 5}, "with a number, but the documents have an object"),
    ],
    ids=str,
)
def test_conditions_with_values_of_the_wrong_kind(still, where, message):
    with pytest.raises(TypeError, match=message):
        still.search("star", where=where)


NESTED = {
    "ada": {"author": {"name": "Ada", "born": 1815}, "tags": ["math", "engine", 1]},
    "alan": {"author": {"name": "Alan", "born": 1912}, "tags": ["math", None, True, ["x"]]},
    "both": {"author": [{"name": "Ada"}, {"name": "Alan", "born": 1912}, 7], "tags": "math"},
    "flat": {"author.name": "Grace", "author": {"name": "nobody"}, "tags": []},
    "none": {"author": None, "other": 1},
}


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ({"author.name": "Ada"}, "ada both"),
        ({"author.name": ["Ada", "Grace"]}, "ada both flat"),
        ({"author.name": {"!=": "Ada"}}, "alan flat none"),
        ({"author.name": {"contains": "Ada"}}, "ada both"),
        ({"author.name": {"contains": ["Ada", "Alan"]}}, "both"),
        ({"author.name": {"exists": False}}, "none"),
        ({"metadata.author.born": {">=": 1900}}, "alan"),
        ({"author.born": {"contains": 1912}}, "alan both"),
        ({"tags": {"contains": "math"}}, "ada alan both"),
        ({"tags": {"contains": ["math", "engine"]}}, "ada"),
        ({"tags": {"contains": 1}}, "ada alan"),
        ({"tags": {"contains": None}}, "alan"),
        ({"tags": {"contains": "mat"}}, ""),
        ({"key": {"contains": "ada"}}, "ada"),
    ],
    ids=str,
)
def test_fields_inside_of_others_and_lists(changing, where, keys):
    changing.add([{"key": key, "text": "a star and a ship", "metadata": own} for key, own in NESTED.items()])
    where = where | {"key": where.get("key", {"in": [*NESTED]})}
    assert {hit.key for hit in changing.search("star ship", 50, where=where, rerank=False)} == {*keys.split()}
    assert {hit.key for hit in changing.search("star", 50, where=where)} == {*keys.split()}


def test_mistakes_with_fields_inside_of_others_and_lists(changing):
    changing.add([{"key": key, "text": "engine", "metadata": own} for key, own in NESTED.items() if key != "both"])
    changing.add([{"key": "lists", "text": "engine", "metadata": {"many": ["math"]}}])
    with pytest.raises(ValueError, match=r"field 'author\.nme', which no document has.*'author\.name'"):
        changing.search("engine", where={"author.nme": "Ada"})
    with pytest.raises(TypeError, match=r"with a string, but the documents have a list there\. Use contains"):
        changing.search("engine", where={"many": {">=": "math"}})
    with pytest.raises(TypeError, match=r"'author\.born' with a string, but the documents have a number"):
        changing.search("engine", where={"author.born": {"contains": "x"}})
