"""The routes: what they answer, and what they say when they cannot."""

import json
import logging
import shutil
import time

import numpy as np
import pytest

from sthash import Collection, Document, Learning
from sthash.serve import limits
from support.corpus import make_documents
from support.factories import create_collection

TEXT = "a kitten with fur and a paw"


def error(response, status, code):
    """Check that an answer is an error of this kind, in the one form that errors have; give its message."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "remedy"}
    assert body["error"]["code"] == code
    assert all(body["error"].values())
    assert "Traceback" not in response.text
    return body["error"]["message"]


def test_search_gives_the_collections_hits(still, built):
    with Collection.open(built) as collection:
        hits = collection.search(TEXT, 4, explain=True)
    assert any(hit.terms for hit in hits)
    answer = still.post("/search", json={"text": TEXT, "k": 4, "explain": True}).json()
    assert [(hit["key"], hit["distance"], hit["score"], tuple(hit["terms"])) for hit in answer["hits"]] == [
        (hit.key, hit.distance, hit.score, hit.terms) for hit in hits
    ]
    assert answer["took_ms"] > 0
    words = {"ignored", "unknown", "suggestions", "corrected", "reading", "error"}
    assert set(answer) == {"hits", "took_ms", "strategy", "ranking", "total", "facets", *words}
    plain = still.post("/search", json={"text": TEXT, "k": 4}).json()["hits"]
    assert plain == [hit | {"terms": [], "distance": None} for hit in answer["hits"]]


@pytest.mark.parametrize("query", [{"text": TEXT}, {"key": "d5"}, {"text": TEXT, "where": {"parity": 1}}])
def test_view_tells_codes_counts_and_places(still, built, query):
    answer = still.post("/search", json=query | {"view": True, "k": 3, "factor": 7}).json()
    plain = still.post("/search", json=query | {"k": 3, "factor": 7}).json()
    assert [hit["key"] for hit in answer["hits"]] == [hit["key"] for hit in plain["hits"]]
    with Collection.open(built) as collection:
        documents = [document for document in collection if document.metadata["parity"] or "where" not in query]
        text = collection.get(query["key"]).text if "key" in query else query["text"]
        codes = collection.encode([text, *(document.text for document in documents)])
    assert answer["code"] == codes[0].tobytes().hex()
    distances = np.bitwise_count(codes[1:] ^ codes[0]).sum(axis=1)
    assert answer["counts"] == np.bincount(distances, minlength=17).tolist()
    assert answer["n_bits"] == 16
    k = 3 + ("key" in query)
    assert answer["radius_used"] == sorted(distances)[7 * k - 1]
    for hit in answer["hits"]:
        bits = bin(int(hit["code"], 16) ^ int(answer["code"], 16)).count("1")
        assert bits == hit["distance"]
        x, y = answer["places"][hit["key"]]
        # The first two numbers of a document are those whose signs are its first two bits.
        first = int(hit["code"][:2], 16)
        assert (x > 0, y > 0) == (bool(first & 1), bool(first & 2))
    assert len(answer["place"]) == 2


def test_view_of_a_query_without_a_known_term(still):
    answer = still.post("/search", json={"text": "zebra", "view": True}).json()
    assert answer["hits"] == []
    assert answer["place"] is None
    assert sum(answer["counts"]) == 300


def test_view_without_reranking(still):
    answer = still.post("/search", json={"text": TEXT, "view": True, "rerank": False, "k": 5}).json()
    assert answer["radius_used"] == max(hit["distance"] for hit in answer["hits"])
    answer = still.post("/search", json={"text": TEXT, "view": True, "radius": 2}).json()
    assert answer["radius_used"] == 2
    assert all(hit["distance"] <= 2 for hit in answer["hits"])


def test_map_is_that_of_the_documents_and_follows_changes(api):
    first = api.get("/map").json()
    assert len(first["points"]) == len(first["labels"]) == len(first["keys"]) == 300
    assert api.get("/map").json() == first
    view = api.post("/search", json={"key": "d5", "view": True}).json()
    place_of = dict(zip(first["keys"], first["points"], strict=True))
    assert view["place"] == place_of["d5"]
    assert all(place == place_of[key] for key, place in view["places"].items())
    api.post("/documents", json={"documents": [{"key": "new", "text": TEXT}]})
    assert "new" in api.get("/map").json()["keys"]


@pytest.mark.parametrize(
    "options", [{"recipe": "topics"}, {"recipe": "neighbors"}, {"recipe": "paper", "scatter": 1.0}]
)
def test_map_by_principal_axes(tmp_path, app_of, options):
    path = tmp_path / "other.sth"
    documents = make_documents(120)
    Collection.create(path, documents, learning=Learning(n_bits=8, n_neighbors=10, **options)).close()
    api = app_of(path)
    view = api.post("/search", json={"key": "d5", "view": True}).json()
    first = api.get("/map").json()
    place_of = dict(zip(first["keys"], first["points"], strict=True))
    assert view["place"] == place_of["d5"]
    assert all(place == place_of[key] for key, place in view["places"].items())
    points = np.array(first["points"])
    assert first["axes"] == ["first axis", "second axis"]
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-2)
    with Collection.open(path) as collection, collection.snapshot() as now:
        margins = now.codes.margins(now.ids)
    largest = np.linalg.eigvalsh(np.cov(margins.T))[::-1]
    np.testing.assert_allclose(points.var(axis=0, ddof=1), largest[:2], rtol=1e-2)
    with Collection.open(path) as collection:
        collection.relearn(n_bits=4)
    again = api.get("/map").json()
    assert len(again["points"]) == 120
    assert again["points"] != first["points"]


def test_documents_come_and_go(api):
    document = {"key": "new", "text": "kitten kitten", "label": "cats", "metadata": {"year": 2026}}
    assert api.post("/documents", json={"documents": [document]}).json() == {"count": 1}
    assert api.get("/documents/new").json() == document
    assert api.post("/search", json={"text": "kitten kitten", "k": 1}).json()["hits"][0]["key"] == "new"
    error(api.post("/documents", json={"documents": [{"key": "b"}, document]}), 409, "key_exists")
    error(api.get("/documents/b"), 404, "no_such_document")
    assert api.post("/documents", json={"documents": [document | {"text": "x"}], "mode": "upsert"}).json() == {
        "count": 1
    }
    assert api.get("/documents/new").json()["text"] == "x"
    assert api.delete("/documents/new").json() == {"count": 1}
    error(api.delete("/documents/new"), 404, "no_such_document")
    error(api.post("/delete", json={"keys": ["d1", "new"]}), 404, "no_such_document")
    assert api.post("/delete", json={"keys": ["d1", "new"], "missing_ok": True}).json() == {"count": 1}
    assert api.get("/stats").json()["documents"] == 299


def test_random_and_pages(still):
    keys = {still.get("/random").json()["key"] for _ in range(20)}
    assert len(keys) > 5
    page = still.get("/documents", params={"limit": 100}).json()
    assert still.get("/documents", params={"limit": 100, "after": -1}).json() == page
    seen = [document["key"] for document in page["documents"]]
    while page["next"] is not None:
        page = still.get("/documents", params={"after": page["next"], "limit": 100}).json()
        seen.extend(document["key"] for document in page["documents"])
    assert seen == [f"d{number}" for number in range(300)]


def test_metadata_that_json_has_not_or_that_is_too_deep(api):
    deep = b"[" * 500 + b"]" * 500
    for metadata, code in ((b"NaN", "invalid_value"), (deep, "invalid_request"), (b"1" * 5000, "invalid_json")):
        body = b'{"documents": [{"key": "new", "metadata": {"a": ' + metadata + b"}}]}"
        response = api.post("/documents", content=body, headers={"content-type": "application/json"})
        error(response, 400 if code == "invalid_json" else 422, code)
    fine = {"a": [[[{"b": [None, True, 1.5, "\u202e", 2**70]}]]]}
    assert api.post("/documents", json={"documents": [{"key": "new", "metadata": fine}]}).status_code == 200
    assert api.get("/documents/new").json()["metadata"] == fine


def test_an_empty_collection(api):
    assert api.post("/delete", json={"keys": [f"d{number}" for number in range(300)]}).json() == {"count": 300}
    error(api.get("/random"), 404, "empty")
    assert api.get("/map").json() == {"axes": ["bit 0", "bit 1"], "points": [], "labels": [], "keys": []}
    answer = api.post("/search", json={"text": TEXT, "view": True}).json()
    assert (answer["hits"], sum(answer["counts"]), answer["radius_used"]) == ([], 0, 0)


def test_stats_health_and_metrics(api, path):
    stats = api.get("/stats").json()
    assert (stats["name"], stats["documents"], stats["n_bits"], stats["kind"]) == ("some", 300, 16, "text")
    assert str(path.parent) not in json.dumps(stats)
    assert api.get("/health").json()["status"] == "ok"
    api.post("/search", json={"text": TEXT})
    api.get("/documents/a-secret-key")
    numbers = api.get("/metrics").text
    assert 'sthash_requests_total{collection="some",method="POST",route="/search",status="200"} 1.0' in numbers
    assert 'sthash_errors_total{code="no_such_document",collection="some"} 1.0' in numbers
    assert 'sthash_collection_seconds_total{collection="some"}' in numbers
    assert 'sthash_documents{collection="some"} 300.0' in numbers  # nobody has asked for the list
    assert "process_resident_memory_bytes" in numbers
    assert "sthash_search_batch_count 1.0" in numbers
    assert "a-secret-key" not in numbers


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"", 422, "invalid_request"),
        (b"null", 422, "invalid_request"),
        (b"[]", 422, "invalid_request"),
        (b"\xff\xfe", 400, "invalid_json"),
        (b"[" * 100_000, 400, "invalid_json"),
        (b'{"text": "a", "k": ' + b"9" * 5000 + b"}", 400, "invalid_json"),
        (b'{"text": "a", "k": 1e999}', 422, "invalid_request"),
        (b'{"text": "a", "k": 99999999999999999999}', 422, "invalid_request"),
        (b'{"text": "a", "k": -1}', 422, "invalid_request"),
        (b'{"text": "a", "k": "10"}', 422, "invalid_request"),
        (b'{"text": "a", "k": true}', 422, "invalid_request"),
        (b'{"text": "a", "radius": 1.5}', 422, "invalid_request"),
        (b'{"text": "a", "rerank": "yes"}', 422, "invalid_request"),
        (b'{"text": 1}', 422, "invalid_request"),
        (b'{"text": "\\ud800"}', 422, "invalid_request"),
        (b'{"text": "a", "key": "b"}', 422, "invalid_request"),
        (b'{"text": "a", "color": "red"}', 422, "invalid_request"),
        (b"{}", 422, "invalid_request"),
        (b'{"vector": [NaN]}', 422, "invalid_request"),
        (b'{"vector": [1e300]}', 422, "invalid_request"),
        (b'{"vector": []}', 422, "invalid_request"),
        (b'{"vector": [1, 2]}', 422, "wrong_type"),
        (b'{"text": "a", "where": {"n": 1' + b"0" * 400 + b"}}", 422, "invalid_request"),
        (b'{"text": "a", "where": {"n": {"m": 1}}}', 422, "invalid_request"),
        (b'{"text": "a", "where": {"n": [' + b",".join([b"1"] * 10_001) + b"]}}", 422, "invalid_request"),
        (b'{"text": "a", "where": {"n": {}}}', 422, "invalid_request"),
        (b'{"text": "a", "where": {"nothing": 1}}', 422, "invalid_value"),
        (b'{"text": "a", "where": {"parity": {">": "x"}}}', 422, "wrong_type"),
        (b'{"text": "a", "k": 1001}', 422, "invalid_request"),
        (b'{"text": "' + b"a" * 1_000_001 + b'"}', 422, "invalid_request"),
        (b'{"key": "nobody"}', 404, "no_such_document"),
        (b'{"key": "nobody", "view": true}', 404, "no_such_document"),
    ],
)
def test_bad_searches(still, body, status, code):
    message = error(still.post("/search", content=body, headers={"content-type": "application/json"}), status, code)
    assert len(message) < 500


def test_what_where_may_hold(still):
    for where in (
        {"parity": 1},
        {"parity": [0, 1]},
        {"parity": [None, 0.5, True]},
        {"parity": 2**70},
        {"parity": {">=": 0, "!=": 7}},
        {"number": {"in": [*range(5000)]}},
        {"label": {"exists": True}, "key": {"<": "e"}, "metadata.parity": 1},
        {},
    ):
        assert still.post("/search", json={"text": TEXT, "where": where}).status_code == 200
    hits = still.post("/search", json={"text": TEXT, "where": {"parity": 1}, "k": 5}).json()["hits"]
    assert len(hits) == 5
    assert all(hit["metadata"]["parity"] == 1 for hit in hits)


def test_batches_are_bounded(still):
    error(still.post("/encode", json={"texts": ["a"] * 10_001}), 422, "invalid_request")
    error(still.post("/documents", json={"documents": [{"text": "a"}] * 10_001}), 422, "invalid_request")
    error(still.post("/search_many", json={"texts": ["a"] * 1001}), 422, "invalid_request")
    error(still.post("/search_many", json={"texts": ["a"] * 100, "k": 1000}), 422, "invalid_request")
    error(still.get("/duplicates?radius=17"), 422, "invalid_request")
    error(still.get("/documents?limit=1001"), 422, "invalid_request")
    error(still.get("/documents?after=" + "9" * 30), 422, "invalid_request")
    error(still.get("/documents?after=-2"), 422, "invalid_request")


def test_the_page_has_the_limit_of_the_server(still):
    assert f"MAX_TEXT_CHARACTERS = {limits.MAX_TEXT_CHARACTERS:_};" in still.get("/page/files.js").text


def test_unknown_routes_and_methods(still):
    error(still.get("/nothing"), 404, "no_such_route")
    error(still.get("/search_many"), 405, "method_not_allowed")
    error(still.put("/documents/d1", json={}), 405, "method_not_allowed")
    error(still.get("/page/nothing.js"), 404, "no_such_route")
    error(still.get("/page/..%2fapp.py"), 404, "no_such_route")
    error(still.get("/page/%2e%2e/app.py"), 404, "no_such_route")


def test_unlabeled_collections_say_so(tmp_path, app_of):
    texts = [document.text for document in make_documents(40)]
    create_collection(tmp_path / "plain.sth", texts, n_bits=4, n_neighbors=5).close()
    message = error(app_of(tmp_path).post("/classify", json={"text": "a kitten"}), 422, "invalid_value")
    assert str(tmp_path) not in message


def test_collections_of_a_folder_are_chosen_by_name(path, tmp_path, app_of):
    for name in ("other.sth", "odd name.sth", ".hidden.sth", "notes.txt"):
        shutil.copy(path, tmp_path / name)
    (tmp_path / "folder.sth").mkdir()
    api = app_of(tmp_path)
    found = api.get("/collections").json()
    assert {row["name"] for row in found["collections"]} == {"some", "other", "odd-name"}
    assert found["default"] is None
    assert all(row["documents"] == 300 and row["error"] is None for row in found["collections"])
    error(api.get("/stats"), 400, "collection_needed")
    assert api.get("/stats?collection=other").json()["name"] == "other"
    for trick in ("nothing", "..", ".hidden", "notes.txt", "folder"):
        error(api.get("/stats", params={"collection": trick}), 404, "no_such_collection")
    for trick in ("../some", "/etc/passwd", "some/../some", "a\x00b", "", "a" * 1000, "some.sth\n"):
        error(api.get("/stats", params={"collection": trick}), 422, "invalid_request")
    shutil.copy(path, tmp_path / "late.sth")
    assert api.get("/stats?collection=late").json()["documents"] == 300
    (tmp_path / "late.sth").unlink()
    assert "late" not in {row["name"] for row in api.get("/collections").json()["collections"]}
    error(api.get("/stats?collection=late"), 404, "no_such_collection")


def test_a_damaged_collection_does_not_hide_the_others(path, tmp_path, app_of):
    (tmp_path / "broken.sth").write_bytes(b"no collection" * 100)
    api = app_of(tmp_path)
    found = {row["name"]: row["error"] for row in api.get("/collections").json()["collections"]}
    assert found == {"some": None, "broken": "collection_unavailable"}
    error(api.get("/stats?collection=broken"), 503, "collection_unavailable")
    assert api.get("/stats?collection=some").status_code == 200


def test_script_in_documents_comes_out_as_it_went_in(api):
    odd = "<script>alert(1)</script><img src=x onerror=alert(1)> \u202e\u0000\U0001f408"
    api.post("/documents", json={"documents": [{"key": odd, "text": odd, "label": odd, "metadata": {odd: odd}}]})
    found = api.post("/search", json={"key": odd, "where": {"parity": 1}})
    assert found.status_code == 200
    page = api.get("/documents", params={"after": 299})
    assert page.json()["documents"][-1] == {"key": odd, "text": odd, "label": odd, "metadata": {odd: odd}}
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["content-type"] == "application/json"


def test_lone_surrogates_of_a_file_come_out(path, app_of):
    with Collection.open(path) as collection:
        collection.add([Document("odd", "kitten \ud800", None, {})])
    assert json.loads(app_of(path).get("/documents/odd").text)["text"] == "kitten \ud800"


def test_the_log_has_no_text_and_no_key(api, caplog):
    with caplog.at_level(logging.INFO, logger="sthash.serve.access"):
        api.post("/search?collection=some", json={"text": "secret kitten"})
        api.get("/documents/secret-key")
        api.get("/nothing/secret")
    lines = [json.loads(record.message) for record in caplog.records if record.name == "sthash.serve.access"]
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/search", 200),
        ("/documents/{key:key}", 404),
        ("none", 404),
    ]
    assert all(line["ms"] >= 0 and line["id"] for line in lines)
    assert "secret" not in caplog.text


def test_what_fails_inside_is_told_without_a_traceback(api, monkeypatch, caplog):
    def fail(*_, **__):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Collection, "info", fail)
    response = api.get("/stats")
    error(response, 500, "internal")
    assert "secret" not in response.text
    assert "ZeroDivisionError" in caplog.text
    assert response.headers["x-request-id"] in response.text


def test_too_slow(path, app_of, monkeypatch):
    api = app_of(path, {"seconds": 0.2})
    monkeypatch.setattr(Collection, "info", lambda _: time.sleep(0.6))
    error(api.get("/stats"), 503, "too_slow")
    monkeypatch.undo()
    response = api.post("/search", json={"text": TEXT})
    while response.status_code == 503:
        assert response.headers["retry-after"]
        response = api.post("/search", json={"text": TEXT})
    assert response.status_code == 200


def test_searches_that_wait_are_answered_together(still):
    from concurrent.futures import ThreadPoolExecutor

    bodies = [{"text": f"kitten {word}", "k": k} for word in ("fur", "paw", "sail", "moon") for k in (1, 2, 3)]
    bodies += [{"vector": [1.0]}]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda body: still.post("/search", json=body), bodies * 5))
    alone = [still.post("/search", json=body) for body in bodies]
    for together, single in zip(answers, alone * 5, strict=True):
        assert together.status_code == single.status_code
        assert together.json().get("hits") == single.json().get("hits")
