"""Keys that the collection makes: never one that is taken, never one that was used before."""

import json
import sqlite3
from contextlib import closing

import pytest

from sthash import Collection, CollectionError, Document
from sthash.checksums import row_checksum
from support.corpus import make_documents
from support.factories import create_collection


def keys(collection):
    return [document.key for document in collection]


def test_a_document_without_a_key_replaces_none(tmp_path):
    documents = [Document(str(200 - number), text.text) for number, text in enumerate(make_documents(100))]
    with create_collection(tmp_path / "c.sth", documents) as collection:
        collection.add([Document(str(5000 + number), "ship sail") for number in range(20)])
        before = {document.key: document.text for document in collection}
        assert collection.upsert(["new"] * 60) == 60
        after = {document.key: document.text for document in collection}
        assert len(after) == 180
        assert {key: after[key] for key in before} == before


def test_the_next_key_may_be_taken(path):
    with Collection.open(path) as collection:
        collection.add([Document("300", "kitten"), Document("301", "kitten")])
        for _ in range(3):
            collection.add(["kitten claw"])
        assert keys(collection)[-3:] == ["302", "303", "304"]
        collection.add([Document("305", "kitten"), "no key", Document("306", "kitten")])
        assert keys(collection)[-3:] == ["305", "307", "306"]


def test_a_key_is_not_given_again(path):
    with Collection.open(path) as collection:
        collection.add(["first"])
        made = keys(collection)[-1]
        collection.delete(made)
        collection.add(["second"])
        assert keys(collection)[-1] == str(int(made) + 1)
        last = collection.page(298)[-1].id
        collection.delete(keys(collection))
        collection.add([Document("1000", "third")])
        collection.delete("1000")
    with Collection.open(path) as collection:
        collection.add(["fourth"])
        assert keys(collection) == ["1001"]
        assert collection.page()[0].id == last + 2
        assert collection.check().documents == 1


def test_keys_that_only_look_like_numbers(path):
    odd = ["0300", "-5", "+7", "٣٠٠", " 300", "1" * 5000, "9" * 18, "9" * 19, "1" + "0" * 18, "300 "]
    with Collection.open(path) as collection:
        collection.add([Document(key, "kitten") for key in odd])
        collection.add(["a", "b"])
        assert keys(collection)[-2:] == ["1000000000000000001", "1000000000000000002"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"id": -1, "key": 5, "segment": 1},
        {"id": 299, "key": 300, "segment": 1},  # the last document has it
        {"id": 300, "key": -1, "segment": 1},
        {"id": 2**62, "key": 0, "segment": 1},
        {"id": 300, "key": 300},
        {"id": "300", "key": 300, "segment": 1},
        {"id": True, "key": 300, "segment": 1},
    ],
)
def test_forged_counts_are_refused(path, value):
    row = ("next", json.dumps(value).encode())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", (*row, row_checksum(row)))
    with Collection.open(path) as collection, pytest.raises(CollectionError, match="setting next"):
        collection.add(["kitten"])
