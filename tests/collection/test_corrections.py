"""Unknown words of a query: what is suggested, and what is searched for in their place."""

import numpy as np
import pytest

from sthash import Collection, Learning
from sthash.collection.search import corrections
from sthash.collection.search.corrections import replace_words
from sthash.text.spelling import Spellings

TEXTS = [
    "Happiness is a warm puppy",
    "the commands of a shell",
    "a command, and more commands",
    "football and footballs",
    "ein schönes Café",
    "東京タワー",
]


@pytest.fixture
def collection(tmp_path):
    with Collection.create(tmp_path / "some.sth", TEXTS) as collection:
        yield collection


@pytest.mark.parametrize(
    ("query", "suggestions"),
    [
        ("comands", {"comands": ("commands",)}),  # the word of the documents, not its stem
        ("hapiness of a pupy", {"hapiness": ("happiness",), "pupy": ("puppy",)}),
        ("FOTBALL", {"fotball": ("football",)}),
        ("x", {}),
        ("qqqqqqqq command", {}),
        ("the of", {}),
        ("", {}),
        ("東", {"東": ("東京",)}),
    ],
)
def test_suggestions(collection, query, suggestions):
    hits = collection.search(query, explain=True, correct=False)
    assert hits.suggestions == suggestions
    assert hits.corrected == {}
    assert collection.search(query, correct=False).suggestions == {}
    assert collection.search_many([query], explain=True)[0].suggestions == suggestions


def test_what_is_searched_for(collection):
    hits = collection.search('+Pupy "warm pupy" qqqqqqqq', correct=True)
    assert [hit.key for hit in hits] == ["0"]
    assert hits.corrected == {"pupy": "puppy"}
    assert hits.unknown == ("pupy", "qqqqqqqq")
    assert collection.search('"commands pupy"', correct=True) == []
    several = collection.search_many(["comand", "puppy", "pupy", "qqqqqqqq"], correct=True)
    assert [[hit.key for hit in hits] for hits in several] == [["2", "1"], ["0"], ["0"], []]
    assert [hits.corrected for hits in several] == [{"comand": "command"}, {}, {"pupy": "puppy"}, {}]
    for ranking in ("bm25", "cosine"):
        assert collection.search("pupy", correct=True, ranking=ranking)[0].key == "0"
    assert collection.search("pupy", correct=True, radius=64)[0].key == "0"


def test_words_come_and_go(collection):
    assert collection.search("zebar", explain=True).suggestions == {}
    collection.add(["a zebra"])
    assert collection.search("zebar", explain=True).suggestions == {"zebar": ("zebra",)}
    assert collection.search("zebar", correct=True)[0].text == "a zebra"
    collection.delete("6")
    assert collection.search("zebra").unknown == ("zebra",)
    assert collection.search("zebar", explain=True).suggestions == {}


def test_the_work_is_bounded(collection, monkeypatch):
    asked = []
    real = Spellings.closest
    monkeypatch.setattr(Spellings, "closest", lambda *given, **options: asked.append(1) or real(*given, **options))
    words = " ".join(f"comand{letter}" for letter in "abcdefghijklmnopqrst")
    hits = collection.search(words, explain=True)
    assert len(hits.unknown) == 20
    # For stems, and for the spellings of each.
    most = corrections.MOST_UNKNOWN * (1 + corrections.MOST_SUGGESTIONS)
    assert corrections.MOST_UNKNOWN < len(asked) <= most
    asked.clear()
    collection.search("comand", correct=False)
    assert not asked


def test_documents_that_are_too_long_to_read(tmp_path, monkeypatch):
    monkeypatch.setattr(corrections, "MOST_CHARACTERS", 10)
    with Collection.create(tmp_path / "a.sth", ["x" * 30 + " zebra commands happiness"]) as collection:
        suggestions = collection.search("zebar comand hapiness", explain=True).suggestions
        # A stem is shown if it is found as it is.
        assert suggestions == {"zebar": ("zebra",), "comand": ("command",), "hapiness": ("happi",)}
        assert collection.search("hapiness", correct=True)


def test_vectors_have_no_words(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(30, 4))
    with Collection.create(
        tmp_path / "a.sth", vectors=vectors, learning=Learning(n_bits=4, n_neighbors=5)
    ) as collection:
        hits = collection.search(vectors[0], correct=True, explain=True)
        assert hits[0].key == "0"
        assert (hits.ignored, hits.unknown, hits.suggestions) == ((), (), {})


@pytest.mark.parametrize(
    ("text", "by", "expected"),
    [
        ("Dgo dgos dgo-food", {"dgo": "dog"}, "dog dgos dog-food"),
        ("a.b (a) aa", {"a": "x"}, "x.b (x) aa"),
        ('"dgo" +dgo', {"dgo": r"\1"}, r'"\1" +\1'),
        ("nothing", {}, "nothing"),
    ],
)
def test_words_are_replaced_whole(text, by, expected):
    assert replace_words(text, by) == expected


def test_a_correction_is_the_form_that_is_spelled_most_like_the_typed_word():
    with Collection.create(["an integral, the integral", "one integrator"]) as collection:
        assert collection.search("integrater").corrected == {"integrater": "integrator"}
