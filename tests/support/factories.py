"""Small collections, models, texts and vectors, for the tests of any package."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sthash import Collection, Learning, TextModel, VectorModel
from sthash.collection.file import records
from sthash.collection.file.schema import TABLES
from sthash.collection.indexes import cells, postings

WORDS = [f"word{letter}{other}" for letter in "abcdefghij" for other in "klmnopqrst"]


def create_collection(path: Path, documents: Any = None, **options: Any) -> Collection:
    """Create a collection with codes that are learned in no time, and leave it open.

    Options with the name of a field of `Learning` are for learning, all others for `Collection.create`.
    """
    settings = {field.name: options.pop(field.name) for field in fields(Learning) if field.name in options}
    learning = Learning(**{"n_bits": 8, "n_neighbors": 5} | settings)
    return Collection.create(path, documents, learning=learning, **options)


@contextmanager
def small_segments(pending: int = 20, few: int = 100) -> Iterator[None]:
    """Let a few documents be enough for segments and for cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "MOST_PENDING", pending)
        patch.setattr(records, "MOST_PENDING", pending)
        patch.setattr(cells, "FEW_VECTORS", few)
        yield


def opened(path: Path, embedder: Callable[[list[str]], Any]) -> Collection:
    """Open a collection; with the embedder, if it is one of vectors."""
    with Collection.open(path) as collection:
        dense = not collection.takes_texts
    return Collection.open(path, embedder=embedder if dense else None)


def tables_in_use(path: Path) -> set[str]:
    """Return the tables of a collection's file that have rows."""
    with closing(sqlite3.connect(path)) as connection:
        return {name for name in TABLES if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()}


def copied(file: Path, folder: Path) -> Path:
    """Copy a file to a folder, so that a test may change it."""
    return Path(shutil.copy(file, folder / file.name))


def build_text_model(texts: list[str], *, n_bits: int = 8, n_neighbors: int = 5, **settings: Any) -> TextModel:
    """Build a model of texts that is learned in no time."""
    return TextModel.build(texts, learning=Learning(n_bits=n_bits, n_neighbors=n_neighbors, **settings))


def build_vector_model(
    vectors: Any, *, metric: Any = "cosine", n_bits: int = 8, n_neighbors: int = 5, **settings: Any
) -> VectorModel:
    """Build a model of vectors that is learned in no time."""
    learning = Learning(n_bits=n_bits, n_neighbors=n_neighbors, **settings)
    return VectorModel.build(vectors, metric=metric, learning=learning)


def random_vectors(count: int, width: int, seed: int = 0) -> np.ndarray:
    """Random vectors, in float32."""
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def random_texts(count: int, length: int, seed: int = 0) -> list[str]:
    """Texts of random words, no two alike."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, length)) for _ in range(count)]


def with_copies(texts: list[str], count: int = 100, seed: int = 1) -> list[str]:
    """Add near-duplicates of the first texts, which have up to two words more; a copy; and two blank texts."""
    rng = np.random.default_rng(seed)
    near = [f"{text} {' '.join(rng.choice(WORDS, rng.integers(0, 3)))}" for text in texts[:count]]
    return [*texts, *near, texts[0], "", "   "]
