"""What people type: signs and quotes."""

from __future__ import annotations

import numpy as np
import pytest

from sthash.collection.search.phrases import Phrase, holds_phrases
from sthash.collection.search.query import TYPED_CHARACTERS, ParsedQuery, parse_query
from sthash.text.analyzer import WordAnalyzer


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("", ParsedQuery("")),
        ("cat dog", ParsedQuery("cat dog")),
        ("+cat dog", ParsedQuery("cat dog", required=("cat",))),
        ("cat -dog", ParsedQuery("cat", excluded=("dog",))),
        ('"cat dog"', ParsedQuery("cat dog", phrases=("cat dog",))),
        ('+"cat dog" x', ParsedQuery("cat dog x", phrases=("cat dog",))),
        ('x -"cat dog"', ParsedQuery("x", excluded_phrases=("cat dog",))),
        ('"a b" "c d"', ParsedQuery("a b c d", phrases=("a b", "c d"))),
        ("x-ray C++ a+b", ParsedQuery("x-ray C++ a+b")),
        ("cat - dog", ParsedQuery("cat - dog")),
        ("grep --version", ParsedQuery("grep --version")),
        ("+ - --", ParsedQuery("+ - --")),
        ('5" pipe', ParsedQuery('5" pipe')),
        ('cat "" dog', ParsedQuery("cat dog")),
        ('"a"b', ParsedQuery("a b", phrases=("a",))),
        ("-", ParsedQuery("-")),
    ],
)
def test_parts(text, parsed):
    assert parse_query(text) == parsed
    assert parsed.plain == (parsed == ParsedQuery(parsed.text))


@pytest.mark.parametrize("text", ['"', 'cat "dog', '-"cat', 'a "b" "c'])
def test_a_quote_that_is_not_closed(text):
    with pytest.raises(ValueError, match=r"not closed\. Close it"):
        parse_query(text)


@pytest.mark.parametrize("text", ["-cat", '-"cat dog"', '-cat -"a b" ""'])
def test_only_excluded_words(text):
    with pytest.raises(ValueError, match=r"only excluded words\. Add"):
        parse_query(text)


@pytest.mark.parametrize("text", ['two\nlines "', '-cat "' + "x" * TYPED_CHARACTERS])
def test_a_document_is_not_parsed(text):
    assert parse_query(text) == ParsedQuery(text)


ANALYZER = WordAnalyzer(frozenset({"the", "of", "and"}), "porter")


@pytest.mark.parametrize(
    ("phrase", "text", "held"),
    [
        ("cats sit", "Two cat sits here", True),
        ("cat sit", "sit cat", False),
        ("cat sit", "cat and sit", False),
        ("birds of prey", "a bird of prey!", True),
        ("birds of prey", "bird near prey", True),
        ("birds of prey", "bird prey", False),
        ("the cat the", "cat", True),
        ("the", "cat", True),
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
