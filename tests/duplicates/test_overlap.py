"""Test items in training data, compared with a slow definition."""

import random
import re
from functools import cache

import pytest

from sthash import Document
from sthash.duplicates import leaks, overlap


def words_of(text):
    return re.findall(r"[^\W_]+", text.lower())


@cache
def runs(text, size):
    words = words_of(text)
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def slow(train, test, size):
    """The best share of each item, the first text that has it, and the share that all texts together have."""
    found = []
    for item in test:
        words = words_of(item)
        length = min(size, len(words))
        own = runs(item, length) if words else set()
        others = [runs(text, length) for text in train]
        if length < min(size, leaks.LEAST_WORDS):
            whole = [len(words_of(text)) == length for text in train]
            others = [other if is_whole else set() for is_whole, other in zip(whole, others, strict=True)]
        shares = [len(own & other) / max(len(own), 1) for other in others]
        best = max(shares, default=0)
        found.append((best, shares.index(best) if best else None, len(own & set().union(*others)) / max(len(own), 1)))
    return found


def made(count, seed):
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(30)]
    base = [random.Random(own).choices(words, k=30) for own in range(30)]
    texts = []
    for _ in range(count):
        start = rng.randrange(25)
        own = rng.choice(base)[start : start + rng.randint(0, 20)] + rng.choices(words, k=rng.randint(0, 8))
        texts.append(" ".join(own).upper() if rng.random() < 0.2 else ", ".join(own))
    return texts


@pytest.mark.parametrize(("size", "threshold"), [(8, 0.5), (3, 0.2), (5, 1.0)])
@pytest.mark.parametrize("at_once", [leaks.AT_ONCE, 50])
def test_the_same_as_the_slow_definition(monkeypatch, size, threshold, at_once):
    monkeypatch.setattr(leaks, "AT_ONCE", at_once)
    train, test = made(4200, 1), [*made(60, 2), "", "w1", "w2 w3"]
    train += ["w1", "w3 w2"]
    expected = slow(train, test, size)
    documents = (Document(None, text) for text in train), (Document(None, text) for text in test)
    with overlap(*documents, threshold, shingle_words=size) as found:
        assert found.n_train == len(train)
        assert found.anywhere.tolist() == pytest.approx([row[2] for row in expected])
        assert found.scores.tolist() == pytest.approx([row[0] for row in expected])
        found_leaks = list(found)
    wanted = [(place, row[1]) for place, row in enumerate(expected) if row[0] >= threshold]
    assert [leak.position for leak in found_leaks] == [place for place, _ in wanted]
    assert [leak.source.text for leak in found_leaks] == [train[place] for _, place in wanted]
    assert len(wanted) > 3


def test_copies_of_a_template_are_looked_at_once():
    line = "this is the beginning of a template that very many texts share"
    train = (Document(None, f"{line} x{number}") for number in range(6000))
    test = [Document(None, f"{line} y{number}") for number in range(500)]
    with overlap(train, test) as found:
        assert len(found) == 500
        assert len(found.sources) == 1


def test_passages_stand_side_by_side():
    train = [Document("t", "He said: to be or not to be, that is the question! And left.")]
    test = [Document("a", "To be, or not to be; that is THE QUESTION of our time")]
    with overlap(train, test, shingle_words=4) as found:
        (leak,) = found
    (passage,) = leak.passages()
    assert passage.text == "To be, or not to be; that is THE QUESTION"
    assert leak.source.text[slice(*passage.right)] == "to be or not to be, that is the question"


@pytest.mark.parametrize("options", [{"threshold": 0}, {"threshold": 1.5}, {"shingle_words": 1}])
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        overlap([], [], **options)
