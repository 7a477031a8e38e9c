"""Searches among some vectors only, and indexes that grow one vector at a time.

Not a script: embeddings.py runs it. Times are processor seconds of one thread; indexes take turns, and the best of
several rounds counts. Each filter is prepared once, as its index takes it: `VectorIndex.select`, a function of hnswlib,
a bitmap of FAISS; Chroma gets a ``where`` on a field of its documents. Its queries take long, so it gets fewer of them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import hnswlib
import numpy as np
import numpy.typing as npt

from harness import OURS, Run, figure, installed
from sthash import VectorIndex

K = 10
ROUNDS = 3
SHARES = (1.0, 0.1, 0.01, 0.0001)
LINKS, CONSTRUCTION, EF = 16, 200, 80
PROBES = 32  # of FAISS
CHROMA_BATCH, CHROMA_QUERIES = 5000, 20
BUILDERS = 2  # threads that build a graph
LEAST_RECALL, MOST_TIME = 0.95, 3.0  # of a filter, and relative to no filter
LEAST_OF_FRESH = 0.95  # recall and speed of an index that grew, relative to a new one
Vectors = npt.NDArray[np.float32]
Search = Callable[[Vectors, float | None], Any]


def compare_filters(run: Run, name: str, corpus: Vectors, queries: Vectors) -> None:
    """Measure recall and time of filters at random, each relative to the same index without one."""
    ranks = np.random.default_rng(0).permutation(len(corpus))
    searches = {OURS: ours(corpus, ranks), "hnswlib": by_hnswlib(corpus, ranks), "FAISS": by_faiss(corpus, ranks)}
    queries = queries[: run.choose(100, 20)]
    with tempfile.TemporaryDirectory() as folder:
        if installed("chromadb"):
            searches["Chroma"] = by_chroma(Path(folder), corpus, ranks)
        for share in SHARES:
            allowed = ids_of(ranks, share)
            products = queries @ corpus[allowed].T
            wanted = min(K, len(allowed))
            truth = allowed[np.argsort(-products, axis=1, kind="stable")[:, :wanted]]
            times = {index: {"with": np.inf, "without": np.inf} for index in searches}
            found = {}
            for _ in range(ROUNDS):
                for index, search in searches.items():
                    for kind, filtered in (("without", None), ("with", share)):
                        start = time.process_time()
                        asked = queries[:CHROMA_QUERIES] if index == "Chroma" else queries
                        answers = search(asked, filtered)
                        seconds = (time.process_time() - start) / len(asked)
                        times[index][kind] = min(times[index][kind], seconds)
                    found[index] = answers
            for index in searches:
                hits = [[number for number in own if number >= 0] for own in found[index]]
                recall = np.mean(
                    [np.isin(true, own).mean() for own, true in zip(hits, truth[: len(hits)], strict=True)]
                )
                relative = times[index]["with"] / times[index]["without"]
                setting = {"set": name, "index": index, "share": share, "vectors": len(corpus)}
                what, goal = f"{name}, {index}, {100 * share:g} % allowed", run.choose(1.0, None)
                promised: dict[str, Any] = {"peer": "asked", "least_ratio": goal} if index == OURS else {}
                run.add(
                    figure(
                        f"{name}-{share}-{index}",
                        f"{what}: recall",
                        float(recall),
                        "recall",
                        setting=setting,
                        details={
                            "µs per query": 1e6 * times[index]["with"],
                            "time relative to no filter": relative,
                            "least hits": min(len(own) for own in hits),
                            "hits wanted": wanted,
                        },
                        **promised | ({"theirs": LEAST_RECALL} if promised else {}),
                    )
                )
                if promised:
                    what += ": time relative to no filter"
                    id_ = f"{name}-{share}-{index}-time"
                    run.add(figure(id_, what, relative, "times", theirs=MOST_TIME, setting=setting, **promised))


def ids_of(ranks: Any, share: float) -> Any:
    """Return the ids that a filter allows, at least one."""
    return np.flatnonzero(ranks < max(1, round(share * len(ranks))))


def ours(corpus: Vectors, ranks: Any) -> Search:
    """Build our index; the recall is the default."""
    index = VectorIndex.build(corpus, threads=1)
    prepared = {share: index.select(ids_of(ranks, share)) for share in SHARES}
    return lambda queries, share: index.search(
        queries, K, allowed=None if share is None else prepared[share], threads=1
    )[0]


def by_hnswlib(corpus: Vectors, ranks: Any) -> Search:
    """Build hnswlib's graph, which asks a function of Python about each vector."""
    graph = hnswlib.Index("ip", corpus.shape[1])
    graph.init_index(len(corpus), M=LINKS, ef_construction=CONSTRUCTION)
    graph.add_items(corpus, num_threads=BUILDERS)
    graph.set_ef(EF)
    allowed = {share: set(ids_of(ranks, share).tolist()) for share in SHARES}

    def search(queries: Vectors, share: float | None) -> Any:
        chosen = None if share is None else allowed[share].__contains__
        answers = []
        for query in queries:
            try:
                answers.append(graph.knn_query(query, K, num_threads=1, filter=chosen)[0][0].tolist())
            except RuntimeError:  # it has found fewer than k
                answers.append([])
        return answers

    return search


def by_faiss(corpus: Vectors, ranks: Any) -> Search:
    """Build FAISS's inverted file of whole vectors."""
    faiss.omp_set_num_threads(1)
    index = faiss.index_factory(corpus.shape[1], f"IVF{max(1, len(corpus) // 400)},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(corpus)
    index.add(corpus)
    bitmaps = {share: np.packbits(ranks < max(1, round(share * len(ranks))), bitorder="little") for share in SHARES}

    def search(queries: Vectors, share: float | None) -> Any:
        chosen = None if share is None else faiss.IDSelectorBitmap(bitmaps[share])
        return index.search(queries, K, params=faiss.SearchParametersIVF(nprobe=PROBES, sel=chosen))[1]

    return search


def by_chroma(folder: Path, corpus: Vectors, ranks: Any) -> Search:
    """Build a collection of Chroma's, with its defaults but for the metric."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("texts", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
    for first in range(0, len(corpus), CHROMA_BATCH):
        part = range(first, min(first + CHROMA_BATCH, len(corpus)))
        ranked = [{"rank": int(ranks[number])} for number in part]
        collection.add(ids=[str(number) for number in part], embeddings=corpus[first : part.stop], metadatas=ranked)

    def search(queries: Vectors, share: float | None) -> Any:
        where = None if share is None else {"rank": {"$lt": max(1, round(share * len(ranks)))}}
        answers = [
            collection.query(query_embeddings=[query], n_results=K, where=where, include=[]) for query in queries
        ]
        return [[int(number) for number in answer["ids"][0]] for answer in answers]

    return search


def compare_growth(run: Run, name: str, corpus: Vectors, queries: Vectors, truth: Any) -> None:
    """Let an index grow to ten times its size, one vector at a time, and compare it with a new one."""
    start = time.process_time()
    fresh = VectorIndex.build(corpus, threads=1)
    built = time.process_time() - start
    grown = VectorIndex.build(corpus[: len(corpus) // 10], threads=1)
    longest, start = 0.0, time.process_time()
    for row in corpus[len(corpus) // 10 :]:
        before = time.process_time()
        grown.add(row, threads=1)
        longest = max(longest, time.process_time() - before)
    added = time.process_time() - start
    times = {"grown": np.inf, "fresh": np.inf}
    recalls: dict[str, float] = {}
    for _ in range(ROUNDS):
        for kind, index in (("grown", grown), ("fresh", fresh)):
            start = time.process_time()
            found = index.search(queries, K, threads=1)[0]
            times[kind] = min(times[kind], time.process_time() - start)
            recalls[kind] = float(np.mean([np.isin(true, own).mean() for own, true in zip(found, truth, strict=True)]))
    setting = {"set": name, "from": len(corpus) // 10, "to": len(corpus)}
    details = {
        "µs per add": 1e6 * added / max(1, len(corpus) - len(corpus) // 10),
        "longest add, s": longest,
        "new build, s": built,
        "cells, grown": grown.coder.n_cells,
        "cells, new": fresh.coder.n_cells,
    }
    what = f"{name}, grown to ten times its size"
    for id_, kind, unit, scale in (("recall", recalls, "recall", 1.0), ("time", times, "µs", 1e6 / len(queries))):
        run.add(
            figure(
                f"{name}-{id_}",
                f"{what}: {id_}",
                scale * kind["grown"],
                unit,
                peer="a new index",
                theirs=scale * kind["fresh"],
                least_ratio=run.choose(LEAST_OF_FRESH, None),
                setting=setting,
                details=details if id_ == "time" else {},
            )
        )
