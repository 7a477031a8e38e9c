"""Hits in notebooks and data frames: nothing of a document runs, and no field is lost."""

from html.parser import HTMLParser

import pytest

from sthash import Collection, Hit, Learning
from sthash.collection import Hits, facts_html, hits_frame, hits_html, matched_words
from support.corpus import make_documents

EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    def __init__(self, content):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts.append(data)


def test_everything_is_escaped():
    hits = [Hit(EVIL, EVIL * 10, EVIL, {EVIL: EVIL}, 0.5, 3, (EVIL,)), Hit("\ud800", "\ud800", None, {}, 1.0)]
    page = Tags(hits_html(hits))
    assert page.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes == {"style"}
    assert EVIL in page.texts
    hits_html(hits).encode("utf-8")
    assert Tags(facts_html({EVIL: EVIL, "documents": 1200})).tags == {"table", "tbody", "tr", "td"}
    assert "1,200" in facts_html({"documents": 1200})
    assert hits_html([]) == "<p>nothing found</p>"


def test_collections_show_themselves(tmp_path):
    with Collection.create(
        tmp_path / "c.sth", make_documents(40), learning=Learning(n_bits=8, n_neighbors=5)
    ) as collection:
        assert ">40<" in collection._repr_html_()
        assert "c.sth" in collection._repr_html_()


def test_frames():
    pytest.importorskip("pandas", reason="pandas is not installed")
    hits = [
        Hit("a", "one", "x", {"year": 2010, "key": 5}, 0.5, 3, ("one",)),
        Hit("b", "two", None, {"metadata.z": True}, 0.25, 4),
    ]
    frame = hits_frame(hits)
    assert frame.columns.tolist() == [
        *("key", "score", "distance", "label", "terms", "text"),
        *("year", "metadata.key", "metadata.metadata.z"),
    ]
    assert frame["key"].tolist() == ["a", "b"]
    assert frame["year"].tolist()[0] == 2010
    assert hits_frame([]).columns.tolist() == ["key", "score", "distance", "label", "terms", "text"]


@pytest.mark.parametrize(
    ("text", "term", "word"),
    [
        ("Compressed data", "compress", "compressed"),
        ("Happy days", "happi", "happy"),
        ("category, cats", "cat", "cats"),
        ("a car", "cat", "cat"),
        ("東京都の天気", "京都", "京都"),
        ("", "x", "x"),
    ],
)
def test_words_of_stems(text, term, word):
    assert matched_words(Hit("a", text, None, {}, 1.0, 0, (term,))) == (word,)


def test_words_of_the_query_are_shown():
    hits = Hits(
        ignored=["the"],
        unknown=["dgo", "<b>", "kiten"],
        suggestions={"dgo": ["dog", "doge"]},
        corrected={"kiten": "kitten"},
    )
    shown = hits._repr_html_()
    assert "<p>ignored: the</p>" in shown
    assert "<p>unknown: dgo (did you mean: dog, doge?), &lt;b&gt;, kiten (searched for: kitten)</p>" in shown
    assert shown.endswith("<p>nothing found</p>")
