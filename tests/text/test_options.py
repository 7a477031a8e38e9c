"""The options of texts: what they stand for, and what is wrong with them."""

import pickle

import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from sthash.text import TextOptions
from sthash.text.analyzer import WordAnalyzer
from sthash.text.languages import function_words, language_stop_words


def test_the_defaults_leave_function_words_out():
    analyzer = TextOptions().analyzer()
    assert analyzer == WordAnalyzer(function_words("english"), "english")
    terms, counted = analyzer.terms(["the", "systems"])
    assert (terms, counted.tolist()) == (["the", "system"], [False, True])


def test_options_are_one_value():
    options = TextOptions("german", True, ["Foo", "bar", "foo"])
    assert options.stop_words == {"foo", "bar"}
    assert options == TextOptions("german", True, ("bar", "foo")) != TextOptions("german", True)
    assert len({options, TextOptions("german", True, {"foo", "bar"})}) == 1
    assert pickle.loads(pickle.dumps(options)) == options
    with pytest.raises(AttributeError):
        options.language = "english"


@pytest.mark.parametrize(
    "options",
    [
        TextOptions(),
        TextOptions("french", fold_accents=True),
        TextOptions(stop_words=None, stemmer=None),
        TextOptions(stop_words=["cats"], stemmer="english"),
        TextOptions("none", stop_words="auto"),
    ],
)
def test_a_vectorizer_finds_the_same_terms(options):
    text = "The cats' Cafés, running 東京都"
    vectorizer = clone(options.vectorizer(min_df=1)).fit([text])
    analyzer = options.analyzer()
    stems, counted = analyzer.terms(analyzer.words(text))
    assert set(vectorizer.vocabulary_) == {stem for stem, wanted in zip(stems, counted, strict=True) if wanted}


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"language": "klingon"}, ValueError, "klingon.*german"),
        ({"language": None}, ValueError, "language=None"),
        ({"fold_accents": "yes"}, TypeError, "fold_accents='yes' must be True or False"),
        ({"stop_words": "klingon"}, ValueError, "'function words'"),
        ({"stop_words": 5}, TypeError, "stop_words=5 must be a name"),
        ({"stop_words": ["a", 5]}, TypeError, "str only, got 5"),
        ({"stemmer": "klingon"}, ValueError, "no Snowball algorithm"),
    ],
)
def test_wrong_options_are_refused(options, error, why):
    with pytest.raises(error, match=why):
        TextOptions(**options)


def test_unknown_settings_of_a_vectorizer_are_refused():
    with pytest.raises(TypeError, match="most_df"):
        TextOptions().vectorizer(most_df=1)


def test_english_has_the_stop_words_of_scikit_learn():
    assert language_stop_words("english") == ENGLISH_STOP_WORDS
