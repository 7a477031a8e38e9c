"""A vector store of LlamaIndex, through the index that uses it."""

import pytest

from support.components import require

require("LlamaIndex")
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from sthash.integrations.llama_index import SthashVectorStore


def node(key, text, vector, **metadata):
    made = TextNode(id_=key, text=text, embedding=vector, metadata=metadata)
    made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"file of {key[0]}")
    return made


NODES = [
    node("a1", "Feed the starter in the evening.", [1.0, 0.0, 0.0], year=2023, tags=["kitchen"]),
    node("a2", "Bake the bread in the morning.", [0.9, 0.1, 0.0], year=2024, tags=["kitchen", "oven"]),
    node("b1", "Prune the roses in the evening.", [0.0, 1.0, 0.0], year=2025, tags=["garden"]),
]


@pytest.fixture
def store(tmp_path):
    made = SthashVectorStore(tmp_path / "c.sth")
    assert made.add(NODES) == ["a1", "a2", "b1"]
    yield made
    made.client.close()


def ask(store, text=None, vector=None, k=1, mode=VectorStoreQueryMode.DEFAULT, **more):
    return store.query(
        VectorStoreQuery(query_str=text, query_embedding=vector, similarity_top_k=k, mode=mode, **more)
    ).ids


def test_modes(store):
    assert ask(store, vector=[0.0, 2.0, 0.0]) == ["b1"]
    assert ask(store, "bread", mode=VectorStoreQueryMode.TEXT_SEARCH) == ["a2"]
    both = ask(store, "bread", [0.0, 2.0, 0.0], 3, VectorStoreQueryMode.HYBRID)
    assert both[:2] == ["a2", "b1"]
    for mode, given, missing in (
        (VectorStoreQueryMode.DEFAULT, {"text": "bread"}, "Pass query_embedding"),
        (VectorStoreQueryMode.HYBRID, {"text": "bread"}, "Pass query_embedding"),
        (VectorStoreQueryMode.TEXT_SEARCH, {"vector": [0.0, 2.0, 0.0]}, "Pass query_str"),
        (VectorStoreQueryMode.SVM, {"vector": [0.0, 2.0, 0.0]}, "Use one of: default"),
    ):
        with pytest.raises(ValueError, match=missing):
            ask(store, mode=mode, **given)


def test_what_is_stored_comes_back(store, tmp_path):
    store.client.close()
    again = SthashVectorStore(tmp_path / "c.sth")
    found = again.query(VectorStoreQuery(query_embedding=[1.0, 0.0, 0.0], similarity_top_k=3))
    assert found.ids == ["a1", "a2", "b1"]
    assert found.similarities == pytest.approx([1, 0.9939, 0], abs=1e-3)
    wanted = NODES[0].model_copy(update={"embedding": None})
    assert found.nodes[0].to_dict() == wanted.to_dict()
    assert again.get_nodes(["b1", "nothing"])[0].node_id == "b1"
    again.client.close()


def test_filters(store):
    def keys(*filters, condition=FilterCondition.AND):
        chosen = MetadataFilters(filters=list(filters), condition=condition)
        return set(ask(store, vector=[1.0, 0.0, 0.0], k=9, filters=chosen))

    late = MetadataFilter(key="year", value=2023, operator=FilterOperator.GT)
    oven = MetadataFilter(key="tags", value="oven", operator=FilterOperator.CONTAINS)
    assert keys(late) == {"a2", "b1"}
    assert keys(late, oven) == {"a2"}
    assert keys(oven, MetadataFilter(key="year", value=2025), condition=FilterCondition.OR) == {"a2", "b1"}
    assert keys(MetadataFilter(key="nothing", value=1)) == set()
    assert ask(store, vector=[0.0, 1.0, 0.0], node_ids=["a1"]) == ["a1"]
    assert ask(store, vector=[0.0, 1.0, 0.0], k=9, doc_ids=["file of a"]) == ["a2", "a1"]


def test_deletions(store):
    store.delete("file of a")
    assert [each.node_id for each in store.get_nodes()] == ["b1"]
    store.add([NODES[0], NODES[0]])
    store.delete_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="year", value=2025)]))
    assert [each.node_id for each in store.get_nodes()] == ["a1"]
    store.delete_nodes(["a1", "gone"])
    store.clear()
    assert len(store.client) == 0
    assert ask(store, vector=[0.0, 1.0, 0.0]) == []


def test_an_index(tmp_path):
    store = SthashVectorStore(tmp_path / "c.sth")
    documents = [Document(text=f"note {number} about ships", id_=str(number)) for number in range(8)]
    index = VectorStoreIndex.from_documents(
        documents,
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=MockEmbedding(embed_dim=4),
    )
    retriever = index.as_retriever(similarity_top_k=2, vector_store_query_mode="text_search")
    assert retriever.retrieve("note 5")[0].text == "note 5 about ships"
    index.delete_ref_doc("5")
    assert len(store.client) == 7
    store.client.close()
