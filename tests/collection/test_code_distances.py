"""Distances of typed queries: computed when somebody looks at them, and equal to those of the codes."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from sthash import Collection, codes
from sthash.collection import Hit
from sthash.collection.code_distances import CodeDistances
from support.golden import make_texts

QUERIES = [*(" ".join(text.split()[:3]) for text in make_texts(8)), "zebra", "zebra zebra unknownword", "the"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("distances") / "c.sth"
    with Collection.create(path, make_texts(300), n_bits=24, n_neighbors=5) as collection:
        collection.add([{"key": "new", "text": "a zebra, which no model knows"}])
    return path


def test_they_are_those_of_the_codes(path):
    with Collection.open(path) as collection:
        answers = collection.search_many(QUERIES)
        own = collection.encode(QUERIES)
        assert sum(map(len, answers)) > 50
        for query, hits in enumerate(answers):
            documents = collection.encode([hit.text for hit in hits])
            expected = codes.row_distances(documents, np.repeat(own[query : query + 1], len(hits), axis=0))
            assert [hit.distance for hit in hits] == expected.tolist()
            assert [hit.distance for hit in collection.search(QUERIES[query])] == expected.tolist()


def test_they_need_the_file_no_more(path):
    with Collection.open(path) as collection:
        query = QUERIES[0]
        expected = [hit.distance for hit in collection.search(query)]
        later = collection.search(query)
    assert [hit.distance for hit in later] == expected


def test_nothing_is_encoded_before(path, monkeypatch):
    monkeypatch.setattr(CodeDistances, "_query_codes", lambda _: pytest.fail("nobody asked for a distance"))
    with Collection.open(path) as collection:
        assert [hit.score for hit in collection.search(QUERIES[0])]


def test_a_hit_is_a_plain_record(path):
    with Collection.open(path) as collection:
        first, second, third, fourth = (collection.search(QUERIES[0])[0] for _ in range(4))
    assert first == second == pickle.loads(pickle.dumps(third)) == copy.copy(fourth)
    assert dataclasses.replace(first, distance=99).distance == 99
    assert Hit(**dataclasses.asdict(first)) == first
    assert f"distance={first.distance}" in repr(second)
    assert vars(pickle.loads(pickle.dumps(second))) == dataclasses.asdict(second)
    with pytest.raises(AttributeError, match="no 'colour'"):
        first.colour  # noqa: B018
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.distance = 3
