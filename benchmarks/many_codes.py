"""An index of a hundred million codes: built in a stream, saved, opened, searched and joined, for scaling.py."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import data
from harness import OURS, Run, compare, figure
from sthash import HammingIndex
from timing import in_own_process, peak_memory, resident_memory, time_in_turns, timed

BITS, RADIUS, TOP = 64, 3, 10
TOGETHER = 1_000_000
BATCH, SINGLE = 256, 10
# So many codes on the left of the join.
LEFT = 100_000


def batches(count: int) -> Iterator[data.Codes]:
    """Give random codes, some at a time; every thousandth is near the one before."""
    rng = np.random.default_rng(0)
    for done in range(0, count, TOGETHER):
        codes = rng.integers(0, 256, (min(TOGETHER, count - done), BITS // 8), dtype=np.uint8)
        near = codes[: len(codes) - 1 : 1000]
        codes[1::1000][: len(near)] = near ^ np.uint8([1, 0, 0, 2, 0, 0, 0, 0])
        yield codes


def built(path: Path, count: int) -> dict[str, float]:
    """Add codes as they come, and save the index; give the seconds of both."""
    index, start = HammingIndex(BITS, strategy="scan"), time.perf_counter()
    for codes in batches(count):
        index.add(codes)
    added = time.perf_counter()
    index.save(path)
    return {"add": added - start, "save": time.perf_counter() - added}


def opened(path: Path) -> dict[str, Any]:
    """Open the file and search it, in a process of its own: seconds, and bytes in memory."""
    queries = next(batches(TOGETHER))[:BATCH] ^ np.uint8(1)
    start = time.perf_counter()
    index = HammingIndex.open(path, strategy="scan")
    times: dict[str, Any] = {"open": time.perf_counter() - start, "size": len(index)}
    start = time.perf_counter()
    index.search(queries[:1], TOP, threads=1)
    times["first"] = time.perf_counter() - start
    works = {
        "single": lambda: [index.search(query[np.newaxis], TOP, threads=1) for query in queries[:SINGLE]],
        "batch": lambda: index.search(queries, TOP, threads=1),
        "radius": lambda: index.radius_search(queries, RADIUS, threads=1),
    }
    for name, timing in time_in_turns(works, repetitions=2, at_least=1).items():
        count = SINGLE if name == "single" else BATCH
        times[name] = (timing.best / count, timing.best_cpu / count)
    start = time.perf_counter()
    ids = index.add(queries)
    times["add"] = time.perf_counter() - start
    start = time.perf_counter()
    index.remove(ids[: len(ids) // 2])
    index.remove(np.arange(0, 1000))
    times["remove"] = time.perf_counter() - start
    times["resident"] = resident_memory()
    left = HammingIndex.build(next(batches(TOGETHER))[:LEFT], n_bits=BITS)
    before = peak_memory()
    times["join"] = timed(lambda: sum(len(block.left) for block in left.pairs(RADIUS, index, threads=1)))
    times["join MiB"] = peak_memory() - before
    times["join"] = (times["join"].best, times["join"].best_cpu, times["join"].result)
    return times


def measure(run: Run, count: int = 100_000_000) -> None:
    """Measure the index."""
    count = run.choose(count, 5000)
    setting = {"codes": count, "bits": BITS}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "codes.index")
        build = timed(lambda: built(path, count)) if run.quick else in_own_process(built, path, count)
        timing, peak = (build, peak_memory()) if run.quick else (build.timing, build.peak)
        details = {"GiB peak": peak / 1024, "CPU s": timing.best_cpu, **timing.result}
        run.add(compare("build", "add in batches, and save", {OURS: timing}, setting=setting, details=details))
        run.add(figure("file", "file", path.stat().st_size / count, "bytes per code"))
        times = opened(path) if run.quick else in_own_process(opened, path).timing.result
    assert times["size"] == count
    run.add(figure("open", "open", 1000 * times["open"], "ms", details={"MiB resident": times["resident"] / 2**20}))
    run.add(figure("first", "first query: checksums are verified", times["first"], "s"))
    for kind in ("single", "batch", "radius"):
        wall, cpu = times[kind]
        details = {"CPU ms": 1000 * cpu, "queries": SINGLE if kind == "single" else BATCH}
        run.add(figure(kind, f"query, one thread: {kind}", 1000 * wall, "ms per query", details=details))
    for kind in ("add", "remove"):
        run.add(figure(kind, f"{kind} a few codes", 1000 * times[kind], "ms"))
    wall, cpu, pairs = times["join"]
    details = {"CPU s": cpu, "pairs": pairs, "MiB more at the peak": times["join MiB"]}
    what = f"join of {min(LEFT, count):,} codes with all, radius {RADIUS}, one thread"
    run.add(figure("join", what, wall, "s", details=details))
