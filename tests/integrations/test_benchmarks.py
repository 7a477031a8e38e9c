"""A collection as the model of BEIR and MTEB, measured by them; neither needs PyTorch for a model that is not of it."""

import pytest

from sthash import Collection
from sthash.evaluation import rank_queries
from sthash.integrations.benchmarks import BeirModel, MtebModel
from support.components import require
from support.corpus import make_documents
from support.embedders import embed

DOCUMENTS = make_documents(60)
CORPUS = {document.key: {"title": "", "text": document.text} for document in DOCUMENTS}
QUERIES = {"q1": "kitten claw", "q2": "harbour", "q3": "of"}


def expected(**options):
    with Collection.create(None, DOCUMENTS, **options) as collection:
        return rank_queries(collection, QUERIES, 5)


@pytest.mark.parametrize("options", [{}, {"embedder": embed}])
def test_beir(options):
    run = BeirModel(**options).search(CORPUS, QUERIES, 5, "cos_sim")
    assert run == expected(**options)
    assert len(run["q1"]) == 5


def test_mteb():
    model = MtebModel(search={"ranking": "bm25"})
    queries = [{"id": name, "text": text} for name, text in QUERIES.items()]
    with pytest.raises(RuntimeError, match="Call index first"):
        model.search(queries, top_k=5)
    model.index({"id": key, **record} for key, record in CORPUS.items())
    run = model.search(queries, top_k=5, task_metadata=None, hf_split="test", hf_subset="default", encode_kwargs={})
    assert run.keys() == QUERIES.keys()
    first, second, *_ = run["q1"]
    model.index({"id": key, **record} for key, record in CORPUS.items())
    again = model.search(queries, top_k=5, top_ranked={"q1": [second], "q2": [], "q3": []})
    assert list(again["q1"]) == [second]
    assert first not in again["q1"]


def test_the_evaluation_of_beir():
    require("BEIR")
    from beir.retrieval.evaluation import EvaluateRetrieval

    judged = {"q1": dict.fromkeys(expected()["q1"], 1)}
    evaluator = EvaluateRetrieval(BeirModel(), k_values=[5])
    run = evaluator.retrieve(CORPUS, {"q1": QUERIES["q1"]})
    gain, *_ = evaluator.evaluate(judged, run, [5])
    assert gain["NDCG@5"] == pytest.approx(1)
    wrong, *_ = evaluator.evaluate({"q1": {"not there": 1}}, run, [5])
    assert wrong["NDCG@5"] == 0


def test_a_task_of_mteb():
    """MTEB's own code builds the index, asks it, and scores the answers; the documents are ours."""
    require("MTEB", "Hugging Face datasets")
    from datasets import Dataset
    from mteb.mocks.mock_tasks import MockRetrievalTask
    from mteb.models.models_protocols import SearchProtocol

    model = MtebModel()
    assert isinstance(model, SearchProtocol)
    assert model.mteb_model_meta.name == "sthash/collection"
    best = {name: next(iter(found)) for name, found in expected().items() if found}
    task = MockRetrievalTask()
    task.load_data()
    task.dataset["default"]["test"] |= {
        "corpus": Dataset.from_list([{"id": key, **record} for key, record in CORPUS.items()]),
        "queries": Dataset.from_list([{"id": name, "text": QUERIES[name]} for name in best]),
        "relevant_docs": {name: {key: 1} for name, key in best.items()},
        "top_ranked": None,
    }
    scores = task.evaluate(model, split="test", encode_kwargs={})["default"]
    assert (scores["ndcg_at_1"], scores["mrr_at_10"]) == (1, 1)
