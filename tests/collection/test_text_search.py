"""Typed queries: exact answers from posting lists, with phrases, signs and filters."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from sthash import Collection
from sthash.collection import Hits, SearchOptions
from sthash.collection.search import answer
from sthash.index.bm25 import Bm25
from support.corpus import QUERIES, make_documents

BM25 = Bm25()
TEXTS = {
    "fish": "the cat likes fish",
    "bird": "the cat likes birds of prey",
    "dog": "a dog likes the cat",
    "prey": "prey is what birds of the sea fear",
    "mixed": "fish likes no cat",
    "bone": "bones for the dog, bones for all dogs",
}


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    documents = [{"key": key, "text": text, "metadata": {"size": len(text)}} for key, text in TEXTS.items()]
    path = tmp_path_factory.mktemp("animals") / "animals.sth"
    with Collection.create(path, documents) as built:
        yield built


def keys(hits):
    return {hit.key for hit in hits}


def slow_bm25(documents, words):
    """BM25 of documents that are split at spaces."""
    counts = [Counter(document.text.split()) for document in documents]
    lengths = [sum(own.values()) for own in counts]
    mean, n, scores = sum(lengths) / len(lengths), len(documents), {}
    for document, own, length in zip(documents, counts, lengths, strict=True):
        score = 0.0
        for word in words:
            df = sum(word in other for other in counts)
            share = BM25.k1 * (1 - BM25.b + BM25.b * length / mean)
            score += math.log1p((n - df + 0.5) / (df + 0.5)) * own[word] * (BM25.k1 + 1) / (own[word] + share)
        scores[document.key] = score
    return scores


def test_bm25_is_exact(collection):
    documents = make_documents(300)
    for query in (["kitten"], ["captain", "ship"], ["moon", "star", "dust"]):
        expected = {key: score for key, score in slow_bm25(documents, query).items() if score > 0}
        hits = collection.search(" ".join(query), 300, ranking="bm25")
        assert {hit.key: hit.score for hit in hits} == pytest.approx(expected, rel=1e-4)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert (hits.strategy, hits.ranking) == ("postings", "bm25")


def test_the_graph_ranks_the_same_documents(collection):
    for query in QUERIES:
        plain, graph = (collection.search(query, 300, ranking=ranking) for ranking in ("bm25", "auto"))
        assert keys(plain) == keys(graph)
        assert (graph.strategy, graph.ranking) == ("postings", "graph")
        assert all(hit.score > 0 for hit in graph)
        assert collection.search(query, 300, ranking="graph") == graph
        assert collection.search(query, 5) == graph[:5]


def test_distances_are_those_of_the_codes(collection):
    hits = collection.search("captain of the ship", 20, explain=True)
    codes = collection.encode(["captain of the ship", *(hit.text for hit in hits)])
    assert [hit.distance for hit in hits] == [
        bin(int.from_bytes((one ^ codes[0]).tobytes())).count("1") for one in codes[1:]
    ]


def test_many_are_answered_as_one_by_one(collection):
    queries = [*QUERIES, "zzzz", "", "+ship captain", '"moon star"', *[make_documents(300)[4].text] * 3]
    for options in ({}, {"explain": True}, {"where": {"parity": 1}}, {"ranking": "bm25"}, {"ranking": "cosine"}):
        many = collection.search_many(queries, 6, **options)
        single = [collection.search(query, 6, **options) for query in queries]
        assert many == single
        assert [hits.__getstate__() for hits in many] == [hits.__getstate__() for hits in single]


def test_signs(animals):
    assert keys(animals.search("cat fish")) == {"fish", "bird", "dog", "mixed"}
    assert keys(animals.search("+fish cat")) == {"fish", "mixed"}
    assert keys(animals.search("cat -fish")) == {"bird", "dog"}
    assert keys(animals.search("+cat +dog")) == {"dog"}
    assert keys(animals.search("cat -zebra")) == {"fish", "bird", "dog", "mixed"}
    assert animals.search("cat +zebra", syntax="strict") == []
    relaxed = animals.search("cat +zebra")
    assert (relaxed.reading, keys(relaxed)) == ("relaxed", {"fish", "bird", "dog", "mixed"})
    assert animals.search("cat +zebra").unknown == ("zebra",)
    the = [hit.key for hit in animals.search("+the cat")]  # "the" is required, and "cat" is preferred
    assert (set(the[:3]), set(the[3:])) == ({"fish", "bird", "dog"}, {"prey", "bone"})
    assert keys(animals.search("dogs -bone")) == {"dog"}
    assert keys(animals.search("cat -dog", where={"size": [18, 19, 27]})) == {"fish", "bird"}


def test_phrases(animals):
    assert keys(animals.search('"cat likes"')) == {"fish", "bird"}
    assert keys(animals.search('"likes fish"')) == {"fish"}
    assert keys(animals.search('"fish likes"')) == {"mixed"}
    assert keys(animals.search('"bird of prey" fish')) == {"bird"}
    assert keys(animals.search('cat -"likes fish"')) == {"bird", "dog", "mixed"}
    assert keys(animals.search('cat -"the"')) == {"mixed"}
    assert animals.search('"cat zebra"', syntax="strict") == []
    assert keys(animals.search('"likes the cat" dog', explain=True)) == {"dog"}  # a stop word counts
    assert keys(animals.search('"of the"')) == {"prey"}


def test_phrases_are_looked_for_beyond_the_first_candidates(tmp_path):
    # The one document with the phrase is the last by BM25, because it is long.
    texts = ["car red"] * 700 + ["red car " + "other words follow here " * 30]
    with Collection.create(tmp_path / "cars.sth", texts) as cars:
        hits = cars.search('"red car"')
        assert [hit.text for hit in hits] == texts[-1:]


def test_words_that_are_not_searched_for_are_named(animals):
    hits = animals.search("what of the unicorn, the CAT and the zebra eat")
    assert hits.unknown == ("unicorn", "zebra", "eat")
    assert {"the", "and"} <= set(hits.ignored)
    assert keys(hits) == {"fish", "bird", "dog", "mixed"}
    nothing = animals.search("unicorn")
    assert nothing == []
    assert nothing.unknown == ("unicorn",)
    assert animals.search("cat", ranking="cosine").unknown == ()
    assert animals.search("cat unicorn", ranking="cosine").unknown == ("unicorn",)


def test_a_word_of_deleted_documents_is_unknown(tmp_path):
    with Collection.create(tmp_path / "a.sth", [{"key": "a", "text": "zebra"}, {"key": "b", "text": "cat"}]) as some:
        assert keys(some.search("zebra")) == {"a"}
        some.delete("a")
        assert some.search("zebra").unknown == ("zebra",)
        some.add([{"key": "c", "text": "gnu cat"}])
        assert keys(some.search("gnu")) == {"c"}


def test_no_hit_has_the_score_zero(collection):
    for ranking in ("auto", "bm25", "cosine"):
        hits = collection.search("oven", 300, ranking=ranking)
        assert 0 < len(hits) < 300
        assert all(hit.score > 0 and "oven" in hit.text.split() for hit in hits)


def test_a_long_text_goes_to_the_codes(collection, monkeypatch):
    text = " ".join(document.text for document in make_documents(300)[:20])
    assert collection.search(text, 5).strategy == "postings"
    monkeypatch.setattr(answer, "MOST_ENTRIES", 100)
    hits = collection.search(text, 5)
    assert (hits.strategy, hits.ranking) == ("codes", "cosine")
    assert hits == collection.search(text, 5, ranking="cosine")
    assert collection.search("captain ship", 5).strategy == "postings"
    mixed = collection.search_many([text, "captain", text], 5)
    assert [one.strategy for one in mixed] == ["codes", "postings", "codes"]


def test_ten_thousand_words(collection, monkeypatch):
    text = " ".join(f"{document.text} other{place}" for place, document in enumerate(make_documents(10_000)))
    assert len(collection.search(text, 5)) == 5
    monkeypatch.setattr(answer, "MOST_TERMS", 10)
    assert collection.search(text, 5).strategy == "codes"
    with pytest.raises(ValueError, match=r"different words.*10 at most\. Shorten it, or search with ranking='cosine'"):
        collection.search(text, ranking="bm25")


def test_codes_are_used_where_they_are_asked_for(collection):
    for options, ranking in (
        ({"radius": 5}, "cosine"),
        ({"rerank": False}, "codes"),
        ({"ranking": "cosine"}, "cosine"),
    ):
        hits = collection.search('captain "ship', 5, **options)  # a quote means nothing here
        assert (hits.strategy, hits.ranking) == ("codes", ranking)
    assert collection.search(key="d1").strategy == "codes"


def test_bad_input(collection, tmp_path):
    for query, message in (('"captain', "not closed"), ("-captain", "only excluded words")):
        with pytest.raises(ValueError, match=message):
            collection.search(query, syntax="strict")
        good, bad = collection.search_many(["ship", query], syntax="strict")
        assert (good, good.error) == (collection.search("ship"), "")
        assert bad == []
        assert message in bad.error
        assert collection.search(query).error == ""
        assert keys(collection.search(query, syntax="plain")) == keys(collection.search("captain"))
    with pytest.raises(ValueError, match="ranking='best' is not known"):
        SearchOptions(ranking="best")
    for options in ({"radius": 3}, {"rerank": False}):
        with pytest.raises(ValueError, match="need codes"):
            SearchOptions(ranking="bm25", **options)
    with pytest.raises(ValueError, match="by key"):
        collection.search(key="d1", ranking="graph")
    with (
        Collection.create(tmp_path / "v.sth", [{"key": "a"}], vectors=[[1.0, 2.0]]) as vectors,
        pytest.raises(ValueError, match="a query is a vector"),
    ):
        vectors.search([1.0, 2.0], ranking="bm25")


def test_an_empty_collection(tmp_path):
    with Collection.create(tmp_path / "empty.sth", []) as empty:
        for query in ("cat", '"a cat"', "+cat dog", "cat -dog"):
            assert empty.search(query) == []


def test_hits(animals):
    hits = animals.search("cat fish", 2, explain=True)
    assert isinstance(hits, Hits)
    frame = hits.to_frame()
    assert frame["key"].tolist() == [hit.key for hit in hits]
    assert list(frame.columns)[:6] == ["key", "score", "distance", "label", "terms", "text"]
    assert Hits().to_frame().shape == (0, 6)
    assert hits[0].terms
    assert set(hits[0].terms) <= {"cat", "fish"}
    assert hits.suggestions == {}
