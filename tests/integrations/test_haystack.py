"""Haystack's own tests of document stores, and a pipeline of hybrid search."""

import random

import pytest

from support.components import require

require("Haystack")
from haystack import Document, Pipeline
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import DocumentStoreBaseTests

from sthash.integrations.haystack import SthashDocumentStore, SthashRetriever


class Suite(DocumentStoreBaseTests):
    @staticmethod
    def assert_documents_are_equal(received, expected):
        """Documents come back in any order, and without embeddings."""

        def rows(documents):
            return sorted((document.id, document.content, sorted(document.meta.items())) for document in documents)

        assert rows(received) == rows(expected)

    def test_write_documents(self, document_store):
        documents = [Document(id="1", content="one"), Document(id="2", content="two", meta={"page": 7})]
        assert document_store.write_documents(documents) == 2
        with pytest.raises(DuplicateDocumentError, match="with the id '1' already"):
            document_store.write_documents([Document(id="3"), documents[0]])
        self.assert_documents_are_equal(document_store.filter_documents(), documents)


class TestTexts(Suite):
    @pytest.fixture
    def document_store(self, tmp_path):
        store = SthashDocumentStore(str(tmp_path / "c.sth"))
        yield store
        store.collection.close()


class TestVectors(Suite):
    @pytest.fixture
    def document_store(self, tmp_path):
        store = SthashDocumentStore(str(tmp_path / "c.sth"), embedding_dim=768)
        yield store
        store.collection.close()


@pytest.fixture
def store():
    made = SthashDocumentStore(embedding_dim=3)
    made.write_documents(
        [
            Document(id="bread", content="Feed the starter.", embedding=[5, 0, 0], meta={"year": 2023}),
            Document(id="garden", content="Water the tomatoes.", embedding=[0, 2, 0], meta={"year": 2024}),
            Document(id="roses", content="Prune the roses.", embedding=[0, 1, 1], meta={"year": 2025}),
            Document(id="plain", content="Roses without an embedding."),
        ]
    )
    yield made
    made.collection.close()


def keys(documents):
    return [document.id for document in documents]


def test_words_vectors_and_both(store):
    found = store.search(embedding=[0, 9, 0], top_k=4)
    assert keys(found) == ["garden", "roses", "bread"]
    assert [round(document.score, 4) for document in found] == [1, 0.7071, 0]
    assert set(keys(store.search("roses"))) == {"roses", "plain"}
    assert keys(store.search("roses", [0, 9, 0], top_k=4))[0] == "roses"
    assert set(keys(store.search("roses", [0, 9, 0], top_k=4))) >= {"roses", "plain", "garden"}
    late = {"field": "meta.year", "operator": ">", "value": 2023}
    assert keys(store.search(embedding=[5, 0, 0], filters=late, top_k=1)) in (["garden"], ["roses"])
    never = {"field": "meta.year", "operator": ">", "value": 3000}
    assert store.search("roses", filters=never) == []


def test_a_pipeline_that_is_saved(tmp_path):
    path = str(tmp_path / "c.sth")
    store = SthashDocumentStore(path, embedding_dim=2)
    store.write_documents([Document(id=str(n), content=f"note {n}", embedding=[n, 1]) for n in range(5)])
    pipeline = Pipeline()
    pipeline.add_component("retriever", SthashRetriever(store, top_k=2))
    given = {"retriever": {"query": "note 3", "query_embedding": [3, 1]}}
    first = pipeline.run(given)["retriever"]["documents"]
    assert keys(first)[0] == "3"
    store.collection.close()
    again = Pipeline.loads(pipeline.dumps(), unsafe=True)
    assert again.run(given)["retriever"]["documents"] == first
    again.get_component("retriever")._documents.collection.close()


def test_what_is_refused(store):
    with pytest.raises(ValueError, match="has an embedding of 2 values, but the store was made for 3"):
        store.write_documents([Document(content="x", embedding=[1, 2])])
    with pytest.raises(TypeError, match="needs a query, an embedding, or both"):
        store.search()
    with pytest.raises(ValueError, match="Pass a SthashDocumentStore"):
        SthashRetriever("store")
    assert store.write_documents([Document(id="bread")], DuplicatePolicy.SKIP) == 0
    texts = SthashDocumentStore()
    assert texts.search("anything") == []
    with pytest.raises(ValueError, match="Make it with embedding_dim"):
        texts.search(embedding=[random.random()])
    texts.collection.close()
