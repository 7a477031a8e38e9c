"""Every file that is replaced as a whole, in two versions: models, indexes, deduplicators, `sth dedup`, `sth sync`.

For what kills a writer or cuts the power, and must find the old version or the new one, never a part of it, and never
files that do not belong together.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sthash
from sthash import (
    Collection,
    Deduplicator,
    EmbeddingQuantizer,
    HammingIndex,
    SelfTaughtHashing,
    TextVectorizer,
    VectorIndex,
    WordIndex,
)
from sthash.duplicates import streaming
from support.factories import build_text_model, build_vector_model, random_texts

VERSIONS = (0, 1)
ROWS = [np.random.default_rng(seed).normal(size=(400, 12)).astype(np.float32) for seed in VERSIONS]
TEXTS = [[f"version{seed} {text}" for text in random_texts(150, 8, seed)] for seed in VERSIONS]
BOTH_ROWS, BOTH_TEXTS = np.concatenate([rows[:40] for rows in ROWS]), [text for texts in TEXTS for text in texts[:40]]
SPILLED = "100000"  # bytes: a part of what `sth dedup` compares here, so that it goes to the disk


def _hamming(version: int) -> HammingIndex:
    index = HammingIndex(64)
    index.add(np.random.default_rng(version).integers(0, 256, (2000, 8), dtype=np.uint8))
    return index


def _deduplicator(version: int) -> Deduplicator:
    known = Deduplicator()
    known.add(TEXTS[version])
    return known


# How a version is made, and what the loaded file answers; the answers of the versions differ.
SAVED: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "hamming": (_hamming, lambda index: index.codes(index.ids)),
    "words": (lambda version: WordIndex.build(TEXTS[version]), lambda index: index.search(BOTH_TEXTS, 3)[1]),
    "vectors": (
        lambda version: VectorIndex.build(ROWS[version], n_bytes=2),
        lambda index: index.search(BOTH_ROWS, 3, exact=True)[1],
    ),
    "quantizer": (
        lambda version: EmbeddingQuantizer(4, random_state=0).fit(ROWS[version]),
        lambda quantizer: quantizer.transform(BOTH_ROWS),
    ),
    "hasher": (
        lambda version: SelfTaughtHashing(8, 5).fit(ROWS[version]),
        lambda hasher: hasher.transform(BOTH_ROWS),
    ),
    "vectorizer": (
        lambda version: TextVectorizer().fit(TEXTS[version]),
        lambda vectorizer: vectorizer.transform(BOTH_TEXTS).toarray(),
    ),
    "text_model": (lambda version: build_text_model(TEXTS[version]), lambda model: model.encode(BOTH_TEXTS).codes),
    "vector_model": (lambda version: build_vector_model(ROWS[version]), lambda model: model.encode(BOTH_ROWS).codes),
    "deduplicator": (
        _deduplicator,
        lambda known: np.array([verdict.is_new for verdict in known.check(BOTH_TEXTS)]),
    ),
}
NAMES = (*SAVED, "dedup", "sync")


class SavedFiles:
    """Writes versions of each kind into a folder, and says which one is there.

    Parameters
    ----------
    inputs : Path
        Folder for what `sth dedup` and `sth sync` read.
    """

    def __init__(self, inputs: Path) -> None:
        self._inputs = inputs
        inputs.mkdir(parents=True, exist_ok=True)
        self._objects = {name: [make(version) for version in VERSIONS] for name, (make, _) in SAVED.items()}
        self._answers = {
            name: [np.asarray(SAVED[name][1](saved)) for saved in objects] for name, objects in self._objects.items()
        }
        for name, (old, new) in self._answers.items():
            assert not np.array_equal(old, new), name
        for version in VERSIONS:
            rows = [{"key": f"{version}-{place}", "text": text} for place, text in enumerate(_with_copies(version))]
            (inputs / f"{version}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def write(self, name: str, version: int, folder: Path) -> None:
        """Write a version over whatever is there."""
        if name == "dedup":
            self._dedup(version, folder)
        elif name == "sync":
            self._sync(version, folder)
        else:
            self._objects[name][version].save(folder / name)

    def version(self, name: str, folder: Path) -> int | None:
        """Return which version a folder has, None if it has none; raise if what is there is not whole."""
        if name == "dedup":
            return _deduplicated(folder)
        if name == "sync":
            return _synced(folder)
        if not (folder / name).exists():
            return None
        answer = SAVED[name][1](sthash.load(folder / name))
        (found,) = [version for version in VERSIONS if np.array_equal(answer, self._answers[name][version])]
        return found

    def _dedup(self, version: int, folder: Path) -> None:
        from sthash.cli import app

        files = [self._inputs / f"{version}.jsonl", "-o", folder / "dedup.jsonl", "--report", folder / "report.jsonl"]
        with pytest.MonkeyPatch.context() as patch, quiet():
            patch.setattr(streaming, "LEAST_MEMORY", 1)
            app(["dedup", *map(str, files), "--memory", SPILLED], standalone_mode=False)

    def _sync(self, version: int, folder: Path) -> None:
        notes = self._inputs / "notes"
        notes.mkdir(exist_ok=True)
        for place, text in enumerate(TEXTS[version][: 20 + version]):
            (notes / f"{place}.txt").write_text(text + "!" * version)
        if version == 0:
            (notes / "20.txt").unlink(missing_ok=True)
        path = folder / "notes.sth"
        opening = Collection.open(path) if path.exists() else Collection.create(path, [])
        with opening as collection:
            collection.sync(notes)


def _with_copies(version: int) -> list[str]:
    return [*TEXTS[version], *TEXTS[version][:30]]


def _deduplicated(folder: Path) -> int | None:
    """Return the version of the output; the report beside it, if there is one, must be of the same version."""
    output, report = folder / "dedup.jsonl", folder / "report.jsonl"
    if not output.exists():
        assert not report.exists(), "a report without an output"
        return None
    kept = [json.loads(line) for line in output.read_text().splitlines()]
    version = int(kept[0]["text"].split()[0].removeprefix("version"))
    assert [row["text"] for row in kept] == TEXTS[version], "the output is not whole"
    if report.exists():
        dropped = [json.loads(line)["key"] for line in report.read_text().splitlines()]
        assert dropped == [f"{version}-{len(TEXTS[version]) + place}" for place in range(30)], "a report of another run"
    return version


def _synced(folder: Path) -> int | None:
    path = folder / "notes.sth"
    if not path.exists():
        return None
    with Collection.open(path) as collection:
        collection.check()
        texts = sorted(document.text.strip() for document in collection)
    if not texts:
        return None
    version = len(texts) - 20
    assert texts == sorted(text + "!" * version for text in TEXTS[version][: 20 + version]), "documents of two states"
    return version


@contextmanager
def quiet() -> Iterator[None]:
    """Let what a command prints go nowhere."""
    import contextlib
    import io

    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        yield


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Let temporary files go to a folder, in which none may stay."""
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        yield
