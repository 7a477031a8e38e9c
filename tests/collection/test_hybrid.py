"""Search by words and by vectors at once, in collections of vectors."""

import numpy as np
import pytest

from sthash import Collection, Document, TextOptions
from sthash.collection import CollectionError
from sthash.collection.file.store import Store
from sthash.collection.search import answer
from sthash.collection.search.fusion import CANDIDATES, fused
from sthash.collection.search.ranking import DEFAULTS
from support.corpus import make_documents
from support.embedders import embed
from support.factories import create_collection
from support.golden import make_texts

QUERIES = ["cat whisker", "ship", "telescope orbit star planet", "bread", "milk mouse cat paw claw"]


@pytest.fixture(scope="module")
def documents():
    return [*make_documents(160), {"key": "blank", "text": ""}, {"key": "stop", "text": "the of and"}]


@pytest.fixture(scope="module")
def built(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("hybrid") / "h.sth"
    create_collection(path, documents, n_bits=16, n_neighbors=8, embedder=embed).close()
    return path


@pytest.fixture
def opened(path):
    with Collection.open(path, embedder=embed) as collection:
        yield collection


def keys(hits):
    return [hit.key for hit in hits]


def twin(collection, text, k, **options):
    """Fuse the two rankings by hand."""
    scores = {}
    for ranking, weight in (("graph", 0.6), ("cosine", 0.4)):
        for rank, hit in enumerate(collection.search(text, CANDIDATES, ranking=ranking, **options), 1):
            scores[hit.key] = scores.get(hit.key, 0) + weight / (5 + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])[:k]


def test_words_that_only_the_embedder_knows_are_not_replaced(tmp_path):
    """A query without a known word is answered by its vector, and not by words that are spelled alike."""
    notes = {"bread": "Sourdough needs a warm kitchen.", "bike": "The brakes of the bicycle need new pads."}
    near = {"bread": [1.0, 0.0], "bike": [0.0, 1.0], "baking": [1.0, 0.1]}

    def knows(texts):
        return [next((row for word, row in near.items() if word in text), near["bread"]) for text in texts]

    rows = [near[key] for key in notes]
    documents = [{"key": key, "text": text} for key, text in notes.items()]
    with Collection.create(tmp_path / "c.sth", documents, vectors=rows, embedder=knows) as collection:
        for ranking in ("auto", "cosine"):
            hits = collection.search("baking", ranking=ranking)
            assert (hits[0].key, hits.corrected) == ("bread", {})
        assert collection.search("baking", ranking="bm25").corrected == {"baking": "brakes"}
        assert collection.search("baking", correct=True)[0].key == "bike"


@pytest.mark.parametrize("where", [None, {"label": "cats"}, {"number": {">=": 40}}])
def test_two_rankings_become_one(opened, where):
    for text, hits in zip(QUERIES, opened.search_many(QUERIES, 10, where=where, explain=True), strict=True):
        expected = twin(opened, text, 10, where=where)
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected])
        assert set(keys(hits)[:5]) <= set(dict(expected))
        assert (hits.ranking, hits.strategy) == ("hybrid", "both")
        assert keys(hits) == keys(opened.search(text, 10, where=where, ranking="hybrid"))
        assert [hit.distance for hit in hits] == [
            int(np.unpackbits(opened.encode([text])[0] ^ opened.encode([hit.text])[0]).sum()) for hit in hits
        ]


def test_words_alone_are_those_of_a_collection_of_texts(tmp_path):
    """Among enough documents that 50 candidates, and 300, give other answers."""
    texts = make_texts(2000)
    documents = [Document(str(place), text, None, {"parity": place % 2}) for place, text in enumerate(texts)]
    words = [text.split() for text in texts[:12]]
    queries = [" ".join(own[:4]) for own in words]
    queries += [f'"{words[0][0]} {words[0][1]}"', f"{words[1][0]} -{words[1][1]}", f"+{words[2][3]} c1", "zebra", ""]
    with (
        create_collection(tmp_path / "t.sth", documents) as plain,
        Collection.create(tmp_path / "v.sth", documents, embedder=embed) as vectors,
        Collection.open(vectors.path) as without_embedder,
    ):
        for collection in (vectors, without_embedder):
            for options in ({"ranking": "bm25"}, {"ranking": "graph"}, {"ranking": "graph", "where": {"parity": 1}}):
                for k in (1, 5, 10, 60, 100):
                    ours = collection.search_many(queries, k, explain=True, **options)
                    for mine, theirs in zip(ours, plain.search_many(queries, k, explain=True, **options), strict=True):
                        assert [(hit.key, hit.score, hit.terms) for hit in mine] == [
                            (hit.key, hit.score, hit.terms) for hit in theirs
                        ]
                        assert (mine.ranking, mine.strategy) == (theirs.ranking, theirs.strategy)
                        assert (mine.ignored, mine.unknown) == (theirs.ignored, theirs.unknown)
        typed = without_embedder.search_many(queries)
        assert typed == plain.search_many(queries)
        # What looks like an option of a command is ranked as one.
        assert [hits.ranking for hits in typed] == ["bm25" if " -" in query else "graph" for query in queries]
        assert (DEFAULTS.n_candidates(10), DEFAULTS.n_candidates(60)) == (50, 300)
        assert any(keys(plain.search(query, 10)) != keys(plain.search(query, 60)[:10]) for query in queries)


def test_signs_restrict_both_rankings(opened):
    assert all("mouse" not in hit.text for hit in opened.search("cat -mouse", 50))
    assert all("ship" in hit.text for hit in opened.search("+ship star", 50))
    assert opened.search("cat -mouse", 5)
    assert opened.search("+zebra cat", syntax="strict") == []


def test_a_phrase_is_in_every_hit(tmp_path):
    """Also where vectors would find other documents, and where the phrase comes late among the candidates."""
    texts = ["car red"] * 700 + ["red car " + "other words follow here " * 30, "a red car", "blue car"]
    texts += ["the red car of another"] * 5
    with Collection.create(tmp_path / "c.sth", texts, embedder=embed) as made:
        for k in (1, 3, 10, 1000):
            for query in ('"red car"', '"red car" blue', '+"red car" another words'):
                hits = made.search(query, k)
                assert hits.ranking == "hybrid"
                assert len(hits) == min(k, 7)
                assert all("red car" in hit.text for hit in hits)
            excluded = made.search('car -"car red"', k)
            assert excluded
            assert all("car red" not in hit.text for hit in excluded)
        assert made.search('"red zebra"', syntax="strict") == made.search('"blue red"', syntax="strict") == []
        assert all("red car" in hit.text for hit in made.search('"red car"', where={"key": ["700", "701", "5"]}))
        several = made.search_many(['"red car"', "blue", '"car red"', made.get("702").text], 4)
        assert [len(hits) for hits in several] == [4] * 4
        assert all("car red" in hit.text for hit in several[2])


def test_what_words_say(opened):
    hits = opened.search("the cat qwertz", 3, explain=True)
    assert (hits.ignored, hits.unknown) == (("the",), ("qwertz",))
    assert all(("cat" in hit.terms) == ("cat" in hit.text.split()) for hit in hits)
    assert "blank" not in keys(opened.search("cat", 1000))
    assert opened.search("", 5) == []


def test_vectors_and_keys_are_searched_for_by_vectors(opened):
    hits = opened.search(embed(["cat"])[0], 5)
    assert (hits.ranking, hits.strategy) == ("cosine", "cells")
    assert keys(hits) == keys(opened.search("cat", 5, ranking="cosine"))
    assert opened.search(key="d1", k=3).ranking == "cosine"
    near = opened.search("cat", 3, radius=16)
    assert (near.ranking, near.strategy) == ("cosine", "codes")
    assert opened.search("cat", 3, rerank=False).ranking == "codes"


def test_texts_and_vectors_in_one_batch_get_what_each_alone_gets(opened):
    queries = ["cat", embed(["cat"])[0], '"cat mouse"', "+ship", embed(["ship"])[0], "star", ""]
    for given in (queries, queries[::-1]):
        for k in (2, 5, 150):
            mixed = opened.search_many(given, k)
            alone = [opened.search(query, k) for query in given]
            assert mixed == alone
            assert [hits.ranking for hits in mixed] == [hits.ranking for hits in alone]
            assert max(map(len, mixed)) <= k


def test_changes(opened):
    opened.add([{"key": "new", "text": "cat zebra"}])
    assert keys(opened.search("zebra", 1)) == ["new"]
    assert opened.check().documents == 163
    opened.upsert([{"key": "new", "text": "cat giraffe"}])
    assert opened.search("zebra", 1, ranking="bm25") == []
    assert keys(opened.search("giraffe", 1, ranking="bm25")) == ["new"]
    before = opened.search("cat", 5, ranking="bm25")
    opened.relearn(n_bits=8)
    assert opened.search("cat", 5, ranking="bm25") == before
    opened.delete("new")
    assert opened.search("giraffe", 1, ranking="bm25") == []
    assert opened.check().documents == 162


def test_given_vectors_and_a_language(tmp_path):
    texts = ["die Häuser", "ein Haus", "der Baum"]
    with Collection.create(
        tmp_path / "v.sth", texts, vectors=np.eye(3), text_options=TextOptions(language="german")
    ) as made:
        assert set(keys(made.search("Haus", 3, ranking="bm25"))) == {"0", "1"}
        made.add(["das Häuschen"], vectors=[[1.0, 1.0, 1.0]])
        assert made.check().documents == 4


def test_a_text_of_many_words(opened, monkeypatch):
    monkeypatch.setattr(answer, "MOST_TERMS", 3)
    text = "cat whisker purr claw"
    assert keys(opened.search(text, 5)) == keys(opened.search(text, 5, ranking="cosine"))  # its vector says more
    with Collection.open(opened.path) as without_embedder:
        for ranking in ("auto", "bm25"):
            with pytest.raises(ValueError, match=r"4 different words.*3 at most"):
                without_embedder.search(text, ranking=ranking)


def test_what_cannot_be(opened, tmp_path, documents):
    with pytest.raises(ValueError, match="a query is a vector"):
        opened.search(embed(["cat"])[0], ranking="hybrid")
    with pytest.raises(ValueError, match="by key"):
        opened.search(key="d1", ranking="hybrid")
    with pytest.raises(ValueError, match="codes"):
        opened.search("cat", ranking="hybrid", radius=3)
    with (
        create_collection(tmp_path / "t.sth", documents) as texts,
        pytest.raises(ValueError, match="collections of vectors"),
    ):
        texts.search("cat", ranking="hybrid")


def test_without_codes(tmp_path, documents):
    with Collection.create(tmp_path / "v.sth", documents, embedder=embed) as made:
        assert (made.n_bits, made.search("cat", 3).ranking) == (0, "hybrid")
        for ask in (
            lambda: made.search("cat", radius=3),
            lambda: made.search(embed(["cat"])[0], rerank=False),
            lambda: made.search(key="d1", rerank=False),
            lambda: made.encode(["cat"]),
        ):
            with pytest.raises(ValueError, match=r"no codes.*learning=Learning\(n_bits=64\) \(--n-bits 64\)"):
                ask()
        made.relearn(n_bits=16, n_neighbors=8)
        assert made.n_bits == 16
        assert made.search("cat", 3, radius=16).strategy == "codes"
        assert made.check().documents == 162


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"weighting": "tfidf", "stemmer": "porter"}', b"\xff"])
def test_a_damaged_setting(path, content):
    store = Store(path)
    with store.writing():
        store.put("settings", "words", content)
    store.close()
    with Collection.open(path) as opened, pytest.raises(CollectionError, match="setting words cannot be read"):
        opened.search("cat", ranking="bm25")


def test_fusion():
    assert fused([[], []], 3) == []
    assert [number for number, _ in fused([[1, 2], [2, 3]], 5)] == [2, 1, 3]
    assert fused([[4], [3]], 5) == [(4, 0.6 / 6), (3, 0.4 / 6)]
    assert [number for number, _ in fused([[], [9, 8]], 1)] == [9]
