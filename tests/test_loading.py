"""`sthash.load` reads every kind of file that sthash writes."""

import numpy as np
import pytest

import sthash
from sthash import (
    Deduplicator,
    EmbeddingQuantizer,
    HammingIndex,
    SelfTaughtHashing,
    TextVectorizer,
    WordIndex,
    baselines,
)
from support.factories import build_text_model, build_vector_model, create_collection, random_vectors

VECTORS = random_vectors(60, 6)
TEXTS = [f"word{place % 7} other{place % 5} third{place}" for place in range(60)]


def saved(thing, path):
    thing.save(path)
    return thing


def index(path):
    made = HammingIndex(8)
    made.add(np.arange(9, dtype=np.uint8).reshape(-1, 1))
    return saved(made, path)


def words(path):
    made = WordIndex()
    made.add(TEXTS)
    return saved(made, path)


def seen(path):
    made = Deduplicator()
    made.add(TEXTS[:3])
    return saved(made, path)


KINDS = {
    "TextModel": lambda path: saved(build_text_model(TEXTS), path),
    "VectorModel": lambda path: saved(build_vector_model(VECTORS), path),
    "TextVectorizer": lambda path: saved(TextVectorizer().fit(TEXTS), path),
    "SelfTaughtHashing": lambda path: saved(SelfTaughtHashing(8, 5).fit(VECTORS), path),
    "SpectralHashing": lambda path: saved(baselines.SpectralHashing(4).fit(VECTORS), path),
    "EmbeddingQuantizer": lambda path: saved(EmbeddingQuantizer(4).fit(VECTORS), path),
    "HammingIndex": index,
    "WordIndex": words,
    "Deduplicator": seen,
    "Collection": lambda path: create_collection(path, TEXTS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file(kind, tmp_path):
    made = KINDS[kind](tmp_path / "file")
    again = sthash.load(tmp_path / "file")
    assert type(again) is type(made)
    assert type(again).__name__ == kind
    if hasattr(type(made), "load"):
        assert type(type(made).load(tmp_path / "file")) is type(made)
    if kind == "Collection":
        assert len(again) == len(TEXTS)
        again.add(["one more"])
        again.close()
        made.close()


@pytest.mark.parametrize("content", [b"", b"text", b"SQLite format 2\0" * 40, b"\0" * 5000, bytes(range(256)) * 20])
def test_files_of_others(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(sthash.ModelFileError, match=r"is not an sthash model or is damaged .* Save the model again"):
        sthash.load(tmp_path / "file")


def test_files_that_start_like_ours(tmp_path):
    (tmp_path / "collection").write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    with pytest.raises(sthash.CollectionError):
        sthash.load(tmp_path / "collection")
    (tmp_path / "index").write_bytes(b"STHHAMIX" + b"\0" * 5000)
    with pytest.raises(ValueError, match="index"):
        sthash.load(tmp_path / "index")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        sthash.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Pass a file"):
        sthash.load(tmp_path)
