"""An export, and a loop over a collection, see one state of it."""

import pytest

from sthash import Collection, CollectionError, Document
from support.corpus import make_documents


def test_a_loop_that_changes_every_document_ends(path):
    with Collection.open(path) as collection:
        for document in collection:
            collection.upsert([Document(document.key, f"{document.text} again")])
        assert len(collection) == 300
        assert all(document.text.endswith(" again") for document in collection)


def test_an_export_is_of_one_state(path):
    expected = make_documents(300)
    with Collection.open(path) as collection, Collection.open(path, wait=1) as other:
        documents = collection.export()
        seen = [next(documents)]
        other.upsert([Document("d0", "changed"), Document("d299", "changed"), Document("new", "new")])
        other.delete([f"d{number}" for number in range(1, 200)])
        other.compact()
        collection.add(["one more"])
        seen += documents
        assert seen == expected
        assert len(list(collection)) == 103


def test_exports_that_are_left_early_keep_nobody_waiting(path):
    with Collection.open(path, wait=0.1) as collection:
        for _ in range(3):
            for _ in collection:
                break
        collection.delete("d1")
        left = iter(collection)
        next(left)
        collection.delete("d2")
        collection.relearn()
        assert sum(1 for _ in left) == 298


def test_a_closed_collection_says_so(path):
    collection = Collection.open(path)
    collection.close()
    collection.close()
    uses = (
        lambda: collection.search("kitten"),
        lambda: collection.add(["kitten"]),
        lambda: list(collection),
        lambda: len(collection),
        collection.compact,
        collection.check,
        lambda: collection.copy_to(path.with_name("copy.sth")),
    )
    for use in uses:
        with pytest.raises(CollectionError, match="is closed"):
            use()


def test_filters_of_any_size(path):
    with Collection.open(path) as collection:
        for count in (1, 497, 498, 499, 1001, 40_000):
            odd = {"number": list(range(1, 2 * count, 2))}
            assert len(collection.search("kitten", 300, where=odd, rerank=False)) == min(count, 150)
        for value in (2**63, -(2**63) - 1, 2**70, 1e308):
            assert collection.search("kitten", 3, where={"number": value}) == []
        for value in (2**63, 1e308, "\ud800", "a\0b"):
            where = {"number": [value, 7]}
            assert [hit.key for hit in collection.search("kitten", 3, where=where, rerank=False)] == ["d7"]
        big = [Document("big", "kitten", None, {"n": 2**63, "f": 0.1, "t": True, "s": "\ud800"})]
        collection.add(big)
        for where in ({"n": 2.0**63}, {"n": 2**63}, {"f": 0.1}, {"t": 1}, {"t": True}, {"s": "\ud800"}):
            assert [hit.key for hit in collection.search("kitten", 300, where=where, rerank=False)] == ["big"]


def test_metadata_that_is_nested_deep(path):
    def nested(depth):
        value = {}
        for _ in range(depth):
            value = {"a": value} if depth % 2 else [value]
        return {"b": value, "parity": 1}

    with Collection.open(path) as collection:
        collection.add([Document("deep", "kitten", None, nested(90)), Document("list", "kitten", None, nested(91))])
        for depth in (120, 900, 2500, 100_000):
            with pytest.raises(ValueError, match="nested"):
                collection.add([Document("deeper", "kitten", None, nested(depth))])
        assert len(collection.search("kitten", 300, where={"parity": 1}, rerank=False)) == 152
        assert collection.check().documents == 302
