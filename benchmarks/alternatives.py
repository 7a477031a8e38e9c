"""Where another tool is the better choice: the figures of the README's section "When not".

MiniLM embeddings of Debian packages. The share of the true top 10 per size of a code, against FAISS's product quantizer
and RaBitQ; and queries per second, one by one, against hnswlib.
"""

from __future__ import annotations

import tempfile
from typing import Any

import faiss
import hnswlib
import numpy as np
import numpy.typing as npt

import data
from harness import OURS, Run, compare, figure, main
from sthash import Collection, HammingIndex
from sthash.baselines import IterativeQuantization
from sthash.reproduction import datasets
from timing import time_in_turns

K = 10
Vectors = npt.NDArray[np.float32]


def embeddings(run: Run) -> None:
    """Compare codes of the same size, and queries one by one."""
    vectors = load_vectors(run.quick)
    order = np.random.default_rng(0).permutation(len(vectors))
    asked = run.choose(1000, 50)
    queries, corpus = vectors[order[:asked]], vectors[order[asked:]]
    truth = np.argsort(-(queries @ corpus.T), axis=1, kind="stable")[:, :K]
    sample = corpus[: run.choose(20_000, 600)]
    # The vectors have 384 columns, but fewer independent directions: 376 bits are the most that PCA-ITQ can make.
    n_bits = run.choose(376, 24)
    mine = share(nearest_by_margins(sample, corpus, queries, n_bits), truth)
    width = vectors.shape[1]
    for peer in (f"RR{width},PQ{n_bits // 8 + 1}x8", f"RR{width},RaBitQ"):
        theirs = share(nearest_by_faiss(peer, sample, corpus, queries), truth)
        setting = {"documents": len(corpus), "bits": n_bits}
        what = f"share of the true top {K}"
        name = peer.split(",")[1].rstrip("0123456789x").lower()
        run.add(figure(f"share-{name}", what, mine, "share", peer=f"FAISS {peer}", theirs=theirs, setting=setting))
    single_queries(run, corpus, queries, truth)


def single_queries(run: Run, corpus: Vectors, queries: Vectors, truth: Any) -> None:
    """Search one query at a time: a collection of 256-bit codes, and hnswlib."""
    graph = hnswlib.Index("ip", corpus.shape[1])
    graph.init_index(len(corpus), M=16, ef_construction=200)
    graph.add_items(corpus)
    graph.set_num_threads(1)
    graph.set_ef(40)
    documents = ({"key": str(place), "text": ""} for place in range(len(corpus)))
    bits = run.choose(256, 16)
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.create(f"{folder}/vectors.sth", documents, vectors=corpus, n_bits=bits) as collection,
    ):
        collection.search(queries[0], K)  # reads the file
        timings = time_in_turns(
            {
                OURS: lambda: [[int(hit.key) for hit in collection.search(query, K, factor=10)] for query in queries],
                "hnswlib": lambda: [graph.knn_query(query, K)[0][0] for query in queries],
            },
            repetitions=3,
        )
    shares = {"share": share(timings[OURS].result, truth), "their share": share(timings["hnswlib"].result, truth)}
    setting = {"documents": len(corpus), "bits": bits}
    per_query = {name: timing.per(len(queries)) for name, timing in timings.items()}
    run.add(compare("single", "queries one by one", per_query, "queries/s", setting=setting, details=shares))


def load_vectors(quick: bool) -> Vectors:
    """Load unit vectors, or make some up."""
    if quick:
        vectors = np.random.default_rng(0).normal(size=(data.QUICK_TEXTS, 32)).astype(np.float32)
    else:
        vectors = np.load(datasets.data_dir() / "minilm_debian.npz")["vectors"].astype(np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def nearest_by_margins(sample: Vectors, corpus: Vectors, queries: Vectors, n_bits: int) -> Any:
    """Find the nearest codes of PCA-ITQ, bits weighted by the margins of the query."""
    hasher = IterativeQuantization(n_bits).fit(sample)
    index = HammingIndex(n_bits)
    index.add(hasher.transform(corpus))
    margins = hasher.decision_function(queries)
    return index.search(hasher.transform(queries), K, weights=np.abs(margins))[0]


def nearest_by_faiss(description: str, sample: Vectors, corpus: Vectors, queries: Vectors) -> Any:
    """Find the nearest codes of a FAISS index."""
    index = faiss.index_factory(corpus.shape[1], description)
    index.train(sample)
    index.add(corpus)
    return index.search(queries, K)[1]


def share(found: Any, truth: Any) -> float:
    """Share of the true neighbors among those found."""
    pairs = zip(found, truth, strict=True)
    return float(np.mean([len(set(map(int, some)) & set(true.tolist())) / K for some, true in pairs]))


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        embeddings,
        peers=["faiss-cpu", "hnswlib"],
    )
