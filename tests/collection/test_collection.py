"""What a collection finds, changes and keeps."""

import sqlite3
import threading
from dataclasses import replace

import numpy as np
import pytest

from sthash import Collection, CollectionError, Document, Learning, SelfTaughtHashing, TextVectorizer, near_duplicates
from support.corpus import QUERIES, found, make_documents, twin_search


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
    with Collection.create(
        tmp_path / "long.sth", make_documents(300), learning=Learning(n_bits=264, scatter=4.0)
    ) as long:
        for text in QUERIES:
            assert found(long, text, 10, factor=3) == twin_search(long, text, 10, 3)
        many = long.search_many(QUERIES, 7, factor=3, explain=True)
        assert many == [long.search(text, 7, factor=3, explain=True) for text in QUERIES]


def test_many_queries_get_what_each_alone_gets(collection):
    many = collection.search_many(QUERIES, 7, factor=3, explain=True)
    assert many == [collection.search(text, 7, factor=3, explain=True) for text in QUERIES]
    codes = collection.search_many(QUERIES, 7, rerank=False)
    assert codes == [collection.search(text, 7, rerank=False) for text in QUERIES]


def test_hits_tell_why(collection):
    hits = collection.search("kitten claw", 5, explain=True, ranking="cosine")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 < hit.score <= 1 and hit.label == "cats" for hit in hits)
    assert set(hits[0].terms) <= {"kitten", "claw"}
    assert hits[0].terms


def test_by_codes_alone_the_margins_decide(collection):
    hits = collection.search("kitten claw", 50, rerank=False)
    with collection.snapshot() as now:
        encoded = now.encode(["kitten claw", *(hit.text for hit in hits)])
    differ = np.unpackbits(encoded.codes[1:] ^ encoded.codes[0], axis=1, bitorder="little")[:, : collection.n_bits]
    assert [hit.distance for hit in hits] == differ.sum(axis=1).tolist()
    weighted = differ @ np.abs(encoded.margins[0])
    assert (np.diff(weighted) > -1e-5).all()
    assert [hit.distance for hit in hits] != sorted(hit.distance for hit in hits)


def test_search_by_key_leaves_the_document_itself_out(collection):
    own = set(collection.get("d8").text.split())
    hits = collection.search(key="d8", k=299)
    assert {hit.key for hit in hits} == {one.key for one in collection if own & set(one.text.split())} - {"d8"}
    same = collection.search(collection.get("d8").text, 6, ranking="cosine")
    assert [hit.key for hit in hits[:5]] == [hit.key for hit in same if hit.key != "d8"]
    with pytest.raises(KeyError, match="nobody"):
        collection.search(key="nobody")


def test_where_knows_nul_from_the_end_of_a_string(tmp_path):
    metadata = [{"a": "x"}, {"a": "x\0y"}, {"a": "x\0z"}, {"a\0b": "x"}, {"a": None}, {"a": ["x"]}, *[{}] * 34]
    documents = [replace(document, metadata=own) for document, own in zip(make_documents(40), metadata, strict=True)]
    with Collection.create(tmp_path / "c.sth", documents, learning=Learning(n_bits=8, n_neighbors=5)) as collection:
        every_word = " ".join(document.text for document in documents)

        def found(where):
            return {hit.key for hit in collection.search(every_word, 40, where=where)}

        assert found({"a": "x"}) == {"d0", "d5"}
        assert found({"a": "x\0y"}) == {"d1"}
        assert found({"a": ["x\0z", "x", None]}) == {"d0", "d2", "d4", "d5"}
        assert found({"a\0b": "x"}) == {"d3"}
        assert found({"a": "x\0"}) == set()


def test_where(collection):
    ships = {document.key: document.metadata for document in collection if "ship" in document.text.split()}
    odd = {key for key, metadata in ships.items() if metadata["parity"] == 1}
    for ranking in ("auto", "bm25", "cosine"):
        hits = collection.search("ship", 300, where={"parity": 1}, ranking=ranking)
        assert {hit.key for hit in hits} == odd
    some = collection.search("ship", 300, where={"number": [3, 5, 299], "parity": 1}, rerank=False)
    assert {hit.key for hit in some} == {"d3", "d5", "d299"}
    assert len(collection.search("ship", 300, where={})) == len(ships)
    for many in (range(1, 3000), range(1, 12_000), [3, 2**64, 5]):
        wanted = sum(metadata["number"] in many for metadata in ships.values())
        assert len(collection.search("ship", 300, where={"number": [*many, "x", None]})) == wanted
    for value in ("x", 1):
        with pytest.raises(ValueError, match="which no document has"):
            collection.search_many(["ship", "cat"], 3, where={"a'\"]": value})
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
    assert collection.search("captain anchor", 1, ranking="cosine")[0].key == "d5"
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
    assert near_duplicates(collection).groups == []
    assert collection.check().documents == 0
    collection.add(["a cat again"])
    assert [hit.text for hit in collection.search("cat")] == ["a cat again"]


def test_relearn_replaces_the_model(collection):
    before = collection.search("kitten", 5)
    collection.add(make_documents(100, seed=3, first=300))
    collection.upsert([{"key": "z", "text": "zeppelin airship"}, {"key": "y", "text": "zeppelin hangar"}])
    assert {hit.key for hit in collection.search("zeppelin", 2)} == {"y", "z"}
    assert collection.info()["n_terms"] == 40
    collection.relearn(n_bits=24)
    assert collection.info()["n_terms"] == 43
    assert collection.n_bits == 24
    assert collection.info()["n_bits"] == 24
    assert {hit.key for hit in collection.search("zeppelin", 2)} == {"y", "z"}
    assert collection.check().documents == 402
    assert found(collection, "kitten", 10, factor=5) == twin_search(collection, "kitten", 10, 5)
    assert len(before) == 5


def test_codes_are_those_of_vectorizer_and_hasher(collection):
    texts = [document.text for document in collection]
    X = TextVectorizer(stop_words="function words").fit_transform(texts)
    hasher = SelfTaughtHashing(16, n_neighbors=10, recipe="neighbors").fit(X)
    with collection.snapshot() as now:
        assert (now.codes.table.codes == hasher.transform(X)).all()


def test_readers_see_each_commit_and_writers_wait(path):
    with Collection.open(path) as writer, Collection.open(path, wait=0.05) as other:
        assert other.search("zebra yeast", 1)
        writer.add([{"key": "fresh", "text": "yeast yeast yeast"}])
        assert other.search("yeast", 1)[0].key == "fresh"
        assert len(other) == 301
        writer.relearn(n_bits=8)
        assert other.n_bits == 8
        assert other.search("yeast", 1)[0].key == "fresh"
        with writer._changing():
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


def test_sqlite_can_read_it(path):
    with sqlite3.connect(path) as connection:
        (text,) = connection.execute("SELECT CAST(text AS TEXT) FROM documents WHERE key = ?", (b"d7",)).fetchone()
    connection.close()
    assert text == make_documents(8)[7].text


def test_encode_gives_the_codes_that_are_stored(tmp_path):
    texts = [f"ship number {i} sails to port {i % 5}" for i in range(40)]
    with Collection.create(tmp_path / "c.sth", texts, learning=Learning(n_bits=8, n_neighbors=5)) as collection:
        codes = collection.encode(texts)
        assert codes.shape == (40, 1)
        hits = collection.search(texts[7], 3, radius=0, rerank=False)
        assert all((collection.encode([hit.text]) == codes[7]).all() for hit in hits)
        assert (collection.encode([""]) == 0).all()
