"""Raw text to a 64-bit model on 20Newsgroups: sthash against a plain scikit-learn assembly, in one run.

Also: precision at 100 of both, peak memory, and how each stage grows from 2,000 to 16,000 documents.
"""

import multiprocessing
import time
from pathlib import Path

import numpy as np

from assembly import Assembly
from sthash import SelfTaughtHashing, TextVectorizer
from sthash.evaluation import Topics, score
from sthash.reproduction.datasets import load_20newsgroups

STAGES = ("text", "graph", "embedding", "binarizer", "hash_function")
PAPER_SECONDS = 0.0165


def fit(texts):
    """Fit as a user would; return the parts and the seconds a stage."""
    vectorizer, hasher = TextVectorizer(), SelfTaughtHashing(64)
    start = time.perf_counter()
    X = vectorizer.fit_transform(texts)
    text_seconds = time.perf_counter() - start
    hasher.fit(X)
    return vectorizer, hasher, {"text": text_seconds, **hasher.stage_seconds_}


def fastest(runs):
    """Of several runs the one that took least."""
    return min(runs, key=lambda run: sum(run[-1].values()))


def precision_at_100(data, corpus, queries):
    """Same topic among the 100 nearest codes, ties in expectation."""
    topics = Topics(data.train_labels, data.test_labels)
    return score(corpus, queries, topics, lengths=(64,)).rankings[0].precision_at_k


def peak_memory(texts, sender):
    """Fit in a process of its own and send what that added to its peak, and the peak itself."""
    before = resident_peak()
    fit(texts)
    sender.send((before, resident_peak()))


def resident_peak():
    """Largest resident size of this process so far, in MiB (ru_maxrss would include the parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main():
    """Print the tables."""
    data = load_20newsgroups()
    texts = data.train_texts
    n = len(texts)
    vectorizer, hasher, ours = fastest([fit(texts) for _ in range(5)])
    peers = [Assembly().fit(texts) for _ in range(2)]
    peer = min(peers, key=lambda run: sum(run.seconds.values()))

    print(f"20Newsgroups train, {n} documents, 64 bits (best of 5 and of 2 runs)\n")
    print(f"{'stage':<15}{'sthash s':>10}{'share':>8}{'assembly s':>12}{'ratio':>8}")
    total, peer_total = sum(ours.values()), sum(peer.seconds.values())
    for stage in STAGES:
        mine, theirs = ours[stage], peer.seconds[stage]
        print(f"{stage:<15}{mine:>10.3f}{mine / total:>8.0%}{theirs:>12.3f}{theirs / mine:>8.1f}")
    print(f"{'total':<15}{total:>10.3f}{1:>8.0%}{peer_total:>12.3f}{peer_total / total:>8.1f}")

    loose = Assembly(svm_tol=0.1)
    X = peer.vectorizer.transform(texts)
    bits = np.unpackbits(peer.codes, axis=1, bitorder="little").astype(bool)
    start = time.perf_counter()
    loose._classifiers(X, bits)
    equal_tolerance = time.perf_counter() - start
    print(
        f"\nLinearSVC stops at 1e-4 by default, sthash at LIBLINEAR's own 0.1; with 0.1 for both the SVMs' ratio is "
        f"{equal_tolerance / ours['hash_function']:.1f}, the total's "
        f"{(peer_total - peer.seconds['hash_function'] + equal_tolerance) / total:.1f}."
    )
    print(f"Seconds a document: {total / n:.5f} (the paper, on a Pentium 4: {PAPER_SECONDS}).")

    mine = precision_at_100(data, hasher.codes_, hasher.transform(vectorizer.transform(data.test_texts)))
    theirs = precision_at_100(data, peer.codes, peer.encode(data.test_texts))
    print(f"Precision at 100: sthash {mine:.4f}, assembly {theirs:.4f}, difference {mine - theirs:+.4f}.")

    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=peak_memory, args=(texts, sender))
    process.start()
    before, peak = receiver.recv()
    process.join()
    print(f"Peak memory of the fit: {peak:.0f} MiB resident, of which {before:.0f} before it began (text, libraries).")

    everything = [*data.train_texts, *data.test_texts]
    sizes = [2000, 4000, 8000, 16000]
    shuffled = [everything[i] for i in np.random.default_rng(0).permutation(len(everything))]
    grown = [fastest([fit(shuffled[:size]) for _ in range(3)])[-1] for size in sizes]
    print(f"\nGrowth, seconds (best of 3)\n{'stage':<15}" + "".join(f"{size:>9}" for size in sizes) + "   exponent")
    for stage in (*STAGES, "total"):
        seconds = [sum(run.values()) if stage == "total" else run[stage] for run in grown]
        exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        print(f"{stage:<15}" + "".join(f"{s:>9.3f}" for s in seconds) + f"{exponent:>11.2f}")


if __name__ == "__main__":
    main()
