"""What people type: operators where they are meant, and words everywhere else."""

from __future__ import annotations

import numpy as np
import pytest

from sthash import Collection
from sthash.collection.search.phrases import Phrase, holds_phrases
from sthash.collection.search.query import (
    DEEPEST,
    TYPED_CHARACTERS,
    Every,
    Field,
    ParsedQuery,
    Prefix,
    Quoted,
    Some,
    Without,
    Word,
    parse_query,
)
from sthash.text.analyzer import WordAnalyzer


def is_field(name):
    return name in ("key", "label", "author")


@pytest.mark.parametrize(
    ("text", "ranked", "demand"),
    [
        ("+cat dog", "cat dog", Word("cat")),
        ("cat -dog", "cat", Without(Word("dog"))),
        ('"cat dog"', "cat dog", Quoted("cat dog")),
        ('"cat dog"~5 x', "cat dog x", Quoted("cat dog", 5)),
        ('x -"cat dog"', "x", Without(Quoted("cat dog"))),
        ('"a b" "c d"', "a b c d", Every((Quoted("a b"), Quoted("c d")))),
        ("cats AND dogs", "cats dogs", Every((Word("cats"), Word("dogs")))),
        ("cats OR dogs", "cats dogs", Some((Word("cats"), Word("dogs")))),
        ("cats NOT dogs", "cats", Without(Word("dogs"))),
        (
            "(cats OR dogs) AND food",
            "cats dogs food",
            Every((Some((Word("cats"), Word("dogs"))), Word("food"))),
        ),
        ("label:sport goal", "goal", Field("label", Word("sport"))),
        ('author:"van gogh"', "", Field("author", Quoted("van gogh"))),
        ("author:go*", "", Field("author", Prefix("go"))),
    ],
)
def test_operators(text, ranked, demand):
    for syntax in ("auto", "strict"):
        parsed = parse_query(text, syntax, is_field)
        assert (parsed.text, parsed.demand) == (ranked, demand)
    assert parse_query(text, "plain", is_field) == ParsedQuery(text)


def test_a_prefix_is_ranked():
    assert parse_query("cat elect*") == ParsedQuery("cat", None, (), ("elect",))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cat - dog",
        "x-ray C++ a+b",
        '5" pipe',
        'cat "dog',
        "-cat",
        "+ - --",
        "*",
        "ls *",
        "AND",
        "cats AND",
        "OR dogs",
        "(cats OR dogs",
        "cats) OR (dogs",
        "unknown:word",
        "TO BE OR NOT TO BE",
        "grep --version",
        "tar -xzf archive.tgz",
        "rm -rf build",
        "chmod +x run.sh",
        "find . -name core",
        "find -name core -delete",
        "ps aux | grep -v root",
        "gcc -Wall -O2 main.c",
        'git commit -m "first version of it"',
        'E: Package "foo bar" has no installation candidate',
        "bash: foo: command not found",
        "ls: cannot access '/nonexistent': No such file or directory",
        'Traceback (most recent call last): File "x.py", line 3',
        "TypeError: f() takes 1 positional argument but 2 were given",
        "printf(const char *format, ...)",
        "http://example.org/a-b?c=d",
        "/etc/apt/sources.list",
        "C:\\\\Windows -System",
        "SELECT * FROM t WHERE a AND b",
        "Alien (1979)",
        "+49 30 123456",
        'the cat in the house sat on a mat near "the old door" yesterday',
        'What is a "hash table"?',
        "Was ist eine „Hashtabelle“?",
        '¿Qué es un "árbol binario"?',
        "Qu'est-ce que « le hachage » ?",
        "Che cos'è un albero (binario)?",
        "Что такое «хеш-таблица»?",
        "什么是“哈希表”?",
        "ハッシュ表とは何ですか?",
        "해시 테이블이란 무엇입니까?",
        "ما هو جدول التجزئة؟",
        "O que é um índice (invertido)?",
        "two\nlines +cat",
        "+cat " + "x" * TYPED_CHARACTERS,
    ],
)
def test_what_is_pasted_has_no_operators(text):
    parsed = parse_query(text, is_field=is_field)
    assert (parsed.text, parsed.demand, parsed.prefixes) == (text, None, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('cat "dog', r"not closed\. Close it"),
        ("-cat", r"only excluded words\. Add"),
        ("+cat (dog", "not closed"),
        ("+cat dog)", "without"),
        ("cat AND", "AND without words"),
        ("cat AND AND dog", "AND without words"),
        ("cat OR", "OR without words"),
        ("OR cat", "OR without words"),
        ("cat NOT", "NOT without a word"),
        ("+cat " + "(" * (DEEPEST + 1) + "dog" + ")" * (DEEPEST + 1), "nested deeper"),
        ("cat " + "NOT " * 5000 + "dog", "nested deeper"),
        ('"' * 10_001, "not closed"),
    ],
)
def test_strict_names_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        parse_query(text, "strict")
    assert parse_query(text).demand is None


ANALYZER = WordAnalyzer(frozenset({"the", "of", "and"}), "porter")


@pytest.mark.parametrize(
    ("phrase", "text", "held"),
    [
        ("cats sit", "Two cat sits here", True),
        ("cat sit", "sit cat", False),
        ("cat sit", "cat and sit", False),
        ("birds of prey", "a bird of prey!", True),
        ("birds of prey", "bird near prey", False),
        ("birds of prey", "bird prey", False),
        ("the cat the", "cat", False),
        ("the", "cat", False),
        ("the", "the cat", True),
        ("cats of the", "cat of the", True),
        ("cat cat", "cat", False),
        ("cat", "", False),
        ("", "", True),
        ("cat dog", "the cat dog", True),
    ],
)
def test_phrases(phrase, text, held):
    both = [Phrase(phrase, ANALYZER), Phrase("zebra", ANALYZER)]
    answer = holds_phrases([text, "zebra", text], both, ANALYZER)
    assert answer[:, 0].tolist() == [held, not both[0].terms, held]
    assert answer[:, 1].tolist() == [False, True, False]


def test_a_phrase_does_not_reach_into_the_next_text():
    held = holds_phrases(["the cat", "dog"], [Phrase("cat dog", ANALYZER)], ANALYZER)
    assert not held.any()


def test_no_texts_and_no_phrases():
    assert holds_phrases([], [Phrase("cat", ANALYZER)], ANALYZER).shape == (0, 1)
    assert holds_phrases(["cat"], [], ANALYZER).shape == (1, 0)
    assert holds_phrases(["cat"], [], ANALYZER).all(axis=1).dtype == np.bool_


@pytest.mark.parametrize(
    ("text", "held"), [("cat big dog", True), ("dog and a cat", True), ("cat a b c d dog", False), ("cat cat", False)]
)
def test_words_near_each_other(text, held):
    assert holds_phrases([text], [Phrase("cat dog", ANALYZER, 2)], ANALYZER).tolist() == [[held]]


@pytest.fixture(scope="module")
def guides():
    texts = {
        "plain": "the cafe is open",
        "accent": "the café is open today",
        "who": "who goes there",
        "setup": "an installation guide",
        "author": "authenticated users install it",
    }
    with Collection.create([{"key": key, "text": text} for key, text in texts.items()]) as collection:
        yield collection


@pytest.mark.parametrize(
    ("query", "found"),
    [
        # A stem may be shorter than the beginning that was typed: instal, authent.
        ("installat*", {"setup"}),
        ("authenticat*", {"author"}),
        ("instal*", {"setup", "author"}),
        # Accents hide nothing from what is required.
        ("+cafe", {"plain", "accent"}),
        ("+café", {"plain", "accent"}),
        ('"cafe is open"', {"plain", "accent"}),
        ('"café is open"', {"plain", "accent"}),
        ('"open cafe"~2', {"plain", "accent"}),
        # Stop words that are required, or one of several that may do.
        ("+who open", {"who"}),
        ("guide OR who", {"setup", "who"}),
        ("who AND goes", {"who"}),
        ("open AND NOT today", {"plain"}),
    ],
)
def test_every_document_that_meets_a_demand_is_found(guides, query, found):
    hits = guides.search(query, snippet=50)
    assert ({hit.key for hit in hits}, hits.total, hits.reading) == (found, len(found), "strict")
    assert all(hit.snippet.spans for hit in hits)


def test_documents_that_meet_a_demand_come_page_by_page_and_sorted(guides):
    pages = [hit.key for offset in range(3) for hit in guides.search("guide OR who OR open", k=2, offset=2 * offset)]
    assert (len(pages), set(pages)) == (4, {"setup", "who", "plain", "accent"})
    assert [hit.key for hit in guides.search("guide OR who", sort="-key")] == ["who", "setup"]


def test_a_slop_is_no_word(guides):
    hits = guides.search('"users open"~3')
    assert (hits.reading, hits.unknown) == ("relaxed", ())
