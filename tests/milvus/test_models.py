"""Which models a collection of Milvus takes, and how it recognizes the one that made its codes."""

import json

import numpy as np
import pytest

import sthash
from support.components import require

require("Milvus Lite")

from sthash import Collection, SelfTaughtHashing, TextModel, TextVectorizer
from sthash.codes import distances
from sthash.milvus import MilvusCollection, MilvusError
from support.corpus import make_documents
from support.factories import build_text_model

TEXTS = [document.text for document in make_documents(120)]


def stored_fingerprint(there):
    return json.loads(there._table.call("describe_collection")["description"])["model"]


def test_the_fingerprint_of_a_new_file_and_of_a_relearned_one(collection, uri):
    for name in ("first", "second"):
        with MilvusCollection.push(collection, uri, name) as there, collection.snapshot() as now:
            assert stored_fingerprint(there) == now.codes.model.fingerprint
        collection.relearn(n_bits=20)


def test_adding_documents_to_the_file_keeps_the_model(collection, there):
    collection.add(["cat purr"])
    assert there.search("cat")
    collection.relearn()
    for use in (lambda: there.search("cat"), lambda: there.add(["cat"]), lambda: there.encode(["cat"])):
        with pytest.raises(MilvusError, match=r"has learned a new model since\. Push it with replace=True"):
            use()


@pytest.mark.parametrize("scatter", [0.0, 4.0])
def test_a_text_model_in_place_of_a_file(tmp_path, uri, scatter):
    vectorizer = TextVectorizer()
    hasher = SelfTaughtHashing(n_bits=20, n_neighbors=8).fit(vectorizer.fit_transform(TEXTS))
    model = TextModel.of(vectorizer, hasher, scatter=scatter)
    model.save(tmp_path / "model")
    with MilvusCollection.open(uri, "some", model, create=True) as there:
        assert len(there) == 0
        assert there.search("cat") == list(there) == []
        there.add({"key": str(place), "text": text} for place, text in enumerate(TEXTS))
    with MilvusCollection.open(uri, "some", sthash.load(tmp_path / "model")) as there:
        codes = model.encode(TEXTS).codes
        assert np.array_equal(there.encode(TEXTS), codes)
        ids, nearest = there.search_codes(codes[:9], 5)
        every = distances(codes[:9], codes)
        order = np.argsort(every, axis=1, kind="stable")[:, :5]
        assert np.array_equal(np.take_along_axis(every, order, 1), nearest)
        assert len(np.unique(ids - order)) == 1  # ids ascend as the documents came
        hit = there.search(TEXTS[17], 1, explain=True)[0]
        assert hit.text == TEXTS[17]
        assert hit.score == pytest.approx(1, abs=1e-5)
        assert set(hit.terms) <= set(hit.text.split())
    with pytest.raises(MilvusError, match="was encoded by another model"):
        MilvusCollection.open(uri, "some", TextModel.of(vectorizer, hasher, scatter=1.0))


def test_a_text_model_and_a_file_of_the_same_model(tmp_path, uri):
    model = build_text_model(TEXTS, n_bits=16, n_neighbors=8)
    with (
        Collection.create(tmp_path / "some.sth", TEXTS, model=model) as collection,
        MilvusCollection.push(collection, uri, "some") as pushed,
        MilvusCollection.open(uri, "some", model) as opened,
    ):
        assert opened.search("cat and ship") == pushed.search("cat and ship")
