"""Search by words and by vectors at once."""

import shutil

import numpy as np
import pytest

from sthash import Collection
from sthash.collection import CollectionError
from sthash.collection.hybrid_search import CANDIDATES, fused
from sthash.collection.store import Store
from support.corpus import make_documents
from support.embedders import embed

SMALL = {"n_bits": 16, "n_neighbors": 8}


@pytest.fixture(scope="module")
def documents():
    return [*make_documents(160), {"key": "blank", "text": ""}, {"key": "stop", "text": "the of and"}]


@pytest.fixture(scope="module")
def built(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("hybrid") / "h.sth"
    Collection.create(path, documents, embedder=embed, text_search=True, **SMALL).close()
    return path


@pytest.fixture
def path(built, tmp_path):
    return shutil.copy(built, tmp_path / "h.sth")


@pytest.fixture
def opened(path):
    with Collection.open(path, embedder=embed) as collection:
        yield collection


def keys(hits):
    return [hit.key for hit in hits]


def twin(collection, text, k, **options):
    """Fuse the two rankings by hand."""
    scores = {}
    for ranking, weight in (("graph", 0.7), ("cosine", 0.3)):
        for rank, hit in enumerate(collection.search(text, CANDIDATES, ranking=ranking, **options), 1):
            if hit.score > 0:
                scores[hit.key] = scores.get(hit.key, 0) + weight / (5 + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])[:k]


QUERIES = ["cat whisker", "ship", "telescope orbit star planet", "bread", "milk mouse cat paw claw"]


@pytest.mark.parametrize("where", [None, {"label": "cats"}, {"number": {">=": 40}}])
def test_two_rankings_become_one(opened, where):
    for text, hits in zip(QUERIES, opened.search_many(QUERIES, 10, where=where), strict=True):
        expected = twin(opened, text, 10, where=where)
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected])
        assert set(keys(hits)[:5]) <= set(dict(expected))
        assert (hits.ranking, hits.strategy) == ("hybrid", "both")
        assert keys(hits) == keys(opened.search(text, 10, where=where, ranking="hybrid"))
        assert [hit.distance for hit in hits] == [
            int(np.unpackbits(opened.encode([text])[0] ^ opened.encode([hit.text])[0]).sum()) for hit in hits
        ]


def test_words_alone_are_those_of_a_collection_of_texts(opened, documents, tmp_path):
    with (
        Collection.create(tmp_path / "t.sth", documents, **SMALL) as texts,
        Collection.open(opened.path) as without_embedder,
    ):
        for query in (*QUERIES, '"cat mouse"', "cat -mouse", "+ship star"):
            for ranking in ("bm25", "graph"):
                expected = texts.search(query, 8, ranking=ranking)
                for collection in (opened, without_embedder):
                    hits = collection.search(query, 8, ranking=ranking)
                    assert keys(hits) == keys(expected)
                    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected])
                    assert hits.ranking == ranking
        with pytest.raises(TypeError, match="open it with that embedder"):
            without_embedder.search("cat")


def test_signs_restrict_both_rankings(opened):
    assert all("mouse" not in hit.text for hit in opened.search("cat -mouse", 50))
    assert all("ship" in hit.text for hit in opened.search("+ship star", 50))
    assert opened.search("cat -mouse", 5)


def test_what_words_say(opened):
    hits = opened.search("the cat qwertz", 3, explain=True)
    assert (hits.ignored, hits.unknown) == (("the",), ("qwertz",))
    assert all(("cat" in hit.terms) == ("cat" in hit.text.split()) for hit in hits)
    assert "blank" not in keys(opened.search("cat", 1000))
    assert opened.search("", 5) == []


def test_vectors_and_keys_are_searched_for_by_vectors(opened):
    hits = opened.search(embed(["cat"])[0], 5)
    assert hits.ranking == "cosine"
    assert keys(hits) == keys(opened.search("cat", 5, ranking="cosine"))
    mixed = opened.search_many(["cat", embed(["cat"])[0]], 5)
    assert [each.ranking for each in mixed] == ["hybrid", "cosine"]
    assert opened.search(key="d1", k=3).ranking == "cosine"
    assert opened.search("cat", 3, radius=16).ranking == "cosine"
    assert opened.search("cat", 3, rerank=False).ranking == "codes"


def test_changes(opened):
    opened.add([{"key": "new", "text": "cat zebra"}])
    assert keys(opened.search("zebra", 1)) == ["new"]
    assert opened.check().documents == 163
    opened.upsert([{"key": "new", "text": "cat giraffe"}])
    assert opened.search("zebra", 1, ranking="bm25") == []
    assert keys(opened.search("giraffe", 1, ranking="bm25")) == ["new"]
    before = opened.search("cat", 5, ranking="bm25")
    opened.relearn(n_bits=8)
    assert [(hit.key, hit.score) for hit in opened.search("cat", 5, ranking="bm25")] == [
        (hit.key, hit.score) for hit in before
    ]
    opened.delete("new")
    assert opened.search("giraffe", 1, ranking="bm25") == []
    assert opened.check().documents == 162
    assert opened.info()["text_search"] is True


def test_given_vectors_and_a_language(tmp_path):
    texts = ["die Häuser", "ein Haus", "der Baum"]
    with Collection.create(tmp_path / "v.sth", texts, vectors=np.eye(3), text_search=True, language="german") as made:
        assert set(keys(made.search("Haus", 3, ranking="bm25"))) == {"0", "1"}
        made.add(["das Häuschen"], vectors=[[1.0, 1.0, 1.0]])
        assert made.check().documents == 4


def test_hash_functions_learned_later(tmp_path):
    """The `add` that makes a collection large enough learns, and keeps the lengths of the texts."""
    documents = make_documents(1100)
    with Collection.create(tmp_path / "h.sth", documents[:10], embedder=embed, text_search=True, n_bits=16) as made:
        assert not made.info()["learned"]
        made.add(documents[10:])
        assert made.info()["learned"]
        assert made.check().documents == 1100


def test_what_cannot_be(opened, tmp_path, documents):
    with pytest.raises(ValueError, match="a query is a vector"):
        opened.search(embed(["cat"])[0], ranking="hybrid")
    with pytest.raises(ValueError, match="by key"):
        opened.search(key="d1", ranking="hybrid")
    with pytest.raises(ValueError, match="codes"):
        opened.search("cat", ranking="hybrid", radius=3)
    with Collection.create(tmp_path / "v.sth", documents, embedder=embed, **SMALL) as vectors:
        assert vectors.info()["text_search"] is False
        for ranking in ("bm25", "hybrid"):
            with pytest.raises(ValueError, match="text_search=True"):
                vectors.search("cat", ranking=ranking)
    with (
        Collection.create(tmp_path / "t.sth", documents, **SMALL) as texts,
        pytest.raises(ValueError, match="collections of vectors"),
    ):
        texts.search("cat", ranking="hybrid")
    with pytest.raises(TypeError, match="has it anyway"):
        Collection.create(tmp_path / "x.sth", documents, text_search=True)


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"kind": "text", "n_terms": 0}'])
def test_a_damaged_setting(path, content):
    store = Store(path)
    with store.writing():
        store.put("settings", "texts", content)
    store.close()
    with Collection.open(path) as opened, pytest.raises(CollectionError):
        opened.search("cat", ranking="bm25")


def test_fusion():
    assert fused([[], []], 3) == []
    assert [number for number, _ in fused([[1, 2], [2, 3]], 5)] == [2, 1, 3]
    assert fused([[4], [3]], 5) == [(4, 0.7 / 6), (3, 0.3 / 6)]
    assert [number for number, _ in fused([[], [9, 8]], 1)] == [9]
