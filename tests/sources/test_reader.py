"""Files, folders and standard input: every format gives the same documents, and errors say what to do."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys

import pytest

from sthash.sources import Document, SourceFields, open_documents, read_documents

RECORDS = [
    {"id": "a", "body": 'Stürme, "quoted"\tand a tab', "topic": "weather", "year": 2010},
    {"id": "b", "body": "a line separator\u2028inside", "topic": "sport", "year": 2011},
    {"id": "c", "body": "", "topic": "sport", "year": 2012},
]
FIELDS = SourceFields(key="id", text="body", label="topic")
OPENERS = {"": open, ".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def write(path, kind, opener=open):
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if kind == "jsonl":
            file.writelines(json.dumps(record) + "\n\n" for record in RECORDS)
        else:
            writer = csv.DictWriter(file, RECORDS[0], delimiter="\t" if kind == "tsv" else ",")
            writer.writeheader()
            writer.writerows(RECORDS)
    return path


@pytest.mark.parametrize("compression", OPENERS)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_every_format_and_compression(tmp_path, kind, compression):
    path = write(tmp_path / f"docs.{kind}{compression}", kind, OPENERS[compression])
    documents = list(read_documents([str(path)], FIELDS))
    as_read = (lambda year: year) if kind == "jsonl" else str
    assert documents == [Document(r["id"], r["body"], r["topic"], {"year": as_read(r["year"])}) for r in RECORDS]
    assert list(read_documents(path, FIELDS)) == documents


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_parquet(tmp_path, compression):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed; pip install 'sthash[parquet]'")
    from datetime import datetime
    from decimal import Decimal

    from pyarrow import parquet

    rows = [record | {"seen": datetime(2010, 7, 19), "price": Decimal("1.50"), "tags": ["x"]} for record in RECORDS]
    content = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), content)
    path = tmp_path / f"docs.parquet{compression}"
    with OPENERS[compression](path, "wb") as file:
        file.write(content.getvalue())
    documents = list(read_documents(path, FIELDS))
    assert [document.key for document in documents] == ["a", "b", "c"]
    assert documents[0].metadata == {"year": 2010, "seen": "2010-07-19T00:00:00", "price": "1.50", "tags": ["x"]}


def test_folders(tmp_path):
    (tmp_path / "docs" / "cats").mkdir(parents=True)
    (tmp_path / "docs" / "cats" / "one.txt").write_text("a cat", encoding="utf-8")
    (tmp_path / "docs" / ".hidden").write_text("not this")
    with gzip.open(tmp_path / "docs" / "two.txt.gz", "wt") as file:
        file.write("compressed")
    assert list(read_documents(tmp_path / "docs")) == [
        Document("cats/one.txt", "a cat", "cats"),
        Document("two.txt.gz", "compressed", None),
    ]
    with pytest.raises(ValueError, match=r"two\.txt\.gz has no label\. Put it into a folder"):
        list(read_documents(tmp_path / "docs", SourceFields(required=("label",))))


def test_standard_input(monkeypatch):
    def given(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    given(b'{"text": "one", "key": 1}\n')
    assert list(read_documents("-")) == [Document("1", "one")]
    given(b"one\r\ntwo")
    assert [document.text for document in read_documents(["-"], format="lines")] == ["one", "two"]


def test_sources_follow_each_other_and_are_read_as_needed(tmp_path):
    write(tmp_path / "a.jsonl", "jsonl")
    documents = read_documents([tmp_path / "a.jsonl", tmp_path / "missing.jsonl"], FIELDS)
    assert [next(documents).key for _ in RECORDS] == ["a", "b", "c"]
    with pytest.raises(FileNotFoundError):
        next(documents)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.lines"])
def test_a_byte_order_mark_is_left_out(tmp_path, name):
    content = {"a.jsonl": '{"text": "some"}', "a.csv": "text\nsome", "a.lines": "some"}[name]
    (tmp_path / name).write_text(content, encoding="utf-8-sig")
    assert list(read_documents(tmp_path / name)) == [Document(None, "some")]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).write_text("some", encoding="utf-8-sig")
    assert list(read_documents(tmp_path / "folder")) == [Document(name, "some")]


def test_metadata_is_merged_so_that_an_export_is_read_again(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "metadata": {"x": 1}, "y": 2}\n{"text": "b", "metadata": 3}\n{"text": null}')
    assert [(d.text, d.metadata) for d in read_documents(path)] == [
        ("a", {"x": 1, "y": 2}),
        ("b", {"metadata": 3}),
        ("", {}),
    ]


def test_encodings(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Schäf\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"a\.txt is not UTF-8: .* at offset 3 .*--encoding latin-1"):
        list(read_documents(path))
    assert next(read_documents(path, encoding="latin-1")).text == "Schäf\n"
    with pytest.raises(ValueError, match="encoding='nope' is not known"):
        read_documents(path, encoding="nope")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": ', "line 2 is not JSON"),
        ("a.jsonl", "[1]", "line 1 is not a JSON object but a list"),
        ("a.jsonl", '{"body": "a"}', "line 1 has no field 'text'. Set text .--text. to .* the record has 'body'"),
        ("a.jsonl", "{}", "the record has no fields"),
        ("a.jsonl", '{"text": ["a"]}', "field 'text' is a list. Set text .--text. to a field that holds a string"),
        ("a.jsonl", '{"text": "a", "label": ["a"]}', "line 1: field 'label' is a list"),
        ("a.jsonl", '{"text": "a", "key": {}}', "line 1: field 'key' is a dict"),
        ("a.csv", "text,b\nx\n", "line 2 does not have as many fields as the first line"),
        ("a.csv", "text,b\nx,y,z\n", "line 2 does not have as many fields as the first line"),
        ("a.csv", 'text,b\n"open,x\n', "line 2 cannot be read .unexpected end of data"),
        ("a.parquet", "PAR1 not really", "cannot be read as Parquet"),
        ("a.sth", "x\0\1", "a.sth is binary, not text. Convert it"),
        ("a.doc", "x", r"\.doc files are not read. Save it as \.docx"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        list(read_documents(tmp_path / name))


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)]
)
def test_damaged_files(tmp_path, suffix, compress):
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(compress(b"".join(b'{"text": "%d"}\n' % (i**5) for i in range(2000)))[:-20])
    with pytest.raises(ValueError, match="damaged or cut short"):
        list(read_documents(path))
    path.write_bytes(b"not compressed at all")
    with pytest.raises(ValueError, match="damaged or cut short"):
        list(read_documents(path))


def test_fields_that_are_named_or_required(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": 3}\n{"text": "b", "label": null}\n{"text": ""}')
    assert [document.label for document in read_documents(path)] == ["3", None, None]
    with pytest.raises(ValueError, match=r"no field 'topic'\. Set label .--label. to the name of a field .* 'text'"):
        list(read_documents(path, SourceFields(label="topic")))
    with pytest.raises(ValueError, match="line 2 has no label, or an empty one"):
        list(read_documents(path, SourceFields(required=("label",))))
    with pytest.raises(ValueError, match="line 3 has no text, or an empty one"):
        list(read_documents(path, SourceFields(required=("text",))))
    with pytest.raises(ValueError, match="required='title' is not known"):
        SourceFields(required=("title",))
    with pytest.raises(ValueError, match="format='xml' is not known"):
        read_documents(path, format="xml")


def test_long_fields(tmp_path):
    (tmp_path / "a.csv").write_text(f"text\n{'a' * 300_000}\n")
    assert len(next(read_documents(tmp_path / "a.csv")).text) == 300_000


def test_a_reader_that_is_not_read_to_its_end_closes_the_file(tmp_path):
    documents = open_documents(write(tmp_path / "a.jsonl", "jsonl").rename(tmp_path / "b.jsonl"))
    with pytest.raises(ValueError, match="no field 'text'"):
        next(documents)
    documents.close()
