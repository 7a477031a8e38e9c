"""Conditions in a file: what SQLite finds is what Python would choose, and nothing sound is called damaged."""

import random
import sys

import numpy as np
import pytest

from sthash import Document
from sthash.collection import CollectionError, Filter, ids_where
from sthash.collection.file import documents as document_table
from support.corpus import make_documents
from support.factories import create_collection

VALUES = [None, True, False, 0, 1, -3, 2**53 + 1, 2**70, 0.1, 0.30000000000000004, 0.3, 1e300, -0.0, "", "a", "b", "é"]
VALUES += ["nul\0x", "\ud800", "10", "9", [1], {"a": 1}, "\U0001f431"]


@pytest.fixture(scope="module")
def documents():
    rng = random.Random(5)
    made = []
    for position, document in enumerate(make_documents(150)):
        metadata = {name: rng.choice(VALUES) for name in ("x", "y", "label", "a\0") if rng.random() < 0.8}
        label = rng.choice([None, "cats", "ships", "", "\ud800"])
        made.append(Document(f"d{position}", document.text, label, metadata))
    return made


@pytest.fixture(scope="module")
def collection(documents, tmp_path_factory):
    with create_collection(tmp_path_factory.mktemp("where") / "c.sth", documents) as built:
        yield built


def chosen_ids(collection, where):
    with collection.snapshot() as now:
        return ids_where(now, where)


def scalars(rng, count):
    return [rng.choice([value for value in VALUES if not isinstance(value, list | dict)]) for _ in range(count)]


def random_where(rng):
    where = {}
    for name in rng.sample(["x", "y", "key", "label", "metadata.label", "a\0"], rng.randint(1, 3)):
        sign = rng.choice([None, "list", "=", "!=", "<", "<=", ">", ">=", "in", "not in", "exists"])
        (value,) = scalars(rng, 1)
        if sign in ("<", "<=", ">", ">="):
            value = rng.choice(
                ["a", "d20", "ships", ""] if name in ("key", "label") else ["a", 0.3, 1, 2**70, "\ud800"]
            )
        if name == "key" and sign not in ("<", "<=", ">", ">="):
            value = rng.choice(["d7", "d8", "none"])
        values = [value, *scalars(rng, 3)]
        if sign in (None, "list"):
            where[name] = value if sign is None else values
        else:
            where[name] = {sign: values if sign.endswith("in") else rng.random() < 0.5 if sign == "exists" else value}
    return where


def test_sqlite_and_python_choose_the_same(collection, documents):
    rng = random.Random(7)
    some = 0
    for _ in range(400):
        where = random_where(rng)
        chosen = Filter(where)
        wanted = [i for i, d in enumerate(documents) if chosen.accepts(d.key, d.label, d.metadata)]
        assert chosen_ids(collection, where).tolist() == wanted, where
        some += bool(wanted)
    assert some > 200


@pytest.mark.parametrize("count", [497, 498, 5000, 100_000])
def test_thousands_of_values(collection, count):
    strings = [f"s{number}" for number in range(count)]
    wanted = chosen_ids(collection, {"x": "a"}).tolist()
    assert wanted
    assert chosen_ids(collection, {"x": [*strings, "a"]}).tolist() == wanted
    assert chosen_ids(collection, {"x": {"in": ["a"], "not in": strings}}).tolist() == wanted
    assert chosen_ids(collection, {"key": [*strings, "d7"], "label": {"not in": strings}}).tolist() == [7]


def test_thousands_of_fields(tmp_path):
    wide = {f"f{number}": number for number in range(3000)}
    documents = [
        *make_documents(40),
        Document("wide", "cat", None, wide),
        Document("other", "cat", None, wide | {"f2999": 0}),
    ]
    with create_collection(tmp_path / "c.sth", documents) as collection:
        assert chosen_ids(collection, wide).tolist() == [40]


def test_scalars_of_numpy(collection):
    assert chosen_ids(collection, {"x": np.int64(0)}).tolist() == chosen_ids(collection, {"x": 0}).tolist() != []
    assert (
        chosen_ids(collection, {"x": {">=": np.float32(0.5)}, "key": [np.str_("d7"), 8]}).tolist()
        == chosen_ids(collection, {"x": {">=": 0.5}, "key": ["d7", "8"]}).tolist()
    )


def test_metadata_that_is_too_deep_for_sqlite(tmp_path, monkeypatch):
    monkeypatch.setattr(document_table, "MOST_NESTED", 10_000)
    deep = []
    for _ in range(2500):
        deep = [deep]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        documents = [*make_documents(40), Document("deep", "cat", None, {"deep": deep, "only": 1, "number": 7})]
        with create_collection(tmp_path / "c.sth", documents) as collection:
            assert chosen_ids(collection, {"number": 7}).tolist() == [7, 40]
            assert chosen_ids(collection, {"only": {">": 0}}).tolist() == [40]
            with pytest.raises(
                ValueError, match="The documents have: 'key', 'label', 'deep', 'number', 'only'"
            ) as error:
                chosen_ids(collection, {"nothing": 1})
            assert not isinstance(error.value, CollectionError)
    finally:
        sys.setrecursionlimit(limit)
