"""HammingIndex against faiss-cpu: in one process, on the same codes, with the same number of threads.

    python benchmarks/hamming.py            the demands, weights, then growth with n and radius, memory and opening
    python benchmarks/hamming.py --demands  the demands only
    python benchmarks/hamming.py --weighted search with weights only
    python benchmarks/hamming.py --growth   growth only
    python benchmarks/hamming.py --memory   memory and opening only

Every figure is the best of several runs, for both sides alike; answers are compared before they are timed.
Exits with 1 if a demand is missed.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import faiss
import numpy as np

import sthash

MILLION = 1_000_000


@dataclass
class Row:
    """A measurement: seconds of ours and theirs for the same work."""

    work: str
    data: str
    threads: int
    ours: float  # seconds
    theirs: float
    peer: str
    least: float
    path: str

    @property
    def ratio(self) -> float:
        """How many times as fast."""
        return self.theirs / self.ours


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    """Codes without any structure, the hardest for tables."""
    return np.random.default_rng(seed).integers(0, 256, (n, n_bits // 8), dtype=np.uint8)


def clustered_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    """About 200 codes around each centre, each bit flipped with probability 1 / 16."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 256, (max(1, n // 200), n_bits // 8), dtype=np.uint8)
    codes = centres[rng.integers(0, len(centres), n)]
    flips = rng.integers(0, 256, codes.shape, dtype=np.uint8)
    for _ in range(3):  # a bit survives three ands with random bytes with probability 1 / 8
        flips &= rng.integers(0, 256, codes.shape, dtype=np.uint8)
    return codes ^ flips


def split(
    make: Callable[[int, int], np.ndarray], n: int, n_bits: int, queries: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """Codes to search and queries of the same distribution."""
    codes = make(n + queries, n_bits)
    return codes[:n], np.ascontiguousarray(codes[n:])


def best(action: Callable[[], object], runs: int = 5, budget: float = 12.0) -> float:
    """Seconds of the fastest of several runs; at least two, and no more than fit the budget."""
    times: list[float] = []
    while len(times) < runs and (len(times) < 2 or sum(times) < budget):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def best_single(search: Callable[[np.ndarray], object], queries: np.ndarray) -> float:
    """Seconds a query, each in a call of its own: the median over the queries of the best of fifteen."""
    rows = [queries[j : j + 1] for j in range(len(queries))]
    times = np.full(len(rows), np.inf)
    for _ in range(15):
        for j, row in enumerate(rows):
            start = time.perf_counter()
            search(row)
            times[j] = min(times[j], time.perf_counter() - start)
    return float(np.median(times))


def path_taken(index: sthash.HammingIndex, action: Callable[[], object]) -> str:
    """Which ways the index answers by, rare ones aside."""
    names = {
        "scanned_in_batches": "sliced scan",
        "scanned_singly": "plain scan",
        "probed": "tables",
        "enumerated": "ball",
    }
    before = index.stats()
    action()
    after = index.stats()
    taken = {label: getattr(after, field) - getattr(before, field) for field, label in names.items()}
    return " + ".join(label for label, count in taken.items() if count > 0.05 * sum(taken.values()))


def flat(codes: np.ndarray) -> faiss.IndexBinaryFlat:
    """FAISS's exact scan."""
    index = faiss.IndexBinaryFlat(codes.shape[1] * 8)
    index.add(codes)
    return index


def radius_peers(codes: np.ndarray) -> dict[str, object]:
    """FAISS's exact ways to radius 3: substrings without flips, prefixes with three, and the scan."""
    peers: dict[str, object] = {"Flat": flat(codes)}
    multi = faiss.IndexBinaryMultiHash(codes.shape[1] * 8, 4, 16)
    multi.nflip = 0
    peers["MultiHash"] = multi
    for b in (16, 20):
        peers[f"Hash({b})"] = faiss.IndexBinaryHash(codes.shape[1] * 8, b)
        peers[f"Hash({b})"].nflip = 3
    for name, peer in peers.items():
        if name != "Flat":
            peer.add(codes)
    return peers


def nearest(data: str, codes: np.ndarray, queries: np.ndarray, k: int, least: float, threads: int) -> Row:
    """Time the k nearest of a batch against the better of FAISS's two ways to select them."""
    index = sthash.HammingIndex(codes.shape[1] * 8)
    index.add(codes)
    index.build_tables()
    peer = flat(codes)
    np.testing.assert_array_equal(index.search(queries, k)[1], np.sort(peer.search(queries, k)[0], axis=1))

    def ours() -> object:
        return index.search(queries, k, threads=threads)

    theirs = []
    for use_heap in (True, False):
        peer.use_heap = use_heap
        theirs.append(best(lambda: peer.search(queries, k), 3))
    work = f"k = {k}, batch of {len(queries)}, {len(codes) // MILLION} M × {codes.shape[1] * 8}"
    return Row(work, data, threads, best(ours), min(theirs), "Flat", least, path_taken(index, ours))


def nearest_singly(data: str, codes: np.ndarray, queries: np.ndarray, least: float, threads: int) -> Row:
    """Time the ten nearest, one call a query."""
    index = sthash.HammingIndex(codes.shape[1] * 8)
    index.add(codes)
    index.build_tables()
    peer = flat(codes)
    ours = partial(index.search, k=10, threads=threads)
    theirs = best_single(partial(peer.search, k=10), queries[:100])
    path = path_taken(index, lambda: [ours(queries[j : j + 1]) for j in range(len(queries))])
    mine = best_single(ours, queries)
    return Row("k = 10, one by one, 1 M × 64", data, threads, mine, theirs, "Flat", least, path)


def weighted(data: str, codes: np.ndarray, queries: np.ndarray, threads: int, single: bool) -> list[Row]:
    """Time the ten nearest by margin-weighted distance.

    Against our own plain search; against FAISS's inner products of margins with bits as floats, which rank alike; and
    against its product quantiser with the bits as code books, whose tables of bytes make it inexact.
    """
    n_bits = codes.shape[1] * 8
    index = sthash.HammingIndex(n_bits, strategy="scan")
    index.add(codes)
    weights = np.abs(np.random.default_rng(2).normal(size=(len(queries), n_bits))).astype(np.float32)
    signs = np.unpackbits(codes, axis=1, bitorder="little").astype(np.float32) * 2 - 1
    margins = weights * (np.unpackbits(queries, axis=1, bitorder="little").astype(np.float32) * 2 - 1)
    products = faiss.IndexFlatIP(n_bits)
    products.add(signs)
    quantizer = faiss.IndexPQFastScan(n_bits, n_bits // 4, 4, faiss.METRIC_INNER_PRODUCT)
    book = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(np.float32) * 2 - 1
    faiss.copy_array_to_vector(np.tile(book, (n_bits // 4, 1, 1)).ravel(), quantizer.pq.centroids)
    quantizer.is_trained = True
    quantizer.add(signs)
    found = index.search(queries[:50], 10, weights=weights[:50])[1]
    theirs = (weights[:50].sum(axis=1, keepdims=True) - products.search(margins[:50], 10)[0]) / 2
    np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-3)
    rows = len(queries)

    def seconds(search: Callable[[int, int], object]) -> float:
        if not single:
            return best(partial(search, 0, rows), 5, 6.0)
        return best_single(lambda place: search(int(place[0]), int(place[0]) + 1), np.arange(20))

    ours = seconds(lambda a, b: index.search(queries[a:b], 10, weights=weights[a:b], threads=threads))
    peers = {
        "plain": (0.1, seconds(lambda a, b: index.search(queries[a:b], 10, threads=threads))),
        "FlatIP": (5, seconds(lambda a, b: products.search(margins[a:b], 10))),
        # Its codes lie split in memory for good, which for a single query saves what takes ours the longest.
        "PQ": (0.5 if single else 1, seconds(lambda a, b: quantizer.search(margins[a:b], 10))),
    }
    how = "one by one" if single else f"batch of {rows}"
    work = f"weighted, {how}, {len(codes) // MILLION} M × {n_bits}"
    return [Row(work, data, threads, ours, theirs, name, least, "") for name, (least, theirs) in peers.items()]


def within_radius(
    data: str, codes: np.ndarray, queries: np.ndarray, peers: dict[str, object], threads: int, single: bool
) -> Row:
    """Time radius 3 against the best of the peers."""
    index = sthash.HammingIndex(64)
    index.add(codes)
    index.build_tables()
    lims, _, distances = index.radius_search(queries, 3)
    results = {}
    for name, peer in peers.items():
        some = queries[:50] if name == "Flat" else queries
        their_lims, their_distances, _ = peer.range_search(some, 4)  # exclusive
        np.testing.assert_array_equal(their_lims, lims[: len(some) + 1])
        if name != "Flat":
            for j in range(len(some)):
                part = slice(lims[j], lims[j + 1])
                np.testing.assert_array_equal(distances[part], np.sort(their_distances[part]))
        their_search = partial(peer.range_search, thresh=4)
        if single:
            results[name] = best_single(their_search, some[:200])
        else:
            results[name] = best(partial(their_search, some), 3) / len(some)
    name = min(results, key=results.__getitem__)
    ours = partial(index.radius_search, radius=3, threads=threads)
    if single:
        path = path_taken(index, lambda: [ours(queries[j : j + 1]) for j in range(100)])
        mine = best_single(ours, queries[:200])
    else:
        path = path_taken(index, partial(ours, queries))
        mine = best(partial(ours, queries), 9) / len(queries)
    how = "one by one" if single else f"batch of {len(queries)}"
    work = f"radius 3, {how}, {len(codes) // MILLION} M × 64"
    return Row(work, data, threads, mine, results[name], name, 4 if single else 8, path)


def removal(data: str, codes: np.ndarray) -> Row:
    """Time the removal of 1000 ids in one call."""
    rng = np.random.default_rng(1)
    ids = rng.permutation(2 * len(codes))[: len(codes)]
    index = sthash.HammingIndex(64)
    index.add(codes, ids)
    peer = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(64))
    peer.add_with_ids(codes, ids)
    chosen = rng.permutation(ids)
    ours, theirs = [], []
    for run in range(5):
        gone = chosen[1000 * run : 1000 * (run + 1)]
        start = time.perf_counter()
        index.remove(gone)
        ours.append(time.perf_counter() - start)
        if run < 3:
            start = time.perf_counter()
            peer.remove_ids(gone)
            theirs.append(time.perf_counter() - start)
    return Row("remove 1000 ids from 1 M", data, 1, min(ours), min(theirs), "IDMap2", 100, "")


def report(row: Row) -> None:
    """Print a row of the table."""
    mark = "" if row.ratio >= row.least else "  MISSED"
    print(
        f"{row.work:38} {row.data:10} {row.threads}  {row.ours * 1e6:12,.1f} {row.theirs * 1e6:14,.1f}  "
        f"{row.peer:9} {row.ratio:8.2f} {row.least:6g}  {row.path}{mark}",
        flush=True,
    )


def demands() -> list[Row]:
    """Measure everything that has a least ratio."""
    print(f"simd path {sthash.simd_path()}, faiss {faiss.__version__}")
    print("µs a call for the k nearest of a batch and for removal, otherwise µs a query")
    print(f"{'work':38} {'data':10} thr {'sthash':>12} {'faiss':>14}  {'peer':9} {'ratio':>8} {'least':>6}")
    rows: list[Row] = []

    def add(row: Row) -> None:
        report(row)
        rows.append(row)

    makers = {"random": random_codes, "clustered": clustered_codes}
    for data, make in makers.items():
        for n_bits, ks in ((64, ((10, 15), (100, 10))), (128, ((10, 10),)), (256, ((10, 6),))):
            codes, queries = split(make, MILLION, n_bits)
            for k, least in ks:
                for threads in (1, 2):
                    faiss.omp_set_num_threads(threads)
                    add(nearest(data, codes, queries, k, least, threads))
        codes, queries = split(make, MILLION, 64)
        for threads in (1, 2):
            faiss.omp_set_num_threads(threads)
            add(nearest_singly(data, codes, queries[:300], 8 if data == "clustered" else 1, threads))
        for n in (MILLION, 10 * MILLION):
            codes, queries = split(make, n, 64)
            peers = radius_peers(codes)
            for threads in (1, 2):
                faiss.omp_set_num_threads(threads)
                add(within_radius(data, codes, queries, peers, threads, single=False))
                if n == MILLION:
                    add(within_radius(data, codes, queries, peers, threads, single=True))
            del peers
            gc.collect()
        add(removal(data, random_codes(MILLION, 64)))
    return rows


def weighted_demands() -> list[Row]:
    """Measure search with weights; a ratio to our own plain search is below one, and says what weights cost."""
    print("\nweighted search: µs a call of a batch, otherwise µs a query")
    rows: list[Row] = []
    for data, make in (("random", random_codes), ("clustered", clustered_codes)):
        for n_bits in (64, 128):
            codes, queries = split(make, MILLION, n_bits, 200)
            for threads in (1, 2):
                faiss.omp_set_num_threads(threads)
                for single in (False, True):
                    rows += weighted(data, codes, queries, threads, single)
                    for row in rows[-3:]:
                        report(row)
    return rows


def growth() -> None:
    """Measure how the cost grows with n and the radius."""
    print("\nµs a query, 64 bits, one thread, tables built; random | clustered, with the path chosen")
    shapes: list[tuple[str, int, Callable[[sthash.HammingIndex, np.ndarray], object]]] = [
        (f"r = {r}", q, lambda index, queries, r=r: index.radius_search(queries, r, threads=1))
        for q in (1000, 1)
        for r in (0, 3, 6, 8, 10, 12)
    ]
    shapes += [("k = 10", q, lambda index, queries: index.search(queries, 10, threads=1)) for q in (1000, 1)]
    sizes = (10_000, 100_000, MILLION, 10 * MILLION)
    cells: dict[tuple[str, int, int, str], str] = {}
    for make in (random_codes, clustered_codes):
        for n in sizes:
            codes, queries = split(make, n, 64)
            index = sthash.HammingIndex(64)
            index.add(codes)
            index.build_tables()
            for name, q, search in shapes:
                if q == 1:
                    each = partial(search, index)
                    rows = [queries[j : j + 1] for j in range(50)]
                    path = path_taken(index, partial(list, map(each, rows)))
                    seconds = best_single(each, queries[:50])
                else:
                    path = path_taken(index, partial(search, index, queries))
                    seconds = best(partial(search, index, queries), 3, 2.0) / q
                cells[name, q, n, make.__name__] = f"{seconds * 1e6:,.2f} {path}"
    for q in (1000, 1):
        print(f"\n{'batch of 1000' if q > 1 else 'one by one'}")
        for name, shape_q, _ in shapes:
            if shape_q != q:
                continue
            for make in (random_codes, clustered_codes):
                row = "  ".join(f"{cells[name, q, n, make.__name__]:>24}" for n in sizes)
                print(f"{name:7} {make.__name__.split('_')[0]:10} {row}")


def memory_and_opening() -> bool:
    """Measure memory, saving and opening; say whether memory is within its bounds."""
    print("\nmemory a code, 1 M × 64 (bytes; the process's own growth in brackets), and opening")
    codes = random_codes(MILLION, 64)
    shuffled = np.random.default_rng(0).permutation(MILLION)
    within = True
    for name, ids, tables, most in (
        ("default ids", None, False, 9),
        ("own ids", shuffled, False, 40),
        ("default ids, tables", None, True, 64),
    ):
        gc.collect()
        before = resident()
        index = sthash.HammingIndex(64)
        index.add(codes, ids)
        if tables:
            index.build_tables()
        stats = index.stats()
        size = (stats.code_bytes + stats.id_bytes + stats.table_bytes) / len(index)
        grown = (resident() - before) / len(index)
        within &= size <= most
        print(f"{name:22} {size:6.2f} ({grown:6.2f}), at most {most}")
        del index
    index = sthash.HammingIndex(64)
    index.add(random_codes(10 * MILLION, 64))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.index"
        start = time.perf_counter()
        index.save(path)
        saved = time.perf_counter() - start
        opened = best(lambda: sthash.HammingIndex.open(path), 5)
        fresh = sthash.HammingIndex.open(path)
        start = time.perf_counter()
        fresh.search(codes[:1], 10)
        first = time.perf_counter() - start
        print(f"10 M codes: save {saved * 1e3:.0f} ms, open {opened * 1e3:.2f} ms, ", end="")
        print(f"first search with the check of the whole file {first * 1e3:.0f} ms")
    return within


def resident() -> int:
    """Bytes of memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demands", action="store_true")
    parser.add_argument("--weighted", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--memory", action="store_true")
    chosen = parser.parse_args()
    everything = not (chosen.demands or chosen.weighted or chosen.growth or chosen.memory)
    met = True
    if chosen.demands or everything:
        met &= all(row.ratio >= row.least for row in demands())
    if chosen.weighted or everything:
        met &= all(row.ratio >= row.least for row in weighted_demands())
    if chosen.memory or everything:
        met &= memory_and_opening()
    if chosen.growth or everything:
        growth()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
