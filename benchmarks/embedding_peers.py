"""The peers of benchmarks/embeddings.py: codes of FAISS in so many bytes, PCA-ITQ, and signs.

All bytes per vector count, but no ids. FAISS ranks by squared distances, which finds more than inner products do for
each of its codes. The rotation of OPQ takes 20 turns instead of 50, so that the whole comparison ends within minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from sthash import HammingIndex
from sthash.baselines import IterativeQuantization

Vectors = npt.NDArray[np.float32]

FOUND = 100
# Bytes per vector that RaBitQ stores besides the bits: with one bit per dimension, and with more.
FACTORS_OF_RABITQ, FACTORS_OF_LONG_RABITQ = 8, 20
OPQ_TURNS = 20
LONG = 96  # bytes from which on it takes 5 turns only: each takes half a minute
# Residual quantization takes 45 CPU seconds to learn 8 bytes and 90 to learn 16. Longer codes take longer, and are left
# out here.
MOST_RESIDUAL = 16


def peers(budget: int, sample: Vectors, corpus: Vectors, queries: Vectors) -> Iterator[tuple[str, Any]]:
    """Yield the peers that fit into the budget, and their 100 nearest vectors per query."""
    width = corpus.shape[1]
    for peer, description in described(budget, width, len(corpus)).items():
        yield peer, found_by_faiss(description, sample, corpus, queries)
    hasher = IterativeQuantization(min(8 * budget, rank(sample))).fit(sample)
    yield "PCA-ITQ, margins", found_by_margins(hasher.transform(corpus), hasher.decision_function(queries))
    if 8 * budget >= width:
        yield "sign quantization", found_by_margins(np.packbits(corpus > 0, axis=1, bitorder="little"), queries)


def described(budget: int, width: int, n: int) -> dict[str, str]:
    """Return the descriptions of FAISS's indexes of so many bytes per vector."""
    # "np": no order of the centroids for Hamming distances, which takes long to learn and is not used here.
    result = {}
    for bits in (8, 4):
        parts = 8 * budget // bits
        if whole := parts * (width // parts):
            before = "" if whole == width else f"PCA{whole},"
            result["FAISS PQ" if bits == 8 else "FAISS PQ, 4 bits"] = f"{before}PQ{parts}x{bits}np"
    if whole := budget * (width // budget):
        result["FAISS OPQ"] = f"OPQ{budget}_{whole},PQ{budget}x8np"
    result["FAISS SQ, 4 bits, after PCA"] = f"PCA{min(2 * budget, width)},SQ4"
    if 2 * budget >= width:
        result["FAISS SQ, 8 bits, after PCA"] = f"PCA{min(budget, width)},SQ8"
    if budget >= width:
        result["FAISS SQ, 8 bits"] = "SQ8"
    elif 2 * budget >= width:
        result["FAISS SQ, 4 bits"] = "SQ4"
    if budget > FACTORS_OF_RABITQ:
        kept = min(8 * (budget - FACTORS_OF_RABITQ), width)
        result["FAISS RaBitQ after PCA"] = f"PCAR{kept},RaBitQ"
        result["FAISS IVF-RaBitQ FastScan after PCA"] = f"PCAR{kept},IVF{max(1, n // 1000)},RaBitQfs"
    for bits in (2, 3, 4, 6, 8) if budget > 2 * FACTORS_OF_LONG_RABITQ else ():
        kept = min(8 * (budget - FACTORS_OF_LONG_RABITQ) // bits, width)
        if kept == width or bits == 2:
            result[f"FAISS RaBitQ, {bits} bits, after PCA"] = f"PCAR{kept},RaBitQ{bits}"
    if budget <= MOST_RESIDUAL:
        result["FAISS RQ"] = f"RQ{budget}x8"
    return result


def found_by_faiss(description: str, sample: Vectors, corpus: Vectors, queries: Vectors) -> Any:
    """Find the 100 nearest codes of a FAISS index."""
    index = faiss.index_factory(corpus.shape[1], description, faiss.METRIC_L2)
    if description.startswith("OPQ"):
        faiss.downcast_VectorTransform(index.chain.at(0)).niter = OPQ_TURNS if budget_of(description) < LONG else 5
    index.train(sample)
    if "RaBitQ" in description:
        index.add(corpus)
        if "IVF" in description:
            faiss.ParameterSpace().set_index_parameter(index, "nprobe", 1024)
        return index.search(queries, FOUND)[1]
    # The other codes stand for vectors. To compare with those gives what the index would, and is quicker.
    vectors = np.empty_like(corpus)
    for first in range(0, len(corpus), 1 << 14):
        part = slice(first, first + (1 << 14))
        vectors[part] = index.sa_decode(index.sa_encode(corpus[part]))
    return nearest(vectors, queries, FOUND, -0.5 * np.einsum("ij,ij->i", vectors, vectors))


def budget_of(description: str) -> int:
    """Return the bytes of an index that OPQ is part of."""
    return int(description[3:].partition("_")[0])


def found_by_margins(codes: Any, margins: Any) -> Any:
    """Find the 100 nearest codes by the margins of the queries."""
    asked = np.packbits(margins > 0, axis=1, bitorder="little")
    return _index(codes, margins).search(asked, FOUND, weights=np.abs(margins))[0]


def found_by_hamming(codes: Any, margins: Any) -> Any:
    """Find the 100 nearest codes by plain Hamming distance."""
    return _index(codes, margins).search(np.packbits(margins > 0, axis=1, bitorder="little"), FOUND)[0]


def _index(codes: Any, margins: Any) -> HammingIndex:
    return HammingIndex.build(codes, n_bits=margins.shape[1])


def rank(rows: Vectors) -> int:
    """Return the number of independent directions of centered rows."""
    centered = rows - rows.mean(axis=0)
    return int(np.linalg.matrix_rank(centered.T @ centered, hermitian=True))


def nearest(corpus: Vectors, queries: Vectors, k: int, shifts: Any = 0.0) -> Any:
    """Find the rows with the largest products, plus a shift per row."""
    parts = np.array_split(queries, max(1, len(queries) // 100))
    return np.vstack([best(part @ corpus.T + shifts, k) for part in parts])


def best(scores: Any, k: int) -> Any:
    """Return the places of the k largest scores of each row, best first, the first one among equals."""
    scores = scores - 1e-11 * np.arange(scores.shape[1])
    k = min(k, scores.shape[1])
    places = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)
