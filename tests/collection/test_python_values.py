"""What Python programs have: dataclasses, named tuples, times, tables; and collections without a path."""

import gc
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
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


class Size(Enum):
    SMALL = 1
    LARGE = 2


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


def test_sets_durations_and_members_of_an_enum():
    row = {"text": "a", "tags": {"y", "x"}, "left": timedelta(minutes=1), "size": Size.LARGE, "all": [Size.SMALL]}
    (document,) = open_documents([row])
    assert document.metadata == {"tags": ["x", "y"], "left": 60.0, "size": 2, "all": [1]}
    with pytest.raises(ValueError, match=r"metadata of a document must be JSON values \('raw': Object of type bytes"):
        Collection.create([{"text": "a", "n": 1, "raw": b"x"}])


def test_models_of_other_libraries():
    attrs, pydantic = pytest.importorskip("attrs"), pytest.importorskip("pydantic")
    made = attrs.make_class("Made", ["key", "text", "n"])
    model = pydantic.create_model("Model", key=(str, ...), text=(str, ...), at=(date, ...))
    found = list(open_documents([made("a", "a cat", 3), model(key="b", text="a dog", at=date(2024, 5, 1))]))
    assert [(document.key, document.text, document.metadata) for document in found] == [
        ("a", "a cat", {"n": 3}),
        ("b", "a dog", {"at": "2024-05-01"}),
    ]
    with pytest.raises(TypeError, match="document 0 is a ModelMetaclass"):
        list(open_documents([model]))


def test_a_path_alone_is_no_documents(tmp_path):
    (tmp_path / "docs").mkdir()
    with pytest.raises(TypeError, match=r"got neither\. Pass some, after the path"):
        Collection.create(tmp_path / "docs", overwrite=True)
    assert (tmp_path / "docs").is_dir()


def test_lazy_frames():
    polars = pytest.importorskip("polars")
    with Collection.create(polars.DataFrame({"id": [1, 2], "text": ["a cat", "a dog"]}).lazy()) as collection:
        assert collection["2"].text == "a dog"


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


def test_hugging_face_datasets(tmp_path):
    require("Hugging Face datasets")
    import datasets

    rows = datasets.Dataset.from_dict({"id": ["a", "b"], "text": ["a cat", "a dog"], "tags": [["x"], []]})
    with Collection.create(rows) as collection:
        assert collection["a"].metadata == {"tags": ["x"]}
    labels = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["cat", "dog"])})
    named = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 0, -1]}, features=labels)
    with Collection.create(named) as collection:
        assert [document.label for document in collection] == ["dog", "cat", None]
    named.to_parquet(tmp_path / "named.parquet")
    with Collection.create(tmp_path / "c.sth", tmp_path / "named.parquet") as collection:
        assert [document.label for document in collection] == ["dog", "cat", None]
    with pytest.raises(TypeError, match=r"several tables\. Pass one of them, such as documents\['train'\]"):
        Collection.create(datasets.DatasetDict(train=named))
