"""Hits are plain records, and their distances are those of the codes."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from sthash import Collection, codes
from sthash.collection import Hit
from support.corpus import make_documents
from support.embedders import embed
from support.factories import create_collection
from support.golden import make_texts

QUERIES = [*(" ".join(text.split()[:3]) for text in make_texts(8)), "zebra", "zebra zebra unknownword", "the"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    path = tmp_path_factory.mktemp("distances") / "c.sth"
    with create_collection(path, make_texts(300), n_bits=24) as collection:
        collection.add([{"key": "new", "text": "a zebra, which no model knows"}])
        yield collection


@pytest.mark.parametrize("options", [{"explain": True}, {"rerank": False}, {"radius": 9}, {"ranking": "cosine"}])
def test_distances_are_those_of_the_codes(opened, options):
    answers = opened.search_many(QUERIES, **options)
    own = opened.encode(QUERIES)
    assert sum(map(len, answers)) > 50
    for query, hits in enumerate(answers):
        documents = opened.encode([hit.text for hit in hits])
        expected = codes.row_distances(documents, np.repeat(own[query : query + 1], len(hits), axis=0))
        assert [hit.distance for hit in hits] == expected.tolist()
        assert [hit.distance for hit in opened.search(QUERIES[query], **options)] == expected.tolist()


def test_words_alone_have_no_distances(opened):
    hits = opened.search(QUERIES[0])
    assert hits
    assert {hit.distance for hit in hits} == {None}
    assert [hit.key for hit in opened.search(QUERIES[0], explain=True)] == [hit.key for hit in hits]


def test_vectors_have_distances_if_they_have_codes(tmp_path):
    documents = make_documents(60)
    for path, learned in ((tmp_path / "codes.sth", True), (tmp_path / "none.sth", False)):
        make = create_collection if learned else Collection.create
        with make(path, documents, embedder=embed) as collection:
            query = embed(["cat whisker"])[0]
            for searched in (query, "cat whisker"):
                assert {hit.distance for hit in collection.search(searched, 5)} == {None}
                hits = collection.search(searched, 5, explain=True)
                assert [hit.distance is None for hit in hits] == [not learned] * 5
            if learned:
                expected = np.bitwise_count(collection.encode([query]) ^ collection.encode([hit.text for hit in hits]))
                assert [hit.distance for hit in hits] == expected.sum(axis=1).tolist()


def test_a_hit_is_a_plain_record(opened):
    first, second = (opened.search(QUERIES[0], explain=True)[0] for _ in range(2))
    assert first == second == pickle.loads(pickle.dumps(first)) == copy.copy(first)
    assert dataclasses.replace(first, distance=99).distance == 99
    assert Hit(**dataclasses.asdict(first)) == first
    assert f"distance={first.distance}" in repr(second)
    assert Hit("a", "a cat", None, {}, 1.5) == Hit("a", "a cat", None, {}, 1.5, distance=None, terms=())
