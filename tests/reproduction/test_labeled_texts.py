"""Anyone's labeled texts: every format of `sthash.sources`, and what is wrong with a file."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma

import numpy as np
import pytest

from sthash.reproduction import DatasetError, load_labeled

RECORDS = [
    {"text": 'Stürme, "quoted"', "label": "weather", "split": "train"},
    {"text": "two\nlines", "label": "sport", "split": "test"},
    {"text": "a third", "label": "weather", "split": "test"},
]


def write_jsonl(path, records, opener=open):
    with opener(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record) + "\n" for record in records)
    return path


def write_csv(path, records, opener=open):
    with opener(path, "wt", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


@pytest.mark.parametrize("write", [write_jsonl, write_csv])
@pytest.mark.parametrize(("suffix", "opener"), [("", open), (".gz", gzip.open), (".xz", lzma.open), (".bz2", bz2.open)])
def test_every_format_gives_the_same(tmp_path, write, suffix, opener):
    kind = write.__name__.removeprefix("write_")
    data = load_labeled(write(tmp_path / f"mine.{kind}{suffix}", RECORDS, opener))
    assert data.name == "mine"
    assert data.label_names == ("sport", "weather")
    assert data.train_texts == [RECORDS[0]["text"]]
    assert data.test_texts == [RECORDS[1]["text"], RECORDS[2]["text"]]
    assert (data.train_labels.tolist(), data.test_labels.tolist()) == ([1], [0, 1])


def test_a_folder_of_folders(tmp_path):
    for label in ("sport", "weather"):
        (tmp_path / "mine" / label).mkdir(parents=True)
        for number in range(5):
            (tmp_path / "mine" / label / f"{number}.txt").write_text(f"{label} {number}")
    data = load_labeled(tmp_path / "mine")
    assert (data.name, data.label_names) == ("mine", ("sport", "weather"))
    assert (len(data.train_texts), len(data.test_texts)) == (6, 4)
    for text, label in zip(data.train_texts, data.train_labels, strict=True):
        assert text.startswith(data.label_names[label])


def test_fields_can_be_named_and_labels_be_numbers(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"body": str(i), "class": i % 3} for i in range(10)])
    data = load_labeled(path, text="body", label="class")
    assert data.label_names == ("0", "1", "2")
    assert (len(data.train_texts), len(data.test_texts)) == (6, 4)
    for texts, labels in ((data.train_texts, data.train_labels), (data.test_texts, data.test_labels)):
        assert [int(text) % 3 for text in texts] == labels.tolist()
    assert sorted(data.train_texts + data.test_texts) == [str(i) for i in range(10)]


def test_a_random_split_depends_on_the_seed_alone(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": str(i), "label": "x"} for i in range(50)])
    assert load_labeled(path).train_texts == load_labeled(path).train_texts
    assert load_labeled(path).train_texts != load_labeled(path, random_state=1).train_texts
    assert len(load_labeled(path, test_size=0.1).test_texts) == 5


def test_blank_lines_and_a_byte_order_mark_do_no_harm(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"text": "a", "label": "x"}\n\n{"text": "b", "label": "y"}')
    assert len(load_labeled(path, test_size=0.5).train_texts) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a", "label": "x"}\n{"text": ', r"line 2 is not JSON"),
        ('{"text": "a", "label": "x"}\n[1]', r"line 2 is not a JSON object but a list"),
        ('{"text": "a"}', r"line 1 has no field 'label'.* the record has: 'text'"),
        ('{"text": "", "label": "x"}', r"line 1 has no text, or an empty one"),
        ('{"text": "a", "label": ["x"]}', r"field 'label' is a list"),
        (
            '{"text": "a", "label": "x", "split": "dev"}',
            r"field 'split' of document 0 is 'dev'\. It must be 'train' or 'test'",
        ),
        ('{"text": "a", "label": "x", "split": "test"}\n{"text": "b", "label": "y"}', "Give it to all of them"),
        ('{"text": "a", "label": "x", "split": "test"}', r"0 of 1 documents are for training"),
        ("", r"0 of 0 documents"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, content, message):
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    with pytest.raises(DatasetError, match=message):
        load_labeled(path)


def test_bad_csv_is_refused(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("text,label\na,x\nb\n")
    with pytest.raises(DatasetError, match="line 3 does not have as many fields"):
        load_labeled(path)
    path.write_text('text,label\n"open,x\n')
    with pytest.raises(DatasetError, match="unexpected end of data"):
        load_labeled(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DatasetError, match="cannot be read"):
        load_labeled(tmp_path / "none.jsonl")
    (tmp_path / "a.doc").write_text("x")
    with pytest.raises(DatasetError, match=r"\.doc files are not read"):
        load_labeled(tmp_path / "a.doc")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(DatasetError, match=r"a\.txt has no field 'label'"):
        load_labeled(tmp_path / "a.txt")
    (tmp_path / "latin.jsonl").write_bytes(b'{"text": "\xe9"}')
    with pytest.raises(DatasetError, match="is not UTF-8"):
        load_labeled(tmp_path / "latin.jsonl")
    whole = lzma.compress(np.random.default_rng(0).bytes(5000).hex().encode())
    (tmp_path / "cut.jsonl.xz").write_bytes(whole[:100])
    with pytest.raises(DatasetError, match="is damaged or cut short"):
        load_labeled(tmp_path / "cut.jsonl.xz")


@pytest.mark.parametrize("size", [0, 1, 1.5])
def test_test_size_is_checked(tmp_path, size):
    with pytest.raises(ValueError, match="test_size="):
        load_labeled(tmp_path / "a.jsonl", test_size=size)
