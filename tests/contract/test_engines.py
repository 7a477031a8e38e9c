"""One suite that every engine passes: the codes, the neighbors and their order are those of a plain scan."""

from __future__ import annotations

import numpy as np
import pytest

from sthash import codes
from support.engines import ENGINES, Corpus
from support.spark import corpus as texts_with_odd_ones

QUERIES = ["topic3word1 topic3word2 common7", "", "same words twice", "naïve café", "никогда не видели", "word\x00nul"]


@pytest.fixture(scope="session")
def corpus():
    """Codes that are no whole bytes, and with many ties."""
    return Corpus.learn(texts_with_odd_ones(), n_bits=20)


@pytest.fixture(scope="session", params=ENGINES)
def engine(request, corpus):
    with ENGINES[request.param](corpus, request) as running:
        yield running


def scan(corpus, query):
    """All documents by distance, then position, the slow way."""
    distances = codes.distances(corpus.encode([query]), corpus.codes)[0].tolist()
    return sorted((distance, place) for place, distance in enumerate(distances))


def test_the_corpus_has_ties_and_duplicates(corpus):
    assert len(np.unique(corpus.codes, axis=0)) < len(corpus.texts)
    assert corpus.texts.count("") == 1
    assert any(scan(corpus, query)[9][0] == scan(corpus, query)[10][0] for query in QUERIES)


def test_the_same_codes_to_the_bit(engine, corpus):
    stored = engine.codes()
    assert stored.dtype == np.uint8
    assert np.array_equal(stored, corpus.codes)


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_the_same_neighbors_in_the_same_order(engine, corpus, query):
    everything = scan(corpus, query)
    for k in (10, len(corpus.texts) + 5):
        assert engine.nearest(query, k) == everything[:k]


@pytest.mark.parametrize("query", QUERIES[:2], ids=range(2))
def test_the_same_ball(engine, corpus, query):
    assert engine.within(query, 3) == [near for near in scan(corpus, query) if near[0] <= 3]


def test_the_same_pairs(engine, corpus):
    distances = codes.distances(corpus.codes, corpus.codes)
    left, right = np.nonzero(np.triu(distances <= 3, 1))
    expected = zip(left.tolist(), right.tolist(), distances[left, right].tolist(), strict=True)
    assert engine.pairs(3) == set(expected)
