"""A file format is a promise: files that earlier releases wrote stay readable."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from sthash import Collection, Document
from support.corpus import make_documents

GOLDEN = Path(__file__).with_name("golden")
# Two documents were deleted. Formats 1 and 2 weighted by what was there before; now the order is the same, and the
# cosines are those of the documents that are left.
TEXT_HITS = [("d46", 4, 0.6017), ("d10", 4, 0.424), ("d50", 5, 0.4237), ("d43", 6, 0.3857), ("d38", 3, 0.3716)]
VECTOR_HITS = [("d14", 0, 0.7722), ("d0", 8, 0.707), ("d5", 5, 0.6831), ("d4", 3, 0.6054), ("d30", 3, 0.5604)]
SCATTERED_TEXT_HITS = [
    ("d46", 11, 0.6017),
    ("d10", 9, 0.424),
    ("d50", 9, 0.4237),
    ("d43", 6, 0.3857),
    ("d38", 4, 0.3716),
]
SCATTERED_VECTOR_HITS = [
    ("d16", 0, 0.8657),
    ("d48", 0, 0.6601),
    ("d27", 1, 0.6361),
    ("d17", 1, 0.5889),
    ("d26", 1, 0.5547),
]
OPEN_TEXT_HITS = [("d46", 4, 0.5901), ("d43", 7, 0.3954), ("d10", 6, 0.39), ("d50", 7, 0.3899), ("d38", 7, 0.381)]
EMBEDDED_HITS = [("d40", 3, 0.6723), ("d30", 3, 0.601), ("d20", 4, 0.5803), ("d27", 6, 0.4394), ("d6", 4, 0.4144)]
PRODUCT_HITS = [("d36", 2, 172.7464), ("d27", 4, 42.8721), ("d26", 5, 39.9205), ("d24", 4, 30.6148), ("d15", 4, 28.381)]
CASES = [
    ("version-1.sth", "captain of the ship", TEXT_HITS),
    ("version-1-vectors.sth", np.arange(8.0), VECTOR_HITS),
    ("version-2.sth", "captain of the ship", SCATTERED_TEXT_HITS),
    ("version-2-vectors.sth", np.arange(8.0), SCATTERED_VECTOR_HITS),
    ("version-3.sth", "captain of the ship", OPEN_TEXT_HITS),
    ("version-3-vectors.sth", np.arange(8.0), SCATTERED_VECTOR_HITS),
    ("version-3-embeddings.sth", np.arange(8.0), EMBEDDED_HITS),
    ("version-4-products.sth", np.arange(8.0), PRODUCT_HITS),
]
DOCUMENTS = [document for document in make_documents(60) if document.key not in ("d7", "d8")]
ADDED = [Document("new", "the captain of a zeppelin")]  # to version-3.sth, whose first 50 documents are in lists


def metric_of(name):
    return "ip" if name == "version-4-products.sth" else "cosine"


@pytest.mark.parametrize(("name", "query", "hits"), CASES)
def test_golden_files(tmp_path, name, query, hits):
    path = Path(shutil.copy(GOLDEN / name, tmp_path))
    documents = DOCUMENTS + (ADDED if name == "version-3.sth" else [])
    with Collection.open(path) as collection:
        assert collection.check().documents == len(documents)
        assert list(collection) == documents
        how = {"factor": 4, "ranking": metric_of(name)}
        for found in (collection.search(query, 5, **how), collection.search_many([query] * 20, 5, **how)[7]):
            assert [(hit.key, hit.distance, round(hit.score, 4)) for hit in found] == hits
        assert collection._store.format == int(name[8])
        assert path.read_bytes() == (GOLDEN / name).read_bytes()
        collection.delete("d46")
        assert collection._store.format == max(int(name[8]), 3)
        assert collection.search(query, 1, factor=20)[0].key != "d46"
        assert collection.check().documents == len(documents) - 1
        collection.relearn(scatter=2)
        assert collection.check().documents == len(documents) - 1


@pytest.mark.parametrize("name", ["version-1.sth", "version-2.sth"])
def test_old_files_are_upgraded_by_the_first_change(tmp_path, name):
    path = Path(shutil.copy(GOLDEN / name, tmp_path))
    with Collection.open(path) as collection, Collection.open(path) as reader:
        before = reader.search("captain of the ship", 5)
        assert collection.search("captain of the ship", 5) == before
        for _ in range(2):  # a change that fails leaves the file as it was, and readable
            with pytest.raises(ValueError, match="'d1'"):
                collection.add([Document("x", "zeppelin"), Document("d1", "")])
            assert collection.search("captain of the ship", 5) == before
            assert collection.search("zeppelin") == []
            collection.check()
        assert path.read_bytes() == (GOLDEN / name).read_bytes()
        collection.upsert([Document("new", "zeppelin"), Document("d1", "a hangar for the ship")])
        assert reader.search("zeppelin", 1)[0].key == "new"
        assert reader.search("hangar", 1)[0].key == "d1"
        assert reader._store.format == collection._store.format == 3
        with collection.snapshot() as now:
            model = now.model
            codes = now.codes
        documents = list(reader)
        with Collection.create(tmp_path / "fresh.sth", documents, model=model) as fresh:
            assert [hit.score for hit in fresh.search("captain ship hangar", 50)] == pytest.approx(
                [hit.score for hit in reader.search("captain ship hangar", 50)], abs=1e-6
            )
            with fresh.snapshot() as now:
                np.testing.assert_array_equal(now.codes, codes)
        assert reader.check() == collection.check()


def test_golden_lists():
    with Collection.open(GOLDEN / "version-3.sth") as collection, collection.snapshot() as now:
        (column,) = now.encode(["captain"]).indices.tolist()
        holding = [place for place, document in enumerate(DOCUMENTS + ADDED) if "captain" in document.text.split()]
        assert now.posting_lists([column]).positions(column).tolist() == holding
        assert now.frequencies(np.array([column])).tolist() == [len(holding)]
        assert now.lengths.tolist() == [8] * 58 + [2]


@pytest.mark.parametrize(("name", "query", "hits"), CASES)
def test_golden_files_that_may_not_be_changed(tmp_path, name, query, hits):
    path = Path(shutil.copy(GOLDEN / name, tmp_path))
    path.chmod(0o444)
    with Collection.open(path) as collection:
        assert collection.search(query, 1, factor=20, ranking=metric_of(name))[0].key == hits[0][0]
    assert path.read_bytes() == (GOLDEN / name).read_bytes()


def test_words_and_the_embedder_beside_vectors(tmp_path):
    path = Path(shutil.copy(GOLDEN / "version-3-embeddings.sth", tmp_path))
    with Collection.open(path) as collection:
        assert collection.info()["embedder"] == "golden:embed"
        found = collection.search("captain of the ship", 3, ranking="bm25")
        assert [(hit.key, round(hit.score, 4)) for hit in found] == [("d46", 4.7792), ("d10", 3.0329), ("d50", 3.0329)]
