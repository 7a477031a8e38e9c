"""The table of words: nobody can make it slow or large, and threads may share it."""

import sys
import threading

import numpy as np
import pytest

from sthash import TextVectorizer, _core
from sthash.text import counters

LETTERS = np.frombuffer(b"bcdfghjklmnpqrtvwxz0123456789", np.uint8)
PRIME = np.uint64(0x9E3779B97F4A7C15)


def words_that_collided(seed=0):
    """Give words of eight letters that the hash of version 0.2, which had no key, sent to 16 slots of 16,384."""
    letters = LETTERS[np.random.default_rng(seed).integers(0, len(LETTERS), (1_000_000, 8))]
    with np.errstate(over="ignore"):
        hashes = (np.uint64(8) * PRIME ^ np.ascontiguousarray(letters).view(np.uint64).ravel()) * PRIME
        hashes ^= hashes >> np.uint64(29)
        hashes *= PRIME
        hashes ^= hashes >> np.uint64(32)
    chosen = np.unique(letters[(hashes & np.uint64(2**14 - 1)) < 16], axis=0)
    return [bytes(word).decode() for word in chosen]


def test_words_that_were_chosen_to_collide_do_not():
    table = _core.WordTable()
    words = words_that_collided()
    table.scan([" ".join(words)], threads=1)
    assert len(table) == len(words) > 800
    assert table.longest_probe() < 100


def test_ordinary_words_are_found_at_once():
    table = _core.WordTable()
    table.scan([" ".join(f"{a}{b}{c}" for a in "abcdefghij" for b in range(100) for c in "xyz")], threads=1)
    assert len(table) == 3000
    assert table.longest_probe() < 100


def test_few_long_words_are_forgotten_as_many_short_ones_are(monkeypatch):
    monkeypatch.setattr(counters, "MAX_REMEMBERED_BYTES", 1_000_000)
    vectorizer = TextVectorizer().fit(["alpha beta", "gamma"])
    expected = vectorizer.transform(["alpha gamma"])
    for letter in "abcdefghij":
        vectorizer.transform([letter * 990_000, "alpha"])
        assert vectorizer._frozen._words.nbytes() <= 1_000_000
    assert (vectorizer.transform(["alpha gamma"]) != expected).nnz == 0


def test_threads_may_share_a_table():
    texts = [[f"common{i} own{thread}x{i}" for i in range(2000)] for thread in range(6)]
    table = _core.WordTable()
    results = [None] * len(texts)

    def work(number):
        results[number] = [table.scan(texts[number][at : at + 100], threads=2)[1] for at in range(0, 2000, 100)]
        assert len(table) >= 2000
        assert table.words_from(len(table) - 1)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(len(texts))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    words = table.words_from(0)
    assert len(words) == len(set(words)) == 7 * 2000
    for own, numbers in zip(texts, results, strict=True):
        assert [words[number] for number in np.concatenate(numbers)] == " ".join(own).split()


@pytest.mark.skipif(not hasattr(sys, "_is_gil_enabled"), reason="this Python always has a GIL")
def test_the_module_does_not_bring_the_gil_back():
    import sysconfig

    assert sys._is_gil_enabled() == (not sysconfig.get_config_var("Py_GIL_DISABLED"))


def test_whole_words_are_added_as_they_are():
    table = _core.WordTable()
    words = ["cat", "", "naïve", "東京", "cat", "a" * 300, "the", "two words"]
    wanted = np.array([True, True, True, True, True, True, False, True])
    assert table.add(words, wanted).tolist() == [0, 1, 2, 3, 0, 4, -1, 5]
    assert table.words_from(0) == ["cat", "", "naïve", "東京", "a" * 300, "two words"]
    many = [f"word{number}" for number in range(5000)]
    assert table.add(many, np.ones(5000, dtype=bool)).tolist() == list(range(6, 5006))
    assert table.add(["word0", "cat"], np.ones(2, dtype=bool)).tolist() == [6, 0]
    with pytest.raises(ValueError, match="Say of each word"):
        table.add(["a"], np.ones(2, dtype=bool))
    with pytest.raises(TypeError, match="must be a str"):
        table.add([1], np.ones(1, dtype=bool))
