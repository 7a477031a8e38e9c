"""Milvus Lite: pushing a collection and searching it there, beside the same search in the collection's own file.

Run with ``--documents`` to push another number of documents than 50,000.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from collection import documents, queries
from sthash import Collection, HammingIndex
from sthash.milvus import MilvusCollection

QUERIES, K = 100, 10


def milliseconds(function, arguments):
    """Median over calls, one for each argument."""
    times = []
    for argument in arguments:
        start = time.perf_counter()
        function(argument)
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def timed(function):
    """Seconds of a call, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def main():
    """Push, push again, search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=50_000)
    count = parser.parse_args().documents
    texts = queries()[:QUERIES]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Collection.create(folder / "some.sth", documents(count)) as collection:
            push = lambda: MilvusCollection.push(collection, str(folder / "milvus.db"), "some")  # noqa: E731
            seconds, there = timed(push)
            print(f"{count:,} documents pushed in {seconds:.1f} s, {count / seconds:,.0f} a second", end="; ")
            again, second = timed(push)
            second.close()
            print(f"pushed again, nothing to send: {again:.1f} s")
            size = sum(path.stat().st_size for path in folder.glob("milvus.db*"))
            print(f"bytes a document: {size / count:,.0f} in Milvus Lite's file, ", end="")
            print(f"{collection.path.stat().st_size / count:,.0f} in the collection's")
            codes = collection.encode(texts)
            index = HammingIndex(collection.n_bits)
            with collection.snapshot() as now:
                index.add(now.codes, now.ids)
            rows = {
                "10 nearest codes": (
                    milliseconds(lambda code: there.nearest(code[None], K), codes),
                    milliseconds(lambda code: index.search(code[None], K), codes),
                ),
                "10 hits of 1,000, re-ranked": (
                    milliseconds(lambda text: there.search(text, K, factor=100), texts),
                    milliseconds(lambda text: collection.search(text, K, factor=100), texts),
                ),
            }
            print(f"{'milliseconds a query, median':<30} {'Milvus Lite':>12} {'here':>8}")
            for what, (theirs, ours) in rows.items():
                print(f"{what:<30} {theirs:>12.1f} {ours:>8.2f}")
            there.close()


if __name__ == "__main__":
    main()
