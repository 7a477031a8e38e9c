"""What is kept from answer to answer changes no answer."""

from __future__ import annotations

import numpy as np
import pytest

from sthash import Collection
from sthash.collection.file import documents as document_table
from sthash.collection.indexes import counts, postings, query_words, stored_model, words
from support.factories import create_collection

TEXTS = [
    f"{animal} number{n} likes {food}" for n in range(12) for animal, food in [("cat", "fish"), ("dog", "old bones")]
]
QUERIES = ["cat fish", "dog\tbones  dog", "Cat; number3", "x-ray fish", "größe fish", "the cat", "", "bones number7"]


@pytest.fixture
def path(tmp_path):
    documents = [{"key": str(n), "text": text, "tags": ["a"]} for n, text in enumerate(TEXTS)]
    create_collection(tmp_path / "c.sth", documents).close()
    return tmp_path / "c.sth"


def test_answers_are_the_same_cold_and_warm(path, monkeypatch):
    with Collection.open(path) as warm:
        first = warm.search_many(QUERIES, 5, explain=True)
        assert warm.search_many(QUERIES, 5, explain=True) == first
        assert [warm.search(query, 5, explain=True) for query in QUERIES] == first
    monkeypatch.setattr(query_words, "REMEMBERED_PIECES", 2)
    monkeypatch.setattr(document_table, "CACHED_BYTES", 1000)
    monkeypatch.setattr(stored_model, "CACHED_BYTES", 0)
    with Collection.open(path) as cold:
        again = [cold.search(query, 5, explain=True) for query in QUERIES]
    assert again == first
    assert [hits.unknown for hits in again] == [hits.unknown for hits in first]
    assert first[4].unknown == ("größe",)
    assert first[5].ignored == ("the",)


def test_vectors_are_read_ahead_a_few_at_a_time(path, monkeypatch):
    """No search reads all of them, and what was read stays when a time limit ends a search."""
    monkeypatch.setattr(words, "READ_AHEAD", 6)
    monkeypatch.setattr(words, "ROWS_TOGETHER", 3)
    read, load = [], counts.load_counts

    def counted(store, ids, *arguments):
        if len(read) == 3:
            read.append(None)
            raise TimeoutError
        read.append(ids.tolist())
        return load(store, ids, *arguments)

    with Collection.open(path) as collection, collection.snapshot() as now:
        with Collection.open(path) as other, other.snapshot() as then:
            expected = then.words.vectors()
        for number in now.ids[:12].tolist():
            now.words.vectors(np.array([number]))  # half of them; from now on it pays to read ahead
        monkeypatch.setattr(words, "load_counts", counted)
        now.words.vectors(np.array([0]))
        with pytest.raises(TimeoutError):
            now.words.vectors(np.array([0]))
        for _ in range(4):
            now.words.vectors(np.array([0]))
        ahead = [ids for ids in read if ids is not None and len(ids) > 1]
        assert ahead == [[first, first + 1, first + 2] for first in range(0, len(TEXTS), 3)]
        own = now.words.vectors(now.ids)
        np.testing.assert_array_equal(own.to_scipy().toarray(), expected.to_scipy().toarray())


def test_answers_are_the_same_when_no_list_is_kept(path, monkeypatch):
    with Collection.open(path) as roomy, Collection.open(path) as other:
        monkeypatch.setattr(postings, "MOST_PENDING", 3)
        for n in range(8):
            want = [roomy.search(query, 5) for query in QUERIES]
            with monkeypatch.context() as context:
                context.setattr(postings, "default_memory", lambda: 0)
                assert [other.search(query, 5) for query in QUERIES] == want
                assert len(other._loaded.words.postings._held) < 12
            other.add([{"key": f"new{n}", "text": f"a cat with bones number{n}"}])
            roomy.delete(str(2 * n))


def test_a_hit_is_its_owners(path):
    with Collection.open(path) as collection:
        hit = collection.search("cat", 1)[0]
        hit.metadata["tags"].append("b")
        assert hit.metadata == {"tags": ["a", "b"]}
        assert collection.search("cat", 1)[0].metadata == {"tags": ["a"]}
        first, second = collection.search_many(["cat", "cat"], 1)
        first[0].metadata.clear()
        assert second[0].metadata == {"tags": ["a"]}


def test_a_change_is_seen_at_once(path):
    with Collection.open(path) as collection:
        assert collection.search("walrus") == []
        collection.add([{"key": "w", "text": "a walrus"}])
        assert [hit.key for hit in collection.search("walrus")] == ["w"]
        collection.upsert([{"key": "w", "text": "a seal"}])
        assert collection.search("walrus") == []
        assert np.isfinite(collection.search("seal")[0].score)
