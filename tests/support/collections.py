"""Collections of documents, behind one protocol. A new kind gets a function here and a line in COLLECTIONS."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sthash import Client, Collection, Document, Hit
from sthash.collection import DocumentCollection
from support.browser import serving
from support.components import require
from support.corpus import make_documents
from support.factories import create_collection

READ_KEY, WRITE_KEY = "a-key-to-read", "a-key-to-write"
ODD = [
    Document("blank", ""),
    Document("only stop words", "the of and"),
    Document("it's \"odd\" \\ 100% {x} 'y'\n/../ ключ 鍵", "cat purr whisker кот 猫 \U0001f431", "a label"),
    Document("nested", "ship sail harbour", "", {"nested": {"a": [1, None, "'\""]}, "q\"'\\": 1.5, "value": None}),
    Document("copy 1", "star planet orbit telescope", None, {"big": 2**62, "value": True, "tags": "red"}),
    Document("copy 2", "star planet orbit telescope", "stars", {"value": 1, "tags": ["red", "blue"]}),
    Document("copy 3", "star planet orbit telescope", "stars", {"value": "1", "tags": [7, True, None, ["red"]]}),
]
_names = (f"contract{number}" for number in itertools.count())


def build(path: Path) -> Path:
    """Make the file that every kind of collection starts from."""
    create_collection(path, [*make_documents(160), *ODD], n_bits=20, n_neighbors=8).close()
    return path


@contextlib.contextmanager
def opened_file(path: Path, request: pytest.FixtureRequest) -> Iterator[DocumentCollection]:
    with Collection.open(path) as collection:
        yield collection


@contextlib.contextmanager
def served_file(path: Path, request: pytest.FixtureRequest) -> Iterator[DocumentCollection]:
    with (
        serving(path, STHASH_READ_KEY=READ_KEY, STHASH_WRITE_KEY=WRITE_KEY) as (address, _),
        Client(address, api_key=WRITE_KEY) as client,
    ):
        yield client


@contextlib.contextmanager
def pushed_file(path: Path, request: pytest.FixtureRequest) -> Iterator[DocumentCollection]:
    require("Milvus Lite")
    from sthash.milvus import MilvusCollection

    uri = request.getfixturevalue("milvus_lite")
    with Collection.open(path) as model, MilvusCollection.push(model, uri, next(_names), timeout=60) as pushed:
        yield pushed


COLLECTIONS: dict[
    str, Callable[[Path, pytest.FixtureRequest], contextlib.AbstractContextManager[DocumentCollection]]
] = {"Collection": opened_file, "Client": served_file, "MilvusCollection": pushed_file}


@contextlib.contextmanager
def copy_of(built: Path, folder: Path, kind: str, request: pytest.FixtureRequest) -> Iterator[DocumentCollection]:
    """Open a collection of some kind that holds what a file holds, and that may be changed."""
    path = Path(shutil.copy(built, folder / "copy.sth"))
    with COLLECTIONS[kind](path, request) as collection:
        yield collection


def assert_same_hits(ours: list[Hit], theirs: list[Hit]) -> None:
    """The same documents in the same order; where scores are equal but for rounding, the order may differ."""
    assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-5)
    expected = {hit.key: hit for hit in theirs}
    for hit in ours:
        if hit.key in expected:
            other = expected[hit.key]
            assert hit.score == pytest.approx(other.score, abs=1e-5)
            assert (hit.text, hit.label, hit.metadata) == (other.text, other.label, other.metadata)
            assert (hit.distance, hit.terms) == (other.distance, other.terms)
        else:
            assert hit.score == pytest.approx(theirs[-1].score, abs=1e-5)


def default_ranking(collection: object) -> str:
    """Return what a collection ranks by unless it is told; Milvus by cosines, because it has no posting lists."""
    return "cosine" if type(collection).__name__ == "MilvusCollection" else "auto"
