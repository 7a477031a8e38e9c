"""Near-duplicates among CVE descriptions: quality against exact cosine, time against datasketch's MinHashLSH."""

import json
import lzma
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from datasketch import MinHash, MinHashLSH

from sthash import Collection, HammingIndex, near_duplicates
from sthash.applications.duplicates import sketch
from sthash.evaluation.datasets import data_dir

SAMPLE, MIN_COSINE, RADIUS = 20_000, 0.9, 3
PERMUTATIONS, JACCARD = 128, 0.8
WORD = re.compile(r"\w+")


def texts():
    """Read the descriptions."""
    with lzma.open(data_dir() / "cve.jsonl.xz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def in_a_collection(documents):
    """Build a collection and find groups; give it, the groups and the seconds of both steps."""
    path = Path(tempfile.mkdtemp(), "cve.sth")
    start = time.perf_counter()
    collection = Collection.create(path, documents)
    built = time.perf_counter()
    groups = collection.near_duplicates(min_cosine=MIN_COSINE).groups
    return collection, groups, built - start, time.perf_counter() - built


def in_memory(documents):
    """Find groups of texts; give them and the seconds."""
    start = time.perf_counter()
    groups = near_duplicates(documents, MIN_COSINE)
    return groups, time.perf_counter() - start


def theirs(documents):
    """Find pairs with datasketch, as its documentation shows it; give them and the seconds."""
    start = time.perf_counter()
    lsh = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)
    pairs = set()
    for number, text in enumerate(documents):
        minhash = MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch([word.encode() for word in set(WORD.findall(text.lower()))])
        pairs.update((other, number) for other in lsh.query(minhash))
        lsh.insert(number, minhash)
    return pairs, time.perf_counter() - start


def close_pairs(vectors, codes, radius):
    """All pairs within the radius whose cosine is large enough: what the groups are made of."""
    index, pairs = HammingIndex(8 * codes.shape[1]), set()
    index.add(codes)
    for block in index.pairs(radius):
        close = vectors.cosines(block.left, block.right) >= MIN_COSINE
        pairs.update(zip(block.left[close].tolist(), block.right[close].tolist(), strict=True))
    return pairs


def exact_pairs(X, at_least):
    """All pairs of rows with this cosine, by brute force."""
    pairs = set()
    for start in range(0, X.shape[0], 2000):
        block = (X[start : start + 2000] @ X.T).tocoo()
        close = (block.data >= at_least) & (block.col > block.row + start)
        pairs.update(zip((block.row[close] + start).tolist(), block.col[close].tolist(), strict=True))
    return pairs


def joined_pairs(places):
    """All pairs of a list of groups."""
    return {(a, b) for group in places for at, a in enumerate(group) for b in group[at + 1 :]}


def quality(found, true):
    """Precision and recall of pairs."""
    both = len(found & true)
    return f"{len(found):>9,} pairs   precision {both / max(len(found), 1):.3f}   recall {both / len(true):.3f}"


def main():
    """Print quality on a sample, then time on the whole file."""
    everything = texts()
    chosen = np.sort(np.random.default_rng(0).permutation(len(everything))[:SAMPLE])
    sample = [everything[i] for i in chosen]
    collection, groups, _, _ = in_a_collection(sample)
    view = collection._view
    with view.reading():
        shelf = view.shelf()
        vectors = view.vectors(shelf.ids)
    indptr, indices, values = vectors.parts()
    true = exact_pairs(sp.csr_array((values, indices, indptr), shape=(SAMPLE, vectors.n_columns)), MIN_COSINE)
    print(f"{SAMPLE:,} descriptions, {len(true):,} pairs with cosine >= {MIN_COSINE} by brute force over all pairs")
    codes, radius = sketch(vectors, MIN_COSINE)
    print("  sthash                    ", quality(close_pairs(vectors, codes, radius), true))
    places = [[int(key) - 1 for key in group] for group in groups]
    print("  sthash, all in a group    ", quality(joined_pairs(places), true))
    print(f"  learnt codes, radius {RADIUS}    ", quality(close_pairs(vectors, shelf.codes, RADIUS), true))
    print(f"  datasketch, Jaccard {JACCARD}   ", quality(theirs(sample)[0], true))
    print(f"\nwhole file, {len(everything):,} descriptions, from raw text")
    groups, ours = min((in_memory(everything) for _ in range(3)), key=lambda result: result[1])
    print(f"  sthash, in memory    {ours:>7.1f} s, {len(groups):,} groups")
    _, groups, built, found = in_a_collection(everything)
    steps = f"build {built:.1f}, near-duplicates {found:.1f}"
    print(f"  sthash, collection   {built + found:>7.1f} s ({steps}), {len(groups):,} groups")
    pairs, seconds = theirs(everything)
    print(f"  datasketch           {seconds:>7.1f} s, {len(pairs):,} pairs")
    print(
        f"  ratio: in memory {seconds / ours:.1f}; with building a collection {seconds / (built + found):.1f};", end=""
    )
    print(f" in a collection that is there {seconds / found:.1f}")


if __name__ == "__main__":
    main()
