"""A file format is a promise: files that earlier releases wrote stay readable."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from sthash import Collection
from support.corpus import make_documents

GOLDEN = Path(__file__).with_name("golden")
TEXT_HITS = [("d46", 4, 0.6035), ("d10", 4, 0.4362), ("d50", 5, 0.4258), ("d43", 6, 0.3879), ("d38", 3, 0.3813)]
VECTOR_HITS = [("d14", 0, 0.7722), ("d0", 8, 0.707), ("d5", 5, 0.6831), ("d4", 3, 0.6054), ("d30", 3, 0.5604)]
SCATTERED_TEXT_HITS = [
    ("d46", 11, 0.6035),
    ("d10", 9, 0.4362),
    ("d50", 9, 0.4258),
    ("d43", 6, 0.3879),
    ("d38", 4, 0.3813),
]
SCATTERED_VECTOR_HITS = [
    ("d16", 0, 0.8657),
    ("d48", 0, 0.6601),
    ("d27", 1, 0.6361),
    ("d17", 1, 0.5889),
    ("d26", 1, 0.5547),
]
CASES = [
    ("version-1.sth", "captain of the ship", TEXT_HITS),
    ("version-1-vectors.sth", np.arange(8.0), VECTOR_HITS),
    ("version-2.sth", "captain of the ship", SCATTERED_TEXT_HITS),
    ("version-2-vectors.sth", np.arange(8.0), SCATTERED_VECTOR_HITS),
]


@pytest.mark.parametrize(("name", "query", "hits"), CASES)
def test_golden_files(tmp_path, name, query, hits):
    with Collection.open(shutil.copy(GOLDEN / name, tmp_path)) as collection:
        assert collection.check().documents == 58
        assert list(collection) == [document for document in make_documents(60) if document.key not in ("d7", "d8")]
        for found in (collection.search(query, 5, factor=4), collection.search_many([query] * 20, 5, factor=4)[7]):
            assert [(hit.key, hit.distance, round(hit.score, 4)) for hit in found] == hits
        collection.delete("d46")
        assert collection.search(query, 1, factor=20)[0].key != "d46"
        assert collection._store.format == int(name[8])
        collection.relearn(scatter=2)
        assert collection._store.format == 2
        assert collection.check().documents == 57


@pytest.mark.parametrize(("name", "query", "hits"), CASES)
def test_golden_files_that_may_not_be_changed(tmp_path, name, query, hits):
    path = Path(shutil.copy(GOLDEN / name, tmp_path))
    path.chmod(0o444)
    with Collection.open(path) as collection:
        assert collection.search(query, 1, factor=20)[0].key == hits[0][0]
    assert path.read_bytes() == (GOLDEN / name).read_bytes()
