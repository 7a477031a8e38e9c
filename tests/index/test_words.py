"""The index of words, beyond the contract of all indexes: its words, filters, file, threads and bad input."""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from safetensors.numpy import save_file

import sthash
from sthash import ModelFileError, WordIndex, model_file
from sthash.text import TextOptions, TextVectorizer
from support.plain_words import PLAIN

WORDS = [f"w{number}" for number in range(40)]
SHARES = 1 / np.arange(1, 41)


def random_texts(rng, count):
    """Some words are frequent, most are rare; some texts are blank, many scores are equal."""
    return [" ".join(rng.choice(WORDS, rng.integers(0, 8), p=SHARES / SHARES.sum())) for _ in range(count)]


# What it finds


def test_a_batch_has_the_answers_of_its_queries():
    rng = np.random.default_rng(0)
    index = WordIndex.build(random_texts(rng, 500), text_options=PLAIN)
    queries = random_texts(rng, 60)
    ids, scores = index.search(queries, 9, threads=2)
    for query, own_ids, own_scores in zip(queries, ids, scores, strict=True):
        found = index.search(query, 9, threads=1)
        assert found[0].tolist() == [own_ids.tolist()]
        assert found[1].tolist() == [own_scores.tolist()]


def test_equal_documents_come_by_id_in_whatever_order_they_were_added():
    ids = np.random.default_rng(0).permutation(9000)
    index = WordIndex(PLAIN)
    for start in range(0, 9000, 1000):
        index.add(["same text"] * 1000, ids[start : start + 1000])
    for k in (1, 10, 300):
        assert index.search("same", k)[0].tolist() == [list(range(k))]
    index.remove(np.arange(0, 9000, 2))
    assert index.search("text", 5)[0].tolist() == [[1, 3, 5, 7, 9]]
    index.add(["same text", "same text"], [4, 0])
    assert index.search("text", 5)[0].tolist() == [[0, 1, 3, 4, 5]]


def test_texts_become_words_as_in_a_collection():
    index = WordIndex.build(["The system runs", "Fires in Cafés", "running systems of the fire"])
    assert index.search("the")[0][0, 0] == -1
    assert set(index.search("run", 2)[0][0].tolist()) == {0, 2}
    assert set(index.search("fire", 2)[0][0].tolist()) == {1, 2}
    assert index.search("cafe", 1)[0].tolist() == [[-1]]
    folded = WordIndex.build(["Fires in Cafés"], text_options=TextOptions(fold_accents=True))
    assert folded.search("cafe", 1)[0].tolist() == [[0]]
    assert "german" in repr(WordIndex(TextOptions(language="german")))
    assert WordIndex(TextVectorizer(language="german", max_features=9)).text_options.stop_words == "auto"


def test_the_answers_are_those_of_a_collection(tmp_path):
    texts = [f"alpha{i % 7} beta{i % 11} " + "gamma " * (i % 3) + f"word{i}" for i in range(300)]
    index = WordIndex.build(texts)
    queries = ["alpha3 gamma", "beta5 word17 gamma gamma", "nothing"]
    with sthash.Collection.create(tmp_path / "c.sth", texts, learning=sthash.Learning(n_bits=8)) as collection:
        for query, ids, scores in zip(queries, *index.search(queries, 20), strict=True):
            hits = collection.search(query, k=20, ranking="bm25")
            assert [int(hit.key) for hit in hits] == ids[ids >= 0].tolist()
            np.testing.assert_allclose([hit.score for hit in hits], scores[ids >= 0], rtol=1e-6)


# Ids and filters


@pytest.mark.parametrize("ids", [None, [5, 2, 8, 0]])
def test_filters(ids):
    index = WordIndex.build(["a1 b", "a1 c", "a1 d", "e"], ids, text_options=PLAIN)
    index.add(["a1"], [20])
    index.remove([20])
    held = index.ids

    def found(allowed):
        return sorted(set(index.search("a1", 5, allowed=allowed)[0][0].tolist()) - {-1})

    having = found(None)
    assert len(having) == 3
    assert found(having[:2]) == found(set(having[:2])) == found(np.array(having[:2], np.int32)) == having[:2]
    assert found(np.isin(held, having[1:])) == having[1:]
    assert found(np.isin(held, having[1:]).tolist()) == having[1:]
    assert found([20, 999]) == found([]) == found(np.zeros(4, bool)) == []
    for mask in (np.ones(5, bool), np.ones((4, 1), bool), [True]):
        with pytest.raises(ValueError, match=r"one value per id of the index, shape \(4,\)"):
            found(mask)
    with pytest.raises(TypeError, match="whole numbers"):
        found(["a"])
    with pytest.raises(ValueError, match="from 0 to 2"):
        found([-1])


def test_many_removals_give_memory_back():
    rng = np.random.default_rng(0)
    texts = random_texts(rng, 4000)
    index = WordIndex.build(texts, text_options=PLAIN)
    index.search(WORDS)
    before = index.stats
    assert (before.size, before.dead, before.terms) == (4000, 0, 40)
    assert before.words == sum(len(text.split()) for text in texts)
    index.remove(np.arange(0, 1000))
    assert (index.stats.size, index.stats.dead) == (3000, 1000)
    index.remove(np.arange(1000, 3500))
    after = index.stats
    assert (after.size, after.dead) == (500, 0)
    assert after.words == sum(len(text.split()) for text in texts[3500:])
    assert after.nbytes < before.nbytes / 3


# Files


def test_an_index_in_a_file(tmp_path):
    options = TextOptions(language="german", fold_accents=True, stop_words=["xyz"])
    index = WordIndex.build(["Die Häuser", "ein Haus xyz", "Höfe"], [9, 4, 6], text_options=options)
    index.remove([6])
    index.save(tmp_path / "words.index")
    assert [path.name for path in tmp_path.iterdir()] == ["words.index"]
    for again in (WordIndex.open(tmp_path / "words.index"), sthash.load(tmp_path / "words.index")):
        assert again.text_options == TextOptions("german", True, ["xyz"], "german")
        assert again.ids.tolist() == [4, 9]
        for query in ("haus", "hauser", "xyz", "hof"):
            assert again.search(query)[0].tolist() == index.search(query)[0].tolist()
        assert again.add(["mehr"]).tolist() == [10]
        again.remove([9])
    index.save(tmp_path / "words.index")  # over the old one
    assert len(WordIndex.open(tmp_path / "words.index")) == 2


def forged(path, arrays=None, config=None):
    """Change parts of a file; its checksum fits."""
    header, old = model_file._read(path)
    header["config"] = {**header["config"], **(config or {})}
    arrays = {name: np.ascontiguousarray(array) for name, array in {**old, **(arrays or {})}.items()}
    save_file(arrays, path, {"sthash": model_file._signed(json.dumps(header, sort_keys=True), arrays)})


@pytest.mark.parametrize(
    ("arrays", "config", "why"),
    [
        ({"ids": np.array([1, 1, 2])}, {}, "Id 1 is in the index already"),
        ({"ids": np.array([1, -5, 2])}, {}, "from 0 to 2"),
        ({"ids": np.array([1, 2, 3], np.int32)}, {}, "ids has dtype int32"),
        ({"ids": np.array([1, 2])}, {}, "numbers has dtype int64 and shape"),
        ({"numbers": np.array([0, 2, 1])}, {}, "ascend"),
        ({"numbers": np.array([0, 1, 2**62])}, {}, "numbered too high"),
        ({"numbers": np.array([0, 1, 2**63 - 1])}, {}, "numbered too high"),
        ({"numbers": np.array([0, 1, -1])}, {}, "ascend"),
        ({"lengths": np.array([1, -1, 1], np.int32)}, {}, "negative"),
        ({"content": np.array([255] * 7, np.uint8)}, {}, "column 0 are malformed|do not fill"),
        ({"content": np.zeros(3, np.uint8)}, {}, "do not fill their space"),
        ({"offsets": np.array([0, 2, 1, 5, 6])}, {}, "column 1 are malformed|do not fill"),
        ({"offsets": np.array([0, 6])}, {}, "offsets has dtype"),
        ({"terms": np.frombuffer(b'["a", "a", "b", "c"]', np.uint8)}, {}, "not distinct"),
        ({"terms": np.frombuffer(b'["a", 1, "b", "c"]', np.uint8)}, {}, "not strings"),
        ({"terms": np.frombuffer(b'{"a": 1}', np.uint8)}, {}, "not strings"),
        ({"terms": np.frombuffer(b'["\\ud800", "a", "b", "c"]', np.uint8)}, {}, "surrogates"),
        ({"terms": np.frombuffer(b"[", np.uint8)}, {}, "not a valid WordIndex"),
        ({}, {"last_id": 1}, "last_id=1"),
        ({}, {"last_id": 2**63}, "last_id"),
        ({}, {"last_id": "x"}, "last_id"),
        ({}, {"options": {"language": "klingon"}}, "klingon"),
        ({}, {"options": {"unknown": 1}}, "unknown"),
        ({}, {"options": None}, "not a valid WordIndex"),
    ],
)
def test_a_forged_file_is_refused(tmp_path, arrays, config, why):
    WordIndex.build(["alpha beta", "beta gamma", "delta"], [1, 2, 3]).save(tmp_path / "words.index")
    forged(tmp_path / "words.index")
    WordIndex.open(tmp_path / "words.index")
    forged(tmp_path / "words.index", arrays, config)
    with pytest.raises(ModelFileError, match=why) as caught:
        WordIndex.open(tmp_path / "words.index")
    assert "Save the model again" in str(caught.value)


def test_postings_of_documents_to_come_are_refused(tmp_path):
    """A list with a number behind the last document would give its word to the next one that is added."""
    WordIndex.build(["alpha", "alpha"]).save(tmp_path / "words.index")
    forged(tmp_path / "words.index", {"content": np.array([0, 0, 0], np.uint8), "offsets": np.array([0, 3])})
    with pytest.raises(ModelFileError, match="column 0 are malformed: a number is too large"):
        WordIndex.open(tmp_path / "words.index")


def test_another_kind_of_file_is_refused(tmp_path):
    sthash.TextVectorizer().fit(["some words"]).save(tmp_path / "vectorizer")
    with pytest.raises(ModelFileError, match="holds a TextVectorizer, not a WordIndex"):
        WordIndex.open(tmp_path / "vectorizer")
    (tmp_path / "text").write_text("no index")
    with pytest.raises(ModelFileError):
        WordIndex.open(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        WordIndex.open(tmp_path / "missing")


def test_neither_scipy_nor_scikit_learn_is_loaded(run_python, tmp_path):
    program = f"""
import sys
from sthash import WordIndex
WordIndex.build(["many words", "the houses"]).save({str(tmp_path / "words.index")!r})
index = WordIndex.open({str(tmp_path / "words.index")!r})
assert index.search("house")[0][0, 0] == 1
print(*sys.modules)
"""
    assert not {"sklearn", "scipy"} & set(run_python(program).split())


# Threads


@pytest.fixture
def frequent_switches():
    """Python changes threads a hundred times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 100)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("frequent_switches")
def test_a_search_sees_whole_changes_only():
    """The index has one of two states, so there are two answers; any other one has seen a part of a change."""
    index, texts, queries = (
        WordIndex.build(["steady text"] * 60),
        ["common text of its own"] * 30,
        ["common", "text own"],
    )
    stop, searches, others = threading.Event(), [0] * 4, []
    answers = [index.search(queries, 100)]
    ids = index.add(texts, np.arange(1000, 1030))
    answers.append(index.search(queries, 100))
    index.remove(ids)

    def read(number):
        while not stop.is_set() and not others:
            found = index.search(queries, 100, threads=1 + number % 2)
            if not any(all(map(np.array_equal, found, answer)) for answer in answers):
                others.append(found)
            searches[number] += 1

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, number) for number in range(4)]
        changes = 0
        while (changes < 300 or min(searches) < 20) and not any(reader.done() for reader in readers):
            index.add(texts, ids, threads=1)
            index.remove(ids)
            changes += 1
        stop.set()
        for reader in readers:
            reader.result()
    assert others == []
    assert len(index) == 60


def test_a_generator_may_use_the_index_that_it_fills():
    index = WordIndex.build(["seed words"])

    def texts():
        for number in range(3):
            index.add([f"inner{number}"])
            yield f"outer{index.search('seed', 1)[0][0, 0]}"

    index.add(texts())
    assert len(index) == 7
    assert index.search("outer0", 5)[0].tolist() == [[4, 5, 6, -1, -1]]


# Bad input


def test_what_is_no_text_is_refused():
    index = WordIndex.build(["one"])
    for texts, why in (
        ("a text", "single str"),
        (b"bytes", "single bytes"),
        (None, "NoneType"),
        (5, "int"),
        (["fine", None], "document 1 is a NoneType"),
        (["fine", b"x"], "document 1 is a bytes, not a str. Decode"),
        (["fine", 5], "document 1 is a int"),
    ):
        with pytest.raises(TypeError, match=why):
            index.add(texts)
        with pytest.raises(TypeError, match=why):
            WordIndex.build(texts)
    for queries, why in (
        (b"bytes", "got a bytes"),
        (None, "NoneType"),
        (["fine", b"x"], "query 1 is a bytes, not a str. Decode"),
        ([None], "query 0 is a NoneType"),
    ):
        with pytest.raises(TypeError, match=why):
            index.search(queries)
    with pytest.raises(TypeError, match=r"text_options is a .*Pass TextOptions or a TextVectorizer"):
        WordIndex("english")
    for k in (0, -1, 2**31):
        with pytest.raises(ValueError, match=f"k={k}"):
            index.search("one", k)
    for k in (1.5, "3", None, True):
        with pytest.raises(TypeError, match="k="):
            index.search("one", k)
    with pytest.raises(ValueError, match="threads"):
        index.search("one", threads=0)
    with pytest.raises(ValueError, match="threads"):
        index.add(["two"], threads=-1)
    assert len(index) == 1


def failing():
    yield "one text"
    raise OSError("the source broke")


def test_a_source_that_breaks_changes_nothing():
    index = WordIndex.build(["seed"])
    with pytest.raises(OSError, match="the source broke"):
        index.add(failing())
    assert len(index) == 1
    assert index.search("text", 1)[0].tolist() == [[-1]]
    assert index.add(["more"]).tolist() == [1]


def test_odd_texts(tmp_path):
    texts = ["", "   ", "\ud800 lone \udfff surrogates", "\x00null\x00", "東京都", "İstanbul ß ǅ", "a" * 100_000, "𝔘𝔫𝔦"]
    index = WordIndex.build(texts)
    index.save(tmp_path / "words.index")
    for own in (index, WordIndex.open(tmp_path / "words.index")):
        for query, wanted in (
            ("lone", 2),
            ("surrogates\udc00", 2),
            ("null", 3),
            ("東京", 4),
            ("ß", 5),
            ("a" * 100_000, 6),
        ):
            assert own.search(query, 1)[0].tolist() == [[wanted]]
        ids, scores = own.search(["", "\ud800", "!?"], 2)
        assert (ids == -1).all()
        assert np.isneginf(scores).all()
        assert own.search([], 4)[0].shape == own.search([], 4)[1].shape == (0, 4)
        assert own.search(iter(["lone"]), 1)[0].tolist() == [[2]]


def test_a_text_of_ten_megabytes():
    rng = np.random.default_rng(0)
    long = " ".join(f"word{number}" for number in rng.integers(0, 50_000, 1_100_000))
    assert len(long) > 10_000_000
    index = WordIndex.build([long, "word7 apart", "unrelated"])
    assert index.search("word7", 3)[0].tolist() == [[0, 1, -1]]
    assert index.search(long, 2)[0].tolist() == [[0, 1]]
    assert index.stats.words == 1_100_003


def test_tables_are_texts():
    pandas = pytest.importorskip("pandas")
    texts = ["red apples", "green apples"]
    for source in (pandas.Series(texts), pandas.DataFrame({"text": texts}), tuple(texts), np.array(texts, object)):
        assert WordIndex.build(source).search("green", 1)[0].tolist() == [[1]]
