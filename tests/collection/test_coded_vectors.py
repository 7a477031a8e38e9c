"""Collections that keep codes of vectors and no vectors: searched by estimates, and refusing what needs vectors."""

import re

import numpy as np
import pytest

from sthash import Collection, CollectionError, Document, Learning, VectorOptions, classify, near_duplicates
from sthash.collection.indexes import coded_vectors
from sthash.hashing import EmbeddingQuantizer
from support.corpus import TOPICS, make_documents
from support.embedders import embed
from support.factories import copied

CODED = VectorOptions(precision="codes", n_bytes=24)
COUNT = 1200
REFUSED = re.escape("keeps codes of its vectors, not the vectors (precision='codes')")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Let a thousand vectors be enough, because learning from more takes long."""
    monkeypatch.setattr(coded_vectors, "FEW_VECTORS", 1000)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("coded") / "coded.sth"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coded_vectors, "FEW_VECTORS", 1000)
        documents = [*make_documents(COUNT), Document("blank", "")]
        Collection.create(path, documents, embedder=embed, vector_options=CODED).close()
    return path


@pytest.fixture
def collection(file, tmp_path):
    with Collection.open(copied(file, tmp_path), embedder=embed) as opened:
        yield opened


def keys(hits):
    return [hit.key for hit in hits]


def quantizer_of(collection):
    with collection.snapshot() as now:
        return now.cells.quantizer


def test_scores_are_the_estimates_of_the_quantizer(collection):
    """The slow reference: every document is encoded and scored, one by one."""
    documents = make_documents(COUNT)
    quantizer = quantizer_of(collection)
    estimates = quantizer.scores(embed(["kitten whisker"]), quantizer.transform(embed([d.text for d in documents])))[0]
    hits = collection.search(embed(["kitten whisker"])[0], 50)
    best = np.lexsort((np.arange(COUNT), -estimates))[:50]
    assert [hit.score for hit in hits] == pytest.approx(estimates[best].tolist(), abs=1e-5)
    assert len(set(keys(hits)) & {documents[place].key for place in best}) >= 49  # equal ones at the end
    assert "blank" not in keys(collection.search("kitten", COUNT, ranking="cosine"))


def test_the_file_has_no_vectors(file, tmp_path):
    documents = make_documents(COUNT)
    with Collection.create(tmp_path / "whole.sth", documents, embedder=embed) as whole:
        width = whole.info()["n_columns"]
    with Collection.open(file) as coded:
        facts = coded.info()
        assert (facts["precision"], facts["code_bytes"], facts["cells"]) == ("codes", 24, 0)
        assert coded.check().documents == COUNT + 1
        assert list(coded.export()) == [*documents, Document("blank", "")]
        with coded.snapshot() as now:
            held = now.cells._vectors.all()[1]
    assert held.shape == (COUNT + 1, 24)
    row = embed([documents[3].text]).astype(np.float32)
    row /= np.linalg.norm(row)
    assert row.tobytes() not in file.read_bytes()
    assert width == row.size


def test_filters_keys_and_labels(collection):
    hits = collection.search("kitten whisker", 10, where={"parity": 1}, ranking="cosine")
    assert len(hits) == 10
    assert {hit.metadata["parity"] for hit in hits} == {1}
    everything = keys(collection.search("kitten whisker", COUNT, ranking="cosine"))
    odd = {d.key for d in make_documents(COUNT) if d.metadata["parity"] == 1}
    assert keys(hits) == [key for key in everything if key in odd][:10]
    assert collection.search("kitten", 10, where={"key": "nobody"}, ranking="cosine") == []
    near = collection.search(key="d8", k=10)
    assert len(near) == 10
    assert "d8" not in keys(near)
    assert collection.search(key="blank") == []
    for label, words in TOPICS.items():
        assert classify(collection, " ".join(words), k=9).label == label


def test_it_follows_changes(collection):
    new = make_documents(1500, seed=5, first=5000)
    collection.search("kitten", 5)
    with Collection.open(collection.path, embedder=embed) as other:
        other.add(new)
        other.upsert([Document(new[0].key, "zeppelin hangar")])
        other.delete([new[1].key, "d1", "blank"])
        assert other.check().documents == COUNT + 1500 - 2
        expected = other.search_many(["kitten whisker", "zeppelin"], 30)
    assert collection.search_many(["kitten whisker", "zeppelin"], 30) == expected
    found = keys(collection.search("kitten whisker", 5000, ranking="cosine"))
    assert len(found) == len(set(found)) == len(collection)
    assert not {"d1", new[1].key} & set(found)
    with Collection.open(collection.path, embedder=embed) as again:
        assert again.search_many(["kitten whisker", "zeppelin"], 30) == expected
    collection.compact()
    assert collection.search_many(["kitten whisker", "zeppelin"], 30) == expected


def test_from_nothing(tmp_path):
    documents = make_documents(COUNT)
    with Collection.create(tmp_path / "c.sth", [], embedder=embed, vector_options=CODED) as growing:
        growing.add(documents[:900])
        exact = growing.search("kitten whisker", 10, ranking="cosine")
        assert growing.info()["code_bytes"] == 0
        assert exact[0].score == pytest.approx(
            float(np.max(unit(embed([d.text for d in documents[:900]])) @ unit(embed(["kitten whisker"]))[0])), rel=1e-5
        )
        growing.relearn()  # there are too few
        growing.add(documents[900:])
        assert growing.info()["code_bytes"] == 24
        assert growing.check().documents == COUNT
        learned = quantizer_of(growing)
        growing.add(make_documents(4 * COUNT, seed=2, first=9000))
        assert np.array_equal(quantizer_of(growing).signs_, learned.signs_)  # it is learned once
        assert growing.check().documents == 5 * COUNT


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.search("kitten", exact=True, ranking="cosine"),
        lambda c: c.search("kitten", recall=0.99, ranking="cosine"),
        lambda c: c.search("kitten", collapse=True),
        lambda c: near_duplicates(c, measure="cosine"),
        lambda c: near_duplicates(c),
        lambda c: c.relearn(),
        lambda c: c.relearn(n_bits=16),
    ],
)
def test_what_needs_vectors_is_refused(collection, call):
    with pytest.raises(ValueError, match=REFUSED):
        call(collection)
    assert collection.check().documents == COUNT + 1
    assert near_duplicates(collection, measure="wording") is not None


def test_options_that_need_vectors_are_refused(tmp_path):
    with pytest.raises(ValueError, match="keeps no lengths"):
        VectorOptions(precision="codes", metric="ip")
    with pytest.raises(ValueError, match="keeps no vectors to make other codes of"):
        Collection.create(tmp_path / "c.sth", ["a"], embedder=embed, vector_options=CODED, learning=Learning())
    assert not (tmp_path / "c.sth").exists()


def test_codes_stand_for_vectors():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 24)).astype(np.float32)
    for n_bytes in (2, 8, 40):
        quantizer = EmbeddingQuantizer(n_bytes).fit(rows)
        codes = quantizer.transform(rows[:200])
        stood_for = quantizer.inverse_transform(codes)
        assert np.linalg.norm(stood_for, axis=1) == pytest.approx(1, abs=1e-5)
        # The estimate is an affine function of the product with the vector before it is brought to unit length.
        queries = unit(rng.normal(size=(50, 24)))
        for place in range(0, 200, 37):
            products, scores = queries @ stood_for[place], quantizer.scores(queries, codes[place : place + 1])[:, 0]
            assert np.corrcoef(products, scores)[0, 1] == pytest.approx(1, abs=1e-5)


def test_forged_codes_are_refused(collection):
    store = collection._store
    with store.reading():
        settings, words = store.setting("cells"), store.blob("cells.words_")
    quantizer, arrays = settings["quantizer"], settings["arrays"]
    wrong = np.full(len(words) // 4, np.nan, dtype=np.float32).tobytes()
    for change, blob in (
        ({"metric": "ip"}, words),
        ({"quantizer": None}, words),
        ({"quantizer": quantizer | {"longest": -1}}, words),
        ({"quantizer": quantizer | {"n_bytes": 25}}, words),
        ({"n_bytes": 26}, words),
        ({"n_columns": settings["n_columns"] + 1}, words),
        ({"arrays": {name: arrays[name] for name in arrays if name != "mean_"}}, words),
        ({"arrays": arrays | {"mean_": ["<f4", [7]]}}, words),
        ({"arrays": arrays | {"mean_": ["|O", [3]]}}, words),
        ({}, words[:-4]),
        ({}, wrong),
    ):
        with store.writing():
            store.put_setting("cells", settings | change)
            store.put("settings", "cells.words_", blob)
        with Collection.open(collection.path, embedder=embed) as again:
            for call in (again.check, lambda again=again: again.search(key="d3")):
                with pytest.raises(CollectionError):
                    call()
    with store.writing():
        store.put_setting("cells", settings)
        store.put("settings", "cells.words_", words)
    assert collection.check().documents == COUNT + 1
