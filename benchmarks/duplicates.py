"""Near-duplicates among descriptions of vulnerabilities, against datasketch's MinHashLSH.

First the quality on a sample, against exact cosine over all pairs; then the time for the whole file, from raw text.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from datasketch import MinHash, MinHashLSH

import data
from harness import OURS, Run, compare, figure, main
from library import sketch
from sthash import Collection, HammingIndex, near_duplicates
from stored import duplicate_groups, stored
from timing import time_in_turns, timed

SAMPLE, MIN_COSINE, RADIUS = 20_000, 0.9, 3
PERMUTATIONS, JACCARD = 128, 0.8
PEER = "datasketch MinHashLSH"
WORD = re.compile(r"\w+")

Pairs = set[tuple[int, int]]


def minhash_pairs(texts: list[str]) -> Pairs:
    """Find pairs with datasketch, as its documentation shows it."""
    lsh = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)
    pairs: Pairs = set()
    for number, text in enumerate(texts):
        minhash = MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch([word.encode() for word in set(WORD.findall(text.lower()))])
        pairs.update((other, number) for other in lsh.query(minhash))
        lsh.insert(number, minhash)
    return pairs


def close_pairs(vectors: Any, codes: data.Codes, radius: int) -> Pairs:
    """Give all pairs within the radius whose cosine is large enough. Groups are made of these."""
    index = HammingIndex(8 * codes.shape[1])
    pairs: Pairs = set()
    index.add(codes)
    for block in index.pairs(radius):
        close = vectors.cosines(block.left, block.right) >= MIN_COSINE
        pairs.update(zip(block.left[close].tolist(), block.right[close].tolist(), strict=True))
    return pairs


def joined_pairs(groups: list[list[int]]) -> Pairs:
    """Give all pairs of a list of groups."""
    return {(a, b) for group in groups for at, a in enumerate(group) for b in group[at + 1 :]}


def measure(run: Run) -> None:
    """Measure quality, then time."""
    texts = data.vulnerabilities(run.quick)
    with tempfile.TemporaryDirectory() as folder:
        quality(run, texts, Path(folder))
        speed(run, texts, Path(folder))


def quality(run: Run, texts: list[str], folder: Path) -> None:
    """Compare the pairs that each way finds in a sample with the true ones."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(texts))[:SAMPLE])
    sample = [texts[place] for place in chosen]
    documents = [{"key": str(number), "text": text} for number, text in enumerate(sample)]
    with Collection.create(folder / "sample.sth", documents) as collection:
        held = stored(collection)
        groups = [[int(key) for key in group] for group in duplicate_groups(collection, MIN_COSINE)]
    true = data.exact_pairs(held.matrix(), MIN_COSINE)
    found = {
        "sthash": close_pairs(held.vectors, *sketch(held.vectors, MIN_COSINE)),
        "sthash, all pairs of a group": joined_pairs(groups),
        f"sthash, learned codes, radius {RADIUS}": close_pairs(held.vectors, held.codes, RADIUS),
        f"datasketch, Jaccard {JACCARD}": minhash_pairs(sample),
    }
    setting = {"documents": len(sample), "min_cosine": MIN_COSINE, "true pairs": len(true)}
    for number, (name, pairs) in enumerate(found.items()):
        row = ("ours", "grouped", "learned", "peer")[number]
        details = data.precision_and_recall(pairs, true)
        run.add(figure(f"pairs-{row}", f"pairs: {name}", len(pairs), "pairs", setting=setting, details=details))


def speed(run: Run, texts: list[str], folder: Path) -> None:
    """Time the whole file: in memory, and with a collection that is built first."""
    timings = time_in_turns(
        {OURS: lambda: near_duplicates(texts, MIN_COSINE), PEER: lambda: minhash_pairs(texts)},
        repetitions=3,
        budget=20,
        at_least=1,
    )
    setting = {"documents": len(texts), "min_cosine": MIN_COSINE}
    groups = {"groups": len(timings[OURS].result)}
    run.add(compare("memory", "texts in memory to groups", timings, setting=setting, details=groups))
    building = timed(lambda: Collection.create(folder / "all.sth", texts))
    with building.result as collection:
        finding = timed(lambda: duplicate_groups(collection, MIN_COSINE))
    groups = {"groups": len(finding.result)}
    peer = {PEER: timings[PEER]}
    own = {OURS: finding, **peer}
    run.add(compare("collection", "in a collection that is there", own, setting=setting, details=groups))
    both = {OURS: building.plus(finding), **peer}
    run.add(compare("collection-built", "in a collection that is built first", both, setting=setting, details=groups))


if __name__ == "__main__":
    main(__file__, __doc__, measure, peers=["datasketch"])
