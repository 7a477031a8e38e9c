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

from all_pairs import exact_pairs
from sthash import Collection, HammingIndex, near_duplicates
from sthash.applications.duplicates import sketch
from sthash.reproduction.datasets import data_dir

SAMPLE, MIN_COSINE, RADIUS = 20_000, 0.9, 3
PERMUTATIONS, JACCARD = 128, 0.8
WORD = re.compile(r"\w+")


def texts():
    """Read the descriptions."""
    with lzma.open(data_dir() / "cve.jsonl.xz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def now():
    """Seconds by the clock, and of processor time, on which a busy machine has less influence."""
    return np.array([time.perf_counter(), time.process_time()])


def in_a_collection(documents):
    """Build a collection and find groups; give it, the groups and the seconds of both steps."""
    path = Path(tempfile.mkdtemp(), "cve.sth")
    start = now()
    collection = Collection.create(path, documents)
    built = now()
    groups = collection.near_duplicates(min_cosine=MIN_COSINE).groups
    return collection, groups, built - start, now() - built


def in_memory(documents):
    """Find groups of texts; give them and the seconds."""
    start = now()
    groups = near_duplicates(documents, MIN_COSINE)
    return groups, now() - start


def theirs(documents):
    """Find pairs with datasketch, as its documentation shows it; give them and the seconds."""
    start = now()
    lsh = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)
    pairs = set()
    for number, text in enumerate(documents):
        minhash = MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch([word.encode() for word in set(WORD.findall(text.lower()))])
        pairs.update((other, number) for other in lsh.query(minhash))
        lsh.insert(number, minhash)
    return pairs, now() - start


def close_pairs(vectors, codes, radius):
    """All pairs within the radius whose cosine is large enough: what the groups are made of."""
    index, pairs = HammingIndex(8 * codes.shape[1]), set()
    index.add(codes)
    for block in index.pairs(radius):
        close = vectors.cosines(block.left, block.right) >= MIN_COSINE
        pairs.update(zip(block.left[close].tolist(), block.right[close].tolist(), strict=True))
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
    compare(everything)


def compare(documents):
    """Print the seconds of each way, and how many times as long datasketch takes, by the clock and the processor."""
    rounds = [in_memory(documents) for _ in range(3)]
    ours, groups = np.min([seconds for _, seconds in rounds], axis=0), rounds[0][0]
    _, same_groups, built, found = in_a_collection(documents)
    pairs, theirs_took = theirs(documents)
    rows = [
        ("sthash, in memory", ours, f"{len(groups):,} groups"),
        ("sthash, building a collection", built + found, f"{len(same_groups):,} groups"),
        ("sthash, in a collection", found, f"{len(same_groups):,} groups"),
        ("datasketch, in memory", theirs_took, f"{len(pairs):,} pairs"),
    ]
    print(f"  {'':<30}{'s':>7}{'ratio':>7}{'CPU s':>8}{'ratio':>7}")
    for name, took, what in rows:
        ratio = theirs_took / took
        print(f"  {name:<30}{took[0]:>7.1f}{ratio[0]:>7.1f}{took[1]:>8.1f}{ratio[1]:>7.1f}   {what}")


if __name__ == "__main__":
    main()
