"""One's own labeled texts: JSON lines and CSV, and what is wrong with them."""

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
    assert load_labeled(path).train_texts != load_labeled(path, seed=1).train_texts
    assert len(load_labeled(path, test_size=0.1).test_texts) == 5


def test_blank_lines_and_a_byte_order_mark_do_no_harm(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"text": "a", "label": "x"}\n\n{"text": "b", "label": "y"}')
    assert len(load_labeled(path, test_size=0.5).train_texts) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a", "label": "x"}\n{"text": ', r"line 2: not JSON"),
        ('{"text": "a", "label": "x"}\n[1]', r"line 2: a JSON object is needed, got list"),
        ('{"text": "a"}', r"line 1: field 'label' must be .* got None; the record has \['text'\]"),
        ('{"text": "", "label": "x"}', r"field 'text' must be a text that is not empty"),
        ('{"text": "a", "label": ["x"]}', r"field 'label' .* got \['x'\]"),
        (
            '{"text": "a", "label": "x", "split": "dev"}',
            r"field 'split' must be 'train' or 'test', got 'dev'",
        ),
        ('{"text": "a", "label": "x", "split": "test"}\n{"text": "b", "label": "y"}', r"give all or none"),
        ('{"text": "a", "label": "x", "split": "test"}', r"0 of 1 records are for training"),
        ("", r"0 of 0 records"),
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
    with pytest.raises(DatasetError, match="line 3: field 'label'"):
        load_labeled(path)
    path.write_text('text,label\n"open,x\n')
    with pytest.raises(DatasetError, match="unexpected end of data"):
        load_labeled(path)
    path.write_text(f"text,label\n{'a' * 200_000},x\n")
    with pytest.raises(DatasetError, match="JSON lines have no such limits"):
        load_labeled(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DatasetError, match="cannot be read"):
        load_labeled(tmp_path / "none.jsonl")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(DatasetError, match=r"neither \.jsonl nor \.csv"):
        load_labeled(tmp_path / "a.txt")
    (tmp_path / "latin.jsonl").write_bytes(b'{"text": "\xe9"}')
    with pytest.raises(DatasetError, match="cannot be read"):
        load_labeled(tmp_path / "latin.jsonl")
    whole = lzma.compress(np.random.default_rng(0).bytes(5000))
    (tmp_path / "cut.jsonl.xz").write_bytes(whole[:100])
    with pytest.raises(DatasetError, match="cannot be read"):
        load_labeled(tmp_path / "cut.jsonl.xz")


@pytest.mark.parametrize("size", [0, 1, 1.5])
def test_test_size_is_checked(tmp_path, size):
    with pytest.raises(ValueError, match="test_size="):
        load_labeled(tmp_path / "a.jsonl", test_size=size)
