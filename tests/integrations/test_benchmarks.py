"""A collection as the model of BEIR and MTEB, which need PyTorch: their part runs only where they are installed."""

import math

import pytest

from sthash import Collection
from sthash.evaluation import rank_queries
from sthash.integrations.benchmarks import BeirModel, MtebModel
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
    evaluation = pytest.importorskip("beir.retrieval.evaluation", reason="beir is not installed; pip install beir")
    judged = {"q1": dict.fromkeys(expected()["q1"], 1)}
    evaluator = evaluation.EvaluateRetrieval(BeirModel(), k_values=[5])
    run = evaluator.retrieve(CORPUS, {"q1": QUERIES["q1"]})
    gain, *_ = evaluator.evaluate(judged, run, [5])
    assert math.isclose(gain["NDCG@5"], 1)


def test_the_protocol_of_mteb():
    protocols = pytest.importorskip("mteb.models.models_protocols", reason="mteb is not installed; pip install mteb")
    model = MtebModel()
    assert isinstance(model, protocols.SearchProtocol)
    assert model.mteb_model_meta.name == "sthash/collection"
