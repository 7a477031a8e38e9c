"""Collections of embeddings over HTTP: searched by text where the server has the embedder."""

from pathlib import Path

import numpy as np
import pytest

from sthash import Collection
from sthash.serve import Settings
from sthash.serve.catalog import Catalog
from sthash.serve.limits import Limits
from support.corpus import make_documents
from support.embedders import embed, other

SMALL = {"n_bits": 16, "n_neighbors": 8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    documents = make_documents(120)
    Collection.create(folder / "embedded.sth", documents, embedder=embed, text_search=True, **SMALL).close()
    Collection.create(folder / "others.sth", documents, embedder=other, **SMALL).close()
    Collection.create(folder / "plain.sth", vectors=np.eye(30), **SMALL).close()
    Collection.create(folder / "texts.sth", documents, **SMALL).close()
    return folder


@pytest.fixture
def served(folder, app_of):
    return app_of(folder, embedder=embed)


def failed(response, status, code):
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    return response.json()["error"]["message"]


def test_texts_find_embeddings(served, folder):
    with Collection.open(folder / "embedded.sth", embedder=embed) as file:
        for asked in ({"text": "cat whisker"}, {"text": "cat whisker", "ranking": "cosine"}, {"key": "d1"}):
            answer = served.post("/search?collection=embedded", json=asked | {"k": 5}).json()
            query, options = asked.get("text"), {name: asked[name] for name in asked if name != "text"}
            expected = file.search(query, 5, **options)
            assert [hit["key"] for hit in answer["hits"]] == [hit.key for hit in expected]
            assert answer["ranking"] == expected.ranking
        found = served.post("/search?collection=embedded", json={"text": "cat", "view": True, "k": 3}).json()
        assert len(found["hits"]) == 3
        assert bytes.fromhex(found["code"]) == file.encode(["cat"]).tobytes()
        many = served.post("/search_many?collection=embedded", json={"texts": ["cat", "ship"], "k": 2}).json()
        assert [len(hits) for hits in many["answers"]] == [2, 2]
        assert served.post("/classify?collection=embedded", json={"text": "cat whisker purr"}).json()["label"] == "cats"


def test_collections_say_whether_they_take_texts(served, folder, app_of):
    found = {one["name"]: one["takes_texts"] for one in served.get("/collections").json()["collections"]}
    assert found == {"embedded": True, "others": False, "plain": False, "texts": True}
    found = {one["name"]: one["takes_texts"] for one in app_of(folder).get("/collections").json()["collections"]}
    assert found == {"embedded": False, "others": False, "plain": False, "texts": True}


def test_without_the_embedder_the_answer_says_which(served):
    message = failed(served.post("/search?collection=others", json={"text": "cat"}), 422, "wrong_type")
    assert "'support.embedders:other'" in message
    assert served.post("/search?collection=others", json={"key": "d1"}).status_code == 200
    assert served.post("/search?collection=texts", json={"text": "cat"}).status_code == 200


def test_documents_are_embedded_when_they_are_added(folder, app_of, tmp_path):
    path = Path(tmp_path, "e.sth")
    path.write_bytes((folder / "embedded.sth").read_bytes())
    api = app_of(path, embedder=embed)
    assert api.post("/documents", json={"documents": [{"key": "new", "text": "zebra"}]}).json() == {"count": 1}
    assert api.post("/search", json={"text": "zebra", "k": 1}).json()["hits"][0]["key"] == "new"


def test_an_embedder_that_fails_is_the_fault_of_the_server(folder, app_of, caplog):
    def broken(texts):
        raise RuntimeError("a secret path")

    api = app_of(folder / "embedded.sth", embedder=broken, embedder_name="support.embedders:embed")
    message = failed(api.post("/search", json={"text": "cat"}), 503, "embedder_failed")
    assert "secret" not in message
    assert "a secret path" in caplog.text
    failed(api.post("/documents", json={"documents": [{"text": "cat"}]}), 503, "embedder_failed")
    assert api.post("/search", json={"vector": np.ones(24).tolist()}).status_code == 200


def test_an_embedder_that_does_not_fit_the_only_file_is_an_error_at_once(folder):
    for name in ("texts.sth", "others.sth"):
        settings = Settings(folder / name, embedder=embed)
        with pytest.raises((TypeError, ValueError), match=name):
            Catalog(settings.source, Limits(), lambda size: None, embedding=settings.embedding)


def test_inner_products_over_http(folder, app_of, tmp_path):
    rows = np.random.default_rng(0).normal(size=(80, 6)) * np.random.default_rng(1).lognormal(0, 1, 80)[:, None]
    texts = [f"text {i}" for i in range(80)]
    Collection.create(tmp_path / "p.sth", texts, vectors=rows, metric="ip", text_search=True, **SMALL).close()
    client = app_of(tmp_path / "p.sth")
    assert client.get("/stats").json()["metric"] == "ip"
    found = client.post("/search", json={"vector": rows[3].tolist(), "k": 5, "view": True}).json()
    assert found["ranking"] == "ip"
    products = np.sort(rows @ rows[3])[::-1]
    assert [hit["score"] for hit in found["hits"]] == pytest.approx(products[:5].tolist(), rel=1e-5)
    assert len(found["places"]) == 5
    drawn = client.get("/map").json()
    place_of = dict(zip(drawn["keys"], drawn["points"], strict=True))
    assert found["places"] == {hit["key"]: place_of[hit["key"]] for hit in found["hits"]}
    assert found["place"] == pytest.approx(place_of["3"], abs=0.011)  # a query stands where its document does
    assert client.post("/documents", json={"documents": [{"key": "z"}], "vectors": [[0.0] * 6]}).status_code == 200
    refused = client.post("/search", json={"vector": rows[3].tolist(), "ranking": "cosine"})
    assert "metric='ip'" in failed(refused, 422, "invalid_value")
    refused = client.post("/duplicates", json={"vectors": [rows[3].tolist()]})
    assert "metric='cosine'" in failed(refused, 422, "invalid_value")
