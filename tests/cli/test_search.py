"""``sth search``: hits, and what it says about the words of a query."""

import json

import pytest

from sthash import Collection
from support.corpus import make_documents

ABOUT = ("reading", "strategy", "ranking", "ignored", "unknown", "suggestions", "corrected")


def lines(result):
    return [json.loads(line) for line in result.out.splitlines()]


def test_build_and_search(sth, built):
    hits = lines(sth("search", built, "kitten claw", "-k", 5, "--json"))
    assert len(hits) == 5
    assert set(hits[0]) == {"key", "score", "distance", "label", "terms", "metadata", "text", "snippet", *ABOUT}
    assert all(hit["label"] == "cats" for hit in hits)
    assert hits[0]["metadata"]["number"] == int(hits[0]["key"][1:])
    table = sth("search", built, "kitten claw", "-k", 5).out
    assert all(hit["key"] in table for hit in hits)
    assert max(map(len, table.splitlines())) <= 80
    assert lines(sth("search", built, "-", "-k", 5, "--json", stdin="kitten claw")) == hits
    text = " ".join(make_documents(8)[number].text for number in (3, 7))
    where = lines(sth("search", built, text, "--where", "number=3", "--where", "number=7", "--json"))
    assert {hit["key"] for hit in where} == {"d3", "d7"}
    five = " ".join(document.text for document in make_documents(8)[3:])
    where = lines(sth("search", built, five, "--where", "number>=3", "--where", "number<=7", "--json"))
    assert {hit["key"] for hit in where} == {"d3", "d4", "d5", "d6", "d7"}
    where = lines(sth("search", built, "kitten", "--where", "label in cats, ships", "--where", "key!=d1", "--json"))
    assert {hit["label"] for hit in where} <= {"cats", "ships"}
    by_code = lines(sth("search", built, "kitten", "--no-rerank", "--radius", 4, "--json"))
    assert [hit["distance"] for hit in by_code] == sorted(hit["distance"] for hit in by_code)
    assert "d8" not in {hit["key"] for hit in lines(sth("similar", built, "d8", "--json"))}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("the of", "ignored: the, of\nnothing found: all words of the query are too common to search for\n"),
        ("xyzzy", "unknown: xyzzy\nnothing found: no document has a word of the query\n"),
        (
            "a kiten",
            "ignored: a\nunknown: kiten (did you mean: kitten?)\nnothing found: no document has a word of the query; "
            "--correct searches for the words that are close to them\n",
        ),
        ("the kitten", "ignored: the\n"),
        ("kitten", ""),
        ("", "nothing found: the query has no words\n"),
    ],
)
def test_the_words_of_a_query(sth, built, query, said):
    found = sth("search", built, query)
    assert found.err == said
    assert bool(found.out) == ("kitten" in query)


def test_corrected_words(sth, built):
    right = sth("search", built, "kitten zzzz", "--json")
    found = sth("search", built, "Kiten zzzz", "--correct", "--json")
    assert found.err == "unknown: kiten (searched for: kitten)\nunknown: zzzz\n"
    assert [hit["key"] for hit in lines(found)] == [hit["key"] for hit in lines(right)] != []
    about = {name: lines(found)[0][name] for name in ABOUT}
    assert about == {
        "reading": "plain",
        "strategy": "postings",
        "ranking": "graph",
        "ignored": [],
        "unknown": ["kiten", "zzzz"],
        "suggestions": {"kiten": ["kitten"]},
        "corrected": {"kiten": "kitten"},
    }


@pytest.mark.parametrize(
    ("options", "said", "heading"),
    [
        ((), "found in the posting lists, ranked by BM25 and the neighbors of a hit\n", "score"),
        (("--ranking", "bm25"), "found in the posting lists, ranked by BM25\n", "score"),
        (("--ranking", "cosine"), "found in the nearest codes, ranked by cosine\n", "cosine"),
        (("--no-rerank",), "found in the nearest codes, ranked by the distances of the codes\n", "score"),
    ],
)
def test_how_hits_are_found_and_ranked(sth, built, options, said, heading):
    found = sth("search", built, "kitten", "--explain", *options)
    assert found.err == said
    assert found.out.split()[0] == heading


def test_a_ranking_that_there_is_not(sth, built):
    assert "auto, graph, bm25, cosine" in sth("search", built, "kitten", "--ranking", "best", status=1).err
    assert "radius" in sth("search", built, "kitten", "--ranking", "bm25", "--radius", 3, status=1).err


def test_a_word_to_exclude_looks_like_an_option(sth, built):
    assert "sth search COLLECTION -- cat -dog" in sth("search", built, "kitten", "-milk", status=2).err
    hits = lines(sth("search", built, "--json", "-k", 99, "--", "kitten", "-milk"))
    assert hits
    assert not any("milk" in hit["text"] for hit in hits)


def test_words_that_would_steer_the_terminal(sth, built):
    found = sth("search", built, "\x1b[31mkitten \u202eevil")
    assert "\x1b" not in found.err
    assert "\u202e" not in found.err


def test_classify_says_that_nothing_is_known(sth, built):
    assert sth("classify", built, "the zzzz").err == "no label: no document has a word of the text\n"
    (found,) = lines(sth("classify", built, "the zzzz", "--json"))
    assert (found["label"], found["voters"], found["known"]) == (None, 0, False)
    assert (found["ignored"], found["unknown"]) == (["the"], ["zzzz"])


@pytest.mark.filterwarnings("default")
def test_a_language(sth, tmp_path):
    sentence = "Der Hund und die Katze sind in dem Haus, und sie haben nichts zu essen."
    (tmp_path / "de.txt").write_text("\n".join([sentence, "Die Häuser in der Straße."] * 12))
    warned = sth("build", "plain.sth", "de.txt").err
    assert warned == (
        "sth: most of the text seems to be German, but stems and stop words are for English. Build with --language "
        "german.\nplain.sth: 24 documents\n"
    )
    assert sth("build", "de.sth", "de.txt", "--language", "german", "--fold-accents").err == "de.sth: 24 documents\n"
    found = sth("search", "de.sth", "die Hauser", "-k", 30, "--json")
    assert found.err == "ignored: die\n"
    assert len(lines(found)) == 24
    sth("relearn", "de.sth")
    (facts,) = lines(sth("info", "de.sth", "--json"))
    assert (facts["language"], facts["stemmer"], facts["fold_accents"]) == ("german", "german", True)
    assert "german" in sth("build", "x.sth", "de.txt", "--language", "klingon", status=1).err
    with Collection.open("de.sth") as collection:
        assert collection.search("und").ignored == ("und",)
