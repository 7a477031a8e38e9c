"""Files of collections as this version writes them, to be read by every later one.

``python -m support.golden_collections``, in the folder tests, wrote collection/golden when the format was new. A file
that is there is not written again: a later version that cannot read it has broken a promise.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sthash import Collection, Document, Embedder, Learning, VectorOptions
from sthash.collection.file.schema import FORMAT
from support.corpus import QUERIES, make_documents
from support.factories import small_segments

GOLDEN = Path(__file__).parents[1] / "collection" / "golden"
WIDTH = 8
DELETED = ("d7", "d8", "d100")
ADDED = [Document("new", "the captain of a zeppelin"), Document("d9", "a cat in another harbour", None, {"a": [1]})]


def golden_vectors(count: int) -> np.ndarray:
    """Vectors in a few directions, of different lengths."""
    rng = np.random.default_rng(20100719)
    rows = rng.normal(size=(6, WIDTH))[rng.integers(6, size=count)] + 0.5 * rng.normal(size=(count, WIDTH))
    return (rows * rng.lognormal(0, 0.5, count)[:, None]).astype(np.float32)


def golden_embed(texts: list[str]) -> np.ndarray:
    """Return vectors that depend on the lengths of the texts."""
    return golden_vectors(200)[[len(text) for text in texts]]


EMBEDDER = Embedder.of(golden_embed, "golden:embed")
KINDS: dict[str, dict[str, Any]] = {
    "texts": {"learning": Learning(n_bits=12, n_neighbors=6, scatter=0.5)},
    "vectors": {"embedder": EMBEDDER, "learning": Learning(n_bits=12, n_neighbors=6)},
    "products": {"embedder": EMBEDDER, "vector_options": VectorOptions(metric="ip", precision="int8")},
}


def open_golden(kind: str, path: Path) -> Collection:
    """Open a golden file, or a copy of it."""
    return Collection.open(path, embedder=KINDS[kind].get("embedder"))


def golden_documents() -> list[Document]:
    """Return the documents that a golden file holds, in their order."""
    gone = {*DELETED, "d9"}
    return [document for document in make_documents(120) if document.key not in gone] + ADDED


def golden_answers(collection: Collection) -> list[list[tuple[str, float, int | None]]]:
    """Return keys, scores and distances of hits, by each way to search."""
    content = collection.info().get("metric", "cosine")
    answers = [collection.search(query, 5) for query in (*QUERIES, '"cat in"', "+zeppelin captain", "bread -oven")]
    for options in ({"ranking": "bm25"}, {"ranking": content}, {"where": {"parity": 1}}, {"explain": True}):
        answers.extend(collection.search_many(QUERIES, 5, **options))
    if collection.n_bits:
        answers.extend(collection.search_many(QUERIES, 5, rerank=False))
        answers.extend(collection.search_many(QUERIES, 5, radius=4))
    answers.extend(collection.search(key=key, k=5) for key in ("d1", "new"))
    return [[(hit.key, round(hit.score, 5), hit.distance) for hit in hits] for hits in answers]


def write(folder: Path) -> None:
    """Write a file of each kind, and what is found in it; with segments, deletions, pending records and cells."""
    for kind, options in KINDS.items():
        path = folder / f"format-{FORMAT}-{kind}.sth"
        if path.exists():
            raise FileExistsError(f"{path} is a promise that was given.")
        with Collection.create(path, make_documents(120), **options) as collection:
            collection.delete(list(DELETED))
            collection.upsert(ADDED)
            answers = golden_answers(collection)
        path.with_suffix(".json").write_text(f"{json.dumps(answers)}\n")


if __name__ == "__main__":
    with small_segments():
        write(Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN)
