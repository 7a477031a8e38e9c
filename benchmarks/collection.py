"""A collection of 245 k documents: building, searching and starting, against scikit-learn's brute force.

Run with ``--bits`` and ``--scatter`` to search with other codes, and with ``--picture`` to draw the recall curve.
"""

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from sthash import Collection
from sthash.reproduction.datasets import data_dir

QUERIES, PEER_QUERIES, K = 1000, 200, 10
FACTORS = (5, 10, 20, 30, 50, 100, 200, 500)
BUILD = """
import resource, sys, time
sys.path.insert(0, {folder!r})
from collection import documents
from sthash import Collection
start = time.perf_counter()
count = len(Collection.create({path!r}, documents({limit}), n_bits={bits}, scatter={scatter}, overwrite=True))
print(count, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def documents(limit=None):
    """Give the documents in a random order that is always the same, without those that serve as queries."""
    rows = all_texts()
    chosen = np.random.default_rng(0).permutation(len(rows))[QUERIES:][:limit]
    return ({"key": f"{rows[i][0]}-{i}", "text": rows[i][1]} for i in chosen)


def queries():
    """Give the texts that are not in the collection."""
    rows = all_texts()
    return [rows[i][1] for i in np.random.default_rng(0).permutation(len(rows))[:QUERIES]]


def all_texts():
    """Read CVE descriptions and Debian package descriptions."""
    rows = []
    for name in ("cve", "debian_packages"):
        with lzma.open(data_dir() / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
            rows.extend((row["id"], row["text"]) for row in map(json.loads, file))
    return rows


def build(path, limit, bits, scatter=0.0):
    """Build in a process of its own; give documents, seconds and peak memory in GiB."""
    source = BUILD.format(folder=str(Path(__file__).parent), path=str(path), limit=limit, bits=bits, scatter=scatter)
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    count, seconds, memory = result.stdout.split()
    print(
        f"  {int(count):>8,} documents, {bits:>3} bits {float(seconds):>8.1f} s {int(count) / float(seconds):>8,.0f}/s",
        end="",
    )
    print(f" {float(memory):>6.2f} GiB peak {Path(path).stat().st_size / 2**20:>7.0f} MiB file")
    return float(seconds)


def best(function, rounds):
    """Least seconds of a few rounds, and least processor time, on which a busy machine has less influence."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter(), time.process_time()
        function()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return np.min(times, axis=0)


def matrix(vectors):
    """Give the collection's own vectors as a SciPy matrix."""
    rows = [vectors.row(place) for place in range(len(vectors.starts))]
    indptr = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in rows])])
    indices, values = (np.concatenate([row[part] for row in rows]) for part in (0, 1))
    return sp.csr_array((values, indices, indptr), shape=(len(rows), vectors.n_columns))


def search(path, picture):
    """Compare queries a second, and recall, with brute force."""
    texts = queries()
    with Collection.open(path) as collection:
        collection.search_many(texts[:2])
        with collection._view.reading():
            X = matrix(collection._view.vectors(collection._view.shelf().ids))
            encoded = collection._view.encoder().encode(texts)
        Q = sp.csr_array((encoded.values, encoded.indices, encoded.indptr), shape=(len(texts), X.shape[1]))
        rates = []
        for jobs in (None, -1):
            peer = NearestNeighbors(n_neighbors=K, metric="cosine", algorithm="brute", n_jobs=jobs).fit(X)
            rates.append(PEER_QUERIES / best(lambda peer=peer: peer.kneighbors(Q[:PEER_QUERIES]), 3))
        theirs = np.max(rates, axis=0)
        last = 1 - peer.kneighbors(Q)[0][:, -1]
        print("\nscikit-learn NearestNeighbors, brute force, cosine, vectors given:", end="")
        print(f" {theirs[0]:,.0f} queries/s, {1000 / theirs[1]:.2f} ms of processor time a query")
        codes = f"{collection.n_bits} bits, scatter {collection.info()['scatter']:g}"
        print(f"search_many with re-ranking, {codes}, from raw text to hits with their texts:")
        print(f"  {'factor':>8}{'ball':>9}{'recall@10':>11}{'queries/s':>11}{'ratio':>8}{'ms':>8}{'ratio':>8}")
        curve = []
        for factor in FACTORS:
            hits = collection.search_many(texts, K, factor=factor)
            recall = np.mean(
                [sum(hit.score >= least - 1e-5 for hit in row) / K for row, least in zip(hits, last, strict=True)]
            )
            rate = len(texts) / best(lambda factor=factor: collection.search_many(texts, K, factor=factor), 3)
            ratio, by_processor = rate / theirs
            curve.append((recall, ratio, by_processor))
            print(f"  {factor:>8}{K * factor:>9,}{recall:>11.3f}{rate[0]:>11,.0f}{ratio:>8.1f}", end="")
            print(f"{1000 / rate[1]:>8.3f}{by_processor:>8.1f}", flush=True)
        enough = [ratio for recall, ratio, _ in curve if recall >= 0.9]
        print(f"  best ratio at recall >= 0.9: {max(enough):.1f}" if enough else "  recall 0.9 was not reached")
        if picture:
            draw(curve, codes, picture)


def draw(curve, codes, picture):
    """Draw recall against speed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    recalls, ratios, by_processor = zip(*curve, strict=True)
    axes.plot(recalls, ratios, marker="o", label="by the clock")
    axes.plot(recalls, by_processor, marker=".", linestyle="--", label="by processor time")
    axes.legend(loc="lower left")
    for (recall, _, ratio), factor in zip(curve, FACTORS, strict=True):
        axes.annotate(f"{K * factor:,}", (recall, ratio), textcoords="offset points", xytext=(4, 4), fontsize=7)
    axes.axvline(0.9, linestyle=":", color="grey")
    axes.axhline(20, linestyle=":", color="grey")
    axes.set(xlabel="recall@10 of exact cosine", ylabel="queries/s ÷ scikit-learn brute force", yscale="log")
    axes.set_title(f"search_many on 244 k documents, {codes}\npoints: documents in the ball")
    figure.tight_layout()
    figure.savefig(picture)


def cold_start(path):
    """Time the command from the shell beside Python's own start."""
    command = [Path(sys.executable).parent / "sth", "search", path, "buffer overflow in the image parser", "--json"]
    run = lambda *words: subprocess.run(words, capture_output=True, check=True)  # noqa: E731
    seconds = [
        best(lambda words=words: run(*words), 10)[0]
        for words in (command, [sys.executable, "-c", "pass"], [sys.executable, "-c", "import numpy"])
    ]
    print("\ncold sth search {:.2f} s; python -c pass {:.2f} s; python -c 'import numpy' {:.2f} s".format(*seconds))


def main():
    """Build, search, start."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bits", type=int, default=512)
    parser.add_argument("--scatter", type=float, default=4)
    parser.add_argument("--picture")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.sth")
        print("build, in a process of its own")
        small, large = build(path, 60_000, 64), build(path, 240_000, 64)
        print(f"  growth from 60 k to 240 k: {large / small:.2f} times the time")
        build(path, None, 64)
        cold_start(path)
        build(path, None, arguments.bits, arguments.scatter)
        search(path, arguments.picture)


if __name__ == "__main__":
    main()
