"""Any number of documents builds, is searched and is changed; hash functions are learned when there is enough."""

import numpy as np
import pytest

from sthash import Collection, Document, Learning, TextVectorizer, classify, near_duplicates
from sthash.collection.build import builder
from support.corpus import make_documents
from support.factories import create_collection


def exercised(collection, count):
    """Search, add, delete, learn, in a collection of a few documents of `make_documents`."""
    documents = list(collection)
    assert len(collection) == count
    assert collection.check().documents == count
    for document in documents[:3]:
        assert collection.search(document.text, 1, ranking="cosine")[0].score == pytest.approx(1)
        others = collection.search(key=document.key, k=count)
        assert document.key not in {hit.key for hit in others}
    assert collection.search_many(["zzz", ""]) == [[], []]
    near_duplicates(collection)
    collection.add([Document("new", "zeppelin hangar"), Document("copy", "zeppelin hangar")])
    assert [hit.key for hit in collection.search("zeppelin", 2)] == ["new", "copy"]
    assert ["new", "copy"] in near_duplicates(collection).groups
    assert collection.search("zeppelin", 1, explain=True)[0].terms == ("zeppelin",)
    assert len(collection.search("zeppelin", 2, rerank=False)) == 2
    collection.relearn()
    collection.delete(["new", "copy", *(document.key for document in documents[:1])])
    assert collection.search("zeppelin") == []
    assert collection.check().documents == max(count - 1, 0)


@pytest.mark.parametrize("recipe", ["neighbors", "paper", "topics"])
@pytest.mark.parametrize("count", [0, 1, 2, 30, 65, 66])
def test_texts(tmp_path, count, recipe):
    with Collection.create(tmp_path / "c.sth", make_documents(count), learning=Learning(recipe=recipe)) as collection:
        info = collection.info()
        assert info["learned"] == (count >= 66)
        assert info["learned_on"] == (count if count >= 66 else 0)
        assert info["n_bits"] == 64
        assert collection.encode(["ship"]).any() == (count >= 66)
        exercised(collection, count)


@pytest.mark.parametrize("count", [1, 2, 30, 65])
def test_vectors(tmp_path, count):
    rows = np.random.default_rng(0).normal(size=(count, 5))
    with Collection.create(tmp_path / "v.sth", vectors=rows) as collection:
        assert collection.n_bits == 0
        assert collection.search(rows[-1], 1)[0].key == str(count - 1)
        collection.add([{"key": "new"}], vectors=[rows[0]])
        assert {hit.key for hit in collection.search(rows[0], 2)} >= {"0", "new"}
        collection.delete(["0", "new"])
        assert collection.check().documents == count - 1
        collection.relearn()
        assert "learned" not in collection.info()
        collection.relearn(n_bits=8, n_neighbors=5)
        assert (collection.n_bits, collection.info()["learned"]) == (8, count - 1 >= 10)
        assert collection.check().documents == count - 1


@pytest.mark.parametrize("count", [1, 2, 30, 65])
def test_vectors_with_codes(tmp_path, count):
    rows = np.random.default_rng(0).normal(size=(count, 5))
    with create_collection(tmp_path / "v.sth", vectors=rows) as collection:
        assert (collection.n_bits, collection.info()["learned"]) == (8, count >= 10)
        assert collection.search(rows[-1], 1, radius=8)[0].key == str(count - 1)
        collection.delete("0")
        collection.add(vectors=np.ones((3, 5)))
        collection.relearn()
        assert collection.check().documents == count + 2


def test_no_vectors(tmp_path):
    with Collection.create(tmp_path / "v.sth", vectors=[]) as collection:
        assert (len(collection), collection.check().documents) == (0, 0)
        assert collection.search([1.0, 2.0]) == collection.search("cat") == near_duplicates(collection).groups == []
        assert collection.search_many([[1.0, 2.0]] * 2) == [[], []]
        assert classify(collection, [1.0, 2.0]).label is None
        collection.relearn()
        collection.add(["a cat", "a dog"], vectors=np.eye(2))
        assert [hit.text for hit in collection.search([0.9, 0.1], 1)] == ["a cat"]
        collection.delete(["0", "1"])
        assert (collection.search([0.9, 0.1], 1), collection.search("cat"), collection.check().documents) == ([], [], 0)
        with pytest.raises(ValueError, match="2 values"):
            collection.add(["a cat"], vectors=np.eye(3)[:1])
    with pytest.raises(ValueError, match="at least one vector"):
        create_collection(tmp_path / "w.sth", vectors=[])


def test_hash_functions_are_learned_by_the_add_that_brings_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(builder, "LEARN_AT", 100)
    with Collection.create(
        tmp_path / "c.sth", [], learning=Learning(n_bits=16, scatter=1.0, random_state=3)
    ) as collection:
        collection.add(make_documents(99))
        assert not collection.info()["learned"]
        with collection.snapshot() as now:
            assert not now.codes.table.codes.any()
        hits = collection.search("kitten claw", 5)
        collection.add(make_documents(1, first=99))
        info = collection.info()
        assert (info["learned"], info["learned_on"], info["scatter"]) == (True, 100, 1.0)
        assert [hit.key for hit in collection.search("kitten claw", 5)][:3] == [hit.key for hit in hits][:3]
        collection.check()
        with Collection.create(
            tmp_path / "at once.sth",
            make_documents(99) + make_documents(1, first=99),
            learning=Learning(n_bits=16, scatter=1.0, random_state=3),
        ) as other:
            assert (other.encode(["kitten claw"]) == collection.encode(["kitten claw"])).all()
        collection.add(make_documents(150, first=100))
        assert collection.info()["learned_on"] == 100


def test_what_cannot_be_learned_from_is_tried_again_only_with_twice_as_much(tmp_path, monkeypatch):
    monkeypatch.setattr(builder, "LEARN_AT", 50)
    tries = []
    relearn = builder.relearn
    monkeypatch.setattr(builder, "relearn", lambda *rest, **options: (tries.append(1), relearn(*rest, **options)))
    with Collection.create(tmp_path / "c.sth", [], learning=Learning(n_bits=8)) as collection:
        for first in range(0, 200, 10):
            collection.add([f"word{number}" for number in range(first, first + 10)])
        assert len(tries) == 3  # at 50, at 100 and at 200
        assert collection.info()["learned"] is False
        assert collection.search("word123", 1)[0].text == "word123"


@pytest.mark.parametrize("recipe", ["neighbors", "paper", "topics"])
@pytest.mark.parametrize(
    "texts",
    [[f"word{number}" for number in range(3000)], ["the same text"] * 300, [""] * 300, ["the of and"] * 300],
    ids=["one word each", "all the same", "blank", "stop words"],
)
def test_nothing_to_learn_from(tmp_path, texts, recipe):
    with Collection.create(tmp_path / "c.sth", texts, learning=Learning(recipe=recipe)) as collection:
        assert collection.info()["learned"] is False
        assert collection.check().documents == len(texts)
        if texts[0] == "word0":
            assert collection.search("word77", 1)[0].text == "word77"
        if texts[0] == "the same text":
            assert len(near_duplicates(collection).groups[0]) == 300
            assert collection.search("text", 5)[0].score > 0


def test_limits_that_leave_no_term(tmp_path):
    vectorizer = TextVectorizer(min_df=5)
    with Collection.create(tmp_path / "c.sth", ["a cat", "a ship"], text_options=vectorizer) as collection:
        assert collection.search("cat", 1)[0].text == "a cat"
    with pytest.raises(ValueError, match="min_df=5"):
        Collection.create(tmp_path / "d.sth", [f"word{number}" for number in range(1000)], text_options=vectorizer)


def test_classify_without_hash_functions(tmp_path):
    with Collection.create(tmp_path / "c.sth", make_documents(40)) as collection:
        assert not collection.info()["learned"]
        for label, query in {"cats": "kitten claw purr", "ships": "mast deck crew", "bread": "oven dough"}.items():
            assert classify(collection, query, k=3).label == label


def test_many_documents_of_one_word(tmp_path):
    texts = (f"word{number}" for number in range(100_000))
    with Collection.create(tmp_path / "c.sth", texts, learning=Learning(sample_size=500)) as collection:
        assert len(collection) == 100_000
        assert collection.search("word4711", 1)[0].key == "4711"
        with collection.snapshot() as now:
            (column,) = now.encode(["word99"]).rows.columns.tolist()
            assert now.words.posting_lists([column]).positions(column).tolist() == [99]


def test_a_collection_grows_although_its_limits_do_not_allow_to_learn(tmp_path, monkeypatch):
    monkeypatch.setattr(builder, "LEARN_AT", 100)
    texts = [" ".join(f"w{i}x{j}" for j in range(300)) for i in range(100)]
    with Collection.create(tmp_path / "c.sth", [], learning=Learning(n_bits=64, memory=5 << 20)) as collection:
        collection.add(texts[:99])
        collection.add(["one more"])
        collection.add(["zebra stripes"])
        assert [hit.text for hit in collection.search("zebra")] == ["zebra stripes"]
        info = collection.info()
        assert (info["documents"], info["learned"]) == (101, False)
        assert "but memory allows 5 MiB. Raise it (--memory)" in info["advice"]
        with pytest.raises(ValueError, match="memory allows"):
            collection.relearn()
        collection.relearn(memory="1GB", n_neighbors=5)
        assert "memory" not in collection.info()["advice"]
