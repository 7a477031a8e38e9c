"""``sth search``: hits, and what it says about the words of a query."""

import json

import pytest

from sthash import Collection
from support.corpus import make_documents

ABOUT = ("strategy", "ranking", "ignored", "unknown", "suggestions", "corrected", "reading", "total", "facets")


def lines(result):
    return [json.loads(line) for line in result.out.splitlines()]


def test_build_and_search(sth, built):
    hits = lines(sth("search", built, "kitten claw", "-k", 5, "--json"))
    assert len(hits) == 5
    assert set(hits[0]) == {
        "key",
        "score",
        "distance",
        "label",
        "terms",
        "metadata",
        "text",
        "snippet",
        "copies",
        *ABOUT,
    }
    assert all(hit["label"] == "cats" for hit in hits)
    assert hits[0]["metadata"]["number"] == int(hits[0]["key"][1:])
    table = sth("search", built, "kitten claw", "-k", 5).out
    assert all(hit["key"] in table for hit in hits)
    assert max(map(len, table.splitlines())) <= 80
    assert table.splitlines()[-1] == f"5 of {hits[0]['total']} matches"
    assert hits[0]["total"] == len(lines(sth("search", built, "kitten claw", "-k", 999, "--json"))) > 5
    page = sth("search", built, "kitten claw", "-k", 5, "--offset", 5).out
    assert page.splitlines()[-1] == f"6 to 10 of {hits[0]['total']} matches"
    beyond = sth("search", built, "kitten claw", "--offset", 9999)
    assert (beyond.out, beyond.err) == ("", f"no more hits: only {hits[0]['total']} in all\n")
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
        "facets": {},
        "total": len(lines(sth("search", built, "kitten", "-k", 999, "--json"))),
    }


@pytest.mark.parametrize(
    ("options", "said", "score"),
    [
        ((), "found in the posting lists, ranked by BM25 and the neighbors of a hit\n", "score"),
        (("--ranking", "bm25"), "found in the posting lists, ranked by BM25\n", "score"),
        (("--ranking", "cosine"), "found in the nearest codes, ranked by cosine\n", "cosine"),
        (("--no-rerank",), "found in the nearest codes, ranked by the distances of the codes\n", "score"),
    ],
)
def test_how_hits_are_found_and_ranked(sth, built, options, said, score):
    found = sth("search", built, "kitten", "-k", 1, "--explain", *options)
    assert found.err == said
    (hit,) = lines(sth("search", built, "kitten", "-k", 1, "--json", *options))
    facts = f"   {hit['key']} · {hit['label']} · {score} {hit['score']:.3f}"
    bits = f"{hit['distance']} bit{'' if hit['distance'] == 1 else 's'}"
    matched = [" · matched: kitten"] if hit["terms"] else [""]
    assert f"{facts} · {bits}{matched[0]}" in found.out.splitlines()
    plain = sth("search", built, "kitten", "-k", 1, *options)
    assert facts in plain.out.splitlines()
    assert plain.err == ""


def test_titles_and_passages_come_first_and_keys_are_whole(sth, tmp_path):
    key = "a/very/long/path/" * 9 + "end.txt"
    text = "Nothing here. " * 40 + "A ZEBRA\nand its\x1b[31m stripes.   " + "Nothing there. " * 40
    (tmp_path / "z.jsonl").write_text(
        json.dumps({"key": key, "text": text, "title": "On\nstripes"}) + "\n" + json.dumps({"key": "b", "text": ""})
    )
    sth("build", "z.sth", "z.jsonl")
    title, *passage, facts, total = sth("search", "z.sth", "zebra", "--snippet", 60).out.splitlines()
    assert title == "1. On stripes"
    assert "ZEBRA and its\N{REPLACEMENT CHARACTER}[31m stripes." in " ".join(line.strip() for line in passage)
    assert (passage[0][:5], passage[-1][-2:]) == ("   … ", " …")
    assert facts.startswith(f"   {key} · score ")
    assert total == "1 match"
    assert sth("similar", "z.sth", key).err == "nothing found\n"


def test_a_ranking_that_there_is_not(sth, built):
    assert "auto, graph, bm25, cosine" in sth("search", built, "kitten", "--ranking", "best", status=1).err
    assert "radius" in sth("search", built, "kitten", "--ranking", "bm25", "--radius", 3, status=1).err


def test_matches_are_sorted_counted_and_collapsed(sth, built):
    found = lines(sth("search", built, "kitten", "--sort", "-number", "-k", 3, "--facets", "label", "--json"))
    numbers = [hit["metadata"]["number"] for hit in lines(sth("search", built, "kitten", "-k", 999, "--json"))]
    assert [hit["metadata"]["number"] for hit in found] == sorted(numbers, reverse=True)[:3]
    assert sum(entry["count"] for entry in found[0]["facets"]["label"]) == found[0]["total"] == len(numbers)
    entry = found[0]["facets"]["label"][0]
    shown = sth("search", built, "kitten", "--facets", "label", "--facets", "key").out.splitlines()
    assert shown[-2].startswith(f"label: {entry['value']} ({entry['count']})")
    assert shown[-1].startswith("key: d")
    assert (
        "sort has the field 'nothing', which no document has"
        in sth("search", built, "kitten", "--sort", "nothing", status=1).err
    )
    sth("build", "twice.sth", "-", stdin='{"text": "one ship at sea"}\n{"text": "one ship at sea"}\n')
    assert "0 · score " in sth("search", "twice.sth", "ship", "--collapse").out
    assert sth("search", "twice.sth", "ship", "--collapse").out.splitlines()[-2].endswith(" · 1 near-duplicate")


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
    (tmp_path / "de.lines").write_text("\n".join([sentence, "Die Häuser in der Straße."] * 12))
    warned = sth("build", "plain.sth", "de.lines").err
    assert warned == (
        "sth: most of the text seems to be German, but stems and stop words are for English. Build with --language "
        "german.\nplain.sth: 24 documents\n"
    )
    assert sth("build", "de.sth", "de.lines", "--language", "german", "--fold-accents").err == "de.sth: 24 documents\n"
    found = sth("search", "de.sth", "die Hauser", "-k", 30, "--json")
    assert found.err == "ignored: die\n"
    assert len(lines(found)) == 24
    sth("relearn", "de.sth")
    (facts,) = lines(sth("info", "de.sth", "--json"))
    assert (facts["language"], facts["stemmer"], facts["fold_accents"]) == ("german", "german", True)
    assert "german" in sth("build", "x.sth", "de.lines", "--language", "klingon", status=1).err
    with Collection.open("de.sth") as collection:
        assert collection.search("und").ignored == ("und",)
