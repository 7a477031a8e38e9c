"""Collections of embeddings against local vector stores: documents included, one query at a time.

Not a script: embeddings.py runs it. Every store gets the same vectors and texts, in batches, and answers with the texts
of the 10 nearest. Times are by the clock; stores take turns, and the best of several rounds counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from data import shares
from harness import OURS, Run, figure, installed
from sthash import Collection

K = 10
ROUNDS = 3
WANTED = 0.96  # recall that a store must have
LEAST_FOR_LANCEDB = 10_000  # vectors
LANCEDB_SETTINGS = {"nprobes": 40, "refine_factor": 10}
CHROMA_BATCH = 5000  # it takes no more at once
Vectors = npt.NDArray[np.float32]
Answer = tuple[list[int], list[str]]
Search = Callable[[Vectors], Answer]


def compare_stores(
    run: Run, name: str, corpus: Vectors, texts: list[str], queries: Vectors, truth: Any, least: float | None
) -> None:
    """Build each store, and measure single queries and recall."""
    with tempfile.TemporaryDirectory() as folder:
        stores: dict[str, Search] = {}
        seconds: dict[str, float] = {}
        bytes_: dict[str, float] = {}
        builders = {OURS: ours} | ({"Chroma": chroma} if installed("chromadb") else {})
        if installed("lancedb") and len(corpus) >= LEAST_FOR_LANCEDB:
            builders["LanceDB"] = lancedb
        for store, build in builders.items():
            place = Path(folder, store)
            start = time.perf_counter()
            stores[store] = build(place, corpus, texts)
            seconds[store] = time.perf_counter() - start
            bytes_[store] = sum(file.stat().st_size for file in [place, *place.rglob("*")] if file.is_file())
        recalls = {store: recall_of(search, corpus, queries, truth) for store, search in stores.items()}
        times = dict.fromkeys(stores, np.inf)
        for _ in range(ROUNDS):
            for store, search in stores.items():
                start = time.perf_counter()
                for query in queries:
                    search(query)
                times[store] = min(times[store], (time.perf_counter() - start) / len(queries))
    setting = {"set": name, "vectors": len(corpus), "dimensions": corpus.shape[1]}
    details = {f"recall, {store}": share for store, share in recalls.items()}
    details |= {f"bytes per document, {store}": size / len(corpus) for store, size in bytes_.items()}
    for peer in [store for store in stores if store != OURS] or [None]:
        add_rows(run, name, peer, times, seconds, least if recalls[OURS] >= WANTED else None, setting, details)


def add_rows(
    run: Run,
    name: str,
    peer: str | None,
    times: dict[str, float],
    seconds: dict[str, float],
    least: float | None,
    setting: dict[str, Any],
    details: dict[str, float],
) -> None:
    """Add the rows of ours beside a peer."""
    of = "" if peer in (None, "Chroma") else f"-{peer}"
    run.add(
        figure(
            f"{name}-single{of}",
            f"{name}, a collection with documents, one query at a time",
            1e3 * times[OURS],
            "ms",
            peer=peer,
            theirs=None if peer is None else 1e3 * times[peer],
            least_ratio=least,
            setting=setting,
            details=details,
        )
    )
    theirs = None if peer is None else seconds[peer]
    run.add(
        figure(f"{name}-build{of}", f"{name}, build", seconds[OURS], "s", peer=peer, theirs=theirs, setting=setting)
    )


def recall_of(search: Search, corpus: Vectors, queries: Vectors, truth: Any) -> float:
    """Return the share of the true nearest documents that a store finds."""
    found = np.full((len(queries), K), -1, dtype=np.int64)
    for place, query in enumerate(queries):
        ids = search(query)[0]
        found[place, : len(ids)] = ids
    return shares(found, truth, corpus, queries, (K,))[0]


def ours(path: Path, corpus: Vectors, texts: list[str]) -> Search:
    """Build a collection."""
    collection = Collection.create(path, texts, vectors=corpus, threads=1)

    def search(query: Vectors) -> Answer:
        hits = collection.search(query, K)
        return [int(hit.key) for hit in hits], [hit.text for hit in hits]

    return search


def chroma(path: Path, corpus: Vectors, texts: list[str]) -> Search:
    """Build a collection of Chroma's, with its defaults but for the metric."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("texts", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
    for start in range(0, len(corpus), CHROMA_BATCH):
        part = slice(start, min(start + CHROMA_BATCH, len(corpus)))
        numbers = [str(number) for number in range(part.start, part.stop)]
        collection.add(ids=numbers, embeddings=corpus[part], documents=texts[part])

    def search(query: Vectors) -> Answer:
        found = collection.query(query_embeddings=[query], n_results=K, include=["documents", "distances"])
        return [int(number) for number in found["ids"][0]], found["documents"][0]

    return search


def lancedb(path: Path, corpus: Vectors, texts: list[str]) -> Search:
    """Build a table of LanceDB's, with an inverted file of product codes, refined by the vectors."""
    import lancedb
    import pyarrow

    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(corpus.ravel()), corpus.shape[1])
    rows = {"id": pyarrow.array(range(len(texts))), "text": pyarrow.array(texts), "vector": vectors}
    table = lancedb.connect(str(path)).create_table("texts", pyarrow.table(rows))
    table.create_index(metric="cosine", num_partitions=round(len(corpus) ** 0.5), num_sub_vectors=corpus.shape[1] // 8)

    def search(query: Vectors) -> Answer:
        asked = table.search(query).distance_type("cosine").limit(K).select(["id", "text"])
        found = asked.nprobes(LANCEDB_SETTINGS["nprobes"]).refine_factor(LANCEDB_SETTINGS["refine_factor"]).to_arrow()
        return found["id"].to_pylist(), found["text"].to_pylist()

    return search
