"""What users pass as documents: objects, paths and tables, alone and with vectors."""

import json
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from sthash.batches import BATCH_DOCUMENTS
from sthash.sources import Document, SourceFields, open_documents, paired, read_documents, with_fields
from sthash.tables import texts_of

ROWS = [{"key": "a", "text": "one", "label": "x", "year": 2010}, {"key": "b", "text": "two", "label": None, "year": 1}]
DOCUMENTS = [Document("a", "one", "x", {"year": 2010}), Document("b", "two", None, {"year": 1})]


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def pandas_frame(rows):
    return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(rows)


def arrow_table(rows):
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").Table.from_pylist(rows)


def arrow_batch(rows):
    return arrow_table(rows).to_batches()[0]


def arrow_reader(rows):
    return arrow_table(rows).to_reader()


class Capsule:
    """A table of another library, as Arrow's stream interface shows it."""

    def __init__(self, rows):
        self.table = arrow_table(rows)
        self.columns = self.table.column_names

    def __arrow_c_stream__(self, schema=None):
        return self.table.__arrow_c_stream__(schema)


def polars_frame(rows):
    return pytest.importorskip("polars", reason="polars is not installed").DataFrame(rows)


TABLES = [pandas_frame, polars_frame, arrow_table, arrow_batch, arrow_reader, Capsule]


@pytest.mark.parametrize("make", TABLES)
def test_tables(make):
    assert list(open_documents(make(ROWS))) == DOCUMENTS
    assert list(open_documents([make(ROWS)])) == DOCUMENTS
    assert list(read_documents(make(ROWS))) == DOCUMENTS
    assert list(read_documents([make(ROWS)])) == DOCUMENTS
    renamed = [{"body": row["text"], "topic": row["label"]} for row in ROWS]
    found = list(read_documents(make(renamed), SourceFields(text="body", label="topic")))
    assert found == [Document(None, "one", "x"), Document(None, "two")]
    with pytest.raises(ValueError, match="row 0 of the table has no field 'text'"):
        list(open_documents(make(renamed)))


@pytest.mark.parametrize("make", TABLES)
def test_long_tables_are_read_in_batches(make):
    count = 2 * BATCH_DOCUMENTS + 3
    rows = [{"text": str(number), "number": number} for number in range(count)]
    documents = list(open_documents(make(rows)))
    assert [document.metadata["number"] for document in documents] == list(range(count))
    assert all(type(document.metadata["number"]) is int for document in documents)


def test_missing_values_and_types_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(
        {
            "key": [1, 2],
            "text": ["one", None],
            "label": pandas.array(["x", pandas.NA], dtype="string"),
            "score": [0.5, float("nan")],
            "seen": pandas.to_datetime(["2010-07-19", None]),
            "vector": [np.array([1, 2]), None],
            "day": [date(2010, 7, 19), None],
            7: [True, False],
        },
        index=["i", "j"],
    )
    first, second = open_documents(frame)
    assert (first.key, first.text, first.label) == ("1", "one", "x")
    assert first.metadata == {
        "score": 0.5,
        "seen": "2010-07-19T00:00:00",
        "vector": [1, 2],
        "day": "2010-07-19",
        "7": True,
    }
    assert (second.key, second.text, second.label) == ("2", "", None)
    assert second.metadata == {"score": None, "seen": None, "vector": None, "day": None, "7": False}
    json.dumps([first.metadata, second.metadata])
    with pytest.raises(ValueError, match="several columns named 'text'"):
        list(open_documents(pandas.DataFrame([["a", "b"]], columns=["text", "text"])))


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_table])
def test_columns_are_iterables_of_texts(make):
    column = make([*ROWS, {"key": "c", "text": None, "label": "x", "year": 5}])["text"]
    assert [document.text for document in open_documents(column)] == ["one", "two", ""]
    with pytest.raises(TypeError, match="row 0 of the column is a int"):
        list(open_documents(make(ROWS)["year"]))


@pytest.mark.parametrize("make", TABLES)
def test_texts_of_tables(make):
    renamed = [{"body": row["text"], "n": row["year"]} for row in [*ROWS, {"text": None, "year": 3}]]
    assert list(texts_of(make(renamed), "body")) == ["one", "two", ""]
    assert list(texts_of(make(renamed), "n")) == ["2010", "1", "3"]
    assert list(texts_of(make(ROWS))) == ["one", "two"]
    with pytest.raises(ValueError, match=r"has no column 'text'\. Set text to one of its columns: 'body', 'n'"):
        texts_of(make(renamed))


def test_texts_that_are_no_table():
    texts = ["one"]
    assert texts_of(texts) is texts
    with pytest.raises(TypeError, match="text='body' names a column, but got a list"):
        texts_of(texts, "body")


def test_a_polars_frame_needs_no_pyarrow(monkeypatch):
    frame = polars_frame(ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert list(open_documents(frame)) == DOCUMENTS


def test_fields_by_name(tmp_path):
    rows = [{"body": "one", "topic": "x", "n": 1}]
    wanted = [Document("1", "one", "x")]
    assert list(open_documents(rows, key="n", text="body", label="topic")) == wanted
    assert list(open_documents(pandas_frame(rows), key="n", text="body", label="topic")) == wanted
    with pytest.raises(ValueError, match=r"document 0 has no field 'title'\. .*: 'body', 'topic', 'n'"):
        list(open_documents(rows, text="title"))
    with pytest.raises(TypeError, match="no parameter 'title'"):
        with_fields(rows, {"title": "x"})
    assert with_fields(rows, {"text": None}) is rows
    assert with_fields(None, {"text": "body"}) is None


def test_paths(jsonl, tmp_path):
    assert list(open_documents(jsonl)) == DOCUMENTS
    mixed = list(open_documents(["a text", jsonl, {"text": "a dict"}]))
    assert mixed == [Document(None, "a text"), *DOCUMENTS, Document(None, "a dict")]
    with pytest.raises(TypeError, match="document 3 is a int"):
        list(open_documents(["a text", jsonl, 7]))
    assert next(open_documents([str(jsonl)])).text == str(jsonl)  # a str in a list is a text
    with pytest.raises(FileNotFoundError):
        list(open_documents(Path(tmp_path, "missing.jsonl")))


@pytest.mark.parametrize("single", ["text", b"text", {"text": "a"}, Document(None, "a")])
def test_a_single_document_is_refused(single):
    with pytest.raises(TypeError, match=f"got a single {type(single).__name__}. Put it into a list"):
        open_documents(single)
    with pytest.raises(TypeError, match="got a single"):
        paired(single, None)


def test_pairs(jsonl):
    vectors = np.eye(2)
    assert [document for document, _ in paired(jsonl, vectors)] == DOCUMENTS
    assert [vector.tolist() for _, vector in paired(iter(["a", "b"]), vectors)] == vectors.tolist()
    assert list(paired(["a"], None)) == [(Document(None, "a"), None)]
    assert [document for document, _ in paired(None, vectors)] == [Document(None), Document(None)]
    assert list(paired(None, None)) == []
    assert [document for document, _ in paired([{"key": "a"}, {"n": 1}], vectors)] == [
        Document("a"),
        Document(None, "", None, {"n": 1}),
    ]
    for documents in (["a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match=r"not equally many: \d documents, 2 vectors"):
            list(paired(documents, vectors))


def test_documents_alone_import_no_reader(run_python):
    modules = run_python(
        "import sys\nfrom sthash.sources import open_documents\nlist(open_documents(['a']))\nprint(*sys.modules)"
    )
    assert not {"sthash.sources.reader", "csv", "lzma", "pandas", "pyarrow"} & set(modules.split())
