"""Learning from everything: time, memory and quality of whole fits, from sparse rows to hash functions.

Parts: ``fit`` (244,163 descriptions, recipes paper and neighbors, 64 and 128 bits), ``growth`` (up to a million
passages of one to three sentences), ``curve`` (quality against the number of documents learned from; it draws
docs/images/learning-curve.svg) and ``topics`` (20Newsgroups cut into passages).

Each fit runs in a process of its own, whose peak memory includes its rows. All documents get their codes from the hash
functions, as in a collection. Queries are held out.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import data
from harness import Run, figure, main
from library import nearest_neighbors
from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer
from timing import in_own_process

NEAREST, TOP = 100, 10
SIZES = (5_000, 20_000, 80_000, None)
TOPIC_SIZES = (5_000, 20_000, 40_000, None)
GROWTH = (60_000, 250_000, 1_000_000)
COLORS = {64: "#1f5f8b", 128: "#c8553d"}
PARTS = ("data", "indices", "indptr")


def save(X: sp.csr_array, folder: Path, name: str) -> None:
    """Write the parts of a matrix."""
    for part in PARTS:
        np.save(folder / f"{name}.{part}.npy", getattr(X, part))
    np.save(folder / f"{name}.shape.npy", X.shape)


def load(folder: Path, name: str, rows: int | None = None) -> sp.csr_array:
    """Read a matrix, or its first rows; only these come into memory."""
    data_part, indices, indptr = (np.load(folder / f"{name}.{part}.npy", mmap_mode="r") for part in PARTS)
    n, m = np.load(folder / f"{name}.shape.npy").tolist()
    n = min(rows or n, n)
    end = int(indptr[n])
    return sp.csr_array((np.array(data_part[:end]), np.array(indices[:end]), np.array(indptr[: n + 1])), shape=(n, m))


def fit(folder: str, recipe: Any, n_bits: int, rows: int | None) -> dict[str, Any]:
    """Learn from the rows of a folder in this process; keep the hash functions there and return seconds per stage."""
    X = load(Path(folder), "rows", rows)
    hasher = SelfTaughtHashing(n_bits, recipe=recipe).fit(X)
    hasher.codes_ = hasher.codes_[:1]
    hasher.embedding_ = hasher.embedding_[:1]
    hasher.save(Path(folder) / "model")
    return hasher.stage_seconds_


def measured_fit(folder: Path, recipe: str, n_bits: int, rows: int | None = None) -> tuple[float, dict[str, Any]]:
    """Return the seconds of a fit, and details: seconds per stage, processor seconds, peak memory in GiB."""
    isolated = in_own_process(fit, str(folder), recipe, n_bits, rows)
    stages = isolated.timing.result
    details = {"CPU seconds": isolated.timing.best_cpu, "peak GiB": isolated.peak / 1024, **stages}
    return sum(stages.values()), details


def share(folder: Path, n_bits: int, top: npt.NDArray[np.int64]) -> float:
    """Return the share of the true top 10 among the 100 nearest codes by plain Hamming distance."""
    import sthash

    hasher = sthash.load(folder / "model")
    index = HammingIndex.build(hasher.transform(load(folder, "rows")), n_bits=n_bits)
    found, _ = index.search(hasher.transform(load(folder, "queries")), NEAREST)
    shared = [len(np.intersect1d(near, ids)) for near, ids in zip(top, found, strict=True)]
    return float(np.mean(shared)) / TOP


def described(folder: Path, quick: bool) -> npt.NDArray[np.int64]:
    """Write the rows of the descriptions and of the queries, and return the true top 10."""
    found = data.descriptions(quick)
    vectorizer = TextVectorizer()
    X, Q = vectorizer.fit_transform(found.texts), vectorizer.transform(found.queries)
    save(X, folder, "rows")
    save(Q, folder, "queries")
    return np.asarray(nearest_neighbors(X, Q, TOP))


def measure_fit(run: Run) -> None:
    """Whole fits on all descriptions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        top = described(folder, run.quick)
        for recipe in ("neighbors", "paper"):
            for n_bits in run.choose((64, 128), (16,)):
                seconds, details = measured_fit(folder, recipe, n_bits)
                details["share of the top 10"] = share(folder, n_bits, top)
                what = f"{recipe}, {n_bits} bits: whole fit"
                run.add(figure(f"{recipe}-{n_bits}", what, seconds, "s", details=details))


def measure_growth(run: Run) -> None:
    """Time against the number of passages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = run.choose(GROWTH, (200, 400))
        X = TextVectorizer().fit_transform(data.passages(run.quick, sizes[-1]))
        save(X, folder, "rows")
        n, entries = X.shape[0], X.nnz
        del X
        bits = run.choose(64, 16)
        times: dict[int, float] = {}
        for size in sizes:
            times[size], details = measured_fit(folder, "neighbors", bits, size)
            run.add(figure(f"passages-{size}", f"{min(size, n):,} passages", times[size], "s", details=details))
        exponent = float(np.log(times[sizes[-1]] / times[sizes[0]]) / np.log(sizes[-1] / sizes[0]))
        run.add(figure("exponent", "exponent of time", exponent, "", details={"entries per row": entries / n}))


def measure_curve(run: Run) -> None:
    """Quality against the number of documents learned from."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        top = described(folder, run.quick)
        sizes = run.choose(SIZES, (300, None))
        shares: dict[int, list[float]] = {}
        for n_bits in run.choose(tuple(COLORS), (16,)):
            for size in sizes:
                seconds, details = measured_fit(folder, "neighbors", n_bits, size)
                value = share(folder, n_bits, top)
                shares.setdefault(n_bits, []).append(value)
                shown = f"{size:,}" if size else "all"
                what = f"{n_bits} bits, learned on {shown}: share of the top 10"
                details = {"seconds": seconds, **details}
                run.add(figure(f"{n_bits}-{size or 'all'}", what, value, "share", details=details))
    if picture := run.picture("learning-curve.svg"):
        draw(shares, [f"{size:,}" if size else "all" for size in sizes], picture)


def measure_topics(run: Run) -> None:
    """Precision of ``topics`` on passages with labels, against the number of passages learned from."""
    split = data.labeled_passages(run.quick)
    order = np.random.default_rng(0).permutation(len(split.train))
    vectorizer = TextVectorizer()
    labels = split.train_labels[order]
    asked = np.random.default_rng(1).permutation(len(split.test))[: run.choose(2000, 50)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(vectorizer.fit_transform([split.train[place] for place in order]), folder, "rows")
        save(vectorizer.transform([split.test[place] for place in asked]), folder, "queries")
        import sthash

        bits = run.choose(64, 16)
        for size in run.choose(TOPIC_SIZES, (100, None)):
            seconds, details = measured_fit(folder, "topics", bits, size)
            hasher = sthash.load(folder / "model")
            index = HammingIndex.build(hasher.transform(load(folder, "rows")), n_bits=bits)
            found, _ = index.search(hasher.transform(load(folder, "queries")), NEAREST)
            precision = float((labels[found] == split.test_labels[asked][:, None]).mean())
            shown = f"{size:,}" if size else f"all {len(labels):,}"
            what = f"topics, learned on {shown}: precision at {NEAREST}"
            details = {"seconds": seconds, **details}
            run.add(figure(f"topics-{size or 'all'}", what, precision, "precision", details=details))


def draw(shares: dict[int, list[float]], names: list[str], picture: Path) -> None:
    """Draw one line per code length."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "sthash", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    drawn, panel = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    for n_bits, values in shares.items():
        panel.plot(names, values, marker="o", color=COLORS.get(n_bits), label=f"{n_bits} bits")
    panel.set(xlabel="documents learned from", ylabel="share of the true top 10 in the 100 nearest", ylim=(0, 0.8))
    panel.grid(axis="y", alpha=0.3)
    panel.legend(loc="lower right", frameon=False)
    drawn.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    parts = {"fit": measure_fit, "growth": measure_growth, "curve": measure_curve, "topics": measure_topics}
    main(__file__, __doc__, parts)
