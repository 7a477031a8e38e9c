"""CorpusCounter: one scan gives what fit and transform give, to the bit."""

import numpy as np
import pytest
from sklearn.base import clone

from sthash import TextVectorizer
from sthash.text import CorpusCounter, counters

BATCHES = [
    ["The cats sat on the mat; the CAT slept.", "", "Dogs and cats, living together! Fox."],
    ["   \n\t ...  "],
    [],
    ["Überraschung: Ärger im Straßenverkehr fox", "Stocks fell 3.5 percent in 1987.", "cat cat cat dog"],
    ["fox the of and", "zebra aardvark fox cat", "brand new words, and a mat"],
]
TEXTS = [text for batch in BATCHES for text in batch]
SETTINGS = [
    {},
    {"weighting": "bm25"},
    {"weighting": "tf"},
    {"min_df": 2},
    {"min_df": 2, "weighting": "bm25"},
    {"max_df": 0.4},
    {"max_features": 3},
    {"stop_words": None, "stemmer": None},
    {"analyzer": str.split},
]


def equal(A, B):
    return (
        A.shape == B.shape
        and A.dtype == B.dtype
        and all(np.array_equal(getattr(A, part), getattr(B, part)) for part in ("indptr", "indices", "data"))
    )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_one_scan_equals_fit_and_transform(settings):
    expected = TextVectorizer(**settings).fit(TEXTS)
    counter = CorpusCounter(TextVectorizer(**settings))
    kept = [counter.add(batch) for batch in BATCHES]
    vectorizer = counter.finish()
    assert vectorizer.vocabulary_ == expected.vocabulary_
    assert list(vectorizer.vocabulary_) == sorted(vectorizer.vocabulary_)
    assert np.array_equal(vectorizer.statistics_.document_frequency, expected.statistics_.document_frequency)
    assert vectorizer.statistics_.mean_length == expected.statistics_.mean_length
    for batch, counts in zip(BATCHES, kept, strict=True):
        assert equal(counter.rows(counts), expected.transform(batch))
        assert equal(vectorizer.transform(batch), expected.transform(batch))
    assert equal(TextVectorizer(**settings).fit_transform(TEXTS), expected.transform(TEXTS))


def test_a_term_that_all_documents_have_leaves_no_zeros():
    texts = ["cat dog", "cat mat", "cat cat"]
    counter = CorpusCounter(TextVectorizer())
    counts = counter.add(texts)
    assert equal(counter.finish().transform(texts), counter.rows(counts))
    assert counter.rows(counts).nnz == 2


def test_the_kept_counts_stay_as_they_are_and_can_be_taken_in_parts():
    counter = CorpusCounter(TextVectorizer(min_df=2))
    counts = counter.add(["zebra cat", "cat ant fox", "ant fox", "fox zebra cat"])
    before = counts.copy()
    counter.finish()
    rows = counter.rows(counts)
    assert equal(counts, before)
    assert equal(counter.rows(counts), rows)
    assert equal(counter.rows(counts[[3, 1]]), rows[[3, 1]])
    assert counter.settled(counts).dtype == np.int32
    assert counter.settled(counts).sum(axis=0).tolist() == [2, 3, 3, 2]


def test_columns_are_provisional_and_their_number_grows():
    counter = CorpusCounter(TextVectorizer(stemmer=None))
    assert counter.add(["zebra", "zebra ant ant"]).toarray().tolist() == [[1, 0], [1, 2]]
    assert counter.add(["bee ant"]).toarray().tolist() == [[0, 1, 1]]
    totals = counter.totals
    assert totals.terms.tolist() == ["zebra", "ant", "bee"]
    assert totals.document_frequency.tolist() == [2, 2, 1]
    assert totals.term_count.tolist() == [2, 3, 1]
    assert (totals.n_documents, totals.n_tokens) == (3, 6)


def test_many_texts_may_be_added_at_once(monkeypatch):
    monkeypatch.setattr(counters, "BATCH_DOCUMENTS", 2)
    counter = CorpusCounter(TextVectorizer())
    counts = counter.add(text for text in TEXTS)
    assert equal(counter.finish().transform(TEXTS), counter.rows(counts))


def test_what_is_out_of_turn_is_refused():
    counter = CorpusCounter(TextVectorizer())
    counts = counter.add(TEXTS)
    with pytest.raises(ValueError, match="Call finish"):
        counter.rows(counts)
    counter.finish()
    with pytest.raises(ValueError, match="new CorpusCounter"):
        counter.add(TEXTS)


@pytest.mark.parametrize(
    ("settings", "texts"),
    [({}, []), ({}, ["", "the"]), ({"min_df": 100}, TEXTS), ({}, ["fine", None]), ({"stemmer": "klingon"}, TEXTS)],
)
@pytest.mark.parametrize("method", ["fit", "fit_transform", "fit_counts"])
def test_a_fit_that_fails_leaves_the_vectorizer_as_it_was(method, settings, texts):
    vectorizer = TextVectorizer().fit(TEXTS)
    vectorizer.set_params(**settings)
    before = dict(vectorizer.__dict__)

    def learn():
        if method == "fit_counts":
            return vectorizer.fit_counts(clone(vectorizer).count(texts))
        return getattr(vectorizer, method)(texts)

    with pytest.raises((ValueError, TypeError)):
        learn()
    assert vectorizer.__dict__.keys() == before.keys()
    assert all(vectorizer.__dict__[name] is value for name, value in before.items())
