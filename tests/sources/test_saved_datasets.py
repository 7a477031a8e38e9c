"""Datasets of Hugging Face: in memory, streamed, and as they were saved to disk."""

import json

import pytest

import sthash
from sthash.sources import read_documents

pa = pytest.importorskip("pyarrow")

ROWS = {"id": [1, 2, 3], "text": ["a b c d e f", "A b c d e f!", None], "year": [1999, None, 2001]}


def save(folder, rows=ROWS):
    """Write what ``save_to_disk`` writes."""
    folder.mkdir()
    table = pa.table(rows)
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as to,
    ):
        to.write_table(table, max_chunksize=2)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    (folder / "dataset_info.json").write_text("{}")


def test_a_saved_dataset(tmp_path):
    save(tmp_path / "one")
    found = list(read_documents(tmp_path / "one"))
    assert [(own.key, own.text, own.metadata) for own in found] == [
        ("1", "a b c d e f", {"year": 1999}),
        ("2", "A b c d e f!", {"year": None}),
        ("3", "", {"year": 2001}),
    ]


def test_all_splits(tmp_path):
    (tmp_path / "both").mkdir()
    for split in ("train", "test"):
        save(tmp_path / "both" / split)
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert [own.key for own in read_documents(tmp_path / "both")] == ["1", "2", "3"] * 2


@pytest.mark.parametrize("name", ["../x.arrow", "/etc/passwd", 7, None])
def test_a_description_that_leads_elsewhere_is_refused(tmp_path, name):
    save(tmp_path / "one")
    (tmp_path / "one" / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(ValueError, match="outside of it"):
        list(read_documents(tmp_path / "one"))


def test_damaged_and_missing_files(tmp_path):
    save(tmp_path / "one")
    file = tmp_path / "one" / "data-00000-of-00001.arrow"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ValueError, match="cannot be read as Arrow"):
        list(read_documents(tmp_path / "one"))
    file.unlink()
    with pytest.raises(FileNotFoundError):
        list(read_documents(tmp_path / "one"))


def test_other_folders_are_folders(tmp_path):
    (tmp_path / "state.json").write_text('{"text": "a state"}')
    (tmp_path / "dataset_info.json").write_text('{"text": "some info"}')
    assert len(list(read_documents(tmp_path))) == 2


def test_datasets_in_memory_and_streamed():
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict(ROWS)
    assert [own.key for own in read_documents(whole)] == ["1", "2", "3"]
    assert [own.key for own in read_documents(whole.select([2, 0]))] == ["3", "1"]
    assert [own.text for own in read_documents(whole.to_iterable_dataset())] == ["a b c d e f", "A b c d e f!", ""]
    assert sthash.near_duplicates(whole).groups == [[0, 1]]
    splits = datasets.DatasetDict({"train": whole})
    with pytest.raises(TypeError, match="several splits: 'train'"):
        sthash.near_duplicates(splits)
