"""Collections of embeddings over HTTP: searched by text where the server has the embedder."""

from pathlib import Path

import numpy as np
import pytest

from sthash import Collection, Embedder, Learning, VectorOptions
from sthash.serve.catalog import Catalog
from sthash.serve.limits import Limits
from support.corpus import make_documents
from support.embedders import embed, other

CODES = Learning(n_bits=16, n_neighbors=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    documents = make_documents(120)
    Collection.create(folder / "embedded.sth", documents, embedder=embed).close()
    Collection.create(folder / "coded.sth", documents, embedder=embed, learning=CODES).close()
    Collection.create(folder / "others.sth", documents, embedder=other, learning=CODES).close()
    Collection.create(folder / "plain.sth", vectors=np.eye(30)).close()
    Collection.create(folder / "texts.sth", documents, learning=CODES).close()
    return folder


@pytest.fixture
def served(folder, app_of):
    return app_of(folder, embedder=embed)


def failed(response, status, code):
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    return response.json()["error"]["message"]


@pytest.mark.parametrize("name", ["embedded", "coded"])
def test_texts_find_embeddings(served, folder, name):
    with Collection.open(folder / f"{name}.sth", embedder=embed) as file:
        for asked in ({"text": "cat whisker"}, {"text": "cat whisker", "ranking": "cosine"}, {"key": "d1"}):
            answer = served.post(f"/search?collection={name}", json=asked | {"k": 5}).json()
            query, options = asked.get("text"), {name: asked[name] for name in asked if name != "text"}
            expected = file.search(query, 5, **options)
            assert [hit["key"] for hit in answer["hits"]] == [hit.key for hit in expected]
            assert (answer["strategy"], answer["ranking"]) == (expected.strategy, expected.ranking)
    many = served.post(f"/search_many?collection={name}", json={"texts": ["cat", "ship"], "k": 2}).json()
    assert [len(hits) for hits in many["answers"]] == [2, 2]
    assert served.post(f"/classify?collection={name}", json={"text": "cat whisker purr"}).json()["label"] == "cats"


VIEWED = ("code", "n_bits", "counts", "place", "places", "radius_used")


def viewed(served, name, query):
    answer = served.post(f"/search?collection={name}", json=query | {"view": True, "k": 3}).json()
    assert len(answer["hits"]) == 3
    return answer


QUERIES = [{"text": "cat"}, {"key": "d1"}, {"vector": [1.0] * 24}, {"text": "cat", "ranking": "bm25"}]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_view_of_a_collection_without_codes_says_so(served, query):
    answer = viewed(served, "embedded", query)
    assert {name: answer[name] for name in VIEWED} == dict.fromkeys(VIEWED)
    assert [hit["distance"] for hit in answer["hits"]] == [None] * 3
    assert served.get("/map?collection=embedded").json() == {"axes": None, "points": [], "labels": [], "keys": []}


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_view_of_embeddings_with_codes(served, folder, query):
    answer = viewed(served, "coded", query)
    assert (answer["n_bits"], sum(answer["counts"]), len(answer["places"])) == (16, 120, 3)
    for hit in answer["hits"]:
        assert hit["distance"] == bin(int(hit["code"], 16) ^ int(answer["code"], 16)).count("1")
    if "text" in query:
        with Collection.open(folder / "coded.sth", embedder=embed) as file:
            assert bytes.fromhex(answer["code"]) == file.encode(["cat"]).tobytes()


def test_a_text_that_the_server_cannot_embed_has_no_code(served):
    answer = viewed(served, "others", {"text": "cat"})
    assert {name: answer[name] for name in VIEWED} == dict.fromkeys(VIEWED)
    assert (answer["strategy"], answer["ranking"]) == ("postings", "graph")
    assert viewed(served, "others", {"key": "d1"})["n_bits"] == 16


def test_stats_are_those_of_the_file(served, folder):
    for name in ("embedded", "coded", "plain", "texts"):
        with Collection.open(folder / f"{name}.sth") as file:
            expected = {"name": name} | {part: value for part, value in file.info().items() if part != "path"}
            assert expected["n_bits"] == file.n_bits
        assert served.get(f"/stats?collection={name}").json() == expected


def test_collections_say_what_they_take(served, folder, app_of):
    def said(api, part):
        return {one["name"]: one[part] for one in api.get("/collections").json()["collections"]}

    assert said(served, "takes_texts") == {
        "coded": True,
        "embedded": True,
        "others": False,
        "plain": False,
        "texts": True,
    }
    assert [name for name, takes in said(app_of(folder), "takes_texts").items() if takes] == ["texts"]
    assert said(served, "n_bits") == {"coded": 16, "embedded": 0, "others": 16, "plain": 0, "texts": 16}
    assert [name for name, words in said(served, "words").items() if not words] == ["plain"]


def test_without_the_embedder_the_answer_says_which(served):
    asked = {"text": "cat", "ranking": "cosine"}
    message = failed(served.post("/search?collection=others", json=asked), 422, "wrong_type")
    assert "'support.embedders:other'" in message
    assert served.post("/search?collection=others", json={"key": "d1"}).status_code == 200
    assert served.post("/search?collection=texts", json={"text": "cat"}).status_code == 200


def test_codes_that_are_not_there(served):
    for asked in ({"key": "d1", "radius": 3}, {"text": "cat", "rerank": False}):
        message = failed(served.post("/search?collection=embedded", json=asked), 422, "invalid_value")
        assert message.startswith("this collection has no codes")
    failed(served.post("/encode?collection=embedded", json={"texts": ["cat"]}), 422, "invalid_value")
    failed(served.get("/duplicates?collection=embedded&radius=3"), 422, "invalid_value")
    assert served.get("/duplicates?collection=embedded").status_code == 200


def test_documents_are_embedded_when_they_are_added(folder, app_of, tmp_path):
    path = Path(tmp_path, "e.sth")
    path.write_bytes((folder / "embedded.sth").read_bytes())
    api = app_of(path, embedder=embed)
    assert api.post("/documents", json={"documents": [{"key": "new", "text": "zebra"}]}).json() == {"count": 1}
    assert api.post("/search", json={"text": "zebra", "k": 1}).json()["hits"][0]["key"] == "new"


def test_an_embedder_that_fails_is_the_fault_of_the_server(folder, app_of, caplog):
    def broken(texts):
        raise RuntimeError("a secret path")

    api = app_of(folder / "embedded.sth", embedder=Embedder.of(broken, "support.embedders:embed"))
    message = failed(api.post("/search", json={"text": "cat"}), 503, "embedder_failed")
    assert "secret" not in message
    assert "a secret path" in caplog.text
    failed(api.post("/documents", json={"documents": [{"text": "cat"}]}), 503, "embedder_failed")
    assert api.post("/search", json={"vector": np.ones(24).tolist()}).status_code == 200


def test_an_embedder_that_does_not_fit_the_only_file_is_an_error_at_once(folder):
    for name in ("texts.sth", "others.sth"):
        with pytest.raises((TypeError, ValueError), match=name):
            Catalog(folder / name, Limits(), lambda size: None, embedder=embed)


def test_inner_products_over_http(folder, app_of, tmp_path):
    rows = np.random.default_rng(0).normal(size=(80, 6)) * np.random.default_rng(1).lognormal(0, 1, 80)[:, None]
    texts = [f"text {i}" for i in range(80)]
    Collection.create(
        tmp_path / "p.sth", texts, vectors=rows, learning=CODES, vector_options=VectorOptions(metric="ip")
    ).close()
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
