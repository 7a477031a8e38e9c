"""What Python programs have: dataclasses, named tuples, times, tables; and collections without a path."""

import gc
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from sthash import Collection
from sthash.sources import open_documents
from support.components import require


@dataclass
class Article:
    id: int
    text: str
    written: date
    tags: tuple[str, ...] = ()


Row = namedtuple("Row", "key text year")


def test_records_of_any_class():
    found = list(open_documents([Article(7, "a cat", date(2024, 5, 1), ("x", "y")), Row("r", "a dog", 2020)]))
    assert [(document.key, document.text, document.metadata) for document in found] == [
        ("7", "a cat", {"written": "2024-05-01", "tags": ["x", "y"]}),
        ("r", "a dog", {"year": 2020}),
    ]
    with pytest.raises(TypeError, match=r"document 0 is a type\. Pass a str, a dict or a Document"):
        list(open_documents([Article]))
    with pytest.raises(TypeError, match="document 0 is a tuple"):
        list(open_documents([("a", "b")]))


def test_values_that_json_does_not_have():
    row = {"text": "a", "at": datetime(2024, 5, 1, 12, tzinfo=UTC), "price": Decimal("1.5"), "n": np.int64(3)}
    row |= {"id": UUID(int=5), "path": Path("a/b"), "more": {"days": [date(2024, 1, 2)]}, "v": np.array([1, 2])}
    (document,) = open_documents([row])
    assert document.key == str(UUID(int=5))
    assert document.metadata == {
        "at": "2024-05-01T12:00:00+00:00",
        "price": "1.5",
        "n": 3,
        "path": "a/b",
        "more": {"days": ["2024-01-02"]},
        "v": [1, 2],
    }


@pytest.mark.parametrize("given", [(), (None,), (":memory:",)])
def test_without_a_path(given):
    texts = ["a cat purrs", "a dog barks"]
    with Collection.create(*given, documents=(text for text in texts)) as collection:
        assert collection.search("dog")[0].key == "1"
        assert collection.add(["a fish swims"]) == 1
        assert repr(collection) == f"Collection({str(collection.path)!r}, 3 documents)"
        folder = collection.path.parent
        assert folder.exists()
    assert not folder.exists()
    assert repr(collection).endswith("closed)")


def test_a_temporary_collection_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    collection = Collection.create(["a cat purrs"])
    assert len(list(tmp_path.iterdir())) == 1
    del collection
    gc.collect()
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="document 0 is a int"):
        Collection.create([7])
    assert not list(tmp_path.iterdir())


def test_hugging_face_datasets():
    require("Hugging Face datasets")
    import datasets

    rows = datasets.Dataset.from_dict({"id": ["a", "b"], "text": ["a cat", "a dog"], "tags": [["x"], []]})
    with Collection.create(rows) as collection:
        assert collection["a"].metadata == {"tags": ["x"]}
