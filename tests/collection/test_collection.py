import sqlite3
import threading
from dataclasses import replace

import numpy as np
import pytest
from corpus import found, make_documents, twin_search

from sthash import Collection, CollectionError, Document, SelfTaughtHashing, TextVectorizer
from sthash.collection import store as store_module

QUERIES = ("kitten with claw and tail", "captain of the ship", "moon and star dust", "salt bread cat", "oven")


def test_keeps_what_it_was_given(collection):
    assert len(collection) == 300
    assert list(collection) == make_documents(300)
    assert collection.get("d7") == make_documents(300)[7]
    assert "d7" in collection
    assert "nobody" not in collection
    assert collection.check().documents == 300


@pytest.mark.parametrize("factor", [1, 5, 500])
@pytest.mark.parametrize("text", QUERIES)
def test_search_equals_its_twin(collection, text, factor):
    assert found(collection, text, 10, factor=factor) == twin_search(collection, text, 10, factor)
    assert found(collection, text, 400, radius=3) == twin_search(collection, text, 400, 1, radius=3)


def test_balls_of_long_codes_are_plain(tmp_path):
    with Collection.create(tmp_path / "long.sth", make_documents(300), n_bits=264, scatter=4.0) as long:
        for text in QUERIES:
            assert found(long, text, 10, factor=3) == twin_search(long, text, 10, 3)
        many = long.search_many(QUERIES, 7, factor=3, explain=True)
        assert many == [long.search(text, 7, factor=3) for text in QUERIES]


def test_many_queries_get_what_each_alone_gets(collection):
    many = collection.search_many(QUERIES, 7, factor=3, explain=True)
    assert many == [collection.search(text, 7, factor=3) for text in QUERIES]
    codes = collection.search_many(QUERIES, 7, rerank=False)
    assert codes == [collection.search(text, 7, rerank=False, explain=False) for text in QUERIES]


def test_hits_tell_why(collection):
    hits = collection.search("kitten claw", 5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 < hit.score <= 1 and hit.label == "cats" for hit in hits)
    assert set(hits[0].terms) <= {"kitten", "claw"}
    assert hits[0].terms


def test_by_codes_alone_the_margins_decide(collection):
    hits = collection.search("kitten claw", 50, rerank=False)
    with collection._view.reading():
        encoded = collection._view.encoder().encode(["kitten claw", *(hit.text for hit in hits)])
    differ = np.unpackbits(encoded.codes[1:] ^ encoded.codes[0], axis=1, bitorder="little")[:, : collection.n_bits]
    assert [hit.distance for hit in hits] == differ.sum(axis=1).tolist()
    weighted = differ @ np.abs(encoded.margins[0])
    assert (np.diff(weighted) > -1e-5).all()
    assert [hit.distance for hit in hits] != sorted(hit.distance for hit in hits)


def test_search_by_key_leaves_the_document_itself_out(collection):
    hits = collection.search(key="d8", k=299)
    assert len(hits) == 299
    assert "d8" not in {hit.key for hit in hits}
    assert [hit.key for hit in hits[:5]] == [
        hit.key for hit in collection.search(collection.get("d8").text, 6) if hit.key != "d8"
    ]
    with pytest.raises(KeyError, match="nobody"):
        collection.search(key="nobody")


def test_where_knows_nul_from_the_end_of_a_string(tmp_path):
    metadata = [{"a": "x"}, {"a": "x\0y"}, {"a": "x\0z"}, {"a\0b": "x"}, {"a": None}, {"a": ["x"]}, *[{}] * 34]
    documents = [replace(document, metadata=own) for document, own in zip(make_documents(40), metadata, strict=True)]
    with Collection.create(tmp_path / "c.sth", documents, n_bits=8, n_neighbors=5) as collection:

        def found(where):
            return {hit.key for hit in collection.search("cat", 40, where=where)}

        assert found({"a": "x"}) == {"d0"}
        assert found({"a": "x\0y"}) == {"d1"}
        assert found({"a": ["x\0z", "x", None]}) == {"d0", "d2", "d4"}
        assert found({"a\0b": "x"}) == {"d3"}
        assert found({"a": "x\0"}) == set()


def test_where(collection):
    odd = collection.search("ship", 300, where={"parity": 1})
    assert len(odd) == 150
    assert all(hit.metadata["parity"] == 1 for hit in odd)
    some = collection.search("ship", 300, where={"number": [3, 5, 299], "parity": 1}, rerank=False)
    assert {hit.key for hit in some} == {"d3", "d5", "d299"}
    assert collection.search("ship", 3, where={"nothing": "x"}) == []
    assert collection.search("ship", 3, where={"number": "3"}) == []
    assert len(collection.search("ship", 300, where={})) == 300
    assert collection.search_many(["ship", "cat"], 3, where={"a'\"]": 1}) == [[], []]
    with pytest.raises(TypeError, match="where"):
        collection.search("ship", where="parity=1")
    with pytest.raises(TypeError, match="parity"):
        collection.search("ship", where={"parity": {}})


def test_a_query_without_known_terms_finds_nothing(collection):
    assert collection.search("xyzzy") == []
    assert collection.search("") == []
    assert [len(hits) for hits in collection.search_many(["xyzzy", "cat"], 3)] == [0, 3]


def test_add_delete_upsert(collection, path):
    more = make_documents(1500, seed=1, first=300)
    assert collection.add(iter(more)) == 1500
    assert len(collection) == 1800
    assert collection.get("d1700") == more[1400]
    assert collection.delete(["d3", "d1799", "d3"]) == 2
    assert "d3" not in collection
    assert len(collection) == 1798
    assert collection.upsert([Document("d5", "captain anchor"), Document("new", "yeast")]) == 2
    assert collection.get("d5") == Document("d5", "captain anchor")
    assert len(collection) == 1799
    assert collection.search("captain anchor", 1)[0].key == "d5"
    for text in QUERIES:
        assert found(collection, text, 10, factor=5) == twin_search(collection, text, 10, 5)
    assert collection.check().documents == 1799
    collection.compact()
    with Collection.open(path) as again:
        assert again.check().documents == 1799
    assert [document.key for document in collection][-2:] == ["d5", "new"]


def test_a_change_is_made_whole_or_not_at_all(collection):
    with pytest.raises(ValueError, match=r"'d7'.*upsert"):
        collection.add([{"key": "fresh", "text": "cat"}, {"key": "d7", "text": "cat"}])
    with pytest.raises(ValueError, match="'twice'"):
        collection.add([{"key": "twice", "text": "cat"}, {"key": "twice", "text": "cat"}])
    with pytest.raises(KeyError, match="'nobody'"):
        collection.delete(["d7", "nobody"])

    def breaking():
        yield from make_documents(5000, first=1000)
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        collection.add(breaking())
    assert list(collection) == make_documents(300)
    assert collection.check().documents == 300
    assert collection.delete(["d7", "nobody"], missing_ok=True) == 1


def test_everything_can_go(collection):
    collection.delete([document.key for document in collection])
    assert len(collection) == 0
    assert list(collection) == []
    assert collection.search("cat") == []
    assert collection.search("cat", rerank=False) == []
    assert collection.near_duplicates().groups == []
    assert collection.check().documents == 0
    collection.add(["a cat again"])
    assert [hit.text for hit in collection.search("cat")] == ["a cat again"]


def test_keys_are_numbers_where_there_are_none(tmp_path):
    texts = [document.text for document in make_documents(100)]
    with Collection.create(tmp_path / "c.sth", texts, n_bits=8, n_neighbors=5) as collection:
        assert collection.get("1").text == texts[0]
        assert collection.get("100").text == texts[99]
        collection.add(["one more ship"])
        assert collection.get("101").text == "one more ship"


def test_relearn_replaces_the_model(collection):
    before = collection.search("kitten", 5)
    collection.add(make_documents(100, seed=3, first=300))
    collection.upsert([{"key": "z", "text": "zeppelin airship"}, {"key": "y", "text": "zeppelin hangar"}])
    assert collection.search("zeppelin") == []
    collection.relearn(n_bits=24)
    assert collection.n_bits == 24
    assert collection.info()["n_bits"] == 24
    assert {hit.key for hit in collection.search("zeppelin", 2)} == {"y", "z"}
    assert collection.check().documents == 402
    assert found(collection, "kitten", 10, factor=5) == twin_search(collection, "kitten", 10, 5)
    assert len(before) == 5


def test_same_input_same_file(built, tmp_path):
    Collection.create(tmp_path / "again.sth", make_documents(300), n_bits=16, n_neighbors=10).close()
    assert (tmp_path / "again.sth").read_bytes() == built.read_bytes()


def test_learns_on_a_sample(tmp_path):
    documents = make_documents(600)
    with Collection.create(tmp_path / "c.sth", documents, n_bits=12, n_neighbors=5, learn_on=100) as collection:
        assert collection.info()["learnt_on"] == 100
        assert len(collection) == 600
        assert collection.check().documents == 600
        assert collection.search("kitten claw", 1)[0].label == "cats"


def test_codes_are_those_of_vectorizer_and_hasher(collection):
    texts = [document.text for document in collection]
    X = TextVectorizer().fit_transform(texts)
    hasher = SelfTaughtHashing(16, n_neighbors=10, recipe="neighbors").fit(X)
    with collection._view.reading():
        assert (collection._view.shelf().codes == hasher.transform(X)).all()


@pytest.mark.parametrize("weighting", ["bm25", "tf"])
def test_settings_of_the_vectorizer_are_kept(tmp_path, weighting):
    texts = [document.text for document in make_documents(120)]
    vectorizer = TextVectorizer(weighting=weighting, stemmer=None, min_df=2)
    path = tmp_path / "c.sth"
    with Collection.create(path, texts, vectorizer=vectorizer, n_bits=8, n_neighbors=5) as collection:
        expected = vectorizer.fit(texts).transform(["cat ship cat moon"])
        encoded = collection._view.encoder().encode(["cat ship cat moon"])
        with collection._view.reading():
            names = collection._view.encoder().names(encoded.indices.tolist())
        given = dict(zip(names, encoded.values.tolist(), strict=True))
        terms = vectorizer.get_feature_names_out()[expected.indices]
        assert given == pytest.approx(dict(zip(terms, expected.data.tolist(), strict=True)), rel=1e-6)
        collection.relearn()
        assert collection.info()["weighting"] == weighting
        assert collection.info()["stemmer"] is None


def test_vectors_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 24)) + np.repeat(rng.normal(size=(4, 24)) * 3, 50, axis=0)
    documents = [{"key": f"v{i}", "label": str(i // 50)} for i in range(200)]
    with Collection.create(tmp_path / "v.sth", documents, vectors=rows, n_bits=16, n_neighbors=10) as collection:
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        hits = collection.search(rows[3], 5)
        cosines = unit @ unit[3]
        assert [hit.key for hit in hits] == [f"v{i}" for i in np.argsort(-cosines)[:5]]
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(cosines)[::-1][:5], rtol=1e-5)
        assert collection.classify(rows[60]).label == "1"
        assert collection.search(key="v3", k=4) == collection.search(rows[3], 5)[1:]
        collection.add([{"key": "new"}], vectors=[rows[3]])
        assert {hit.key for hit in collection.search(rows[3], 2)} == {"v3", "new"}
        assert ["v3", "new"] in collection.near_duplicates(min_cosine=0.999).groups
        assert collection.check().documents == 201
        collection.relearn(n_bits=8)
        assert collection.check().documents == 201
        assert collection.n_bits == 8
        with pytest.raises(TypeError, match="vectors"):
            collection.search("text")
        with pytest.raises(TypeError, match="vectors"):
            collection.add(["text"])
        with pytest.raises(ValueError, match="24 values"):
            collection.search(rows[3][:5])
        with pytest.raises(ValueError, match="equally many"):
            collection.add([{"key": "a"}, {"key": "b"}], vectors=[rows[0]])
    with Collection.create(tmp_path / "w.sth", vectors=iter(rows), n_bits=8, n_neighbors=5) as collection:
        assert len(collection) == 200
        assert "200" in collection


def test_readers_see_each_commit_and_writers_wait(path):
    with Collection.open(path) as writer, Collection.open(path, wait=0.05) as other:
        assert other.search("zebra yeast", 1)
        writer.add([{"key": "fresh", "text": "yeast yeast yeast"}])
        assert other.search("yeast", 1)[0].key == "fresh"
        assert len(other) == 301
        writer.relearn(n_bits=8)
        assert other.n_bits == 8
        assert other.search("yeast", 1)[0].key == "fresh"
        with writer._view.writing():
            assert len(other) == 301
            with pytest.raises(CollectionError, match="another process"):
                other.add(["no"])
        other.add(["yes"])
        assert len(writer) == 302


def test_threads_may_share_one(collection):
    failures = []

    def work(number):
        try:
            for turn in range(5):
                collection.upsert([{"key": f"t{number}", "text": f"ship {turn}"}])
                assert collection.search("ship", 5)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(collection) == 304


def test_create_refuses_what_it_cannot_do(tmp_path, path):
    with pytest.raises(FileExistsError, match="overwrite"):
        Collection.create(path, make_documents(100))
    with pytest.raises(ValueError, match="n_bits=64"):
        Collection.create(tmp_path / "c.sth", make_documents(20))
    with pytest.raises(ValueError, match="empty"):
        Collection.create(tmp_path / "c.sth", [])
    with pytest.raises(TypeError, match="document 1 is a int"):
        Collection.create(tmp_path / "c.sth", ["a", 1])
    with pytest.raises(TypeError, match="single str"):
        Collection.create(tmp_path / "c.sth", "a text")
    with pytest.raises(ValueError, match="'colour'"):
        Collection.create(tmp_path / "c.sth", [{"text": "a", "colour": "red"}])
    with pytest.raises(ValueError, match="metadata"):
        Collection.create(tmp_path / "c.sth", [{"text": "a", "metadata": {"a": object()}}])
    with pytest.raises(ValueError, match="more than once"):
        Collection.create(tmp_path / "c.sth", [{"key": "a", "text": "a"}] * 2)
    with pytest.raises(TypeError, match="neither"):
        Collection.create(tmp_path / "c.sth")
    with pytest.raises(FileNotFoundError):
        Collection.open(tmp_path / "nothing.sth")
    for wrong in ({"k": 0}, {"k": 1, "radius": -1}, {"k": 1, "factor": 0}):
        with pytest.raises(ValueError, match="must be an int"), Collection.open(path) as collection:
            collection.search("a", **wrong)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["some.sth"]


def test_scatter(tmp_path):
    """Random weights take part in the codes, and stay when documents are added or the model is learnt anew."""
    with (
        Collection.create(tmp_path / "s.sth", make_documents(300), n_bits=70, n_neighbors=10, scatter=4) as collection,
        Collection.create(tmp_path / "0.sth", make_documents(300), n_bits=70, n_neighbors=10) as plain,
    ):
        assert collection.info()["scatter"] == 4
        assert plain.info()["scatter"] == 0
        ours, learnt = (one._view.encoder() for one in (collection, plain))
        with collection._view.reading(), plain._view.reading():
            encoded, other = ours.encode(list(QUERIES)), learnt.encode(list(QUERIES))
        differing = np.bitwise_count(encoded.codes ^ other.codes).sum(axis=1)
        assert ((differing > 10) & (differing < 60)).all()
        for query in QUERIES:
            assert found(collection, query, 5, factor=4) == twin_search(collection, query, 5, 4)
        collection.add(make_documents(20, first=300))
        collection.relearn(n_bits=40)
        assert collection.info()["scatter"] == 4
        collection.check()
        collection.relearn(scatter=0)
        assert collection.info()["scatter"] == 0
        for wrong in (-1, float("nan"), "4"):
            with pytest.raises(ValueError, match="scatter="):
                collection.relearn(scatter=wrong)


def test_create_replaces_equal_keys_if_asked(tmp_path):
    documents = [*make_documents(100), Document("d5", "the last one is a ship")]
    with Collection.create(tmp_path / "c.sth", documents, n_bits=8, n_neighbors=5, replace=True) as collection:
        assert len(collection) == 100
        assert collection.get("d5").text == "the last one is a ship"
        collection.check()


def test_a_build_in_progress_is_left_alone_and_a_dead_one_replaced(tmp_path):
    target, unfinished = tmp_path / "c.sth", tmp_path / "c.sth.building"
    running = store_module.Store(unfinished, "rwc")
    with pytest.raises(CollectionError, match="being built"):
        Collection.create(target, make_documents(100), n_bits=8, n_neighbors=5)
    running.close()
    unfinished.write_bytes(b"half of something" * 1000)
    Collection.create(target, make_documents(100), n_bits=8, n_neighbors=5).close()
    assert [file.name for file in tmp_path.iterdir()] == ["c.sth"]


def test_sqlite_can_read_it(path):
    with sqlite3.connect(path) as connection:
        (text,) = connection.execute("SELECT CAST(text AS TEXT) FROM documents WHERE key = ?", (b"d7",)).fetchone()
    connection.close()
    assert text == make_documents(8)[7].text


def test_encode_gives_the_codes_that_are_stored(tmp_path):
    texts = [f"ship number {i} sails to port {i % 5}" for i in range(40)]
    with Collection.create(tmp_path / "c.sth", texts, n_bits=8, n_neighbors=5) as collection:
        codes = collection.encode(texts)
        assert codes.shape == (40, 1)
        hits = collection.search(texts[7], 3, radius=0, rerank=False)
        assert all((collection.encode([hit.text]) == codes[7]).all() for hit in hits)
        assert (collection.encode([""]) == 0).all()


def test_every_recipe_and_what_info_says_of_it(tmp_path):
    from typing import get_args

    from sthash.hashing.sth import Recipe

    documents = make_documents(300)
    for recipe in get_args(Recipe):
        path = tmp_path / f"{recipe}.sth"
        with Collection.create(path, documents, n_bits=16, n_neighbors=10, recipe=recipe) as collection:
            assert collection.info()["recipe"] == recipe
            assert collection.check().documents == 300
            assert collection.search(documents[7].text, 1)[0].text == documents[7].text
    with Collection.open(tmp_path / "paper.sth") as collection:
        collection.relearn(recipe="topics")
        assert collection.info()["recipe"] == "topics"
        collection.relearn(n_bits=8)
        assert (collection.info()["recipe"], collection.n_bits) == ("topics", 8)


def test_an_unknown_recipe_is_refused_before_anything_is_read(tmp_path):
    documents = iter(make_documents(10))
    with pytest.raises(ValueError, match="recipe='soup' is not known; use one of: paper"):
        Collection.create(tmp_path / "c.sth", documents, recipe="soup")
    assert len(list(documents)) == 10
    assert not list(tmp_path.iterdir())
