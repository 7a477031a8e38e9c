"""Deduplication as documents come: equal to a slow twin, in whatever portions, saved and opened again."""

from pathlib import Path

import numpy as np
import pytest

import sthash
from sthash import Deduplicator, ModelFileError, near_duplicates
from sthash.duplicates import Verdict, matchers
from support.factories import WORDS

TEXT = "the quick brown fox jumps over the lazy dog near the river bank at dawn"


def shingles(text, size):
    words = text.split()
    size = min(size, len(words))
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if words else set()


def twin(texts, threshold, measure, size=5):
    """Compare each text with all that came before; a copy of a copy is one of the same new text."""
    known, verdicts = [], []
    for place, text in enumerate(texts):
        own = shingles(text, size)
        best = (0, None)
        for key, other in known:
            whole = len(own | other) if measure == "jaccard" else len(own)
            score = len(own & other) / whole if own and other else 0
            if score >= threshold and score > best[0]:
                best = (score, key)
        verdicts.append(Verdict(str(place), best[1] is None, best[1], best[0]))
        known.append((best[1] or str(place), own))
    return verdicts


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 20)) for _ in range(100)]
    for _ in range(300):
        words = texts[rng.integers(len(texts))].split()
        start = rng.integers(0, 6)
        changed = [*words[start:], *rng.choice(WORDS, rng.integers(0, 4))]
        texts.append(" ".join(changed))
    return [*texts, "", "one", "one", "one two"]


@pytest.mark.parametrize("measure", ["jaccard", "containment"])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 1.0])
def test_verdicts_equal_those_of_all_comparisons(texts, measure, threshold):
    seen = Deduplicator(threshold, measure=measure)
    assert seen.add(texts) == twin(texts, threshold, measure)
    assert len(seen) == sum(verdict.is_new for verdict in twin(texts, threshold, measure))
    assert seen.n_seen == len(texts)


def test_portions_change_nothing(texts):
    whole = Deduplicator(0.5).add(texts)
    seen = Deduplicator(0.5)
    parts = [seen.add(texts[start : start + 37]) for start in range(0, len(texts), 37)]
    assert [verdict for part in parts for verdict in part] == whole


def test_saved_and_opened(texts, tmp_path):
    seen = Deduplicator(0.5, measure="containment", shingle_words=3)
    seen.add(texts[:200])
    seen.save(tmp_path / "seen")
    for again in (Deduplicator.load(tmp_path / "seen"), sthash.load(tmp_path / "seen")):
        assert repr(again) == repr(seen)
        assert again.check(texts[200:]) == seen.check(texts[200:])
        assert again.add(texts[200:]) == Deduplicator.load(tmp_path / "seen").add(texts[200:])
    sthash.TextVectorizer().fit(["a cat"]).save(tmp_path / "other")
    with pytest.raises(ModelFileError, match="holds a TextVectorizer, not a Deduplicator"):
        Deduplicator.load(tmp_path / "other")


def one_set(items):
    """The arrays of a file that holds one set."""
    none, first = np.zeros(0, np.int64), np.zeros(1, np.int64)
    keys = np.frombuffer(b'["a"]', dtype=np.uint8)
    bounds = np.array([0, len(items)])
    return {"indptr": bounds, "shingles": items, "keys": keys, "places": first, "stands": first, "links": none}


def test_forged_files_are_refused(tmp_path):
    from sthash import model_file

    config = {"threshold": 0.8, "measure": "jaccard", "shingle_words": 5}
    arrays = one_set(np.array([3, 9], dtype=np.uint64))
    model_file.write(tmp_path / "good", "Deduplicator", config, arrays)
    assert len(Deduplicator.load(tmp_path / "good")) == 1
    forged = [
        ({}, {"indptr": np.array([0, 3])}),
        ({}, {"indptr": np.array([2, 0])}),
        ({}, {"shingles": np.array([9, 3], dtype=np.uint64)}),
        ({}, {"keys": np.frombuffer(b"[1]", dtype=np.uint8)}),
        ({}, {"keys": np.frombuffer(b'["a", "b"]', dtype=np.uint8)}),
        ({"threshold": 0}, {}),
        ({"measure": "cosine"}, {}),
        ({}, {"places": np.array([1])}),
        ({}, {"places": np.array([-1])}),
        ({}, {"places": np.array([0, 0])}),
        ({}, {"stands": np.array([1])}),
        ({}, {"stands": np.array([0, 0])}),
        ({}, {"links": np.array([0])}),
        ({}, {"links": np.array([0, 1])}),
    ]
    for settings, changed in forged:
        model_file.write(tmp_path / "bad", "Deduplicator", config | settings, arrays | changed)
        with pytest.raises(ModelFileError, match="is not a valid Deduplicator"):
            Deduplicator.load(tmp_path / "bad")


def chain(length, words=40, step=4):
    """Texts of which each is similar to its neighbors only."""
    return [" ".join(WORDS[at * step : at * step + words]) for at in range(length)]


@pytest.mark.parametrize("measure", ["wording", "jaccard"])
def test_copies_of_copies(measure, tmp_path):
    texts = chain(8)
    seen = Deduplicator(0.7, measure=measure)
    verdicts = seen.add(texts)
    assert [verdict.copy_of for verdict in verdicts] == [None] + ["0"] * 7
    assert near_duplicates([texts[0], texts[7]], 0.7, measure=measure).groups == []
    # The score is that of the neighbor.
    (pair,) = near_duplicates(texts[6:], 0.7, measure=measure).pairs
    assert verdicts[7].score == pytest.approx(pair.score)
    assert (len(seen), seen.n_seen) == (1, 8)
    seen.save(tmp_path / "seen")
    assert Deduplicator.load(tmp_path / "seen").check([texts[7].upper()])[0].copy_of == "0"


@pytest.mark.parametrize("measure", ["wording", "jaccard"])
def test_groups_are_those_of_near_duplicates(texts, measure, tmp_path):
    # Every other text of a chain comes first: those between them join the groups.
    links = chain(9)
    own = [*texts, *links[::2], *links[1::2], "", ""]
    expected = [[str(member) for member in group] for group in near_duplicates(own, 0.7, measure=measure).groups]
    assert any(len(set(group) & {str(len(texts)), str(len(texts) + 1)}) == 2 for group in expected)
    seen = Deduplicator(0.7, measure=measure)
    for start in range(0, len(own), 50):
        seen.add(own[start : start + 50])
    assert seen.groups() == expected
    seen.save(tmp_path / "seen")
    again = Deduplicator.load(tmp_path / "seen")
    assert again.groups() == expected
    # What an interrupted call has joined comes apart.
    again._whole = False
    list(again._matcher.matches([links[0] + " too", links[4] + " too"], keep=True))
    assert again.groups() == expected


def test_groups_of_vectors():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.01], [1.0, 0.02], [0.01, 1.0]])
    seen = Deduplicator(measure="cosine")
    seen.add(vectors=rows[:2])
    seen.add(vectors=rows[2:])
    assert seen.groups() == [["0", "2", "3"], ["1", "4"]]
    seen.add(vectors=[[1.0, 1.0]])
    # It has a cosine of 0.707 with both.
    wide = Deduplicator(0.7, measure="cosine")
    assert [verdict.is_new for verdict in wide.add(vectors=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])] == [True, True, False]
    assert wide.groups() == [["0", "1", "2"]]


def test_one_of_very_many_similar_texts_still_joins_groups():
    """Of so many, not all are compared."""
    words, others = WORDS[:50], WORDS[50:]
    many = [" ".join([*words, f"x{number}"]) for number in range(300)]
    seen = Deduplicator(0.45, measure="jaccard", shingle_words=1)
    seen.add([*many, " ".join(others), " ".join([*words, *others])])
    assert [len(group) for group in seen.groups()] == [302]


def test_check_keeps_nothing():
    seen = Deduplicator()
    assert [verdict.is_new for verdict in seen.check([TEXT, TEXT])] == [True, True]
    assert len(seen) == seen.n_seen == 0


def test_keys_and_tables():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    seen = Deduplicator()
    frame = pandas.DataFrame({"body": [TEXT, TEXT + "!"]})
    assert seen.add(frame, text="body") == [Verdict("0", True, None, 0), Verdict("1", False, "0", 1)]
    with pytest.raises(ValueError, match="there are 1 texts and 2 keys"):
        seen.add([TEXT], ["a", "b"])
    with pytest.raises(TypeError, match="key 3 is a int, not a str"):
        seen.add([TEXT], [3])
    with pytest.raises(TypeError, match="single str"):
        seen.add(TEXT)
    for arguments in ({"measure": "dice"}, {"threshold": 0}, {"shingle_words": 0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            Deduplicator(**arguments)


def test_many_copies_of_a_template_make_no_quadratic_work():
    words = " ".join(f"w{number}" for number in range(60))
    seen = Deduplicator(0.99)
    verdicts = seen.add(f"{words} {number} end" for number in range(20_000))
    assert all(verdict.is_new for verdict in verdicts)


def test_a_file_of_the_first_version_gives_the_same_verdicts():
    """Hashes of shingles are the same in every process and on every machine."""
    seen = Deduplicator.load(Path(__file__).parent / "golden" / "deduplicator-1")
    texts = {
        "fox": "The quick brown fox jumps over the lazy dog today",
        "ships": "sails and ropes and a harbour full of ships today",
        "tokyo": "東京都に住んでいる人は多いです today",
        "houses": "Ärger über große häuser am see today",
    }
    verdicts = seen.check(texts.values(), keys=texts)
    assert [verdict.copy_of for verdict in verdicts] == list(texts)
    assert [round(verdict.score, 3) for verdict in verdicts] == [0.875, 0.875, 0.923, 0.8]
    assert seen.check(["something new"])[0].is_new


# Vectors


def vector_twin(vectors, threshold):
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    kept, verdicts = [], []
    for place, row in enumerate(unit):
        scores = [float(unit[other] @ row) for other in kept]
        best = int(np.argmax(scores)) if scores else -1
        is_new = best < 0 or scores[best] < threshold
        found = (None, 0.0) if is_new else (str(kept[best]), pytest.approx(scores[best], abs=1e-5))
        verdicts.append(Verdict(str(place), is_new, *found))
        if is_new:
            kept.append(place)
    return verdicts


@pytest.fixture(scope="module")
def vectors():
    """Random directions with near copies, far from the threshold on either side, and equal and zero ones."""
    rng = np.random.default_rng(0)
    first = rng.standard_normal((300, 32))
    near = first[rng.integers(300, size=700)] + 0.05 * rng.standard_normal((700, 32))
    return np.concatenate([first, near, first[:5], np.zeros((2, 32)), near[:3]])


@pytest.mark.parametrize("portion", [2048, 100, 7])
def test_vectors_equal_all_comparisons_in_whatever_portions(vectors, portion, tmp_path, monkeypatch):
    monkeypatch.setattr(matchers, "VECTORS_AT_ONCE", portion)
    monkeypatch.setattr(matchers, "PAIRS_AT_ONCE", 64)
    seen = Deduplicator(measure="cosine")
    expected = vector_twin(vectors, 0.9)
    assert seen.add(vectors=vectors[:600]) == expected[:600]
    seen.save(tmp_path / "seen")
    opened = Deduplicator.load(tmp_path / "seen")
    assert repr(opened) == repr(seen)
    assert opened.check(vectors=vectors[:3]) == seen.check(vectors=vectors[:3])
    assert opened.add(vectors=vectors[600:]) == expected[600:]
    assert len(opened) == sum(verdict.is_new for verdict in expected)


def test_equal_vectors_are_copies_at_any_threshold(vectors):
    seen = Deduplicator(1, measure="cosine")
    assert [verdict.copy_of for verdict in seen.add(vectors=np.stack([vectors[0], vectors[1], 3 * vectors[0]]))] == [
        None,
        None,
        "0",
    ]
    assert seen.add(vectors=[]) == []
    assert len(Deduplicator(measure="cosine")) == 0


def test_nothing_kept_is_saved_and_opened(tmp_path):
    Deduplicator(measure="cosine").save(tmp_path / "empty")
    assert Deduplicator.load(tmp_path / "empty").add(vectors=[[1.0, 2.0]]) == [Verdict("0", True, None, 0.0)]


@pytest.mark.parametrize(
    ("measure", "arguments", "error", "message"),
    [
        ("cosine", {"texts": ["a"]}, TypeError, "Pass them as vectors="),
        ("cosine", {"texts": ["a"], "vectors": [[1.0]]}, TypeError, "no texts"),
        ("jaccard", {"vectors": [[1.0]]}, TypeError, "Leave vectors= out"),
        ("jaccard", {}, TypeError, "there are no texts"),
        ("cosine", {"vectors": [[1.0, np.nan]]}, ValueError, "finite"),
        ("cosine", {"vectors": [[1.0]]}, ValueError, "vectors must have 2 values"),
        ("cosine", {"vectors": [[1.0, 2.0]], "keys": ["a", "b"]}, ValueError, "1 texts and 2 keys"),
    ],
)
def test_vectors_and_texts_are_not_confused(measure, arguments, error, message):
    seen = Deduplicator(measure=measure)
    if measure == "cosine":
        seen.add(vectors=[[1.0, 2.0]])
    with pytest.raises(error, match=message):
        seen.add(**arguments)


@pytest.mark.parametrize("bad", [123, None])
def test_an_add_that_fails_keeps_nothing(tmp_path, bad):
    many = [f"text number {place} with some words of its own {place * 7} {place * 13}" for place in range(5000)]
    seen = Deduplicator()
    seen.add(["one text that was there before all the others"], ["before"])
    with pytest.raises(TypeError):
        seen.add([*many, bad])
    assert (len(seen), seen.n_seen) == (1, 1)
    seen.save(tmp_path / "seen")
    again = Deduplicator.load(tmp_path / "seen")
    for own in (seen, again):
        assert [verdict.copy_of for verdict in own.add([many[0], many[0]], ["a", "b"])] == [None, "a"]
        assert (len(own), own.n_seen) == (2, 3)


@pytest.mark.parametrize("measure", ["jaccard", "cosine"])
def test_an_interrupted_add_keeps_nothing(measure, monkeypatch, tmp_path):
    given = {"vectors": np.eye(8)} if measure == "cosine" else {"texts": [f"only w{place}" for place in range(8)]}
    seen, twin_of_it = Deduplicator(0.9, measure=measure), Deduplicator(0.9, measure=measure)
    matches = seen._matcher.matches

    def interrupted(documents, *, keep):
        yield from matches(documents, keep=keep)
        raise KeyboardInterrupt

    monkeypatch.setattr(seen._matcher, "matches", interrupted)
    with pytest.raises(KeyboardInterrupt):
        seen.add(**given)
    monkeypatch.undo()
    assert (len(seen), seen.n_seen) == (0, 0)
    seen.save(tmp_path / "seen")
    assert len(Deduplicator.load(tmp_path / "seen")) == 0
    assert seen.add(**given) == twin_of_it.add(**given)
    assert seen.add(**given) == twin_of_it.add(**given)


def test_items_that_share_their_low_bits_open_fast(tmp_path):
    """With the low bits as places in the hash table, this took many minutes."""
    from sthash import model_file

    n = 1_000_000
    items = np.arange(1, n + 1, dtype=np.uint64) << np.uint64(40)
    config = {"threshold": 0.8, "measure": "jaccard", "shingle_words": 5}
    model_file.write(tmp_path / "forged", "Deduplicator", config, one_set(items))
    assert len(Deduplicator.load(tmp_path / "forged")) == 1
