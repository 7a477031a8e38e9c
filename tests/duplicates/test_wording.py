"""Near-duplicates by wording: what is equal, what is kept apart, and the same answers everywhere."""

import itertools
import unicodedata

import numpy as np
import pytest

from sthash import Deduplicator, Document, _core, near_duplicates
from sthash.duplicates import deduplicate
from sthash.duplicates.comparable_rows import COMMON_ITEMS, wording_sets
from support.factories import create_collection, random_texts, with_copies

LINE = "The museum in the old town opens a new hall for modern art on Sunday."
VERSION = "Prior to version 3.1.4 the parser of the server reads too far."
SIGNS = "I like to write most of my small tools in C++ these days"
CAT = "\n /\\_/\\\n( o.o )\n > ^ <\n"
DOG = "\n  __      _\no'')}____//\n `_/      )\n (_(_/-(_/\n"


@pytest.fixture(scope="module")
def texts():
    lines = ["You have mail.", "You do not have mail.", LINE, LINE.upper(), LINE.replace("modern", "modren"), CAT, DOG]
    return [*with_copies(random_texts(120, 20)), *lines, *(" ".join(text.split()[:6]) for text in random_texts(80, 9))]


def pairs_of(found):
    return {(pair.left, pair.right): pair.score for pair in found.pairs}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("You have mail.", "You do not have mail."),
        (LINE, LINE.replace("opens", "never opens")),
        ("Do, or do not; there is no try.", "try again"),
        (LINE, LINE.replace("Sunday", "Tuesday")),
        (VERSION, VERSION.replace("3.1.4", "3.1.5")),
        ("Chapter 1", "Chapter 2"),
        (SIGNS, SIGNS.replace("C++", "C#")),
        (CAT, DOG),
    ],
)
def test_kept_apart(left, right):
    assert near_duplicates([left, right]).groups == []
    assert [verdict.is_new for verdict in Deduplicator().add([left, right])] == [True, True]


@pytest.mark.parametrize(
    "changed",
    [
        LINE.replace("museum", "musuem"),
        LINE.replace("Sunday", "Sudnay"),
        LINE.replace("modern ", ""),
        LINE.replace("new hall", "new and larger hall"),
        LINE.replace("old", "older"),
        " ".join(LINE.split()[:-1]),
    ],
)
def test_merged_but_not_equal(changed):
    ((_, _, score),) = near_duplicates([LINE, changed]).pairs
    assert 0.75 <= score <= 0.999


@pytest.mark.parametrize(
    "same", [LINE.upper(), LINE.replace(" ", "\n"), LINE.rstrip("."), LINE.replace("museum", "mu\u00adseum")]
)
def test_equal_words_are_equal(same):
    assert near_duplicates([LINE, same]).pairs == [(0, 1, 1.0)]


def test_canonically_equal_texts_are_equal():
    accented = "Le caf\u00e9 cr\u00e8me est tr\u00e8s appr\u00e9ci\u00e9"
    assert near_duplicates([unicodedata.normalize(form, accented) for form in ("NFC", "NFD")]).pairs == [(0, 1, 1.0)]


def test_only_equal_texts_have_a_score_of_one():
    long = " ".join(f"word{number}" for number in range(9000))
    shorter = long.replace("word77 ", "")
    repeated = ["very very very good indeed it was so very good", "very very good indeed it was so very good"]
    for pair in ([long, shorter], repeated):
        assert near_duplicates(pair).pairs[0].score <= 0.999
    assert near_duplicates([long, shorter], 1).pairs == []


def test_protected_numbers():
    left = "In 2019 the museum in the old town opened a new hall for modern art on Sunday in the morning"
    right = left.replace("2019", "2020").replace("modern", "recent")
    assert near_duplicates([left, right], 0.6).groups == [[0, 1]]
    assert near_duplicates([left, right], 0.6, protect="numbers").groups == []
    assert Deduplicator(0.6, protect="numbers").add([left, right])[1].is_new
    with deduplicate([Document("a", left), Document("b", right)], 0.6, protect="numbers") as found:
        assert found.n_dropped == 0
    with pytest.raises(TypeError, match="protect goes with measure='wording'"):
        near_duplicates([left], measure="jaccard", protect="numbers")
    with pytest.raises(ValueError, match="protect='names' is not known"):
        near_duplicates([left], protect="names")


def slow_scores(texts, threshold):
    """Compare all pairs by their definition, whether they are kept apart or not."""
    indptr, items, _, _ = wording_sets(texts, 1)
    sets = [set(items[start:end].tolist()) for start, end in itertools.pairwise(indptr.tolist())]
    found = {}
    for right in range(len(texts)):
        for left in range(right):
            part = 0 if sets[2 * left] and sets[2 * right] else 1
            a, b = sets[2 * left + part], sets[2 * right + part]
            shared, common = len(a & b), COMMON_ITEMS[part]
            if not shared:
                continue
            score = 1.0 if a == b else min((shared + common) / (len(a | b) - 2 + common), 0.999)
            if score >= threshold:
                found[left, right] = score
    return found


@pytest.mark.parametrize("threshold", [0.6, 0.75, 0.9])
def test_all_pairs_are_found(texts, threshold):
    own = near_duplicates(texts, threshold)
    found, slow = pairs_of(own), slow_scores(texts, threshold)
    assert all(slow[pair] == pytest.approx(score) for pair, score in found.items())
    copies = set(own.found.right[len(own.found) - own.found.copies :].tolist())
    alone = [(left, right) for left, right in slow if not copies & {left, right}]
    missing = [pair for pair in alone if pair not in found]
    # What is missing is kept apart, each pair for itself too.
    assert all(near_duplicates([texts[place] for place in pair], threshold).groups == [] for pair in missing)
    assert len(missing) < len(alone) / 2


def test_everywhere_the_same(texts, tmp_path):
    own = near_duplicates(texts)
    documents = [Document(f"{place:04}", text) for place, text in enumerate(texts)]
    with create_collection(tmp_path / "c.sth", documents) as collection:
        stored = collection.near_duplicates()
    assert stored.measure == "wording"
    assert [[int(key) for key in group] for group in stored.groups] == own.groups
    with deduplicate(documents) as found:
        assert {int(dropped.document.key) for dropped in found.dropped()} == own.dropped()
    seen = Deduplicator()
    verdicts = seen.add(texts)
    assert [[int(key) for key in group] for group in seen.groups()] == own.groups
    # A text is a copy if any earlier one is similar.
    assert {int(verdict.key) for verdict in verdicts if not verdict.is_new} == {max(pair[:2]) for pair in own.pairs}


def test_saved_and_loaded(texts, tmp_path):
    seen = Deduplicator()
    seen.add(texts[:100])
    seen.save(tmp_path / "seen")
    assert Deduplicator.load(tmp_path / "seen").add(texts[100:]) == seen.add(texts[100:])


def test_the_kernels_refuse_what_does_not_fit():
    bounds, items, marks_bounds, marks = wording_sets([LINE, "a cat"], 1)
    index = _core.TextIndex(threshold=0.75, keep_numbers=False)
    with pytest.raises(ValueError, match="Each text needs its marks"):
        index.add(bounds, items, marks_bounds[:-1], marks)
    with pytest.raises(ValueError, match="must ascend"):
        index.add(bounds, items, marks_bounds, np.concatenate([marks[:1], marks[1:][::-1]]))
    assert len(index) == 0
