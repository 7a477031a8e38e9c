"""Words that are spelled alike, against the textbook's table of distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sthash import _core
from sthash.text.spelling import Spellings

WORDS = ["ball", "basketball", "football", "footfall", "foot", "goal", "naïve", "東京", "京都", "東北"]


def twin_distance(a, b):
    """Restricted Damerau-Levenshtein distance, entry by entry."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = a[i - 1] == b[j - 1]
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (not same))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


letters = st.text(st.sampled_from("abcé日𠀀"), max_size=9)


@given(letters, st.lists(letters, max_size=30), st.integers(0, 4), st.integers(1, 9), st.integers(1, 3))
def test_distances_and_order_equal_the_twins(word, vocabulary, distance, count, threads):
    frequencies = np.array([len(other) % 3 for other in vocabulary], dtype=np.int64)
    spelled = _core.SpelledWords(vocabulary, frequencies)
    places, distances = spelled.closest(word, distance=distance, count=count, threads=threads)
    expected = sorted((twin_distance(word, other), -frequencies[i], i) for i, other in enumerate(vocabulary))
    expected = [entry for entry in expected if entry[0] <= distance][:count]
    assert list(zip(distances.tolist(), places.tolist(), strict=True)) == [(entry[0], entry[2]) for entry in expected]


def test_long_words():
    word = "a" * 64
    spelled = _core.SpelledWords(["a" * 63, "a" * 66, "b" + "a" * 63, "b" * 64, "a" * 129], np.zeros(5, np.int64))
    places, distances = spelled.closest(word, distance=2, count=9, threads=1)
    assert (places.tolist(), distances.tolist()) == ([0, 2, 1], [1, 1, 2])


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("fotball", ["football", "footfall"]),
        ("ofotball", ["football", "footfall"]),
        ("gaol", ["goal"]),
        ("gola", ["goal"]),
        ("naive", ["naïve"]),
        ("go", []),  # too short to tell
        ("xxxxxx", []),
        ("", []),
        ("a" * 65, []),
        ("東", ["東京", "東北"]),  # a letter that is a part of words
        ("é", []),
        ("東亰", []),
    ],
)
def test_closest_words(word, expected):
    assert Spellings(WORDS).closest(word) == expected
    assert Spellings(tuple(WORDS)).closest(word) == expected


def test_the_frequent_word_comes_first():
    assert Spellings(["foot", "boat", "fort"], [1, 5, 3]).closest("foat") == ["boat", "fort", "foot"]
    assert Spellings(WORDS, np.arange(len(WORDS))).closest("東", 1) == ["東北"]
    assert Spellings(["foot", "boat"]).closest("foat", n=1) == ["foot"]


def test_bad_arguments():
    with pytest.raises(ValueError, match="n=0"):
        Spellings(WORDS).closest("word", 0)
    with pytest.raises(ValueError, match=r"one number per word.*10 words"):
        Spellings(WORDS, frequencies=[1])
    with pytest.raises(TypeError, match="must be a str"):
        Spellings(["fine", 3])
    with pytest.raises(ValueError, match="more than 64"):
        _core.SpelledWords([], np.zeros(0, np.int64)).closest("a" * 65, distance=1, count=1, threads=1)
    with pytest.raises(ValueError, match="one frequency"):
        _core.SpelledWords(["b"], np.zeros(0, np.int64))
