"""Milvus Lite: pushing a collection and searching it there, against the same search in the collection's own file.

``--documents N`` pushes another number of documents than 50,000.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import data
from harness import Run, compare, figure, main
from sthash import Collection, HammingIndex
from sthash.milvus import MilvusCollection
from stored import stored
from timing import Timing, time_each, timed

QUERIES, K, FACTOR = 100, 10, 100
THERE, HERE = "Milvus Lite", "the file"


def measure(run: Run) -> None:
    """Push, push again, search."""
    descriptions = data.descriptions(run.quick)
    documents = descriptions.documents[: run.choose(run.arguments.documents, 200)]
    texts = descriptions.queries[: run.choose(QUERIES, 5)]
    # Milvus Lite may still write when it has been closed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Collection.create(folder / "some.sth", documents) as collection:
            there = push(run, collection, folder)
            try:
                search(run, collection, there, texts)
            finally:
                there.close()


def push(run: Run, collection: Collection, folder: Path) -> MilvusCollection:
    """Measure the push of all documents, and one that has nothing to send."""
    count = len(collection)
    first = timed(lambda: MilvusCollection.push(collection, str(folder / "milvus.db"), "some"))
    again = timed(lambda: MilvusCollection.push(collection, str(folder / "milvus.db"), "some"))
    again.result.close()
    setting = {"documents": count}
    pushed = {THERE: first.per(count)}
    run.add(compare("push", "push all documents", pushed, "documents/s", ours=THERE, setting=setting))
    run.add(compare("push-again", "push again, nothing to send", {THERE: again}, ours=THERE, setting=setting))
    bytes_there = sum(path.stat().st_size for path in folder.glob("milvus.db*")) / count
    bytes_here = collection.path.stat().st_size / count
    run.add(figure("bytes", "bytes per document", bytes_here, "bytes", peer=THERE, theirs=bytes_there, setting=setting))
    there: MilvusCollection = first.result
    return there


def search(run: Run, collection: Collection, there: MilvusCollection, texts: list[str]) -> None:
    """Measure the nearest codes, and hits that are ranked again."""
    held, codes = stored(collection), collection.encode(texts)
    index = HammingIndex.build(held.codes, held.ids, n_bits=collection.n_bits)
    nearest = time_each(
        {THERE: lambda code: there.search_codes(code[None], K), HERE: lambda code: index.search(code[None], K)},
        list(codes),
        repetitions=3,
    )
    ranked = time_each(
        {
            THERE: lambda text: there.search(text, K, factor=FACTOR),
            HERE: lambda text: collection.search(text, K, factor=FACTOR, ranking="cosine"),
        },
        texts,
        repetitions=3,
    )
    setting = {"documents": len(collection)}
    unit, what = "ms per query", f"{K} hits of {K * FACTOR:,}, re-ranked"
    run.add(compare("nearest", f"{K} nearest codes", by_the_clock(nearest), unit, ours=HERE, setting=setting))
    run.add(compare("ranked", what, by_the_clock(ranked), unit, ours=HERE, setting=setting))


def by_the_clock(timings: dict[str, Timing]) -> dict[str, Timing]:
    """Leave out processor time: Milvus Lite has a process of its own."""
    return {name: timing.by_the_clock() for name, timing in timings.items()}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the number of documents."""
    parser.add_argument("--documents", type=int, default=50_000)


if __name__ == "__main__":
    main(__file__, __doc__, measure, peers=["pymilvus", "milvus-lite"], options=options)
