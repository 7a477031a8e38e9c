"""Snippets around the words of a query, and pages of hits."""

import pytest

from sthash import Collection
from sthash.collection.search.snippets import Highlighter
from sthash.text.analyzer import WordAnalyzer

ENGLISH = WordAnalyzer(frozenset({"the", "of"}), "porter")


def marked(query, text, size=200):
    snippet = Highlighter(query, ENGLISH).snippet(text, size)
    assert text[snippet.start : snippet.start + len(snippet.text)] == snippet.text
    return [snippet.text[start:end] for start, end in snippet.spans]


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("cat", "The Cats, the cat and a category", ["Cats", "cat"]),
        ("of the", "The end of it", ["The", "of"]),
        ("the cat", "the cat", ["cat"]),
        ("café", "Un café, s'il vous plaît", ["café"]),
        ("", "some text", []),
        ("dog", "", []),
    ],
)
def test_whole_words_are_marked(query, text, words):
    assert marked(query, text) == words


def test_the_passage_with_most_words_is_shown():
    text = "cat " + "word " * 100 + "a cat and a dog " + "word " * 100
    assert marked("cat dog", text, 40) == ["cat", "dog"]


def test_pages_and_snippets_of_a_collection(tmp_path):
    texts = [f"{animal} number {n}" for n in range(6) for animal in ("cat", "dog", "rabbit")]
    with Collection.create(tmp_path / "animals.sth", texts) as animals:
        whole = animals.search("cats", k=6, ranking="bm25")
        page = animals.search("cats", k=3, offset=3, ranking="bm25", snippet=20)
        assert [hit.key for hit in page] == [hit.key for hit in whole[3:]]
        assert [hit.snippet.spans for hit in page] == [((0, 3),)] * 3
        assert whole[0].snippet is None
        assert animals.search("6", snippet=5)._repr_html_() == "<p>unknown: 6</p><p>nothing found</p>"
        assert ">cat</td>" in animals.search("cat", k=1, snippet=4)._repr_html_()
        assert animals.search("cats", offset=99) == []
        like = animals.search(key="0", k=4)
        assert [hit.key for hit in animals.search(key="0", k=2, offset=2)] == [hit.key for hit in like[2:]]
        for wrong in ({"offset": -1}, {"snippet": -5}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                animals.search("cats", **wrong)


@pytest.mark.parametrize(
    ("query", "prefixes", "phrases", "text", "words"),
    [
        ("is_dir", (), (), "call os.path.is_dir, or IS_DIR()", ["is_dir", "IS_DIR"]),
        ("os.path.join", (), (), "see os.path.join; a path", ["os.path.join", "path"]),
        ("C++", (), (), "in C++ and C", ["C++", "C"]),
        ("until complete", (), (), "loop.RunUntilComplete()", ["RunUntilComplete"]),
        ("cafe", (), (), "Un café", ["café"]),
        ("", ("instal",), (), "Installed by an installer", ["Installed", "installer"]),
        ("end", (), ("end of the",), "The end of the day, of course", ["end", "of", "the"]),
        ("a.b.c.d" * 20, (), (), "x y", []),
    ],
)
def test_what_is_marked_beside_words(query, prefixes, phrases, text, words):
    snippet = Highlighter(query, ENGLISH, prefixes, phrases).snippet(text, 200)
    assert [snippet.text[start:end] for start, end in snippet.spans] == words
