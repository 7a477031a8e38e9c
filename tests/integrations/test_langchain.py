"""LangChain's own tests of vector stores and retrievers, and what they leave out."""

import pytest

from support.components import require

require("LangChain and its tests")
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from sthash import Collection
from sthash.extras import install_command
from sthash.integrations.langchain import SthashRetriever, SthashVectorStore
from support.corpus import make_documents

NOTES = [
    Document("Feed the starter in the evening.", id="bread", metadata={"year": 2023, "tags": ["kitchen"]}),
    Document("Water the tomatoes in the morning.", id="garden", metadata={"year": 2024, "tags": ["garden"]}),
    Document("Prune the roses in the evening.", id="roses", metadata={"year": 2025, "tags": ["garden"]}),
]


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        store = SthashVectorStore(tmp_path / "c.sth", self.get_embeddings())
        yield store
        store.collection.close()


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def collection(self, tmp_path):
        with Collection.create(tmp_path / "c.sth", make_documents(60)) as self.own:
            yield

    @property
    def retriever_constructor(self):
        return SthashRetriever

    @property
    def retriever_constructor_params(self):
        return {"collection": self.own}

    @property
    def retriever_query_example(self):
        return "kitten claw"


class Asymmetric(DeterministicFakeEmbedding):
    """Queries have the vectors of other texts than they are."""

    def embed_query(self, text):
        return self.embed_documents(["Feed the starter in the evening."])[0]


@pytest.mark.parametrize("embedding", [None, DeterministicFakeEmbedding(size=8)])
def test_words_filters_and_files(tmp_path, embedding):
    store = SthashVectorStore(tmp_path / "c.sth", embedding)
    assert store.add_documents(NOTES) == ["bread", "garden", "roses"]
    assert store.similarity_search("tomatoes", k=1) == [NOTES[1]]
    assert store.similarity_search("evening", k=1, filter={"year": {">": 2023}}) == [NOTES[2]]
    assert store.similarity_search("evening", k=1, where={"tags": "kitchen"}) == [NOTES[0]]
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"tags": "garden"}})
    assert retriever.invoke("evening") == [NOTES[2]]
    store.collection.close()
    again = SthashVectorStore(tmp_path / "c.sth", embedding)
    assert again.get_by_ids(["roses", "nothing"]) == [NOTES[2]]
    assert again.add_texts(["once", "twice"], ids=["x", "x"]) == ["x", "x"]
    assert again.get_by_ids(["x"])[0].page_content == "twice"
    again.delete()
    assert len(again.collection) == 0
    with pytest.raises(ValueError, match="got 1 texts, 2 ids and 1 metadatas"):
        again.add_texts(["a"], ids=["a", "b"])
    again.collection.close()


def test_queries_are_embedded_in_their_own_way(tmp_path):
    store = SthashVectorStore.from_texts(
        [note.page_content for note in NOTES], Asymmetric(size=8), ids=[note.id for note in NOTES]
    )
    ((nearest, score),) = store.similarity_search_with_score("tomatoes", k=1, ranking="cosine")
    assert (nearest.id, round(score, 5)) == ("bread", 1)
    assert store.similarity_search_by_vector(store.embeddings.embed_query(""), k=1)[0].id == "bread"
    scored = store.similarity_search_with_relevance_scores("x", k=3, score_threshold=0.5)
    assert [document.id for document, score in scored if score > 0.99] == ["bread"]
    assert all(0.5 <= score <= 1 for _, score in scored)
    diverse = store.max_marginal_relevance_search("tomatoes", k=2)
    assert len({document.id for document in diverse}) == 2
    store.collection.close()
    texts = SthashVectorStore.from_texts(["one"])
    with pytest.raises(ValueError, match="Pass collapse=True instead"):
        texts.max_marginal_relevance_search("one")
    texts.collection.close()


def test_a_retriever_says_scores_and_labels(tmp_path):
    with Collection.create(tmp_path / "c.sth", make_documents(60)) as collection:
        found = SthashRetriever(collection=collection, k=2, options={"where": {"label": "ships"}}).invoke("harbour")
        hits = collection.search("harbour", 2, where={"label": "ships"})
    assert [(one.id, one.metadata["label"], one.metadata["score"]) for one in found] == [
        (hit.key, "ships", hit.score) for hit in hits
    ]


def test_without_the_extra(run_python):
    source = """
import sys
sys.modules["langchain_core.documents"] = None
try:
    import sthash.integrations.langchain
except ImportError as error:
    print(error)
"""
    assert install_command("langchain") in run_python(source)
