"""A file format is a promise: files of this format stay readable, and give the same answers."""

import json

import numpy as np
import pytest

from sthash import Collection, CollectionError, Document
from sthash.collection.file.schema import FORMAT, TABLES
from support.factories import copied
from support.golden_collections import GOLDEN, KINDS, golden_answers, golden_documents, golden_embed, open_golden

FILES = sorted(GOLDEN.glob("*.sth"))


def kind_of(file):
    return file.stem.split("-")[2]


def assert_answers(collection, file):
    expected = json.loads(file.with_suffix(".json").read_text())
    answers = golden_answers(collection)
    assert len(answers) == len(expected)
    for own, theirs in zip(answers, expected, strict=True):
        assert [score for _, score, _ in own] == pytest.approx([score for _, score, _ in theirs], abs=2e-4)
        # Scores that are equal but for rounding may change places.
        assert sorted(key for key, *_ in own) == sorted(key for key, *_ in theirs)
        assert {key: distance for key, _, distance in own} == {key: distance for key, _, distance in theirs}


def test_there_are_files_of_every_kind():
    assert {kind_of(file) for file in FILES if f"format-{FORMAT}-" in file.name} == set(KINDS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden_files(file, tmp_path):
    path = copied(file, tmp_path)
    with open_golden(kind_of(file), path) as collection:
        assert list(collection) == golden_documents()
        assert collection.check().documents == len(golden_documents())
        assert_answers(collection, file)
        assert path.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_they_have_something_in_every_table(file):
    with open_golden(kind_of(file), file) as collection, collection.snapshot() as now:
        empty = {table for table in TABLES if not any(True for _ in collection._store.rows(table))}
        assert empty == ({"weights"} if not now.has_codes else set())
        if now.cells is not None:
            assert now.cells.learned
            assert collection.info()["embedder"] == "golden:embed"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden_files_can_be_changed(file, tmp_path):
    with open_golden(kind_of(file), copied(file, tmp_path)) as collection:
        collection.delete("d46")
        collection.upsert([Document("d1", "a hangar for the zeppelin")])
        assert collection.check().documents == len(golden_documents()) - 1
        assert [hit.key for hit in collection.search("hangar", 1)] == ["d1"]
        collection.relearn()
        assert collection.check().documents == len(golden_documents()) - 1
        assert "d46" not in {hit.key for hit in collection.search("captain ship", 100)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden_files_that_may_not_be_changed(file, tmp_path):
    path = copied(file, tmp_path)
    path.chmod(0o444)
    with open_golden(kind_of(file), path) as collection:
        assert_answers(collection, file)
    assert path.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "texts"])
def test_vectors_come_back(kind):
    with Collection.open(GOLDEN / f"format-1-{kind}.sth") as collection, collection.snapshot() as now:
        expected = golden_embed([document.text for document in golden_documents()])
        if now.cells.metric == "cosine":
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        precise = now.cells.precision == "float32"
        np.testing.assert_allclose(now.cells.vectors().values, expected, atol=1e-6 if precise else 0.05)


def test_a_newer_format_is_refused(tmp_path):
    path = copied(FILES[0], tmp_path)
    content = bytearray(path.read_bytes())
    content[63] = FORMAT + 1  # the low byte of user_version
    path.write_bytes(content)
    with pytest.raises(
        CollectionError, match=rf"format {FORMAT + 1}, newer than the format {FORMAT} .* Upgrade sthash"
    ):
        Collection.open(path)
