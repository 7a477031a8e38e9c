"""TextVectorizer: what it counts, what it weighs, what it refuses."""

import math
import pickle
import threading
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

import sthash
from sthash import TextVectorizer
from sthash.text import counters

CORPUS = [
    "The cats sat on the mat; the CAT slept.",
    "Dogs and cats, living together!",
    "",
    "Überraschung: Ärger im Straßenverkehr, naïve café",
    "Stocks fell 3.5 percent in 1987.",
    "   \n\t ...  ",
]


def dense(vectorizer, X):
    names = vectorizer.get_feature_names_out()
    return [
        {names[j]: X.data[at] for at in range(X.indptr[i], X.indptr[i + 1]) for j in [X.indices[at]]}
        for i in range(X.shape[0])
    ]


def test_rows_are_the_authors_weights():
    vectorizer = TextVectorizer(stop_words=None, stemmer=None)
    X = vectorizer.fit_transform(["a a a b", "a c", "b"])
    a, b = (1 + math.log(3)) * math.log(3 / 2), math.log(3 / 2)
    assert dense(vectorizer, X)[0] == pytest.approx({"a": a / math.hypot(a, b), "b": b / math.hypot(a, b)}, rel=1e-6)
    assert X.dtype == np.float32
    assert X.has_sorted_indices


def test_agrees_with_scikit_learn_up_to_its_idf():
    # scikit-learn's idf without smoothing is ln(N / df) + 1; one idf taken off gives ours.
    texts = [text for text in CORPUS if text.strip(" .\n\t")]
    theirs = TfidfVectorizer(sublinear_tf=True, smooth_idf=False, norm=None, token_pattern=r"[^\W_]+")
    Y = theirs.fit_transform(texts).toarray()
    Y *= (theirs.idf_ - 1) / theirs.idf_
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    ours = TextVectorizer(stop_words=None, stemmer=None)
    X = ours.fit_transform(texts).toarray()
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(X, Y, atol=1e-6)


def test_terms_are_stemmed_and_stop_words_dropped():
    vectorizer = TextVectorizer().fit(CORPUS)
    assert {"cat", "dog", "live", "stock", "3", "5", "1987"} <= set(vectorizer.vocabulary_)
    assert not {"the", "and", "on"} & set(vectorizer.vocabulary_)


def test_other_languages_by_name():
    vectorizer = TextVectorizer(stemmer="german", stop_words=["Die", "im"])
    vectorizer.fit(["Die Häuser im Tal", "ein Haus"])
    assert set(vectorizer.vocabulary_) == {"haus", "tal", "ein"}


def test_unit_rows_and_zero_rows():
    X = TextVectorizer().fit_transform(CORPUS)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths, [1, 1, 0, 1, 1, 0], atol=1e-6)


@pytest.mark.parametrize("weighting", ["tfidf", "bm25", "tf"])
def test_fit_transform_equals_fit_then_transform(weighting):
    first, second = TextVectorizer(weighting=weighting), TextVectorizer(weighting=weighting)
    X = first.fit_transform(CORPUS)
    Y = second.fit(CORPUS).transform(CORPUS)
    assert first.vocabulary_ == second.vocabulary_
    assert (X != Y).nnz == 0


def test_bm25_by_hand():
    vectorizer = TextVectorizer(weighting="bm25", stop_words=None, stemmer=None)
    texts = ["x x y", "x", "z z z z"]
    row = dense(vectorizer, vectorizer.fit_transform(texts))[0]

    def weight(tf, df):
        return tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * 3 / (8 / 3))) * math.log(1 + (3 - df + 0.5) / (df + 0.5))

    x, y = weight(2, 2), weight(1, 1)
    assert row == pytest.approx({"x": x / math.hypot(x, y), "y": y / math.hypot(x, y)}, rel=1e-5)


def test_plain_tf():
    vectorizer = TextVectorizer(weighting="tf", stop_words=None, stemmer=None)
    assert dense(vectorizer, vectorizer.fit_transform(["x x x y y y y"]))[0] == pytest.approx({"x": 0.6, "y": 0.8})


def test_vocabulary_limits():
    texts = ["a b c", "a b", "a d", "a d d d"]

    def learned(**limits):
        return set(TextVectorizer(stop_words=None, stemmer=None, **limits).fit(texts).vocabulary_)

    assert learned() == {"a", "b", "c", "d"}
    assert learned(min_df=2) == {"a", "b", "d"}
    assert learned(max_df=2) == {"b", "c", "d"}
    assert learned(min_df=0.5, max_df=0.75) == {"b", "d"}
    assert learned(max_features=2) == {"a", "d"}  # d occurs four times, in two documents
    assert learned(max_features=3) == {"a", "b", "d"}


def test_ties_at_max_features_go_by_the_alphabet():
    vectorizer = TextVectorizer(stop_words=None, stemmer=None, max_features=2)
    assert set(vectorizer.fit(["zeta alpha mid", "x"]).vocabulary_) == {"alpha", "mid"}


def test_a_stem_learned_from_another_word_is_found():
    vectorizer = TextVectorizer().fit(["hashing codes", "other things"])
    assert vectorizer.analyze("She hashes; unknownword") == ["hash"]


def test_a_callable_analyzer_replaces_words():
    vectorizer = TextVectorizer(analyzer=lambda text: text.split("|"))
    X = vectorizer.fit_transform(["a b|c", "c|c|d"])
    assert vectorizer.get_feature_names_out().tolist() == ["a b", "c", "d"]
    assert (vectorizer.transform(["a b|c", "c|c|d"]) != X).nnz == 0


def test_a_generator_is_read_once_and_not_kept(monkeypatch):
    monkeypatch.setattr(counters, "BATCH_DOCUMENTS", 10)

    def texts():
        for i in range(1000):
            yield f"number {i % 50} " + "padding " * 2000

    tracemalloc.start()
    TextVectorizer().fit(texts())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000  # the text is 16 MB


def test_batches_do_not_change_the_result(monkeypatch):
    texts = [f"word{i % 7} word{i % 11} common {'x' * (i % 3)}" for i in range(50)]
    whole = TextVectorizer().fit_transform(texts)
    monkeypatch.setattr(counters, "BATCH_DOCUMENTS", 3)
    assert (whole != TextVectorizer(threads=1).fit_transform(texts)).nnz == 0


def test_the_words_seen_are_forgotten_in_time(monkeypatch):
    monkeypatch.setattr(counters, "MAX_REMEMBERED_BYTES", 70_000)
    vectorizer = TextVectorizer().fit(["alpha beta", "gamma"])
    expected = vectorizer.transform(["alpha gamma"])
    for i in range(10):
        vectorizer.transform([" ".join(f"new{i}x{j}" for j in range(400))])
    assert len(vectorizer._frozen._words) < 2000
    assert (vectorizer.transform(["alpha gamma"]) != expected).nnz == 0


def test_copies_and_pickles_work():
    vectorizer = TextVectorizer().fit(CORPUS)
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(CORPUS) != vectorizer.transform(CORPUS)).nnz == 0
    assert clone(vectorizer).get_params() == vectorizer.get_params()


def test_many_threads_may_transform_at_once():
    vectorizer = TextVectorizer().fit(CORPUS)
    texts = [CORPUS[i % 6] + f" fresh{i}" for i in range(500)]
    expected = vectorizer.transform(texts)
    results = [None] * 8

    def work(slot):
        results[slot] = TextVectorizer.transform(vectorizer, texts)

    workers = [threading.Thread(target=work, args=(slot,)) for slot in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all((result != expected).nnz == 0 for result in results)


def test_save_and_load(tmp_path):
    for options in ({}, {"stop_words": None, "stemmer": None, "weighting": "bm25"}):
        vectorizer = TextVectorizer(**options).fit(CORPUS)
        vectorizer.save(tmp_path / "vectorizer")
        again = sthash.load(tmp_path / "vectorizer")
        assert again.vocabulary_ == vectorizer.vocabulary_
        assert (again.transform(CORPUS) != vectorizer.transform(CORPUS)).nnz == 0
    with pytest.raises(TypeError, match="analyzer='word'"):
        TextVectorizer(analyzer=str.split).fit(CORPUS).save(tmp_path / "other")


@pytest.mark.parametrize(
    ("texts", "error", "words"),
    [
        ([], ValueError, "corpus is empty"),
        (["", " . "], ValueError, "blank"),
        (["the of and"], ValueError, "stop_words=None"),
        ("a single text", TypeError, r"\[document\]"),
        (b"bytes", TypeError, r"\[document\]"),
        (["fine", b"bytes"], TypeError, "document 1 is a bytes.*Decode"),
        (["fine", None], TypeError, "document 1 is a NoneType"),
        (["fine", float("nan")], TypeError, "document 1 is a float"),
    ],
)
def test_bad_corpora(texts, error, words):
    with pytest.raises(error, match=words):
        TextVectorizer().fit(texts)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stemmer": "klingon"}, "klingon.*porter"),
        ({"stop_words": "klingon"}, "english"),
        ({"weighting": "magic"}, "magic.*tfidf"),
        ({"analyzer": 3}, "callable"),
        ({"min_df": 0}, "min_df=0"),
        ({"min_df": 1.5}, "min_df=1.5"),
        ({"max_df": -1}, "max_df=-1"),
        ({"min_df": 3, "max_df": 2}, "Raise max_df"),
        ({"min_df": 7}, "leave none|allows fewer"),
        ({"max_features": 0}, "max_features=0"),
        ({"threads": 0}, "threads=0"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(ValueError, match=words):
        TextVectorizer(**options).fit(CORPUS)


def test_empty_batches_transform_to_empty_matrices():
    vectorizer = TextVectorizer().fit(CORPUS)
    assert vectorizer.transform([]).shape == (0, len(vectorizer.vocabulary_))
