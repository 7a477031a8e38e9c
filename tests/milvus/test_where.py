"""A search with ``where`` gives the documents that the same search of the file gives, whatever Milvus can compare."""

import pytest

from support.components import require

require("Milvus Lite")

from sthash.milvus.entity_table import EntityTable
from sthash.milvus.where_filter import NO_DOCUMENT, filter_expression

VALUES = [
    *(1, True, 1.0, 0, False, 0.0, -0.0, None, -1, 1.5, -5.25, 1e300, 1e-7, 0.1, 1e16),
    *(2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63)),
    *(
        "",
        "1",
        "a",
        "true",
        "[1]",
        "%",
        "{x}",
        "it's",
        'a "quoted" word',
        "C:\\new",
        "\\",
        "line\nline",
        "tab\t",
        "nul\0x",
    ),
    *("é 猫 \U0001f431", "\ud800", "\ufdd0", "\xa0", " "),
]
FIELDS = [
    "value",
    "",
    "0",
    "a b",
    "a.b",
    "a/b",
    "~",
    "é",
    "it's",
    'a "b"',
    "a\\b",
    "a[0]",
    "line\nline",
    "\ud800",
    "$meta",
]


@pytest.fixture
def both(collection, there):
    """The file and Milvus, with a document for each odd value and each odd name."""
    documents = [{"key": f"value {place}", "text": "cat", "metadata": {"value": v}} for place, v in enumerate(VALUES)]
    documents += [{"key": f"name {place}", "text": "cat", "metadata": {n: "yes"}} for place, n in enumerate(FIELDS)]
    documents += [
        {"key": "a list", "text": "cat", "metadata": {"value": [1]}},
        {"key": "a dict", "text": "cat", "metadata": {"value": {"a": 1}, "a": {"b": "yes"}}},
    ]
    collection.add(documents)
    there.add(documents)
    return collection, there


def assert_the_same(both, where):
    here, there = both
    for rerank in (True, False):  # a document without a word of the query is no hit, unless by its code alone
        wanted = {hit.key for hit in here.search("cat", 1000, where=where, rerank=rerank)}
        assert {hit.key for hit in there.search("cat", 1000, where=where, rerank=rerank)} == wanted
    return wanted


def test_values(both):
    for value in VALUES:
        assert assert_the_same(both, {"value": value})


def test_several_values(both):
    for start in range(0, len(VALUES), 7):
        assert assert_the_same(both, {"value": VALUES[start : start + 7]})
    assert assert_the_same(both, {"value": [*range(3000), 0.5, 1.5, "a"]})
    assert not assert_the_same(both, {"value": []})


def test_values_that_no_document_has(both):
    for value in ("nothing", 77, ["nothing", 77]):
        assert not assert_the_same(both, {"value": value})
    assert filter_expression({"value": []}) == f"({NO_DOCUMENT})"


def test_conditions_of_other_kinds(both):
    for value in (0, 1.5, 2**53, 2**63 - 1, "", "a", "it's", "\ud800"):
        for sign in ("<", "<=", ">", ">=", "!="):
            assert_the_same(both, {"value": {sign: value}})
    assert assert_the_same(both, {"value": {"not in": VALUES[:20]}})
    assert assert_the_same(both, {"value": {"exists": False}})
    assert assert_the_same(both, {"value": {"exists": True}})


def test_fields(both):
    for name in FIELDS:
        inside = {"a dict"} if name == "a.b" else set()
        assert assert_the_same(both, {name: "yes"}) == {f"name {FIELDS.index(name)}"} | inside
    assert len(assert_the_same(both, {"parity": 1, "number": [7, 8, 9]})) == 2
    assert len(assert_the_same(both, {})) == len(both[0])


def test_milvus_compares_what_it_can():
    assert filter_expression({"a": 1}) == (
        '(metadata["a"] in [1] or metadata["a"] == true or json_contains(metadata["a"], true) '
        'or json_contains_any(metadata["a"], [1]))'
    )
    assert filter_expression({"a": ["x", 'y"', 2.5, False]}) == (
        r'(metadata["a"] in ["x", "y\""] or metadata["a"] in [0] or metadata["a"] in [2.5] or metadata["a"] == false '
        r'or json_contains(metadata["a"], false) or json_contains_any(metadata["a"], ["x", "y\"", 2.5, 0]))'
    )
    assert filter_expression({"a": {">": 1, "<=": "x"}}) == '(metadata["a"] >= 1) and (metadata["a"] <= "x")'
    assert filter_expression({"key": ["a\n", "b"]}) == '(key in ["a%0A", "b"])'
    assert filter_expression({"label": ["a", None]}) == '(label in ["a"] or labelled == false)'
    assert filter_expression({"label": {"exists": True, "<": "b"}}) == '(labelled == true) and (label < "b")'
    assert filter_expression({"key": {"<": "b"}, "a": {"!=": 1, "exists": True}, "label": {"!=": "x"}}) == ""
    assert filter_expression({"a": None, "b": [1, None], "c": "a\\b", "d\n": 1}) == ""


def test_rejected_documents_make_room_for_others(both, monkeypatch):
    """Milvus gives 20 rows at once, and cannot tell which documents have None."""
    here, there = both
    here.add([{"key": "far away", "text": "bread oven", "metadata": {"value": None}}])
    there.add([{"key": "far away", "text": "bread oven", "metadata": {"value": None}}])
    monkeypatch.setattr(EntityTable, "LIMIT", 20)
    for options in ({"factor": 1}, {"factor": 1, "rerank": False}, {"radius": 12}):
        hits = there.search("cat bread", 2, where={"value": None}, **options)
        assert {hit.key for hit in hits} == {f"value {VALUES.index(None)}", "far away"}
