"""Near-duplicates over HTTP: of the collection, and of texts that it may have already."""

import numpy as np

from sthash import Collection, VectorOptions, near_duplicates
from sthash.applications import known_copies
from sthash.collection.indexes import coded_vectors
from sthash.serve import read_routes


def test_duplicates_are_compared_once_per_state_of_the_file(path, app_of, monkeypatch):
    api = app_of(path)
    calls = []
    compared = read_routes.compared

    def counted(material, options):
        calls.append((options.least, options.radius))
        return compared(material, options)

    monkeypatch.setattr(read_routes, "compared", counted)
    with Collection.open(path) as collection:
        for _ in range(2):
            assert api.get("/duplicates").json()["groups"] == near_duplicates(collection).groups
    assert calls == [(0.75, None)]
    assert api.get("/duplicates?radius=3&threshold=0.5").status_code == 200
    api.delete("/documents/d1")
    api.get("/duplicates")
    assert calls == [(0.75, None), (0.5, 3), (0.75, None)]


def test_texts_that_the_collection_has_already(path, app_of):
    with Collection.open(path) as collection:
        text = collection.get("d3").text
        expected = known_copies(collection, [text, "nothing like it"])
    api = app_of(path)
    verdicts = api.post("/duplicates", json={"texts": [text, "nothing like it"]}).json()["verdicts"]
    assert verdicts == [verdict._asdict() for verdict in expected]
    assert [verdict["is_new"] for verdict in verdicts] == [False, True]
    assert api.post("/duplicates", json={"texts": [text], "threshold": 0.1}).status_code == 422
    assert api.post("/duplicates", json={"texts": [text] * 100_000}).status_code == 422


def test_vectors_of_which_only_codes_are_kept_have_none(tmp_path, app_of, monkeypatch):
    monkeypatch.setattr(coded_vectors, "FEW_VECTORS", 1000)
    vectors = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
    file = tmp_path / "codes.sth"
    Collection.create(file, vectors=vectors, vector_options=VectorOptions(precision="codes", n_bytes=4)).close()
    api = app_of(file)
    assert api.post("/search", json={"vector": vectors[3].tolist(), "k": 5}).status_code == 200
    for answer in (
        api.get("/duplicates"),
        api.post("/search", json={"vector": vectors[3].tolist(), "exact": True}),
        api.post("/search", json={"vector": vectors[3].tolist(), "collapse": True}),
    ):
        assert (answer.status_code, "not the vectors" in answer.text) == (422, True)
