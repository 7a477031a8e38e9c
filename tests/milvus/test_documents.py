"""What is pushed to Milvus is what the file holds, and comes back as it went."""

import pytest

from support.components import require

require("Milvus Lite")

from sthash import Collection, Document, Learning
from sthash.milvus import MilvusCollection, MilvusError
from sthash.milvus.entities import FIRST_OWN_ID
from support.corpus import make_documents

LONG = "cat purr " * 10_000


def same(collection, there):
    """Whether there are the same documents, ids and codes on both sides."""
    documents = {document.key: document for document in collection}
    assert len(there) == len(documents)
    assert {key: there.get(key) for key in documents} == documents
    rows = there._table.call("query", filter="id >= 0", output_fields=["id", "code"], limit=16_384)
    codes = {row["id"]: row["code"][0] for row in rows}
    with collection.snapshot() as now:
        assert codes == {
            number: code.tobytes() for number, code in zip(now.ids.tolist(), now.codes.table.codes, strict=True)
        }
    return True


def test_all_comes_back_as_it_went(collection, there):
    assert same(collection, there)
    assert there.n_bits == 12
    assert "d7" in there
    assert "nothing" not in there
    with pytest.raises(KeyError, match="no document with the key 'nothing'"):
        there.get("nothing")


def test_changes_of_the_file_are_pushed(collection, there, uri):
    collection.delete([f"d{number}" for number in range(0, 100, 3)])
    collection.upsert([Document("d4", "bread oven"), Document("new", "comet dust")])
    collection.delete("new")  # the last id, which the next document gets
    collection.add([Document("new", "moon light")])
    sent = []
    with MilvusCollection.push(collection, uri, "some", progress=lambda *step: sent.append(step)) as again:
        assert same(collection, again)
    assert sent[-1] == ("pushing", len(collection), len(collection))
    collection.delete([document.key for document in collection][10:])
    with MilvusCollection.push(collection, uri, "some") as again:
        assert same(collection, again)


def test_nothing_is_sent_twice(collection, there, uri, monkeypatch):
    requests = []
    whole = type(there._table.server).call

    def listening(server, request, *rest, **options):
        requests.append(request)
        return whole(server, request, *rest, **options)

    monkeypatch.setattr(type(there._table.server), "call", listening)
    MilvusCollection.push(collection, uri, "some").close()
    assert {"upsert", "delete", "insert"}.isdisjoint(requests)
    assert "query" in requests


def test_upsert_and_delete(collection, there):
    before = len(there)
    assert (
        there.upsert(
            [{"key": "d1", "text": "ship"}, "no key", {"key": "x'1", "text": "old"}, {"key": "x'1", "text": ""}]
        )
        == 4
    )
    assert len(there) == before + 2
    assert there.get("d1") == Document("d1", "ship")
    assert there.get("x'1").text == ""
    collection.upsert([Document("d1", "ship")])
    assert there.delete(["d1", "x'1"]) == 2
    assert "d1" not in there
    with pytest.raises(KeyError, match="'d1'"):
        there.delete(["d2", "d1"])
    assert "d2" in there
    assert there.delete(["d2", "d1"], missing_ok=True) == 1
    assert there.delete([]) == 0
    assert len(there) == before - 1


def test_a_push_leaves_what_was_put_there_under_other_keys(collection, there, uri):
    there.upsert([Document("mine", "cat"), Document("d3", "put over a document of the file")])
    rows = there._table.fetch(["mine", "d3"], ["id"])
    assert FIRST_OWN_ID < rows["mine"]["id"] < rows["d3"]["id"]
    with MilvusCollection.push(collection, uri, "some") as again:
        assert again.get("mine").text == "cat"
        assert again.get("d3") == collection.get("d3")
        assert len(again) == len(collection) + 1


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document("long", LONG), "document 'long' has a text of 90000 bytes.*cut_long_texts"),
        (Document("k" * 65_536, "x"), "has a key of 65536 bytes"),
        (Document("key", "x", "ü" * 40_000), "has a label of 80000 bytes"),
        (Document("key", "x", None, {"a": 2**63}), "metadata of document 'key'.*64 bits"),
        (Document("key", "x", None, {"a": "b" * 70_000}), "metadata of document 'key'.*70009 bytes"),
        (Document("key", "x", None, {"a": float("nan")}), "metadata of document 'key'"),
        (Document("key", "x", None, {"a": object()}), "metadata of document 'key'"),
    ],
)
def test_what_milvus_cannot_hold_is_refused_before_anything_is_sent(there, document, message):
    before = len(there)
    with pytest.raises(ValueError, match=message):
        there.upsert([Document("fine", "cat"), document])
    assert len(there) == before


def test_a_long_text_is_refused_or_cut(collection, uri, there):
    text = "é" + "cat purr " * 1_100_000
    collection.add([Document("ten megabytes", text)])
    with pytest.raises(ValueError, match="'ten megabytes' has a text of 9900002 bytes"):
        MilvusCollection.push(collection, uri, "other")
    assert not there._table.server.call("has_collection", "other")
    with MilvusCollection.push(collection, uri, "other", cut_long_texts=True) as cut:
        assert cut.get("ten megabytes").text == text[:65_534]
        assert len(cut) == len(collection)
        hit = next(hit for hit in cut.search("cat purr", 300) if hit.key == "ten megabytes")
        assert hit.distance == next(
            hit.distance for hit in collection.search("cat purr", 300, ranking="cosine") if hit.key == "ten megabytes"
        )


def test_more_than_one_page(tmp_path, uri):
    documents = make_documents(2300)
    with Collection.create(
        tmp_path / "more.sth", documents, learning=Learning(n_bits=16, n_neighbors=5, sample_size=200)
    ) as collection:
        collection.delete([f"d{number}" for number in range(900, 2100)])  # whole pages of ids are empty
        with MilvusCollection.push(collection, uri, "some") as there:
            assert same(collection, there)
        collection.delete([f"d{number}" for number in range(2000, 2300)], missing_ok=True)
        with MilvusCollection.push(collection, uri, "some") as there:
            assert same(collection, there)


def test_a_file_is_free_after_closing(collection, tmp_path, run_python):
    uri = str(tmp_path / "own.db")
    there = MilvusCollection.push(collection, uri, "some")
    second = MilvusCollection.open(uri, "some", collection)
    there.close()
    there.close()
    assert len(second) == len(collection)  # it goes on
    with pytest.raises(MilvusError, match="closed"):
        len(there)
    second.close()
    source = f"""
from sthash import Collection, milvus
with Collection.open({str(collection.path)!r}) as c, milvus.MilvusCollection.open({uri!r}, "some", c) as there:
    print(len(there))
"""
    assert run_python(source).strip() == str(len(collection))
