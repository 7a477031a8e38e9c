"""HammingIndex against faiss-cpu: in one process, on the same codes, with the same number of threads.

Parts: ``nearest`` (k nearest of a batch, and one by one), ``radius`` (all within radius 3), ``removal``, ``growth``
with the number of codes and the radius, and ``memory``. Answers are compared before they are timed. The script fails
if a ratio is below what it must be.
"""

from __future__ import annotations

import gc
import itertools
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from data import KINDS_OF_CODES, Codes, codes_and_queries, random_codes
from harness import OURS, Run, compare, figure, main
from sthash import HammingIndex
from timing import Timing, resident_memory, time_each, time_in_turns, timed

MILLION = 1_000_000
THREADS = (1, 2)
NEAREST = {64: ((10, 15), (100, 10)), 128: ((10, 10),), 256: ((10, 6),)}  # by bits: k, and the least ratio
RADIUS = 3
PATHS = {
    "scanned_in_batches": "sliced scan",
    "scanned_singly": "plain scan",
    "probed": "tables",
    "enumerated": "ball",
}


def indexed(codes: Codes, ids: Any = None, *, tables: bool = True) -> HammingIndex:
    """Make an index of ours."""
    index = HammingIndex.build(codes, ids)
    if tables:
        index.build_tables()
    return index


def flat(codes: Codes) -> Any:
    """Make FAISS's exact scan."""
    index = faiss.IndexBinaryFlat(8 * codes.shape[1])
    index.add(codes)
    return index


def radius_peers(codes: Codes) -> dict[str, Any]:
    """Make FAISS's exact ways to the radius: the scan, substrings without flips, and prefixes with three."""
    n_bits = 8 * codes.shape[1]
    multi = faiss.IndexBinaryMultiHash(n_bits, 4, 16)
    multi.nflip = 0
    peers = {"Flat": flat(codes), "MultiHash": multi}
    for prefix in (16, 20):
        peers[f"Hash({prefix})"] = faiss.IndexBinaryHash(n_bits, prefix)
        peers[f"Hash({prefix})"].nflip = RADIUS
    for name, peer in peers.items():
        if name != "Flat":
            peer.add(codes)
    return peers


def path_taken(index: HammingIndex, action: Callable[[], object]) -> str:
    """Tell which ways the index answers by, apart from rare ones."""
    before = index.stats
    action()
    after = index.stats
    taken = {label: getattr(after, name) - getattr(before, name) for name, label in PATHS.items()}
    return " + ".join(label for label, count in taken.items() if count > 0.05 * sum(taken.values()))


def singles(queries: Codes) -> list[Codes]:
    """Cut queries into batches of one."""
    return [queries[place : place + 1] for place in range(len(queries))]


def on_threads(run: Run) -> Iterator[int]:
    """Give FAISS each number of threads in turn."""
    for threads in run.choose(THREADS, (1,)):
        faiss.omp_set_num_threads(threads)
        yield threads


def size_of(codes: Codes) -> str:
    """Show the number and the length of codes."""
    return f"{len(codes) / MILLION:g} M × {8 * codes.shape[1]}"


# Nearest


def nearest(run: Run) -> None:
    """Measure the k nearest."""
    n = run.choose(MILLION, 5_000)
    for kind in KINDS_OF_CODES:
        for n_bits, demands in NEAREST.items():
            codes, queries = codes_and_queries(kind, n, n_bits, run.choose(1000, 100))
            for k, least in demands:
                nearest_of_batch(run, kind, codes, queries, k, least)
        codes, queries = codes_and_queries(kind, n, 64)
        nearest_singly(run, kind, codes, queries[: run.choose(100, 10)])


def nearest_of_batch(run: Run, kind: str, codes: Codes, queries: Codes, k: int, least: float) -> None:
    """Measure a batch against both of FAISS's ways to select."""
    index, heap, counts = indexed(codes), flat(codes), flat(codes)
    counts.use_heap = False
    np.testing.assert_array_equal(index.search(queries, k)[1], np.sort(heap.search(queries, k)[0], axis=1))
    for threads in on_threads(run):
        ours = partial(index.search, queries, k, threads=threads)
        timings = time_in_turns(
            {
                OURS: ours,
                "FAISS Flat, heap": partial(heap.search, queries, k),
                "FAISS Flat, counts": partial(counts.search, queries, k),
            },
            budget=12,
        )
        run.add(
            compare(
                f"{kind}-{8 * codes.shape[1]}-k{k}-threads-{threads}",
                f"{k} nearest, batch of {len(queries)}, {size_of(codes)}",
                timings,
                "ms",
                least_ratio=least,
                setting={"codes": kind, "threads": threads},
                details={"path": path_taken(index, ours)},
            )
        )


def nearest_singly(run: Run, kind: str, codes: Codes, queries: Codes) -> None:
    """Measure one call per query."""
    index, peer, rows = indexed(codes), flat(codes), singles(queries)
    for threads in on_threads(run):
        ours = partial(index.search, k=10, threads=threads)
        path = path_taken(index, lambda ours=ours: [ours(row) for row in rows])  # type: ignore[misc]
        run.add(
            compare(
                f"{kind}-64-k10-single-threads-{threads}",
                f"10 nearest, one by one, {size_of(codes)}",
                time_each({OURS: ours, "FAISS Flat": partial(peer.search, k=10)}, rows),
                "µs per query",
                least_ratio=8 if kind == "clustered" else 1,
                setting={"codes": kind, "threads": threads},
                details={"path": path},
            )
        )


# Radius


def radius(run: Run) -> None:
    """Measure all within radius 3, against the best of FAISS's exact ways."""
    for kind in KINDS_OF_CODES:
        for n in run.choose((MILLION, 10 * MILLION), (5_000,)):
            codes, queries = codes_and_queries(kind, n, 64, run.choose(1000, 100))
            index, peers = indexed(codes), radius_peers(codes)
            agree_within_radius(index, peers, queries)
            for threads in on_threads(run):
                within_radius(run, kind, index, peers, queries, threads)
                if n <= MILLION:
                    within_radius_singly(run, kind, index, peers, queries[: run.choose(200, 10)], threads)
            del index, peers
            gc.collect()


def asked_of(name: str, queries: Codes) -> Codes:
    """Give the scan fewer queries than the others, because it takes long."""
    return queries[:50] if name == "FAISS Flat" else queries


def agree_within_radius(index: HammingIndex, peers: dict[str, Any], queries: Codes) -> None:
    """Check that all give the same answers."""
    lims, _, distances = index.radius_search(queries, RADIUS)
    for name, peer in peers.items():
        some = asked_of(f"FAISS {name}", queries)
        their_lims, their_distances, _ = peer.range_search(some, RADIUS + 1)  # FAISS excludes the bound
        np.testing.assert_array_equal(their_lims, lims[: len(some) + 1])
        for begin, end in itertools.pairwise(lims[: len(some) + 1]):
            np.testing.assert_array_equal(distances[begin:end], np.sort(their_distances[begin:end]))


def within_radius(
    run: Run, kind: str, index: HammingIndex, peers: dict[str, Any], queries: Codes, threads: int
) -> None:
    """Measure a batch."""
    ours = partial(index.radius_search, queries, RADIUS, threads=threads)
    contestants: dict[str, Callable[[], Any]] = {OURS: ours}
    for name, peer in peers.items():
        contestants[f"FAISS {name}"] = partial(peer.range_search, asked_of(f"FAISS {name}", queries), RADIUS + 1)
    timings: dict[str, Timing] = time_in_turns(contestants, budget=12)
    run.add(
        compare(
            f"{kind}-{len(index)}-batch-threads-{threads}",
            f"within radius {RADIUS}, batch of {len(queries)}, {len(index) / MILLION:g} M × 64",
            {name: timing.per(len(asked_of(name, queries))) for name, timing in timings.items()},
            "µs per query",
            least_ratio=8,
            setting={"codes": kind, "threads": threads},
            details={"path": path_taken(index, ours)},
        )
    )


def within_radius_singly(
    run: Run, kind: str, index: HammingIndex, peers: dict[str, Any], queries: Codes, threads: int
) -> None:
    """Measure one call per query."""
    ours, rows = partial(index.radius_search, radius=RADIUS, threads=threads), singles(queries)
    contestants: dict[str, Callable[[Any], Any]] = {OURS: ours}
    for name, peer in peers.items():
        contestants[f"FAISS {name}"] = partial(peer.range_search, thresh=RADIUS + 1)
    run.add(
        compare(
            f"{kind}-{len(index)}-single-threads-{threads}",
            f"within radius {RADIUS}, one by one, {len(index) / MILLION:g} M × 64",
            time_each(contestants, rows),
            "µs per query",
            least_ratio=4,
            setting={"codes": kind, "threads": threads},
            details={"path": path_taken(index, lambda: [ours(row) for row in rows])},
        )
    )


# Removal, growth, memory


def removal(run: Run) -> None:
    """Measure the removal of 1000 ids in one call."""
    n, some = run.choose(MILLION, 10_000), 1000
    codes, rng = random_codes(n, 64), np.random.default_rng(1)
    ids = rng.permutation(2 * n)[:n]
    index = indexed(codes, ids, tables=False)
    peer = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(64))
    peer.add_with_ids(codes, ids)
    gone = rng.permutation(ids)[: 5 * some].reshape(5, some)
    ours, theirs = iter(gone), iter(gone)
    timings = time_in_turns(
        {OURS: lambda: index.remove(next(ours)), "FAISS IDMap2": lambda: peer.remove_ids(next(theirs))}
    )
    what = f"remove {some} ids from {n / MILLION:g} M"
    run.add(compare("remove", what, timings, "ms", least_ratio=100, setting={"codes": "random"}))


def growth(run: Run) -> None:
    """Measure how the cost grows with the number of codes and the radius, on one thread, with tables."""
    faiss.omp_set_num_threads(1)
    searches: dict[str, Callable[..., Any]] = {
        f"within radius {r}": partial(HammingIndex.radius_search, radius=r, threads=1)
        for r in run.choose((0, 3, 6, 8, 10, 12), (3,))
    }
    searches["10 nearest"] = partial(HammingIndex.search, k=10, threads=1)
    for kind in KINDS_OF_CODES:
        for n in run.choose((10_000, 100_000, MILLION, 10 * MILLION), (5_000,)):
            codes, queries = codes_and_queries(kind, n, 64, run.choose(1000, 100))
            index, rows = indexed(codes), singles(queries[: run.choose(50, 5)])
            for name, search in searches.items():
                setting = {"codes": kind, "threads": 1}
                ask = partial(search, index)
                batch = partial(search, index, queries)
                timings = {OURS: time_in_turns({OURS: batch}, 3, 2.0)[OURS].per(len(queries))}
                details = {"path": path_taken(index, batch)}
                what, unit = f"{name}, {n / MILLION:g} M × 64", "µs per query"
                row = f"{kind}-{n}-{name.replace(' ', '-')}"
                run.add(compare(f"{row}-batch", f"{what}, batch", timings, unit, setting=setting, details=details))
                details = {"path": path_taken(index, lambda: [ask(row) for row in rows])}  # noqa: B023 called at once
                timings = time_each({OURS: ask}, rows)
                run.add(
                    compare(f"{row}-single", f"{what}, one by one", timings, unit, setting=setting, details=details)
                )


def memory(run: Run) -> None:
    """Measure the bytes per code, saving and opening."""
    n = run.choose(MILLION, 5_000)
    codes, shuffled = random_codes(n, 64), np.random.default_rng(0).permutation(n)
    for name, ids, tables, most in (
        ("default ids", None, False, 9),
        ("own ids", shuffled, False, 40),
        ("default ids, tables", None, True, 64),
    ):
        before = resident_memory()
        index = indexed(codes, ids, tables=tables)
        stats = index.stats
        size = (stats.code_bytes + stats.id_bytes + stats.table_bytes) / n
        grown = (resident_memory() - before) / n
        row = f"bytes-{name.replace(', ', '-').replace(' ', '-')}"
        details = {"the process grew by": grown}
        bound: dict[str, Any] = {"peer": "bound", "theirs": float(most), "least_ratio": 1.0}
        run.add(figure(row, f"bytes per code, {name}, {size_of(codes)}", size, "bytes", details=details, **bound))
        del index
    large = random_codes(10 * n, 64)
    index = indexed(large, tables=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.index"
        saved = timed(lambda: index.save(path))
        opened = time_in_turns({OURS: lambda: HammingIndex.open(path)})
        first = timed(lambda: HammingIndex.open(path).search(codes[:1], 10))
    run.add(compare("save", f"save {size_of(large)}", {OURS: saved}, "ms"))
    run.add(compare("open", f"open {size_of(large)}", opened, "ms"))
    run.add(compare("first-search", "open, check the whole file, and search", {OURS: first}, "ms"))


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        {"nearest": nearest, "radius": radius, "removal": removal, "growth": growth, "memory": memory},
        peers=["faiss-cpu"],
    )
