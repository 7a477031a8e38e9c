"""Whatever is wrong gets one clear error, and nothing is written."""

import socket

import numpy as np
import pytest

import sthash
from support.components import require

require("Milvus Lite")

import pymilvus

from sthash.extras import install_command
from sthash.milvus import MilvusCollection, MilvusError
from support.corpus import make_documents
from support.factories import build_vector_model, create_collection, random_vectors


@pytest.fixture
def other(tmp_path):
    """A collection of the same bits with another model."""
    with create_collection(tmp_path / "other.sth", make_documents(100, seed=5), n_bits=12, n_neighbors=5) as opened:
        yield opened


def test_unreachable(collection, caplog):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody listens
        uri = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(MilvusError, match=f"Milvus at {uri} cannot be reached"):
            MilvusCollection.push(collection, uri, "some", timeout=1)
    assert not caplog.records


def test_a_server_that_never_answers(collection):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        uri = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(MilvusError, match="cannot be reached"):
            MilvusCollection.open(uri, "some", collection, timeout=1)


@pytest.mark.parametrize("uri", ["milvus", "ftp://somewhere", "", "/tmp"])
def test_no_address(collection, uri):
    with pytest.raises(MilvusError, match="cannot be reached"):
        MilvusCollection.open(uri, "some", collection)


def test_no_folder(collection, tmp_path):
    with pytest.raises(MilvusError, match=r"there is no folder .*nowhere\. Make it first"):
        MilvusCollection.push(collection, str(tmp_path / "nowhere" / "milvus.db"), "some")
    assert not (tmp_path / "nowhere").exists()


def test_a_name_that_milvus_lite_refuses(collection, tmp_path):
    for name in ("some file.db", "x" * 40 + ".db"):
        with pytest.raises(MilvusError, match=f"{name} is not a valid name in Milvus Lite"):
            MilvusCollection.push(collection, str(tmp_path / name), "some")


def test_some_other_file(collection, tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("nothing that Milvus Lite has made " * 100)
    with pytest.raises(MilvusError, match=r"notes\.db"):
        MilvusCollection.push(collection, str(path), "some")
    assert path.read_text().startswith("nothing that")


@pytest.mark.parametrize("name", ["", "a b", "1a", "a-b", "ä", 7])
def test_names(collection, uri, name):
    with pytest.raises(ValueError, match="name="):
        MilvusCollection.push(collection, uri, name)


def test_no_such_collection(collection, there, uri):
    with pytest.raises(MilvusError, match="has no collection 'more'"):
        MilvusCollection.open(uri, "more", collection)
    assert not there._table.server.call("has_collection", "more")


def test_another_model(there, uri, other):
    before = len(there)
    with pytest.raises(MilvusError, match="was encoded by another model"):
        MilvusCollection.push(other, uri, "some")
    other.relearn(n_bits=16)
    with pytest.raises(MilvusError, match="has codes of 12 bits, but the model makes 16"):
        MilvusCollection.push(other, uri, "some")
    assert len(there) == before


def test_a_model_that_was_learned_anew(collection, there):
    collection.relearn()
    with pytest.raises(MilvusError, match="has learned a new model since"):
        there.search("cat")
    with pytest.raises(MilvusError, match="has learned a new model since"):
        there.upsert(["cat"])


def test_another_schema(collection, there, uri):
    client = there._table.server._client
    client.create_collection("stranger", dimension=8)
    with pytest.raises(MilvusError, match=r"'stranger'.*was not made by sthash"):
        MilvusCollection.push(collection, uri, "stranger")
    marks = there._table.call("describe_collection")["description"]
    for name, description in {"fewer": marks, "newer": marks.replace('"sthash": 1', '"sthash": 2')}.items():
        schema = client.create_schema(description=description)
        schema.add_field("key", pymilvus.DataType.VARCHAR, is_primary=True, max_length=100)
        schema.add_field("code", pymilvus.DataType.BINARY_VECTOR, dim=16)
        client.create_collection(name, schema=schema)
    with pytest.raises(MilvusError, match=r"'fewer'.*other fields than sthash makes: key, code"):
        MilvusCollection.push(collection, uri, "fewer")
    with pytest.raises(MilvusError, match=r"'newer'.*has format 2.*Upgrade sthash"):
        MilvusCollection.push(collection, uri, "newer")


def test_a_collection_of_vectors(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(60, 8))
    with (
        create_collection(tmp_path / "dense.sth", vectors=vectors) as dense,
        pytest.raises(TypeError, match=r"dense\.sth is of vectors"),
    ):
        MilvusCollection.push(dense, str(tmp_path / "own.db"), "some")
    assert not (tmp_path / "own.db").exists()


def vector_model():
    return build_vector_model(random_vectors(60, 8))


NO_MODELS = {
    "none": lambda: None,
    "path": lambda: "some.sth",
    "vectorizer": sthash.TextVectorizer,
    "vectors": vector_model,
}


@pytest.mark.parametrize("make", NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model(uri, make):
    model = make()
    with pytest.raises(
        TypeError, match=f"model is a {type(model).__name__}. Pass a Collection of texts, or a TextModel"
    ):
        MilvusCollection.open(uri, "some", model)


def test_a_pair_is_no_model(uri):
    pair = (sthash.TextVectorizer(), sthash.SelfTaughtHashing(8))
    with pytest.raises(TypeError, match=r"model is a tuple.*TextModel\.of\(vectorizer, hasher\)"):
        MilvusCollection.open(uri, "some", pair)


def test_arguments(collection, there):
    for k in (0, -1):
        with pytest.raises(ValueError, match="k="):
            there.search("cat", k)
    with pytest.raises(TypeError, match=r"k=2\.5"):
        there.search("cat", 2.5)
    with pytest.raises(ValueError, match="factor=0"):
        there.search("cat", factor=0)
    with pytest.raises(ValueError, match="radius=-1"):
        there.search("cat", radius=-1)
    with pytest.raises(TypeError, match="text 0 is a bytes, not a str"):
        there.search(b"cat")
    with pytest.raises(TypeError, match="where='metadata' must be a dict"):
        there.search("cat", where="metadata")
    with pytest.raises(TypeError, match=r"filter=\{'a': 1\} must be a str"):
        there.search("cat", filter={"a": 1})
    with pytest.raises(ValueError, match="2 bytes per row for 12 bits"):
        there.search_codes(np.zeros((1, 3), dtype=np.uint8), 1)
    with pytest.raises(TypeError, match="got a single str"):
        there.upsert("cat")
    with pytest.raises(TypeError, match="document 1 is a int"):
        there.upsert(["cat", 5])


def test_a_condition_that_is_none(collection, there, uri):
    with (
        MilvusCollection.open(uri, "some", collection, timeout=1) as impatient,
        pytest.raises(MilvusError, match="failed at 'search'"),
    ):
        impatient.search("cat", filter="metadata[")


def test_a_file_that_another_process_uses(collection, there, uri, run_python):
    source = f"""
import sthash, sthash.milvus, sthash.milvus.milvus_server
sthash.milvus.milvus_server.WAIT_SECONDS = 0.2
with sthash.Collection.open({str(collection.path)!r}) as c:
    try:
        sthash.milvus.MilvusCollection.open({uri!r}, "some", c)
    except sthash.milvus.MilvusError as error:
        print(error)
"""
    assert "in use by another process" in run_python(source)


@pytest.mark.parametrize(("missing", "use"), [("pymilvus", ""), ("milvus_lite", ".open('x.db', 'some', c)")])
def test_the_extra_is_missing(collection, run_python, missing, use):
    source = f"""
import sys
sys.modules[{missing!r}] = None
import sthash
with sthash.Collection.open({str(collection.path)!r}) as c:
    try:
        from sthash.milvus import MilvusCollection
        MilvusCollection{use}
    except ImportError as error:
        print(error)
"""
    assert install_command("milvus") in run_python(source)
