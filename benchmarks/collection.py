"""A collection of 244,163 documents: building, starting and searching.

Parts: ``build`` (time, memory, growth), ``start`` (``sth search`` from the shell), ``search`` (queries per second and
recall against scikit-learn's brute force). Choose other codes for ``search`` with ``--bits`` and ``--scatter``.
It draws the curve of its recall, docs/images/recall.svg.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import data
from harness import OURS, Row, Run, compare, figure, main
from sthash import Collection, Learning
from stored import query_rows, stored
from timing import Isolated, Timing, in_own_process, peak_memory, time_in_turns, timed

K = 10
FACTORS = (5, 10, 20, 30, 50, 100, 200, 500)
ENOUGH_RECALL = 0.9
PEER = "scikit-learn NearestNeighbors"
QUERY = "buffer overflow in the image parser"


def built(path: Path, quick: bool, limit: int | None = None, bits: int = 64, scatter: float = 0.0) -> int:
    """Build a collection from the compressed files, and count its documents."""
    documents = data.descriptions(quick).documents[:limit]
    with Collection.create(
        path, documents, overwrite=True, learning=Learning(n_bits=bits, scatter=scatter)
    ) as collection:
        return len(collection)


def measured_build(run: Run, path: Path, limit: int | None = None, bits: int = 64, scatter: float = 0.0) -> Isolated:
    """Build in a process of its own. A quick run does without one, whose imports take most of its time."""
    if run.quick:
        return Isolated(timed(lambda: built(path, run.quick, limit, bits, scatter)), peak_memory(), peak_memory())
    return in_own_process(built, path, run.quick, limit, bits, scatter)


def build_row(row: str, isolated: Isolated, path: Path, bits: int, scatter: float = 0.0) -> Row:
    """Describe a build."""
    count: int = isolated.timing.result
    details = {
        "documents/s": count / isolated.timing.best,
        "GiB peak": isolated.peak / 1024,
        "MiB file": path.stat().st_size / 2**20,
    }
    setting = {"documents": count, "bits": bits, "scatter": scatter}
    return compare(row, "build, from compressed files", {OURS: isolated.timing}, setting=setting, details=details)


def build(run: Run) -> None:
    """Measure building in a process of its own, and how its time grows."""
    limits = run.choose((60_000, 240_000, None), (100, 400))
    with tempfile.TemporaryDirectory() as folder:
        path, seconds = Path(folder, "c.sth"), []
        for limit in limits:
            isolated = measured_build(run, path, limit)
            row = build_row("all" if limit is None else f"first-{limit}", isolated, path, 64)
            seconds.append(run.add(row).ours)
    growth = seconds[1] / seconds[0]
    run.add(figure("growth", f"time for {limits[1]:,} / time for {limits[0]:,}", growth, "times"))


def start(run: Run) -> None:
    """Measure the command from a cold start, beside the start of Python."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.sth")
        count = measured_build(run, path).timing.result
        commands = {
            "sth search": [str(Path(sys.executable).parent / "sth"), "search", str(path), QUERY, "--json"],
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        }
        call = partial(subprocess.run, capture_output=True, check=True)
        works = {name: partial(call, words) for name, words in commands.items()}
        timings = time_in_turns(works, repetitions=run.choose(10, 1), at_least=1)
    for name, timing in timings.items():
        setting = {"documents": count} if name == "sth search" else {}
        run.add(compare(name.split()[-1].strip("'"), name, {OURS: timing}, setting=setting))


def search(run: Run) -> None:
    """Measure queries per second at several sizes of the ball, and the recall of each."""
    bits, scatter = run.choose(run.arguments.bits, 64), run.arguments.scatter
    texts = data.descriptions(run.quick).queries
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.sth")
        run.add(build_row("build", measured_build(run, path, None, bits, scatter), path, bits, scatter))
        with Collection.open(path) as collection:
            measure_search(run, collection, texts, {"documents": len(collection), "bits": bits, "scatter": scatter})


def brute_force(X: sp.csr_array, jobs: int | None) -> Any:
    """Make the peer. Its import takes longer than some of the processes that import this module."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, metric="cosine", algorithm="brute", n_jobs=jobs).fit(X)


def measure_search(run: Run, collection: Collection, texts: list[str], setting: dict[str, Any]) -> None:
    """Measure all sizes of the ball beside brute force, in turns."""
    collection.search_many(texts[:2], ranking="cosine")
    X, Q = stored(collection).matrix(), query_rows(collection, texts)
    some = Q[: run.choose(200, 20)]
    factors = run.choose(FACTORS, FACTORS[:2])
    works = {factor: partial(collection.search_many, texts, K, factor=factor, ranking="cosine") for factor in factors}
    contestants = {f"factor {factor}": work for factor, work in works.items()}
    for jobs in (None, -1):
        contestants[f"{PEER}, n_jobs={jobs}"] = partial(brute_force(X, jobs).kneighbors, some)
    timings = time_in_turns(contestants, repetitions=3, budget=60)
    least = least_scores(X, Q)
    curve: list[Row] = []
    for factor in factors:
        own = {OURS: timings[f"factor {factor}"].per(len(texts))}
        theirs = {name: timing.per(some.shape[0]) for name, timing in timings.items() if name.startswith(PEER)}
        row = compare(
            f"factor-{factor}",
            f"search_many, re-ranked, balls of {K * factor:,}",
            own | theirs,
            "queries/s",
            setting=setting,
            details={"recall": recall(own[OURS], least), "ball": K * factor},
        )
        curve.append(run.add(row))
    if enough := [row for row in curve if row.details["recall"] >= ENOUGH_RECALL]:
        best = max(enough, key=lambda row: row.ours)
        run.add(Row(**{**vars(best), "id": "best", "what": f"the fastest with a recall of {ENOUGH_RECALL}"}))
    if picture := run.picture("recall.svg"):
        draw(curve, setting, picture)


def least_scores(X: sp.csr_array, Q: sp.csr_array) -> npt.NDArray[np.float32]:
    """Give the cosine of each query's true k-th neighbor."""
    least: npt.NDArray[np.float32] = 1 - brute_force(X, -1).kneighbors(Q)[0][:, -1]
    return least


def recall(timing: Timing, least: npt.NDArray[np.float32]) -> float:
    """Give the share of hits that are as good as the true k-th neighbor."""
    rows = zip(timing.result, least, strict=True)
    return float(np.mean([sum(hit.score >= score - 1e-5 for hit in hits) / K for hits, score in rows]))


def draw(curve: list[Row], setting: dict[str, Any], picture: Path) -> None:
    """Draw recall against speed."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    recalls = [row.details["recall"] for row in curve]
    axes.plot(recalls, [row.ratio or 0.0 for row in curve], marker="o", label="by the clock")
    axes.plot(recalls, [row.cpu_ratio or 0.0 for row in curve], marker=".", linestyle="--", label="by processor time")
    axes.legend(loc="lower left")
    for row in curve:
        place = (row.details["recall"], row.cpu_ratio)
        axes.annotate(f"{row.details['ball']:,}", place, textcoords="offset points", xytext=(4, 4), fontsize=7)
    axes.axvline(ENOUGH_RECALL, linestyle=":", color="gray")
    axes.axhline(20, linestyle=":", color="gray")
    axes.set(xlabel="recall@10 of exact cosine", ylabel="queries/s ÷ scikit-learn brute force", yscale="log")
    codes = f"{setting['bits']} bits, scatter {setting['scatter']:g}"
    axes.set_title(f"search_many on {setting['documents']:,} documents, {codes}\npoints: documents in the ball")
    figure.tight_layout()
    figure.savefig(picture)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``search``."""
    parser.add_argument("--bits", type=int, default=512)
    parser.add_argument("--scatter", type=float, default=4.0)


if __name__ == "__main__":
    main(__file__, __doc__, {"build": build, "start": start, "search": search}, options=options)
