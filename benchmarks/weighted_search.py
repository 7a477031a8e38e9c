"""The ten nearest codes by margin-weighted distance, 1 M codes, against three other ways.

1. Our own search without weights. This ratio is below one; it says what weights cost.
2. FAISS's inner products of margins with bits as floats, which rank alike.
3. FAISS's product quantizer with the bits as code books. Its tables of bytes make it inexact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import faiss
import numpy as np

from data import KINDS_OF_CODES, Codes, codes_and_queries
from harness import OURS, Run, compare, main
from library import scanning_index
from timing import time_each, time_in_turns

K = 10
PLAIN, PRODUCTS, QUANTIZER = "sthash, no weights", "FAISS FlatIP", "FAISS PQFastScan"
# FAISS's quantizer keeps its codes split in memory for good. A single query gains most from that.
LEAST_RATIO = {True: {PLAIN: 0.1, PRODUCTS: 5, QUANTIZER: 0.5}, False: {PLAIN: 0.1, PRODUCTS: 5, QUANTIZER: 1}}


def signs(codes: Codes) -> Any:
    """Give bits as +1 and -1."""
    return np.unpackbits(codes, axis=1, bitorder="little").astype(np.float32) * 2 - 1


def quantizer_of_bits(n_bits: int) -> Any:
    """Make a product quantizer whose books are all patterns of four bits."""
    quantizer = faiss.IndexPQFastScan(n_bits, n_bits // 4, 4, faiss.METRIC_INNER_PRODUCT)
    book = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(np.float32) * 2 - 1
    faiss.copy_array_to_vector(np.tile(book, (n_bits // 4, 1, 1)).ravel(), quantizer.pq.centroids)
    quantizer.is_trained = True
    return quantizer


def measure(run: Run) -> None:
    """Measure both kinds of codes at 64 and 128 bits."""
    for kind in KINDS_OF_CODES:
        for n_bits in run.choose((64, 128), (64,)):
            codes, queries = codes_and_queries(kind, run.choose(1_000_000, 5_000), n_bits, run.choose(200, 50))
            compare_ways(run, kind, codes, queries)


def compare_ways(run: Run, kind: str, codes: Codes, queries: Codes) -> None:
    """Measure batches and single queries, with one thread and two."""
    n_bits = 8 * codes.shape[1]
    index = scanning_index(n_bits)
    index.add(codes)
    products, quantizer = faiss.IndexFlatIP(n_bits), quantizer_of_bits(n_bits)
    for peer in (products, quantizer):
        peer.add(signs(codes))
    weights = np.abs(np.random.default_rng(2).normal(size=(len(queries), n_bits))).astype(np.float32)
    margins = weights * signs(queries)
    found = index.search(queries[:50], K, weights=weights[:50])[1]
    theirs = (weights[:50].sum(axis=1, keepdims=True) - products.search(margins[:50], K)[0]) / 2
    np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-3)
    whole = slice(0, len(queries))
    for threads in run.choose((1, 2), (1,)):
        faiss.omp_set_num_threads(threads)
        ways: dict[str, Callable[[slice], Any]] = {
            OURS: lambda part: index.search(queries[part], K, weights=weights[part], threads=threads),  # noqa: B023
            PLAIN: lambda part: index.search(queries[part], K, threads=threads),  # noqa: B023 called in this turn
            PRODUCTS: lambda part: products.search(margins[part], K),
            QUANTIZER: lambda part: quantizer.search(margins[part], K),
        }
        batch = time_in_turns({name: lambda way=way: way(whole) for name, way in ways.items()}, budget=6)  # type: ignore[misc]
        single = time_each(ways, [slice(place, place + 1) for place in range(run.choose(20, 5))])
        for one_by_one, timings in ((False, {k: v.per(len(queries)) for k, v in batch.items()}), (True, single)):
            for number, peer in enumerate((PLAIN, PRODUCTS, QUANTIZER)):
                how = "one by one" if one_by_one else f"batch of {len(queries)}"
                run.add(
                    compare(
                        f"{kind}-{n_bits}-{'single' if one_by_one else 'batch'}-threads-{threads}-peer-{number}",
                        f"weighted, {how}, {len(codes) / 1e6:g} M × {n_bits}",
                        {OURS: timings[OURS], peer: timings[peer]},
                        "µs per query",
                        least_ratio=LEAST_RATIO[one_by_one][peer],
                        setting={"codes": kind, "threads": threads},
                    )
                )


if __name__ == "__main__":
    main(__file__, __doc__, measure, peers=["faiss-cpu"])
