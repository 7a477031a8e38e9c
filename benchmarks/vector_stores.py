"""Collections of embeddings against local vector stores: documents included, one query at a time.

Not a script: embeddings.py runs it. Every store gets the same vectors and texts, in batches, and answers with the texts
of the 10 nearest. hnswlib, which stores no texts, answers with ids only. Ours and Chroma search as they do by default.
LanceDB and hnswlib search with the settings that are fastest among those that reach the recall on some other queries.
Times are by the clock; stores take turns, and the best of several rounds counts.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import hnswlib
import numpy as np
import numpy.typing as npt

from data import shares
from harness import OURS, Run, figure, installed
from sthash import Collection

K = 10
ROUNDS = 3
WANTED = 0.95  # recall that a store must have
LEAST_FOR_LANCEDB = 10_000  # vectors
LANCEDB_SETTINGS = tuple(itertools.product((10, 20, 40, 80), (5, 10, 20)))  # partitions, and candidates per hit
LINKS, CONSTRUCTION, BUILDERS = 16, 200, 2  # of hnswlib
EF = (20, 30, 40, 50, 60, 80, 120, 160)
CHOOSING = 50  # queries by which settings are chosen
# How many times as fast as a peer ours must be at least, and how many times as fast to build.
LEAST = {"Chroma": 10.0, "LanceDB": 10.0, "hnswlib": 1.0}
LEAST_TO_BUILD = {"Chroma": 5.0}
CHROMA_BATCH = 5000  # it takes no more at once
Vectors = npt.NDArray[np.float32]
Answer = tuple[list[int], list[str]]
Search = Callable[[Vectors], Answer]


def compare_stores(run: Run, name: str, corpus: Vectors, texts: list[str], queries: Vectors, truth: Any) -> None:
    """Build each store, and measure single queries and recall."""
    chosen_by, queries = (queries[:CHOOSING], truth[:CHOOSING]), queries[CHOOSING:]
    truth = truth[CHOOSING:]
    with tempfile.TemporaryDirectory() as folder:
        stores: dict[str, Search] = {}
        seconds: dict[str, float] = {}
        bytes_: dict[str, float] = {}
        builders: dict[str, Callable[..., Search]] = {OURS: ours, "hnswlib": partial(by_hnswlib, chosen_by=chosen_by)}
        if installed("chromadb"):
            builders["Chroma"] = chroma
        if installed("lancedb") and len(corpus) >= LEAST_FOR_LANCEDB:
            builders["LanceDB"] = partial(lancedb, chosen_by=chosen_by)
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
    details |= {f"bytes per document, {store}": size / len(corpus) for store, size in bytes_.items() if size}
    run.add(
        figure(
            f"{name}-recall",
            f"{name}: recall",
            recalls[OURS],
            "recall",
            peer="asked",
            theirs=WANTED,
            least_ratio=run.choose(1.0, None),
            setting=setting,
            details=details,
        )
    )
    for peer in stores:
        if peer != OURS:
            add_rows(run, name, peer, times, seconds, setting, details)


def add_rows(
    run: Run,
    name: str,
    peer: str,
    times: dict[str, float],
    seconds: dict[str, float],
    setting: dict[str, Any],
    details: dict[str, float],
) -> None:
    """Add the rows of ours beside a peer."""
    of = "" if peer == "Chroma" else f"-{peer}"
    run.add(
        figure(
            f"{name}-single{of}",
            f"{name}, a collection with documents, one query at a time",
            1e3 * times[OURS],
            "ms",
            peer=peer,
            theirs=1e3 * times[peer],
            least_ratio=run.choose(LEAST[peer], None),
            setting=setting,
            details=details,
        )
    )
    if peer != "hnswlib":  # which stores no texts
        run.add(
            figure(
                f"{name}-build{of}",
                f"{name}, build",
                seconds[OURS],
                "s",
                peer=peer,
                theirs=seconds[peer],
                least_ratio=run.choose(LEAST_TO_BUILD.get(peer), None),
                setting=setting,
            )
        )


def best_setting(searches: Sequence[Search], corpus: Vectors, queries: Vectors, truth: Any) -> Search:
    """Return the fastest search that reaches the recall; if none does, the one that finds the most."""
    rated: list[tuple[bool, float, int]] = []
    for place, search in enumerate(searches):
        recall = recall_of(search, corpus, queries, truth)
        start = time.perf_counter()
        for query in queries:
            search(query)
        seconds = time.perf_counter() - start
        rated.append((recall < WANTED, seconds if recall >= WANTED else -recall, place))
    return searches[min(rated)[-1]]


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


def lancedb(path: Path, corpus: Vectors, texts: list[str], chosen_by: tuple[Vectors, Any]) -> Search:
    """Build a table of LanceDB's, with an inverted file of product codes, refined by the vectors."""
    import lancedb
    import pyarrow

    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(corpus.ravel()), corpus.shape[1])
    rows = {"id": pyarrow.array(range(len(texts))), "text": pyarrow.array(texts), "vector": vectors}
    table = lancedb.connect(str(path)).create_table("texts", pyarrow.table(rows))
    table.create_index(metric="cosine", num_partitions=round(len(corpus) ** 0.5), num_sub_vectors=corpus.shape[1] // 8)

    def search(query: Vectors, probes: int, refine: int) -> Answer:
        asked = table.search(query).distance_type("cosine").limit(K).select(["id", "text"])
        found = asked.nprobes(probes).refine_factor(refine).to_arrow()
        return found["id"].to_pylist(), found["text"].to_pylist()

    settings = [partial(search, probes=probes, refine=refine) for probes, refine in LANCEDB_SETTINGS]
    return best_setting(settings, corpus, *chosen_by)


def by_hnswlib(_path: Path, corpus: Vectors, _texts: list[str], chosen_by: tuple[Vectors, Any]) -> Search:
    """Build hnswlib's graph, which has neither texts nor keys."""
    graph = hnswlib.Index("ip", corpus.shape[1])
    graph.init_index(len(corpus), M=LINKS, ef_construction=CONSTRUCTION)
    graph.add_items(corpus, num_threads=BUILDERS)
    graph.set_num_threads(1)

    def search(query: Vectors, ef: int) -> Answer:
        graph.set_ef(ef)
        return graph.knn_query(query, K)[0][0].tolist(), []

    return best_setting([partial(search, ef=ef) for ef in EF], corpus, *chosen_by)
